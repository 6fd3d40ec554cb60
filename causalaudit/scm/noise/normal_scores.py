"""Where a value lies on the scale of standard normal noise: a point, or the interval that gives a discrete value."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyro.distributions as pyro_dist
import torch
import torch.distributions as dist
from scipy import special
from torch.distributions import Distribution
from torch.nn.functional import logsigmoid

from causalaudit.errors import ProgramError
from causalaudit.scm.noise.differentiable import Special
from causalaudit.scm.noise.log_tails import LOG_TAILS, LogTails, log_one_minus_exp
from causalaudit.scm.noise.special_log_tails import log_betainc, log_gammainc, log_gammaincc

_LEAST = -1e15  # logarithm of a probability that is none; its normal score is about -4.5e7
_FAR = 1e15  # of a logit


@dataclass(frozen=True)
class Point:
    """A continuous value: its log-density, and the standard normal number that its noise is."""

    log_density: torch.Tensor
    score: torch.Tensor


@dataclass(frozen=True)
class Interval:
    """A discrete value: the standard normal numbers above `low` and up to `high` give it."""

    low: torch.Tensor
    high: torch.Tensor


def has_scores(law: Distribution) -> bool:
    """Tell whether the values of a law can be placed on the normal scale of their noise."""
    if _tabled(law, _DISCRETE) or _tabled(law, _CONTINUOUS):
        return not law.event_shape
    if not isinstance(law, dist.TransformedDistribution) or law.event_shape:
        return False
    return all(one.bijective for one in law.transforms) and has_scores(law.base_dist)


def is_interval(law: Distribution) -> bool:
    """Tell whether a value leaves more than one noise possible."""
    if isinstance(law, dist.TransformedDistribution) and not _tabled(law, _CONTINUOUS):
        return is_interval(law.base_dist)
    return _tabled(law, _DISCRETE) is not None


def scores_of(law: Any, value: torch.Tensor) -> Point | Interval:
    """Place a value on the normal scale of its noise; of a transformed law that is the noise of its base.

    Examples
    --------
    >>> import torch, torch.distributions as dist
    >>> rare = dist.Bernoulli(torch.tensor(0.1, dtype=torch.float64))
    >>> round(float(scores_of(rare, torch.tensor(1.0, dtype=torch.float64)).low), 3)  # 1 is the upper tenth
    1.282
    """
    ends, tails = _tabled(law, _DISCRETE), _tabled(law, _CONTINUOUS)
    if ends is not None:
        interval: Interval = ends(law, value)
        return interval
    if tails is not None:
        score = (value - law.loc) / law.scale if tails is _NORMAL else normal_score(*tails(law, value))
        return Point(law.log_prob(value), score)
    if not has_scores(law):
        raise ProgramError(f"{type(law).__name__} has no place on the normal scale of its noise: it is not confounded.")
    change = torch.zeros(())
    for transform in reversed(law.transforms):
        image, value = value, transform.inv(value)
        change = change + transform.log_abs_det_jacobian(value, image)
    found = scores_of(law.base_dist, value)
    return found if isinstance(found, Interval) else Point(found.log_density - change, found.score)


def _tabled(law: Distribution, table: dict[type[Distribution], Any]) -> Any:
    return next((table[family] for family in type(law).__mro__ if family in table), None)


_LOWER_SCORE = Special(
    special.ndtri_exp, (lambda score, _: math.sqrt(math.pi / 2) * torch.special.erfcx(-score / math.sqrt(2)),)
)


def normal_score(log_below: torch.Tensor, log_above: torch.Tensor) -> torch.Tensor:
    """Return the standard normal number with these log-tails, by whichever of them is small."""
    lower = log_below < log_above
    score = _LOWER_SCORE(torch.where(lower, log_below, log_above).clamp(min=_LEAST))
    return torch.where(lower, score, -score)


# Discrete families


def _of_logits(low: torch.Tensor, high: torch.Tensor) -> Interval:
    """Return the interval between two probabilities, given by their logits."""
    return Interval(*(normal_score(logsigmoid(end), logsigmoid(-end)) for end in (low, high)))


def _bernoulli(law: Any, value: torch.Tensor) -> Interval:
    return _of_logits(torch.where(value == 0, -_FAR, -law.logits), torch.where(value == 0, -law.logits, _FAR))


def _ordered(law: Any, value: torch.Tensor) -> Interval:
    gaps = law.cutpoints - law.predictor.unsqueeze(-1)
    outer = torch.full_like(gaps[..., :1], _FAR)
    ends = torch.cat([-outer, gaps, outer], -1)
    code = value.to(torch.int64).unsqueeze(-1)
    ends, code = ends.expand(*torch.broadcast_shapes(ends.shape[:-1], code.shape[:-1]), -1), code
    code = code.expand(*ends.shape[:-1], 1)
    return _of_logits(ends.gather(-1, code).squeeze(-1), ends.gather(-1, code + 1).squeeze(-1))


def _count(tails: Callable[[Any, torch.Tensor], LogTails]) -> Callable[[Any, torch.Tensor], Interval]:
    def interval(law: Any, value: torch.Tensor) -> Interval:
        first = value < 1
        before = normal_score(*tails(law, torch.where(first, 0.0, value - 1)))
        return Interval(torch.where(first, -math.sqrt(-2 * _LEAST), before), normal_score(*tails(law, value)))

    return interval


def _mass_ratio(sign: float, log_mass: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return the slope of a log-tail whose probability changes by a mass, given by its logarithm."""
    return lambda tail, *arguments: sign * (log_mass(*arguments) - tail).exp()


