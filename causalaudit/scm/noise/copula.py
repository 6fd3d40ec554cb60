"""A Gaussian copula between the noises of two variables of a person: a hidden common cause of both."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy import special
from torch.distributions import Distribution

from causalaudit.scm.noise.bivariate_normal import (
    integration_range,
    log_conditional,
    log_density,
    log_interval,
    log_rectangle,
)
from causalaudit.scm.noise.elementwise import elementwise
from causalaudit.scm.noise.normal_scores import Interval, Point, scores_of

_POINTS = 129  # at which the noise of a rectangle is tabulated to be drawn
_ROWS = 2**13  # rectangles that are tabulated at once: 8 MiB an array
_LEAST, _MOST = 2.0**-54, 1 - 2.0**-53  # uniforms


def log_pair(one: Point | Interval, other: Point | Interval, rho: float) -> torch.Tensor:
    """Return log P of two values: a density, an interval of a conditional normal, or a rectangle.

    It takes the place of the two log-probabilities, which are not in it where a value is discrete.
    """
    if isinstance(one, Interval) and isinstance(other, Interval):
        return log_rectangle((one.low, one.high), (other.low, other.high), rho)
    if isinstance(one, Interval):
        one, other = other, one
    assert isinstance(one, Point)
    return one.log_density + log_given(other, one.score, rho)


def log_given(value: Point | Interval, partner: torch.Tensor, rho: float) -> torch.Tensor:
    """Return log P of a value given the standard normal number that the noise of its partner is."""
    if isinstance(value, Interval):
        return log_conditional(value.low, value.high, partner, rho)
    return value.log_density + log_density(value.score, partner, rho)


def coupled_uniform(first: torch.Tensor, second: torch.Tensor, rho: float) -> torch.Tensor:
    """Return uniforms that have the copula with the first, made from independent ones.

    Examples
    --------
    >>> import torch
    >>> high = torch.tensor(0.99, dtype=torch.float64)
    >>> round(float(coupled_uniform(high, torch.full_like(high, 0.5), 0.5)), 3)  # Φ(0.5 Φ⁻¹(0.99))
    0.878
    """
    return elementwise(partial(_coupled, rho), first, second)


def _coupled(rho: float, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    score = rho * special.ndtri(first) + np.sqrt(1 - rho**2) * special.ndtri(second)
    return np.clip(special.ndtr(score), _LEAST, _MOST)


# Abduction. What is drawn is a uniform: which share of the noises that give a value are above the person's own.


@dataclass(frozen=True)
class Partner:
    """The variable of a pair that comes first, seen from the other one.

    Attributes
    ----------
    name, law, value
        Of the first variable.
    rho
        The correlation of the two noises on the normal scale.
    is_given
        Whether it is conditioned on, and not scored.
    """

    name: str
    law: Distribution
    value: torch.Tensor
    rho: float
    is_given: bool = False

    def log_probability(self, law: Distribution, value: torch.Tensor) -> torch.Tensor:
        """Return log P of the pair, the other variable having this law and value."""
        found = log_pair(scores_of(self.law, self.value), scores_of(law, value), self.rho)
        possible = torch.ones((), dtype=torch.bool)
        for one, its_value in ((self.law, self.value), (law, value)):
            if isinstance(one, torch.distributions.TransformedDistribution):
                possible = possible & one.support.check(its_value)
        return torch.where(possible, found, -torch.inf)

    def uniforms(
        self, name: str, law: Distribution, value: torch.Tensor, uniforms: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        """Return, from independent uniforms, those with which discrete noises of the pair are abducted together.

        A noise is drawn from its conditional given the noise of the other variable, if that is known, and both of two
        discrete ones from the part of the copula that gives the two values.
        """
        first, second = scores_of(self.law, self.value), scores_of(law, value)
        found: dict[str, torch.Tensor] = {}
        if isinstance(first, Interval):
            if isinstance(second, Point):
                score = _score_given(first, second.score, uniforms[self.name], self.rho)
            else:
                score = _score_in_rectangle(first, second, uniforms[self.name], self.rho)
            found[self.name] = _share_above(first, score)
        else:
            score = first.score
        if isinstance(second, Interval):
            found[name] = _share_above(second, _score_given(second, score, uniforms[name], self.rho))
        return found


def _share_above(interval: Interval, score: torch.Tensor) -> torch.Tensor:
    inside = torch.minimum(torch.maximum(score, interval.low), interval.high)
    return (log_interval(inside, interval.high) - log_interval(interval.low, interval.high)).exp().clamp(_LEAST, _MOST)


def _score_given(interval: Interval, partner: torch.Tensor, uniform: torch.Tensor, rho: float) -> torch.Tensor:
    """Draw a standard normal number in an interval given that of the partner; uniforms near one are low."""
    spread = (1 - rho**2) ** 0.5
    ends = ((end - rho * partner) / spread for end in (interval.low, interval.high))
    return rho * partner + spread * elementwise(_truncated, *ends, 1 - uniform)


def _truncated(low: np.ndarray, high: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the quantile of a standard normal number between two limits."""
    upper = low > 0
    low, high = np.where(upper, -high, low), np.where(upper, -low, high)
    share = np.where(upper, 1 - share, share)
    top = special.log_ndtr(high)
    below = top + np.log1p((1 - share) * np.expm1(special.log_ndtr(low) - top))
    return np.where(upper, -1.0, 1.0) * special.ndtri_exp(below)


