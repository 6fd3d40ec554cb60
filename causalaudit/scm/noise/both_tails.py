"""P(X <= x) and P(X > x) of any one-dimensional family, each computed so that it is exact where it is small."""

import math
from collections.abc import Callable
from typing import Any

import pyro.distributions as pyro_dist
import torch
import torch.distributions as dist
from torch.distributions import Distribution

from causalaudit.scm.noise.counts import COUNTS
from causalaudit.scm.noise.elementwise import elementwise
from causalaudit.scm.noise.finite import steps
from causalaudit.scm.noise.log_tails import LOG_TAILS, has_cdf, log_tails, of_base
from causalaudit.scm.noise.quantile import QUANTILES

Tails = tuple[torch.Tensor, torch.Tensor]


def is_discrete(law: Distribution) -> bool:
    """Tell whether the values of a law are counts or codes; torch does not say so of a mixture."""
    if isinstance(law, dist.MixtureSameFamily):
        return is_discrete(law.component_distribution)
    support: Any = law.support
    return bool(support.is_discrete)


def has_tails(law: Distribution) -> bool:
    """Tell whether `both_tails` knows the distribution function of a law."""
    if law.event_shape:
        return False
    if isinstance(law, dist.MixtureSameFamily):
        return has_tails(law.component_distribution)
    if isinstance(law, pyro_dist.ZeroInflatedDistribution):
        return is_discrete(law) and has_tails(law.base_dist)
    if isinstance(law, dist.TransformedDistribution) and not set(type(law).__mro__) & set(_TABLED):
        return has_tails(law.base_dist) and all(transform.bijective for transform in law.transforms)
    tabled = set(type(law).__mro__) & {*_TABLED, dist.Bernoulli, dist.Categorical}
    return bool(tabled) or hasattr(law, "both_tails") or has_cdf(law)


def both_tails(law: Distribution, value: torch.Tensor) -> Tails:
    """Return P(X <= value) and P(X > value), also for values outside of the support.

    Examples
    --------
    >>> import torch, torch.distributions as dist
    >>> parts = dist.Normal(torch.tensor([-2.0, 2.0], dtype=torch.float64), 1.0)
    >>> law = dist.MixtureSameFamily(dist.Categorical(torch.tensor([0.5, 0.5], dtype=torch.float64)), parts)
    >>> [round(float(tail), 3) for tail in both_tails(law, torch.tensor(0.0, dtype=torch.float64))]
    [0.5, 0.5]
    """
    low, high = ends(law)
    below, above = _inside(law, torch.minimum(torch.maximum(value, low), high))
    below, above = torch.where(value < low, 0.0, below), torch.where(value < low, 1.0, above)
    return torch.where(value >= high, 1.0, below), torch.where(value >= high, 0.0, above)


def ends(law: Distribution) -> Tails:
    """Return the least and the greatest value of a law."""
    if isinstance(law, dist.MixtureSameFamily):
        low, high = ends(law.component_distribution)
        return (low.amin(-1), high.amax(-1)) if low.ndim else (low, high)
    support: Any = law.support
    least, greatest = getattr(support, "lower_bound", -torch.inf), getattr(support, "upper_bound", torch.inf)
    return torch.as_tensor(least, dtype=torch.float64), torch.as_tensor(greatest, dtype=torch.float64)


def _inside(law: Any, value: torch.Tensor) -> Tails:
    if hasattr(law, "both_tails"):  # ours, or a user's own that knows them
        own: Tails = law.both_tails(value)
        return own
    if isinstance(law, dist.MixtureSameFamily):
        below, above = both_tails(law.component_distribution, value.unsqueeze(-1))
        weights = law.mixture_distribution.probs
        return (weights * below).sum(-1), (weights * above).sum(-1)
    if isinstance(law, pyro_dist.ZeroInflatedDistribution):
        below, above = both_tails(law.base_dist, value)
        return law.gate + (1 - law.gate) * below, (1 - law.gate) * above
    if isinstance(law, dist.Bernoulli | dist.Categorical):
        return _of_steps(law, value)
    for family in type(law).__mro__:
        if family in _TABLED:
            return _TABLED[family](law, value)
    if isinstance(law, dist.TransformedDistribution):
        return of_base(law, value, both_tails)
    below, above = log_tails(law, value)
    return below.exp(), above.exp()


def _of_steps(law: Any, value: torch.Tensor) -> Tails:
    below, above = torch.zeros_like(value), torch.ones_like(value)
    for code, (under, over) in enumerate(zip(*steps(law), strict=True)):
        reached = value >= code
        below, above = torch.where(reached, under, below), torch.where(reached, over, above)
    return below, above


def _from_scipy(entry: Any) -> Callable[[Any, torch.Tensor], Tails]:
    def of(law: Any, value: torch.Tensor) -> Tails:
        parameters = entry.parameters(law)
        return elementwise(entry.below, value, *parameters), elementwise(entry.above, value, *parameters)

    return of


def _from_logarithms(function: Callable[[Any, torch.Tensor], Tails]) -> Callable[[Any, torch.Tensor], Tails]:
    def of(law: Any, value: torch.Tensor) -> Tails:
        below, above = function(law, value)
        return below.exp(), above.exp()

    return of


def _normal(law: Any, value: torch.Tensor) -> Tails:
    standard = (value - law.loc) / law.scale
    return 0.5 * torch.erfc(-standard / math.sqrt(2)), 0.5 * torch.erfc(standard / math.sqrt(2))


_TABLED: dict[type[Distribution], Callable[[Any, torch.Tensor], Tails]] = {
    **{family: _from_scipy(entry) for family, entry in (*QUANTILES.items(), *COUNTS.items())},
    **{
        family: _from_logarithms(function)
        for family, function in LOG_TAILS.items()
        if family is not dist.TransformedDistribution
    },
    dist.Normal: _normal,  # faster than by logarithms
}
