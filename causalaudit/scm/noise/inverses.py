"""The inverse distribution function at signed quantiles, exact in both tails: by formula where there is one."""

import math
from collections.abc import Callable
from typing import Any

import pyro.distributions as pyro_dist
import torch
import torch.distributions as dist
from torch.distributions import Distribution

from causalaudit.scm.noise.both_tails import is_discrete
from causalaudit.scm.noise.counts import COUNTS
from causalaudit.scm.noise.inverted import invert, near
from causalaudit.scm.noise.quantile import QUANTILES
from causalaudit.scm.noise.residual import RESIDUALS
from causalaudit.scm.noise.tails import from_tails, to_uniform

Standard = Callable[[torch.Tensor], torch.Tensor]


def _symmetric(lower: Standard) -> Standard:
    """Return the inverse of a family that is symmetric about zero from that of its lower half."""
    return lambda signed: torch.where(signed > 0, 1.0, -1.0) * lower(signed.abs())


def _exponential(signed: torch.Tensor) -> torch.Tensor:
    below = signed > 0
    return torch.where(below, -torch.log1p(-torch.where(below, signed, 0.5)), -torch.where(below, 0.5, -signed).log())


def _gumbel(signed: torch.Tensor) -> torch.Tensor:
    below = signed > 0
    log = torch.where(below, torch.where(below, signed, 0.5).log(), torch.log1p(torch.where(below, -0.5, signed)))
    return -(-log).log()


def _half_normal(signed: torch.Tensor) -> torch.Tensor:
    below = signed > 0
    near_zero = math.sqrt(2) * torch.erfinv(torch.where(below, signed, 0.5))
    return torch.where(below, near_zero, -torch.special.ndtri(torch.where(below, 0.5, -signed) / 2))


def _half_cauchy(signed: torch.Tensor) -> torch.Tensor:
    tangent = torch.tan(math.pi / 2 * signed.abs())
    return torch.where(signed > 0, tangent, 1 / tangent)


_STANDARD: dict[type[Distribution], Standard] = {
    dist.Normal: _symmetric(torch.special.ndtri),
    dist.Laplace: _symmetric(lambda tail: (2 * tail).log()),
    dist.Cauchy: _symmetric(lambda tail: -1 / torch.tan(math.pi * tail)),
    pyro_dist.Logistic: _symmetric(torch.logit),
    dist.Exponential: _exponential,
    dist.Gumbel: _gumbel,
    dist.HalfNormal: _half_normal,
    dist.HalfCauchy: _half_cauchy,
    dist.Uniform: to_uniform,
}


def quantile_of(law: Any, signed: torch.Tensor) -> torch.Tensor:
    """Return the smallest value at which a law reaches signed quantiles; not a number where these are 0.

    Examples
    --------
    >>> import torch, torch.distributions as dist
    >>> law = dist.LogNormal(torch.zeros((), dtype=torch.float64), 1.0)
    >>> round(float(quantile_of(law, torch.tensor(-0.5, dtype=torch.float64))), 3)  # half of the mass is above
    1.0
    """
    if hasattr(law, "quantile"):
        own: torch.Tensor = law.quantile(signed)
        return own
    for family in type(law).__mro__:
        if family in _STANDARD:
            return RESIDUALS[family].push(law, _STANDARD[family](signed))
        for table in (QUANTILES, COUNTS):
            if family in table:
                found: torch.Tensor = table[family].push(law, signed)
                return found
    if isinstance(law, pyro_dist.ZeroInflatedDistribution):
        return near(law, quantile_of(law.base_dist, beyond(signed, law.gate, 1 - law.gate)), signed)
    if isinstance(law, dist.TransformedDistribution):
        return _transformed(law, signed)
    return invert(law, signed, whole=is_discrete(law))


def _transformed(law: Any, signed: torch.Tensor) -> torch.Tensor:
    for transform in law.transforms:
        signed = torch.where(torch.as_tensor(transform.sign) > 0, signed, -signed)
    value = quantile_of(law.base_dist, signed)
    for transform in law.transforms:
        value = transform(value)
    return value


def within(signed: torch.Tensor, mass: torch.Tensor, rest: torch.Tensor) -> torch.Tensor:
    """Undo `beyond`: return the quantiles of a law from those of what is left without a mass at its lower end."""
    below = torch.where(signed > 0, mass + rest * signed, 1 + rest * signed)
    above = torch.where(signed > 0, rest * (1 - signed), -rest * signed)
    return from_tails(below, above)


def beyond(signed: torch.Tensor, mass: torch.Tensor, rest: torch.Tensor) -> torch.Tensor:
    """Return the quantiles of what is left of a law when a mass at its lower end is taken away.

    Quantiles inside of the mass become the smallest there are.
    """
    below = torch.where(signed > 0, signed - mass, rest + signed) / rest
    above = torch.where(signed > 0, 1 - signed, -signed) / rest
    return from_tails(below.clamp(min=1e-300), above)
