"""Doubly robust, cross-fitted rates N(xd, xi | x, y) with xi ≠ x: the default where covariates do not fill a table."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from causalaudit.adjustment import Crossfitted, DoublyRobust, doubly_robust, fit_chance, odds_of_other
from causalaudit.adjustment.doubly_robust import SMALLEST_CHANCE
from causalaudit.error_rates.explaining.sample import Sample
from causalaudit.randomness import generator

_SHOWN, _FEWEST_SHOWN, _MOST_ANSWERS = 20, 4, 200_000  # people whose mediators everybody is shown with


@dataclass(frozen=True, eq=False)
class RobustRates:
    """Right if P(x | C, y) or E[θ(xd, W, Z) | xi, C, y] is, and to first order wherever both are nearly so.

    The classifier itself is not fitted: what it says to each person with the mediators of a few others is a column for
    the models of the expectation, which then have its steps and bands.
    """

    sample: Sample
    fitted: Crossfitted
    expectation: Any
    seed: int
    weights: np.ndarray | None = None  # of the people, for the models
    needed: tuple[tuple[int, int], ...] | None = None  # xd and xi of the rates in question, if not of all

    @classmethod
    def of(cls, sample: Sample, propensity: Any, expectation: Any, seed: int) -> "RobustRates":
        """Fit the propensity; the expectations are fitted when they are needed."""
        fitted = fit_chance(sample.covariates, sample.x, model=propensity, weights=sample.weights, seed=seed)
        return cls(sample, fitted, expectation, seed, sample.weights)

    @property
    def form(self) -> str:
        return self.fitted.model

    @property
    def chance(self) -> np.ndarray:
        return self.fitted.expected

    @property
    def odds(self) -> np.ndarray:
        return odds_of_other(np.clip(self.chance, SMALLEST_CHANCE, 1 - SMALLEST_CHANCE))

    @cached_property
    def robust(self) -> DoublyRobust:
        """The estimates, by xd."""
        sample = self.sample
        return doubly_robust(
            sample.theta, sample.x, sample.covariates, propensity=self.fitted, model=self.expectation,
            hints=_answers_with_mediators_of_others(sample, self.seed), weights=self.weights,
            needed=self.needed, seed=self.seed,
        )  # fmt: skip

    def crossed(self, weights: np.ndarray) -> np.ndarray:
        return self.robust.crossed(weights)

    def influence(self, rates: np.ndarray) -> np.ndarray:
        return self.robust.crossed_influence()


def _answers_with_mediators_of_others(sample: Sample, seed: int) -> np.ndarray:
    """Return the mean answer to each person with the mediators of some people with xi, by xd, xi and person."""
    rng = generator(seed, "mediators")
    number = max(_FEWEST_SHOWN, min(_SHOWN, _MOST_ANSWERS // len(sample)))
    result = np.empty((2, 2, len(sample)))
    for xi in (0, 1):
        people = np.flatnonzero(sample.x == xi)
        shown = sample.frame.iloc[rng.choice(people, min(number, len(people)), replace=False)]
        for xd in (0, 1):
            result[xd, xi] = sample.answers_with(xd, shown).mean(axis=0)
    return result