def _poisson_mass(count: torch.Tensor, rate: torch.Tensor) -> torch.Tensor:
    return torch.xlogy(count, rate) - rate - torch.lgamma(count + 1)


_POISSON = (
    Special(lambda k, rate: log_gammaincc(k + 1, rate), (None, _mass_ratio(-1.0, _poisson_mass))),
    Special(lambda k, rate: log_gammainc(k + 1, rate), (None, _mass_ratio(1.0, _poisson_mass))),
)


def _poisson(law: Any, value: torch.Tensor) -> LogTails:
    return _POISSON[0](value, law.rate), _POISSON[1](value, law.rate)


def _beta_mass(a: torch.Tensor, b: torch.Tensor, logit: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the slope of the incomplete beta function in the logit of its last argument."""
    return a * logsigmoid(logit) + b * logsigmoid(-logit) - torch.lgamma(a) - torch.lgamma(b) + torch.lgamma(a + b)


_BETA = Special(
    lambda a, b, logit: log_betainc(a, b, special.expit(logit)),
    ("numerical", "numerical", _mass_ratio(1.0, _beta_mass)),
)
_WHOLE_BETA = Special(_BETA.value, (None, None, _BETA.slopes[2]))


def _binomial(law: Any, value: torch.Tensor) -> LogTails:
    last, logits = value >= law.total_count, law.logits
    left = torch.where(last, 1.0, law.total_count - value)
    below, above = _WHOLE_BETA(left, value + 1, -logits), _WHOLE_BETA(value + 1, left, logits)
    return torch.where(last, 0.0, below), torch.where(last, _LEAST, above)


def _geometric(law: Any, value: torch.Tensor) -> LogTails:
    above = (value + 1) * logsigmoid(-law.logits)
    return log_one_minus_exp(above), above


def _negative_binomial_of(total: torch.Tensor, logits: torch.Tensor, value: torch.Tensor) -> LogTails:
    total, first = torch.as_tensor(total, dtype=torch.float64), value + 1
    return _NEGATIVE[0](total, first, -logits), _NEGATIVE[1](first, total, logits)


_NEGATIVE = (
    Special(_BETA.value, ("numerical", None, _BETA.slopes[2])),
    Special(_BETA.value, (None, "numerical", _BETA.slopes[2])),
)


def _negative_binomial(law: Any, value: torch.Tensor) -> LogTails:
    return _negative_binomial_of(law.total_count, law.logits, value)


def _gamma_poisson(law: Any, value: torch.Tensor) -> LogTails:
    return _negative_binomial_of(law.concentration, -law.rate.log(), value)


_DISCRETE: dict[type[Distribution], Callable[[Any, torch.Tensor], Interval]] = {
    dist.Bernoulli: _bernoulli,
    pyro_dist.OrderedLogistic: _ordered,
    dist.Poisson: _count(_poisson),
    dist.Binomial: _count(_binomial),
    dist.Geometric: _count(_geometric),
    dist.NegativeBinomial: _count(_negative_binomial),
    pyro_dist.GammaPoisson: _count(_gamma_poisson),
}


# Continuous families


def _gamma_mass(shape: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return (shape - 1) * x.log() - x - torch.lgamma(shape)


_GAMMA = (
    Special(log_gammainc, ("numerical", _mass_ratio(1.0, _gamma_mass))),
    Special(log_gammaincc, ("numerical", _mass_ratio(-1.0, _gamma_mass))),
)


def _gamma(law: Any, value: torch.Tensor) -> LogTails:
    return _GAMMA[0](law.concentration, law.rate * value), _GAMMA[1](law.concentration, law.rate * value)


def _beta(law: Any, value: torch.Tensor) -> LogTails:
    a, b, logit = law.concentration1, law.concentration0, value.log() - torch.log1p(-value)
    return _BETA(a, b, logit), _BETA(b, a, -logit)


def _student_mass(df: torch.Tensor, standard: torch.Tensor) -> torch.Tensor:
    return (
        torch.lgamma((df + 1) / 2)
        - torch.lgamma(df / 2)
        - (df * math.pi).log() / 2
        - (df + 1) / 2 * torch.log1p(standard**2 / df)
    )


def _student_below(df: np.ndarray, standard: np.ndarray) -> np.ndarray:
    half, near = np.full_like(df, 0.5), standard**2 / (df + standard**2)
    tail = np.where(
        near < 0.5, np.log(special.betaincc(half, df / 2, near)), log_betainc(df / 2, half, df / (df + standard**2))
    ) - math.log(2)
    return np.where(standard <= 0, tail, np.log1p(-np.exp(tail)))


_STUDENT = Special(_student_below, ("numerical", _mass_ratio(1.0, _student_mass)))


def _student(law: Any, value: torch.Tensor) -> LogTails:
    standard = (value - law.loc) / law.scale
    return _STUDENT(law.df, standard), _STUDENT(law.df, -standard)


_NORMAL = LOG_TAILS[dist.Normal]
_CONTINUOUS: dict[type[Distribution], Callable[[Any, torch.Tensor], LogTails]] = {
    **{family: tails for family, tails in LOG_TAILS.items() if family is not dist.TransformedDistribution},
    dist.Gamma: _gamma,
    dist.Beta: _beta,
    dist.StudentT: _student,
}
SCORED = tuple(family.__name__ for family in (*_DISCRETE, *_CONTINUOUS))
