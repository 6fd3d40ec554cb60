"""Uniform noise that keeps its precision in both tails.

A quantile noise is stored as one signed number: ``q > 0`` means that the cumulative probability
is ``q``; ``q <= 0`` means that the survival probability is ``-q``. Whichever of the two is small is
the one that is stored, so that a value nine standard deviations out still comes back exactly.
"""

import torch

# Spacing of doubles, relative; and the smallest survival probability we keep for unbounded counts.
_ULP = 2.0**-52
_TINY = 1e-300


def from_tails(below: torch.Tensor, above: torch.Tensor) -> torch.Tensor:
    """Return the signed quantile of cumulative probability `below` and survival `above`."""
    return torch.where(below <= 0.5, below, -above)


def from_uniform(uniform: torch.Tensor) -> torch.Tensor:
    """Return the signed quantile of an ordinary uniform number."""
    return from_tails(uniform, 1.0 - uniform)


def to_uniform(quantile: torch.Tensor) -> torch.Tensor:
    """Return the ordinary uniform number of a signed quantile, for people to read."""
    return torch.where(quantile > 0, quantile, 1.0 + quantile)


def inside_step(
    below: tuple[torch.Tensor, torch.Tensor], above: tuple[torch.Tensor, torch.Tensor], uniform: torch.Tensor
) -> torch.Tensor:
    """Place `uniform` inside the step of a distribution function that a discrete value occupies.

    Parameters
    ----------
    below
        F(x - 1) and F(x).
    above
        The survival probabilities 1 - F(x - 1) and 1 - F(x), computed without cancellation.
    uniform
        Numbers in (0, 1).

    Returns
    -------
    torch.Tensor
        Signed quantiles of Uniform(F(x - 1), F(x)].
    """
    (below_low, below_high), (above_low, above_high) = below, above
    cumulative = below_low + (1.0 - uniform) * (below_high - below_low)
    survival = above_high + uniform * (above_low - above_high)
    # Rounding must not carry a quantile out of its half-open step.
    cumulative = torch.minimum(torch.maximum(cumulative, below_low * (1 + _ULP) + _TINY), below_high)
    survival = torch.maximum(torch.minimum(survival, above_low * (1 - _ULP)), above_high)
    return from_tails(cumulative, survival)
