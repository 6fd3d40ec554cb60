"""Doubly robust rates of two groups that stand for one another: right if either nuisance model is.

For values θ that are known of each person, such as the answers of a classifier, and covariates C,

    N(xi | x) = E[ E[θ | X = xi, C] | X = x ]                                                   (Lemma 6 of the paper)

is the mean that people of the group x would have if what lies between C and θ came about as in the group xi. With
xi = x it is their own mean. With xi ≠ x its efficient influence function is

    1{X = x} / P(x) (m(C) − N) + 1{X = xi} P(x | C) / (P(xi | C) P(x)) (θ − m(C)),      m(C) = E[θ | X = xi, C],

whose mean is estimated with cross-fitted m and P(x | C). Errors of the two enter only as their product.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from causalaudit.adjustment.covariates import Covariates
from causalaudit.adjustment.crossfit import Crossfitted, crossfit, fold_of

# A propensity is taken to be at least this, so that nobody stands for more than a hundred others.
SMALLEST_CHANCE = 0.01


def odds_of_other(chance: np.ndarray) -> np.ndarray:
    """Return P(x | C) / P(xi | C), x being the other group than xi (first axis), by P(x = 1 | C)."""
    return np.stack([chance / (1 - chance), (1 - chance) / chance])


@dataclass(frozen=True, eq=False)
class DoublyRobust:
    """Estimates of N(xi | x) for several values at once, with fitted nuisance models: see `doubly_robust`.

    Attributes
    ----------
    values : numpy.ndarray
        Values × people: what is known of each person, between 0 and 1.
    group : numpy.ndarray
        The group of each person, 0 or 1.
    chance : numpy.ndarray
        P(group 1 | C) of each person, from the other folds.
    expected : numpy.ndarray
        Values × groups × people: what would be expected of each person in each group, given C; from the other folds.
    models : dict
        Which models they are of.
    weights : numpy.ndarray or None
        Survey weights of the people, under which the models were fitted.
    """

    values: np.ndarray
    group: np.ndarray
    chance: np.ndarray
    expected: np.ndarray
    models: dict[str, str]
    weights: np.ndarray | None = None

    @property
    def _counts(self) -> np.ndarray:
        return np.ones(len(self.group)) if self.weights is None else self.weights

    @cached_property
    def _has(self) -> np.ndarray:
        return np.stack([self.group == 0, self.group == 1]).astype(float)

    @cached_property
    def _standing(self) -> np.ndarray:
        """The weights with which each group (rows) stands for the other."""
        return self._has * odds_of_other(self.chance)

    def crossed(self, weights: np.ndarray) -> np.ndarray:
        """Return N(xi | x) with xi ≠ x by set of weights of the people (rows), value and xi.

        The nuisance models stay as they are: they do not matter to first order.
        """
        expected, residual = self._parts(weights)
        return expected + residual

    def _parts(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of m(C) in the other group, and the mean residual of those who stand for it."""
        residual = self.values[:, None] - self.expected
        means = []
        for counted, numbers in ((self._has[::-1], self.expected), (self._standing, residual)):
            sums = np.einsum("bn,gn,vgn->bvg", weights, counted, numbers, optimize=True)
            means.append(np.asarray(sums / (weights @ counted.T)[:, None]))
        return means[0], means[1]

    def crossed_influence(self) -> np.ndarray:
        """Return the influence of each person (first axis) on the rates with xi ≠ x, by value and xi."""
        expected, residual = (part[0][..., None] for part in self._parts(self._counts[None]))
        other, standing = (
            counted / counted.mean(axis=1, keepdims=True)
            for counted in (self._has[::-1] * self._counts, self._standing * self._counts)
        )
        influence = other * (self.expected - expected) + standing * (self.values[:, None] - self.expected - residual)
        return np.moveaxis(influence, -1, 0)

    @cached_property
    def rates(self) -> np.ndarray:
        """N(xi | x) by value, xi and x: their own means where xi = x."""
        return spread(self._own, self.crossed(self._counts[None])[0])

    @cached_property
    def influence(self) -> np.ndarray:
        """The influence of each person (first axis) on `rates`: its mean square over n is their variance."""
        counted = self._has * self._counts
        counted = counted / counted.mean(axis=1, keepdims=True)
        own = np.moveaxis(counted * (self.values[:, None] - self._own[..., None]), -1, 0)
        return spread(own, self.crossed_influence())

    @property
    def _own(self) -> np.ndarray:
        counted = self._has * self._counts
        return np.asarray(self.values @ counted.T / counted.sum(axis=1))


