"""The rates that need adjustment: N(xd, xi | x, y) with xi ≠ x, given covariates that explain the classifier.

By cells of the covariates' values, by inverse propensity weights (Lemma 7), by probabilities put into Lemma 6, or
doubly robust (`robust_rates`). In the first case all are the same number. Each gives the rates for many sets of
weights of the people at once, and the influence of each person on them.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from causalaudit.adjustment import (
    LogisticPropensity,
    OutcomeRegression,
    SaturatedPropensity,
    coefficient_influence,
    odds_of_other,
    with_intercept,
)
from causalaudit.error_rates.explaining.sample import Sample


class CrossedRates(Protocol):
    """What every estimator of these rates can do."""

    @property
    def sample(self) -> Sample:
        """The people."""

    @property
    def form(self) -> str:
        """What the model of the level, given the covariates, is."""

    @property
    def chance(self) -> np.ndarray:
        """P(contrast | covariates, y), among the two levels, of each person."""

    @property
    def odds(self) -> np.ndarray:
        """The weights with which people of each level (rows) stand for the other."""

    def crossed(self, weights: np.ndarray) -> np.ndarray:
        """Return N(xd, xi | x, y), x being the other level than xi, by set of weights, xd and xi."""

    def influence(self, rates: np.ndarray) -> np.ndarray:
        """Return the influence of each person (first axis) on these rates."""


@dataclass(frozen=True, eq=False)
class UnaffectedRates:
    """Nothing that the classifier reads descends from X or Y: N(xd, xi | x, y) = N(xd, x | x, y), whatever xi is.

    There is nothing to weigh, and no model.
    """

    sample: Sample

    def crossed(self, weights: np.ndarray) -> np.ndarray:
        return self.sample.own_rates(weights)[..., ::-1]

    def influence(self, rates: np.ndarray) -> np.ndarray:
        return self.sample.own_influence(rates[..., ::-1])[..., ::-1]


@dataclass(frozen=True, eq=False)
class SaturatedRates:
    """Every combination of values of the covariates is a cell with probabilities of its own."""

    sample: Sample
    propensity: SaturatedPropensity

    @property
    def form(self) -> str:
        return self.propensity.form

    @property
    def chance(self) -> np.ndarray:
        return self.propensity.chance

    @property
    def odds(self) -> np.ndarray:
        return odds_of_other(self.chance)

    def _parts(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weight of each level in each cell, and the mean of P(ŷ) by xd and level in each cell."""
        has, theta, cells = self.sample.has, self.sample.theta, self.sample.covariates.cells
        size = cells.sums(weights[:, None] * has)
        sums = cells.sums(weights[:, None, None] * has[:, None] * theta).swapaxes(1, 2)
        return size, np.divide(sums, size[:, None], out=np.zeros_like(sums), where=size[:, None] > 0)

    def crossed(self, weights: np.ndarray) -> np.ndarray:
        size, mean = self._parts(weights)
        other = size[:, ::-1] / size[:, ::-1].sum(axis=-1, keepdims=True)  # the cells of those with the other level
        return np.asarray(np.einsum("blic,bic->bli", mean, other))

    def influence(self, rates: np.ndarray) -> np.ndarray:
        _, mean = self._parts(self.sample.counts[None])
        return efficient_influence(self.sample, mean[0][:, :, self.sample.covariates.cells.cell], self.chance, rates)


