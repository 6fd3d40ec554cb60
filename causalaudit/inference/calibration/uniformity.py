"""Whether ranks are uniform: bins, and a band that holds a whole curve of cumulative shares."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import stats

from causalaudit.randomness import generator

_BINS = 20
_POINTS = 100  # at which cumulative ranks are compared
_SIMULATIONS = 20_000  # of uniform ranks, for the simultaneous band


def bins(count: int, values: int) -> int:
    """Return as many bins as have ten ranks each on average, at most twenty."""
    return int(np.clip(count // 10, 1, min(_BINS, values)))


@dataclass(frozen=True)
class UniformityBand:
    """A band that holds a whole curve of cumulative shares of uniform ranks, minus what is expected.

    Attributes
    ----------
    cuts
        Numbers of ranks below which the shares are taken.
    points
        The same as shares of all ranks.
    low, high
        The band.
    """

    cuts: np.ndarray
    points: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def difference(self, ranks: np.ndarray) -> np.ndarray:
        """Return the cumulative shares of some ranks minus those of uniform ones."""
        return self._below(ranks) / len(ranks) - self.points

    def leaves(self, ranks: np.ndarray) -> bool:
        """Whether the curve of some ranks leaves the band."""
        difference = self.difference(ranks)
        return bool(((difference > self.high) | (difference < self.low)).any())

    def worst(self, ranks: np.ndarray) -> int:
        """Return the position of the point at which the curve is the least probable."""
        return int(np.argmin(_rarity(self._below(ranks), stats.binom(len(ranks), self.points))))

    def _below(self, ranks: np.ndarray) -> np.ndarray:
        return np.searchsorted(np.sort(ranks), self.cuts, side="left")


def _rarity(counts: np.ndarray, laws: Any) -> np.ndarray:
    """Return the two-sided p-value of each count, at its own point."""
    result: np.ndarray = 2 * np.minimum(laws.cdf(counts), laws.sf(counts - 1))
    return result


@lru_cache(maxsize=16)
def simultaneous_band(count: int, values: int, level: float) -> UniformityBand:
    """Find the pointwise binomial intervals that together hold a curve with probability ``1 - level``."""
    cuts = np.unique(np.round(np.linspace(0, values, min(values, _POINTS) + 1)).astype(int))
    shares, points = np.diff(cuts) / values, cuts[1:-1] / values
    sums = generator(0, "band").multinomial(count, shares, size=_SIMULATIONS).cumsum(axis=1)[:, :-1]
    laws = stats.binom(count, points)
    rarity = _rarity(np.arange(count + 1)[:, None], laws)  # of each count, at each point
    smallest = rarity[sums, np.arange(len(points))].min(axis=1, initial=1.0)
    pointwise = float(np.quantile(smallest, level))
    low, high = laws.ppf(pointwise / 2), laws.isf(pointwise / 2)
    return UniformityBand(cuts[1:-1], points, low / count - points, high / count - points)
