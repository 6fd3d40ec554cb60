"""Logistic regression whose decisions, not only their linear proxy, stay within bounds on the terms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit

from causalaudit.adjustment import fit_logistic
from causalaudit.error_rates.learning.feature_selection import one_hot
from causalaudit.error_rates.learning.linear_terms import LinearTerms
from causalaudit.people import distinct_rows
from causalaudit.randomness import generator

# Widths of the smooth step that stands for a decision, in standard deviations of the unbounded score: from a step that
# a solver can follow to one that is nearly the decision itself.
_WIDTHS = (0.3, 0.1, 0.03, 0.01)
_STEPS = 100  # of a sequential quadratic program
_SMALLEST_PENALTY = 1e-10  # where none is asked for: keeps a regression of separated people finite
_REPAIRS = 8  # rounds of tighter bounds
_LINE = 101  # points between a rule that misses the bounds and one that meets them
_POLISH = 2_000_000  # rows that one round of the random search evaluates
_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class LogisticRule:
    """Decide 1 where the score is positive."""

    encoder: "Encoder"
    coefficients: np.ndarray

    def score(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the log-odds."""
        return self.encoder.design(rows) @ self.coefficients

    def decide(self, rows: pd.DataFrame) -> np.ndarray:
        """Return 1.0 where 1 is decided, else 0.0."""
        return (self.score(rows) > 0).astype(float)


