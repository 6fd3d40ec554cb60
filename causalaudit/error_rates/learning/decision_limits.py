"""Limits on terms of the decisions of a score, and smooth stand-ins that a solver can follow."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from causalaudit.error_rates.learning.limits import Limits
from causalaudit.error_rates.learning.linear_terms import LinearTerms
from causalaudit.people import distinct_rows

_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class DecisionLimits:
    """Limits on both sides of linear functions of the decisions at given rows.

    Attributes
    ----------
    design : numpy.ndarray
        The distinct rows.
    place : numpy.ndarray
        Which of them each row of the terms is.
    matrix : numpy.ndarray
        The coefficients of the terms.
    held : Limits
        Tighter limits, for smooth decisions.
    """

    design: np.ndarray
    place: np.ndarray
    matrix: np.ndarray
    terms: LinearTerms
    limits: Limits
    held: Limits

    @classmethod
    def of(cls, design: np.ndarray, terms: LinearTerms, limits: Limits) -> "DecisionLimits":
        """Take equal rows together."""
        found = distinct_rows(list(design.T))
        sums = [np.bincount(found.inverse, terms.coefficients(name), len(found)) for name in limits.names]
        return cls(design[found.first], found.inverse, np.stack(sums), terms, limits, limits)

    def excess(self, coefficients: np.ndarray) -> np.ndarray:
        """Return by how much the terms of the decisions, with what is to be spared, are outside."""
        decided = (self.design @ coefficients > 0).astype(float)
        return self.limits.excess(self.matrix @ decided, self.limits.spare(self.terms, decided[self.place]))

    def met(self, coefficients: np.ndarray) -> bool:
        """Return whether the decisions are within the limits."""
        return bool((self.excess(coefficients) <= _TOLERANCE).all())

    def tightened(self, excess: np.ndarray) -> "DecisionLimits":
        """Return tighter limits for smooth decisions."""
        low, high = self.held.low + 1.2 * excess, self.held.high - 1.2 * excess
        return replace(self, held=replace(self.held, low=np.minimum(low, 0.0), high=np.maximum(high, 0.0)))

    def scaled(self, share: float) -> "DecisionLimits":
        """Return narrower limits."""
        return replace(self, limits=self.limits.scaled(share), held=self.limits.scaled(share))

    def proxy(self) -> list[dict[str, Any]]:
        """Limits on the terms of the score: linear in the coefficients."""
        slopes = self.matrix @ self.design
        return self._both_sides(lambda coefficients: (slopes @ coefficients, slopes))

    def smooth(self, width: float) -> list[dict[str, Any]]:
        """Limits on the terms of a smooth step of the score."""

        def terms(coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            step = expit(self.design @ coefficients / width)
            return self.matrix @ step, (self.matrix * (step * (1 - step) / width)) @ self.design

        return self._both_sides(terms)

    def _both_sides(self, terms: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> list[dict[str, Any]]:
        def room(coefficients: np.ndarray) -> np.ndarray:
            values = terms(coefficients)[0]
            return np.append(self.held.high - values, values - self.held.low)

        def slopes(coefficients: np.ndarray) -> np.ndarray:
            slope = terms(coefficients)[1]
            return np.vstack([-slope, slope])

        return [{"type": "ineq", "fun": room, "jac": slopes}]
