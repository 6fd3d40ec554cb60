"""The penalised logistic loss, with and without constraints."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from causalaudit.adjustment import fit_logistic
from causalaudit.people import distinct_rows

_STEPS = 100  # of a sequential quadratic program
_SMALLEST_PENALTY = 1e-10  # where none is asked for: keeps a regression of separated people finite


@dataclass(frozen=True, eq=False)
class LogisticLoss:
    """The mean logistic loss with a ridge on all coefficients but the last, the intercept.

    `positive` is the share of ones among the people of a row.
    """

    design: np.ndarray
    positive: np.ndarray
    weights: np.ndarray
    penalty: float

    @classmethod
    def of(cls, design: np.ndarray, positive: np.ndarray, weights: np.ndarray, penalty: float) -> "LogisticLoss":
        """Count people of equal features once."""
        found = distinct_rows(list(design.T))
        total, ones = (np.bincount(found.inverse, each, len(found)) for each in (weights, weights * positive))
        return cls(design[found.first], ones / np.where(total > 0, total, 1.0), total, penalty)

    @property
    def log_odds(self) -> float:
        """Those of all people together."""
        share = float(np.clip(self.weights @ self.positive, 1e-9, 1 - 1e-9))
        return float(np.log(share) - np.log1p(-share))

    def spread(self, coefficients: np.ndarray) -> float:
        """Return the standard deviation of the score."""
        return max(float(np.std(self.design @ coefficients)), 1e-6)

    def value(self, coefficients: np.ndarray) -> float:
        """Return the loss."""
        return self.value_and_slope(coefficients)[0]

    def value_and_slope(self, coefficients: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its derivatives."""
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
        with np.errstate(all="ignore"):  # a step may go too far; the solver turns back, or the start is kept
            found = minimize(
                self.value_and_slope, start, jac=True, method="SLSQP", constraints=constraints, options=options
            ).x
        return found if np.isfinite(found).all() else start