@dataclass(frozen=True, eq=False)
class Encoder:
    """Features as numbers: levels one-hot, everything standardised, and a column of ones at the end."""

    levels: Any
    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, rows: pd.DataFrame, weights: np.ndarray, everyone: pd.DataFrame) -> "Encoder":
        """Standardise by weighted people; the levels are those of everyone who may have to be decided upon."""
        levels = one_hot(rows).fit(everyone)
        numbers = levels.transform(rows)
        mean = weights @ numbers
        scale = np.sqrt(weights @ (numbers - mean) ** 2)
        return cls(levels, mean, np.where(scale > 0, scale, 1.0))

    def design(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the matrix that coefficients multiply."""
        return np.column_stack([(self.levels.transform(rows) - self.mean) / self.scale, np.ones(len(rows))])


def fit_logistic_rule(
    rows: pd.DataFrame,
    positive: np.ndarray,
    weights: np.ndarray,
    terms: LinearTerms | None,
    bounds: Mapping[str, float],
    penalty: float,
) -> LogisticRule:
    """Minimise the logistic loss with bounds on the terms of the decisions (equation 9).

    The paper bounds the terms of the score instead of those of the decisions, which is convex, and is neither needed
    nor enough: the bounds on decisions are then met by far, or missed. Here its solution is one of the starting points.
    From each, the decision is replaced by a smooth step of shrinking width, and the bounds are tightened until the
    decisions themselves satisfy them. Of all solutions that do, the one of smallest loss is returned; a rule that
    decides alike for everybody is always one.

    Parameters
    ----------
    rows, positive, weights, terms, bounds
        As for `fit_table_rule`.
    penalty
        Of half the squared norm of the coefficients of the standardised features, beside the mean loss.
    """
    encoder = Encoder.of(rows, weights, rows if terms is None else pd.concat([rows, terms.rows], ignore_index=True))
    loss = _Loss.of(encoder.design(rows), positive, weights, penalty)
    free = loss.minimise()
    if terms is None or not bounds:
        return LogisticRule(encoder, free)
    constraint = _Constraint.of(encoder.design(terms.rows), terms.matrix(tuple(bounds)), np.array([*bounds.values()]))
    return LogisticRule(encoder, _bounded(loss, constraint, free))


def _bounded(loss: "_Loss", constraint: "_Constraint", free: np.ndarray) -> np.ndarray:
    """Return the best coefficients found whose decisions satisfy the bounds."""
    if constraint.met(free):
        return free
    constant = np.append(np.zeros(len(free) - 1), loss.log_odds)
    proxy = loss.minimise_within(constant, constraint.proxy())
    widths = [width * loss.spread(free) for width in _WIDTHS]
    found = [constant]
    # Wide steps lead to one optimum, narrow ones to others: the chain of widths is entered at several places.
    for start, first in product((free, proxy), range(len(widths) - 1)):
        current = start
        for width in widths[first:]:
            current = loss.minimise_within(current, constraint.smooth(width))
        found += _mended(loss, constraint, current, widths[-1], (constant, proxy))
    best = min(filter(constraint.met, [*found, proxy]), key=loss.value)
    return _polished(loss, constraint, best, free)


def _polished(loss: "_Loss", constraint: "_Constraint", best: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Search at random around coefficients, and towards those without bounds, for better ones within the bounds.

    Decisions change person by person, which smooth steps do not see: in small data, a little is left to gain.
    """
    rng = generator(0, "polish")
    root = np.linalg.cholesky(np.linalg.pinv(loss.curvature(best), hermitian=True) + 1e-12 * np.eye(len(best)))
    count = int(np.clip(_POLISH // (len(loss.design) + len(constraint.design)), 10, 300))
    scale, value = 0.1, loss.value(best)
    while scale > 1e-3:
        towards = rng.random((count, 1)) * scale * (free - best)
        others = best + towards + scale * rng.normal(size=(count, len(best))) @ root.T * np.sqrt(value)
        values = np.array([loss.value(other) for other in others])
        better = next((k for k in np.argsort(values) if values[k] >= value or constraint.met(others[k])), None)
        if better is None or values[better] >= value:
            scale /= 2
        else:
            best, value = others[better], values[better]
    return best


def _mended(
    loss: "_Loss", constraint: "_Constraint", current: np.ndarray, width: float, anchors: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return coefficients near the given ones whose decisions satisfy the bounds: by tighter bounds, or on a line."""
    tightened, before = constraint, np.inf
    for _ in range(_REPAIRS):
        excess = constraint.excess(current)
        if constraint.met(current):
            return [current]
        if excess.sum() > 0.8 * before:
            break
        tightened, before = tightened.tightened(excess), excess.sum()
        current = loss.minimise_within(current, tightened.smooth(width))
    lines = [np.linspace(current, anchor, _LINE) for anchor in anchors if constraint.met(anchor)]
    first = [next(point for point in line if constraint.met(point)) for line in lines]
    return [*first, current]


@dataclass(frozen=True, eq=False)
class _Loss:
    """The mean logistic loss with a ridge on all coefficients but the last, the intercept.

    `positive` is the share of ones among the people of a row.
    """

    design: np.ndarray
    positive: np.ndarray
    weights: np.ndarray
    penalty: float

    @classmethod
    def of(cls, design: np.ndarray, positive: np.ndarray, weights: np.ndarray, penalty: float) -> "_Loss":
        """Count people of equal features once."""
        design, (total, ones) = _distinct(design, np.stack([weights, weights * positive]))
        return cls(design, ones / np.where(total > 0, total, 1.0), total, penalty)

    @property
    def log_odds(self) -> float:
        share = float(np.clip(self.weights @ self.positive, 1e-9, 1 - 1e-9))
        return float(np.log(share) - np.log1p(-share))

    def spread(self, coefficients: np.ndarray) -> float:
        """The standard deviation of the score."""
        return max(float(np.std(self.design @ coefficients)), 1e-6)

    def value(self, coefficients: np.ndarray) -> float:
        return self.value_and_slope(coefficients)[0]

    def value_and_slope(self, coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        score = self.design @ coefficients
        ridge = np.append(self.penalty * coefficients[:-1], 0.0)
        value = self.weights @ (np.logaddexp(0.0, score) - self.positive * score) + 0.5 * ridge @ coefficients
        return float(value), self.design.T @ (self.weights * (expit(score) - self.positive)) + ridge

    def curvature(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the matrix of second derivatives."""
        share = expit(self.design @ coefficients)
        ridge = self.penalty * np.diag(np.append(np.ones(len(coefficients) - 1), 0.0))
        return (self.design.T * (self.weights * share * (1 - share))) @ self.design + ridge

    def minimise(self) -> np.ndarray:
        """Return the coefficients without bounds."""
        people = len(self.weights)
        weights = self.weights[None] * people
        penalty = max(self.penalty, _SMALLEST_PENALTY) * people
        found = fit_logistic(self.design[:, :-1], weights * self.positive, weights, penalty)
        return np.roll(found[0], -1)

    def minimise_within(self, start: np.ndarray, constraints: Sequence[dict[str, Any]]) -> np.ndarray:
        """Return the coefficients that a sequential quadratic program finds from a start."""
        options = {"maxiter": _STEPS, "ftol": 1e-10}
        found = minimize(
            self.value_and_slope, start, jac=True, method="SLSQP", constraints=constraints, options=options
        ).x
        return found if np.isfinite(found).all() else start


@dataclass(frozen=True, eq=False)
class _Constraint:
    """Bounds on both sides of linear functions of the decisions at given rows."""

    design: np.ndarray
    matrix: np.ndarray
    bounds: np.ndarray
    held: np.ndarray | None = None  # tighter bounds, for smooth decisions

    @classmethod
    def of(cls, design: np.ndarray, matrix: np.ndarray, bounds: np.ndarray) -> "_Constraint":
        """Take equal rows together."""
        return cls(*_distinct(design, matrix), bounds)

    def excess(self, coefficients: np.ndarray) -> np.ndarray:
        """Return by how much the terms of the decisions exceed the bounds."""
        terms = self.matrix @ (self.design @ coefficients > 0)
        return np.maximum(np.abs(terms) - self.bounds, 0.0)

    def met(self, coefficients: np.ndarray) -> bool:
        return bool((self.excess(coefficients) <= _TOLERANCE).all())

    def tightened(self, excess: np.ndarray) -> "_Constraint":
        held = self.bounds if self.held is None else self.held
        return _Constraint(self.design, self.matrix, self.bounds, np.maximum(held - 1.2 * excess, 0.0))

    def proxy(self) -> list[dict[str, Any]]:
        """Bounds on the terms of the score: linear in the coefficients."""
        slopes = self.matrix @ self.design
        return self._both_sides(lambda coefficients: (slopes @ coefficients, slopes))

    def smooth(self, width: float) -> list[dict[str, Any]]:
        """Bounds on the terms of a smooth step of the score."""

        def terms(coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            step = expit(self.design @ coefficients / width)
            return self.matrix @ step, (self.matrix * (step * (1 - step) / width)) @ self.design

        return self._both_sides(terms)

    def _both_sides(self, terms: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> list[dict[str, Any]]:
        held = self.bounds if self.held is None else self.held

        def room(coefficients: np.ndarray) -> np.ndarray:
            values = terms(coefficients)[0]
            return np.append(held - values, held + values)

        def slopes(coefficients: np.ndarray) -> np.ndarray:
            slope = terms(coefficients)[1]
            return np.vstack([-slope, slope])

        return [{"type": "ineq", "fun": room, "jac": slopes}]


def _distinct(design: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows of a design, and sums over equal ones."""
    found = distinct_rows(list(design.T))
    return design[found.first], np.stack([np.bincount(found.inverse, each, len(found)) for each in sums])