def spread(own: np.ndarray, crossed: np.ndarray) -> np.ndarray:
    """Arrange rates by xi and x (last axes) from those with xi = x by x, and those with xi ≠ x by xi.

    Examples
    --------
    >>> import numpy as np
    >>> spread(np.array([1, 2]), np.array([3, 4])).tolist()
    [[1, 3], [4, 2]]
    """
    rates = np.empty((*own.shape, 2), dtype=own.dtype)
    for xi in (0, 1):
        rates[..., xi, xi] = own[..., xi]
        rates[..., xi, 1 - xi] = crossed[..., xi]
    return rates


def fit_chance(
    covariates: Covariates, group: np.ndarray, *, model: Any = None, weights: np.ndarray | None = None, seed: int = 0
) -> Crossfitted:
    """Return the cross-fitted propensity P(group 1 | C) of two groups, 0 and 1.

    Parameters
    ----------
    covariates, group, weights
        Of the people.
    model
        A scikit-learn classifier; default the better of `flexible_models`.
    seed
        Of the folds.
    """
    return crossfit(covariates.design, group, fold_of(group, seed), models=model, weights=weights)


def doubly_robust(
    values: np.ndarray,
    group: np.ndarray,
    covariates: Covariates,
    *,
    propensity: Crossfitted | None = None,
    model: Any = None,
    hints: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    needed: Collection[tuple[int, int]] | None = None,
    seed: int = 0,
) -> DoublyRobust:
    """Fit the models of what is expected of people given covariates, and return doubly robust estimates.

    Parameters
    ----------
    values
        Values × people, known and between 0 and 1. For a classifier: P(ŷ) by the level xd that it reads, of the people
        with Y = y.
    group
        0 or 1.
    covariates
        Which explain what lies between group and values.
    propensity
        Of the group, if there is one already: it does not depend on the values. Default `fit_chance`.
    model
        A scikit-learn classifier or regressor of the values on the covariates within a group; default the better of
        `flexible_models`.
    hints
        Values × groups × people: more columns for these models, functions of the covariates that resemble what is
        expected.
    weights
        Of the people.
    needed
        Values and groups of which an expectation is needed, default all; the others are NaN.
    seed
        Of the folds.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"c": rng.normal(size=4000)})
    >>> group = (rng.random(4000) < 1 / (1 + np.exp(1 - people.c**2))).astype(int)
    >>> value = (group + people.c**2 + rng.normal(size=4000) > 1).to_numpy().astype(float)
    >>> found = doubly_robust(value[None], group, Covariates.of(people, ["c"]))
    >>> found.rates.round(2).tolist(), found.influence.shape
    ([[[0.32, 0.55], [0.66, 0.8]]], (4000, 1, 2, 2))
    """
    values, group = np.asarray(values, dtype=float), np.asarray(group)
    fitted = fit_chance(covariates, group, weights=weights, seed=seed) if propensity is None else propensity
    expected, names = np.full((len(values), 2, values.shape[1]), np.nan), set()
    for place, xi in np.ndindex(len(values), 2):
        if needed is not None and (place, xi) not in needed:
            continue
        if place and needed is None and _repeated(values, place) and (hints is None or _repeated(hints[:, xi], place)):
            expected[place, xi] = expected[place - 1, xi]  # a classifier that does not read the group
            continue
        extra = [] if hints is None or np.ptp(hints[place, xi]) == 0 else [hints[place, xi]]
        found = crossfit(
            np.column_stack([covariates.design, *extra]), values[place], fitted.fold,
            models=model, fitted=group == xi, weights=weights,
        )  # fmt: skip
        expected[place, xi] = found.expected
        names.add(found.model)
    return DoublyRobust(
        values,
        group,
        np.clip(fitted.expected, SMALLEST_CHANCE, 1 - SMALLEST_CHANCE),
        expected,
        {"propensity": fitted.model, "expectation": " and ".join(sorted(names))},
        weights,
    )


def _repeated(rows: np.ndarray, place: int) -> bool:
    """Return whether a row is the same as the one before it."""
    return np.array_equal(rows[place], rows[place - 1])
