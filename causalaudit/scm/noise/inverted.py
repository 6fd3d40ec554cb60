"""The inverse of a distribution function that has none in closed form, by halving.

The search goes over the doubles themselves (or the whole numbers), in their order. It ends after 64 steps at the
smallest value whose distribution function reaches the quantile, to the last bit, in tails and at atoms alike, and has
the same course for everybody, as `torch.func.vmap` needs.
"""

from typing import Any

import torch
from torch.distributions import Distribution

from causalaudit.scm.noise.both_tails import both_tails, ends

_GREATEST = 2.0**53  # of the whole numbers that a double holds
_SIGN = -(2**63)


class _Bits(torch.autograd.Function):
    """The bits of a number as one of the other type; old versions of torch cannot run a plain view under vmap."""

    @staticmethod
    def forward(value: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
        return value.view(kind)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, value: torch.Tensor, kind: torch.dtype) -> tuple[torch.Tensor, Any]:
        return _Bits.apply(value, kind), in_dims[0]


def _key(value: torch.Tensor) -> torch.Tensor:
    """Return whole numbers in the order of doubles, neighbours to neighbours."""
    bits: torch.Tensor = _Bits.apply(value + 0.0, torch.int64)  # no minus zero
    return torch.where(bits >= 0, bits, _SIGN - bits)


def _double(key: torch.Tensor) -> torch.Tensor:
    found: torch.Tensor = _Bits.apply(torch.where(key >= 0, key, _SIGN - key), torch.float64)
    return found


def just_below(value: torch.Tensor) -> torch.Tensor:
    """Return the next smaller double."""
    return _double(_key(value) - 1)


def _halfway(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Return the whole number in the middle of two whose sum may be too large for an integer."""
    return (low >> 1) + (high >> 1) + (low & high & 1)


def invert(law: Distribution, quantile: torch.Tensor, whole: bool) -> torch.Tensor:
    """Return the smallest value of a law, a whole number if so asked, at which it reaches signed quantiles."""
    low, high = (end + torch.zeros_like(quantile) for end in ends(law))
    if whole:
        low, high = low.clamp(min=-_GREATEST).to(torch.int64), high.clamp(max=_GREATEST).to(torch.int64)
    else:
        low, high = _key(low), _key(high)
    low = low - 1  # not reached, as `high` is
    for _ in range(54 if whole else 64):
        middle = _halfway(low, high)
        below, above = both_tails(law, middle.to(torch.float64) if whole else _double(middle))
        reached = torch.where(quantile > 0, below >= quantile, above <= -quantile) | (middle >= high)
        low, high = torch.where(reached, low, middle), torch.where(reached, middle, high)
    found = high.to(torch.float64) if whole else _double(high)
    return torch.where(quantile.isnan() | (quantile == 0), torch.nan, found)


def near(law: Distribution, guess: torch.Tensor, signed: torch.Tensor) -> torch.Tensor:
    """Return the smallest whole number, at most one off a guess, at which a law reaches signed quantiles."""
    found = guess + 1
    for candidate in (guess, guess - 1):
        below, above = both_tails(law, candidate)
        reached = torch.where(signed > 0, below >= signed, above <= -signed) & (candidate >= 0)
        found = torch.where(reached, candidate, found)
    return found
