"""Logarithms of both tails of continuous families, in torch: they carry gradients, and the small tail exactly."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.distributions as dist
from pyro import distributions as pyro_dist
from torch.distributions import Distribution
from torch.nn.functional import logsigmoid

from causalaudit.errors import ProgramError

LogTails = tuple[torch.Tensor, torch.Tensor]


def log_one_minus_exp(logarithm: torch.Tensor) -> torch.Tensor:
    """Return log(1 - exp(x)) of negative numbers, whichever of the two is small; its slopes are numbers everywhere."""
    near = logarithm > -math.log(2)
    close = torch.where(near & (logarithm < 0), logarithm, -0.5)
    found = torch.where(near, (-torch.expm1(close)).log(), torch.log1p(-torch.where(near, -1.0, logarithm).exp()))
    return torch.where(logarithm < 0, found, -torch.inf)


def log_normal_cdf(standard: torch.Tensor) -> torch.Tensor:
    """Return the logarithm of the standard normal distribution function; torch's own is slow inside of vmap."""
    lower = standard < 0
    tail = torch.where(lower, -standard, 1.0) / math.sqrt(2)
    far = (0.5 * torch.special.erfcx(tail)).log() - tail**2
    return torch.where(lower, far, torch.log1p(-0.5 * torch.erfc(torch.where(lower, 1.0, standard) / math.sqrt(2))))


def _standard(law: Any, value: torch.Tensor) -> torch.Tensor:
    return (value - law.loc) / law.scale


def _normal(law: Any, value: torch.Tensor) -> LogTails:
    standard = _standard(law, value)
    return log_normal_cdf(standard), log_normal_cdf(-standard)


def _logistic(law: Any, value: torch.Tensor) -> LogTails:
    standard = _standard(law, value)
    return logsigmoid(standard), logsigmoid(-standard)


def _laplace(law: Any, value: torch.Tensor) -> LogTails:
    standard = _standard(law, value)
    tail = -standard.abs() - math.log(2)
    lower = standard < 0
    return torch.where(lower, tail, log_one_minus_exp(tail)), torch.where(lower, log_one_minus_exp(tail), tail)


def _cauchy_tail(standard: torch.Tensor) -> torch.Tensor:
    """Return log P(X < -x): atan of the reciprocal far out, where one half minus atan(x) would cancel."""
    far = standard > 1
    tail = torch.where(far, torch.atan(1 / torch.where(far, standard, 1.0)), math.pi / 2 - torch.atan(standard))
    return (tail / math.pi).log()


def _cauchy(law: Any, value: torch.Tensor) -> LogTails:
    standard = _standard(law, value)
    return _cauchy_tail(-standard), _cauchy_tail(standard)


def _gumbel(law: Any, value: torch.Tensor) -> LogTails:
    below = -torch.exp(-_standard(law, value))
    return below, log_one_minus_exp(below)


def _exponential(law: Any, value: torch.Tensor) -> LogTails:
    above = -law.rate * value.clamp(min=0)
    return log_one_minus_exp(above), above


def _half_normal(law: Any, value: torch.Tensor) -> LogTails:
    standard = value.clamp(min=0) / law.scale
    return torch.erf(standard / math.sqrt(2)).log(), log_normal_cdf(-standard) + math.log(2)


def _half_cauchy(law: Any, value: torch.Tensor) -> LogTails:
    standard = value.clamp(min=0) / law.scale
    return (torch.atan(standard) * 2 / math.pi).log(), _cauchy_tail(standard) + math.log(2)


def _uniform(law: Any, value: torch.Tensor) -> LogTails:
    share = ((value - law.low) / (law.high - law.low)).clamp(0, 1)
    return share.log(), torch.log1p(-share)


def of_base(law: Any, value: torch.Tensor, tails: Callable[[Any, torch.Tensor], LogTails]) -> LogTails:
    """Return the tails of a transformed law by those of its base; a falling transform exchanges them."""
    rising = torch.ones(())
    for transform in reversed(law.transforms):
        value, rising = transform.inv(value), rising * transform.sign
    below, above = tails(law.base_dist, value)
    return torch.where(rising > 0, below, above), torch.where(rising > 0, above, below)


def _transformed(law: Any, value: torch.Tensor) -> LogTails:
    return of_base(law, value, log_tails)


LOG_TAILS: dict[type[Distribution], Callable[[Any, torch.Tensor], LogTails]] = {
    dist.Normal: _normal,
    dist.Laplace: _laplace,
    dist.Cauchy: _cauchy,
    dist.Gumbel: _gumbel,
    dist.Exponential: _exponential,
    dist.HalfNormal: _half_normal,
    dist.HalfCauchy: _half_cauchy,
    dist.Uniform: _uniform,
    pyro_dist.Logistic: _logistic,
    dist.TransformedDistribution: _transformed,
}


def has_cdf(law: Distribution) -> bool:
    """Tell whether a family has a distribution function of its own."""
    return type(law).cdf is not Distribution.cdf


def log_tails(law: Distribution, value: torch.Tensor) -> LogTails:
    """Return log P(X <= value) and log P(X > value).

    Of a family that is not in the table they come from its own `cdf`, and its upper tail ends where that rounds to one.

    Raises
    ------
    ProgramError
        If the family has no distribution function.

    Examples
    --------
    >>> import torch, torch.distributions as dist
    >>> below, above = log_tails(dist.Normal(0.0, 1.0), torch.tensor(20.0, dtype=torch.float64))
    >>> round(float(above), 3)
    -203.917
    """
    for family in type(law).__mro__:
        if family in LOG_TAILS:
            return LOG_TAILS[family](law, value)
    if not has_cdf(law):
        raise ProgramError(
            f"{type(law).__name__} has no distribution function here that can be differentiated. Use one of "
            f"{', '.join(sorted(family.__name__ for family in LOG_TAILS))}, or a distribution with a cdf."
        )
    below = law.cdf(value)
    return below.log(), torch.log1p(-below)