def _score_in_rectangle(first: Interval, second: Interval, uniform: torch.Tensor, rho: float) -> torch.Tensor:
    """Draw the first of two standard normal numbers given the intervals of both."""
    ends = (first.low, first.high, second.low, second.high)
    return elementwise(partial(_in_rectangle, rho), *ends, 1 - uniform)


def _in_rectangle(rho: float, *columns: np.ndarray) -> np.ndarray:
    flat = np.stack([np.ravel(column) for column in columns])
    starts = range(0, flat.shape[1], _ROWS)
    parts = [_quantiles(rho, flat[:4, at : at + _ROWS], flat[4, at : at + _ROWS]) for at in starts]
    return np.concatenate(parts).reshape(columns[0].shape)


def _quantiles(rho: float, ends: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return quantiles of the first number, each in its rectangle; those of equal people are tabulated once."""
    which, unit = np.unique(ends, axis=1, return_inverse=True)
    low, high, lower, upper = torch.from_numpy(which)
    start, end, below, density = _tabulated(low, high, lower, upper, rho)
    unit = np.ravel(unit)
    # One search for everybody: the distribution function of unit j, plus j, follows on that of unit j - 1.
    ladder = (below + np.arange(below.shape[1])).T.ravel()
    cell = (np.searchsorted(ladder, unit + share) - 1 - unit * _POINTS).clip(0, _POINTS - 2)
    left, right, mass = density[cell, unit], density[cell + 1, unit], below[cell + 1, unit] - below[cell, unit]
    part = ((share - below[cell, unit]) / np.maximum(mass, 1e-300)).clip(0.0, 1.0)
    bend = (right - left) / np.maximum(right + left, 1e-300)  # of a density that is linear in a cell
    root = np.sqrt(np.maximum((1 - bend) ** 2 + 4 * bend * part, 0.0))
    inside = (2 * part / np.maximum(1 - bend + root, 1e-300)).clip(0.0, 1.0)
    return np.asarray(start[unit] + (end - start)[unit] * (cell + inside) / (_POINTS - 1))


def _tabulated(
    low: torch.Tensor, high: torch.Tensor, lower: torch.Tensor, upper: torch.Tensor, rho: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return where the first number of each rectangle lies, and there its distribution function and its density."""
    start, end = integration_range((low, high), (lower, upper), rho)
    at = start + (end - start) * torch.linspace(0.0, 1.0, _POINTS, dtype=torch.float64).unsqueeze(-1)
    density = (log_conditional(lower, upper, at, rho) - at**2 / 2).softmax(0).numpy()
    slope = np.gradient(density, axis=0)
    # The trapezoidal rule with its first correction, which is exact for cubic densities.
    cells = np.maximum((density[1:] + density[:-1]) / 2 + (slope[:-1] - slope[1:]) / 12, 0.0)
    below = np.concatenate([np.zeros_like(cells[:1]), cells.cumsum(axis=0)])
    return start.numpy(), end.numpy(), below / below[-1:], density
