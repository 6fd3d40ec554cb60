"""Noise that two worlds share to a degree: a correlation on the normal scale.

A person's noise is the normal number z in the factual world and ``r z + sqrt(1 - r²) e`` where a change reaches, with e
drawn anew: both are standard normal, so that the law of the variable is the same, whatever r is.
"""

import math

import torch
from torch.distributions import Distribution, Normal

from causalaudit.scm.noise.base import Noise
from causalaudit.scm.noise.both_tails import both_tails
from causalaudit.scm.noise.inverses import quantile_of
from causalaudit.scm.noise.residual import Residual
from causalaudit.scm.noise.tails import from_tails
from causalaudit.scm.noise.transformed import Transformed

_FARTHEST = 37.0  # normal numbers whose tails a double still holds


def recoupled(noise: Noise, law: Distribution, value: torch.Tensor, uniform: torch.Tensor, r: float) -> torch.Tensor:
    """Return noise whose correlation with a given one is r on the normal scale.

    Parameters
    ----------
    noise, law
        The noise of a site, which must be a residual or a quantile, and a law of the site. Only its family and its
        shape count, not its location and scale.
    value
        The noise in the factual world.
    uniform
        What the part that is drawn anew is made of.
    r
        From -1, where the noise is reversed, by 0, where it is independent, to 1, where it is the same.

    Examples
    --------
    >>> import torch, pyro.distributions as dist
    >>> from causalaudit.scm.noise import noise_of
    >>> law = dist.Normal(torch.tensor(3.0), torch.tensor(2.0))
    >>> recoupled(noise_of(law, "income"), law, torch.tensor(1.5), torch.tensor(0.5), 0.5)  # the median of what is new
    tensor(0.7500)
    """
    if isinstance(noise, Transformed):
        inner: Distribution = getattr(law, "base_dist")  # noqa: B009  (torch does not declare it)
        return recoupled(noise.base, inner, value, uniform, r)
    anew = math.sqrt(1.0 - r * r) * torch.special.ndtri(uniform)
    if not isinstance(noise, Residual):
        return _signed(r * _normal(value) + anew)
    if isinstance(law, Normal):
        return r * value + anew
    signed = from_tails(*both_tails(law, noise.push(law, value)))
    return noise.abduct(law, quantile_of(law, _signed(r * _normal(signed) + anew)), uniform)


def _normal(signed: torch.Tensor) -> torch.Tensor:
    """Return the normal number of a signed quantile."""
    below = signed > 0
    normal = torch.special.ndtri(torch.where(below, signed, -signed))
    return torch.where(below, normal, -normal).clamp(-_FARTHEST, _FARTHEST)


def _signed(normal: torch.Tensor) -> torch.Tensor:
    """Return the signed quantile of a normal number."""
    normal = normal.clamp(-_FARTHEST, _FARTHEST)
    tail = 0.5 * torch.erfc(normal.abs() / math.sqrt(2.0))
    return torch.where(normal < 0, tail, -tail)
