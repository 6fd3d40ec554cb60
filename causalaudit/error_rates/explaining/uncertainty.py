"""Estimated rates and how sure they are: from the influence of each person, or under random weights of the people."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.stats import norm

from causalaudit.adjustment import spread
from causalaudit.error_rates.explaining.crossed_rates import CrossedRates, UnaffectedRates
from causalaudit.error_rates.explaining.sample import Sample
from causalaudit.progress import pieces, watched
from causalaudit.randomness import dirichlet_weights


@dataclass(frozen=True, eq=False)
class EstimatedRates:
    """The rates N(xd, xi | x, y) of a sample by xd, xi and x; NaN where xi ≠ x and nothing explains.

    Attributes
    ----------
    sample : Sample
        The people.
    adjusted : CrossedRates, UnaffectedRates or None
        The estimator of rates with xi ≠ x.
    alpha : float
        The level of intervals.
    resampled : numpy.ndarray or None
        The rates under random weights of the people (first axis), for bootstrap intervals; without them, intervals are
        Wald's.
    """

    sample: Sample
    adjusted: CrossedRates | UnaffectedRates | None
    alpha: float
    resampled: np.ndarray | None = None

    @cached_property
    def rates(self) -> np.ndarray:
        """The estimates."""
        return rates_under(self.sample, self.adjusted, self.sample.counts[None])[0]

    @cached_property
    def influence(self) -> np.ndarray:
        """The influence of each person (first axis) on the rates."""
        own = self.sample.own_influence(np.stack([self.rates[:, x, x] for x in (0, 1)], axis=-1))
        if self.adjusted is None:
            return spread(own, np.full_like(own, np.nan))
        crossed = np.stack([self.rates[:, xi, 1 - xi] for xi in (0, 1)], axis=-1)
        return spread(own, self.adjusted.influence(crossed))

    def table(self, function: Callable[[np.ndarray], np.ndarray]) -> pd.DataFrame:
        """Return the estimates of linear functions of the rates with their errors and intervals, a row for each."""
        value = function(self.rates)
        if self.resampled is None:
            kind, error = "wald", np.sqrt((function(self.influence) ** 2).sum(axis=0)) / len(self.sample)
            half = norm.ppf(1 - self.alpha / 2) * error
            low, high = value - half, value + half
        else:
            kind, drawn = "bootstrap", function(self.resampled)
            error = drawn.std(axis=0, ddof=min(1, len(drawn) - 1))
            low, high = np.quantile(drawn, [self.alpha / 2, 1 - self.alpha / 2], axis=0)
        return pd.DataFrame(
            {"mean": value, "sd": error, f"{kind}_low": low, f"{kind}_high": high, "identified": np.isfinite(value)}
        )


def rates_under(sample: Sample, adjusted: CrossedRates | UnaffectedRates | None, weights: np.ndarray) -> np.ndarray:
    """Return N(xd, xi | x, y) by set of weights, xd, xi and x."""
    own = sample.own_rates(weights)
    return spread(own, np.full_like(own, np.nan) if adjusted is None else adjusted.crossed(weights))


def resample(
    sample: Sample, adjusted: CrossedRates | UnaffectedRates | None, resamples: int, seed: int, progress: bool
) -> np.ndarray:
    """Return the rates under Dirichlet weights of the people (the Bayesian bootstrap), times their survey weights."""
    parts = pieces(resamples, each=len(sample))

    def drawn(part: slice) -> np.ndarray:
        weights = dirichlet_weights(seed, "bootstrap", range(part.start, part.stop), len(sample))
        return rates_under(sample, adjusted, weights * sample.counts)

    return np.concatenate([drawn(part) for part in watched(parts, len(parts), "Bootstrap", progress)])