def efficient_influence(sample: Sample, mean: np.ndarray, chance: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the influence of each person on N(xd, xi | x, y), xi ≠ x, by xd and xi.

    1{X = x} / P(x) (m(C) − N) + 1{X = xi} P(x | C) / (P(xi | C) P(x)) (θ − m(C)), all given y, times the weight.
    """
    has, theta = sample.has * sample.counts, sample.theta
    result = np.empty((len(sample), 2, 2))
    for xi, ratio in enumerate(odds_of_other(chance)):
        share = has[1 - xi].mean()
        residual = has[xi] * ratio * (theta - mean[:, xi])
        result[:, :, xi] = ((has[1 - xi] * (mean[:, xi] - rates[:, [xi]]) + residual) / share).T
    return result


@dataclass(frozen=True, eq=False)
class PropensityWeightedRates:
    """Inverse propensity weights (equation 8 and Lemma 7) by logistic regression, scaled so that they are a mean.

    People with xi stand for those with x, weighted by P(x | C, y) / P(xi | C, y). The weights are divided by their
    sum, not by the number of people stood for, which it only resembles: a classifier that decides alike for everybody
    then has terms of zero.
    """

    sample: Sample
    propensity: LogisticPropensity

    @property
    def form(self) -> str:
        return self.propensity.form

    @property
    def chance(self) -> np.ndarray:
        return self.propensity.chance

    @property
    def odds(self) -> np.ndarray:
        return odds_of_other(self.chance)

    def crossed(self, weights: np.ndarray) -> np.ndarray:
        ratios = odds_of_other(self.propensity.chances(weights))
        standing = weights[:, None] * self.sample.has * ratios.swapaxes(0, 1)
        sums = np.einsum("bin,ln->bli", standing, self.sample.theta, optimize=True)
        return np.asarray(sums / standing.sum(axis=-1)[:, None])

    def influence(self, rates: np.ndarray) -> np.ndarray:
        """By the estimating equations of the regression and of the rates together."""
        counts, design, chance = self.sample.counts, self.sample.covariates.design, self.chance
        has = self.sample.has * counts
        change = coefficient_influence(design, counts * (self.sample.x - chance), counts * (chance * (1 - chance)))
        result = np.empty((len(self.sample), 2, 2))
        for xi, (sign, ratio) in enumerate(zip((1, -1), odds_of_other(chance), strict=True)):
            for xd in (0, 1):
                counted = has[xi] * ratio * (self.sample.theta[xd] - rates[xd, xi])
                slope = sign * (counted @ with_intercept(design)) / len(design)
                result[:, xd, xi] = (counted + change @ slope) / (has[xi] * ratio).mean()
        return result


@dataclass(frozen=True, eq=False)
class RegressedRates:
    """Probabilities put into Lemma 6: P(ŷ | xi, C, y) by logistic regression, averaged over the people with x."""

    sample: Sample
    propensity: LogisticPropensity

    @property
    def form(self) -> str:
        return self.propensity.form

    @property
    def chance(self) -> np.ndarray:
        return self.propensity.chance

    @property
    def odds(self) -> np.ndarray:
        return odds_of_other(self.chance)

    @cached_property
    def _outcomes(self) -> list[list[OutcomeRegression]]:
        """The regression of P(ŷ) on the covariates among those with xi, by xd and xi."""
        design, sample = self.sample.covariates.design, self.sample
        return [
            [OutcomeRegression(design, theta, group, sample.weights) for group in sample.has] for theta in sample.theta
        ]

    def crossed(self, weights: np.ndarray) -> np.ndarray:
        result = np.empty((len(weights), 2, 2))
        for xd, xi in np.ndindex(2, 2):
            other = weights * self.sample.has[1 - xi]
            expected = self._outcomes[xd][xi].expectations(weights)
            result[:, xd, xi] = (other * expected).sum(axis=1) / other.sum(axis=1)
        return result

    def influence(self, rates: np.ndarray) -> np.ndarray:
        """By the estimating equations of the regressions and of the rates together."""
        has, design = self.sample.has * self.sample.counts, self.sample.covariates.design
        result = np.empty((len(self.sample), 2, 2))
        for xd, xi in np.ndindex(2, 2):
            mean = self._outcomes[xd][xi].expected
            curve = mean * (1 - mean)
            change = coefficient_influence(design, has[xi] * (self.sample.theta[xd] - mean), has[xi] * curve)
            slope = (has[1 - xi] * curve) @ with_intercept(design) / len(design)
            result[:, xd, xi] = (has[1 - xi] * (mean - rates[xd, xi]) + change @ slope) / has[1 - xi].mean()
        return result
