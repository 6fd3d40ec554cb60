"""Intervals and rectangles of the bivariate normal distribution, in logarithms, with derivatives.

Nothing is a difference of numbers of another size: far out, where probabilities are 1e-1000, they have all digits.
"""

import math
from functools import cache

import numpy as np
import torch

from causalaudit.scm.noise.log_tails import log_normal_cdf, log_one_minus_exp

_NEGLIGIBLE = 38.0  # logarithm by which an integrand has fallen where its integral is cut off
_HALVINGS = 24  # of the search for its peak
_CUTS = 12  # of the search for where it is negligible
_LOG_2PI = math.log(2 * math.pi)


def log_density(one: torch.Tensor, other: torch.Tensor, rho: float) -> torch.Tensor:
    """Return the logarithm of the Gaussian copula's density at two standard normal numbers."""
    spread = 1 - rho**2
    return (rho * one * other - rho**2 * (one**2 + other**2) / 2) / spread - math.log(spread) / 2


def log_interval(low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Return log P(low < Z <= high) of a standard normal number, by the tail in which it is small.

    Examples
    --------
    >>> import torch
    >>> low, high = torch.tensor([40.0, 41.0], dtype=torch.float64)
    >>> round(float(log_interval(low, high)), 3)
    -804.608
    """
    upper = low > 0
    low, high = torch.where(upper, -high, low), torch.where(upper, -low, high)
    below = log_normal_cdf(high)
    return below + log_one_minus_exp(log_normal_cdf(low) - below)


def log_conditional(low: torch.Tensor, high: torch.Tensor, given: torch.Tensor, rho: float) -> torch.Tensor:
    """Return log P(low < Z <= high) given a number whose correlation with Z is rho."""
    spread = math.sqrt(1 - rho**2)
    return log_interval((low - rho * given) / spread, (high - rho * given) / spread)


def nodes_for(rho: float) -> int:
    """Return how many nodes the integral over a rectangle takes: a correlation near one makes a sharp step."""
    return 8 * math.ceil((34 + 6 / math.sqrt(1 - rho**2)) / 8)  # found by comparing with 600 nodes: to 1e-10


@cache
def _rule(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the nodes and the logarithms of the weights of Gauss and Legendre between 0 and 1."""
    points, weights = np.polynomial.legendre.leggauss(count)
    return torch.from_numpy((points + 1) / 2), torch.from_numpy(np.log(weights / 2))


def log_rectangle(
    one: tuple[torch.Tensor, torch.Tensor], other: tuple[torch.Tensor, torch.Tensor], rho: float
) -> torch.Tensor:
    """Return log P(both of two standard normal numbers with correlation rho are in their intervals).

    To 1e-10, relative to the probability. The conditional probability of the second interval is integrated over the
    first, with nodes where the integrand is: it is log-concave. An array of it holds `nodes_for` numbers for each
    rectangle.

    Examples
    --------
    >>> import torch
    >>> quarter = torch.tensor(0.0, dtype=torch.float64), torch.tensor(50.0, dtype=torch.float64)
    >>> round(float(log_rectangle(quarter, quarter, 0.5).exp()), 12)  # a third, by symmetry
    0.333333333333
    """
    start, end = torch.broadcast_tensors(*integration_range(one, other, rho), other[0])[:2]
    points, log_weights = _rule(nodes_for(rho))
    at = start.unsqueeze(-1) + (end - start).unsqueeze(-1) * points
    second = log_conditional(other[0].unsqueeze(-1), other[1].unsqueeze(-1), at, rho)
    total = (second - at**2 / 2 + log_weights).logsumexp(-1)
    return total + (end - start).log() - _LOG_2PI / 2


def integration_range(
    one: tuple[torch.Tensor, torch.Tensor], other: tuple[torch.Tensor, torch.Tensor], rho: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the part of the first interval that counts; its ends carry slopes where they are those of the interval."""
    low, high = torch.broadcast_tensors(*one, other[0])[:2]
    with torch.no_grad():
        first, last, lower, upper = (end.detach() for end in torch.broadcast_tensors(*one, *other))
        peak = _peak(first, last, lower, upper, rho)
        top = _log_integrand(peak, lower, upper, rho)
        cuts = [_cut(peak, top, sign, lower, upper, rho) for sign in (-1.0, 1.0)]
    return torch.where(cuts[0] <= first, low, cuts[0]), torch.where(cuts[1] >= last, high, cuts[1])


def _log_integrand(at: torch.Tensor, lower: torch.Tensor, upper: torch.Tensor, rho: float) -> torch.Tensor:
    return log_conditional(lower, upper, at, rho) - at**2 / 2


def _peak(
    first: torch.Tensor, last: torch.Tensor, lower: torch.Tensor, upper: torch.Tensor, rho: float
) -> torch.Tensor:
    """Return where, between the ends of the first interval, the integrand is greatest.

    It is the fixed point of the mean of the first number given itself: a number is pulled towards what makes the
    second interval probable, and towards zero.
    """
    spread = math.sqrt(1 - rho**2)

    def slope(at: torch.Tensor) -> torch.Tensor:
        ends = [(end - rho * at) / spread for end in (lower, upper)]
        chance = log_interval(*ends)
        pull = [(-(end**2) / 2 - _LOG_2PI / 2 - chance).exp() for end in ends]
        return rho / spread * (pull[0] - pull[1]) - at

    zero = torch.zeros_like(first)
    reach = slope(zero)  # the pull is weaker the nearer to the peak
    left, right = torch.minimum(reach, zero), torch.maximum(reach, zero)
    left, right = (torch.minimum(torch.maximum(end, first), last) for end in (left, right))
    for _ in range(_HALVINGS):
        middle = (left + right) / 2
        rising = slope(middle) > 0
        left, right = torch.where(rising, middle, left), torch.where(rising, right, middle)
    return (left + right) / 2


def _cut(
    peak: torch.Tensor, top: torch.Tensor, sign: float, lower: torch.Tensor, upper: torch.Tensor, rho: float
) -> torch.Tensor:
    """Return a place beyond the peak where the integrand is negligible: no farther than for a standard normal."""
    near, far = torch.zeros_like(peak), torch.full_like(peak, math.sqrt(2 * _NEGLIGIBLE))
    for _ in range(_CUTS):
        middle = (near + far) / 2
        counts = _log_integrand(peak + sign * middle, lower, upper, rho) > top - _NEGLIGIBLE
        near, far = torch.where(counts, middle, near), torch.where(counts, far, middle)
    return peak + sign * far
