"""Bounds on terms of a rule, checked; and how sure it must be that they hold."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from causalaudit.error_rates.learning.linear_terms import LinearTerms
from causalaudit.errors import DataError

CLOSE = 1e-8  # what a bound may be exceeded by, the tolerance of the linear programs being 1e-10 in each cell


@dataclass(frozen=True, eq=False)
class Limits:
    """Terms between `low` and `high`, so far inside that they are with `z` standard errors to spare.

    A rule that decides alike for everybody is always within them: its terms are 0, and so are their errors.
    """

    names: tuple[Any, ...]
    low: np.ndarray
    high: np.ndarray
    z: float = 0.0

    @classmethod
    def of(cls, bounds: Mapping[Any, float], z: float = 0.0) -> "Limits":
        """Return the same bounds on both sides."""
        high = np.array([*bounds.values()], dtype=float)
        return cls(tuple(bounds), -high, high, z)

    def shifted(self, by: np.ndarray) -> "Limits":
        """Return limits for what is too small by some amounts."""
        return replace(self, low=np.minimum(self.low - by, 0.0), high=np.maximum(self.high - by, 0.0))

    def narrowed(self, by: np.ndarray) -> "Limits":
        """Return limits that are narrower on both sides by some amounts, and hold 0."""
        return replace(self, low=np.minimum(self.low + by, 0.0), high=np.maximum(self.high - by, 0.0))

    def scaled(self, share: float) -> "Limits":
        """Return narrower limits."""
        return replace(self, low=share * self.low, high=share * self.high)

    def spare(self, terms: LinearTerms, decided: np.ndarray) -> np.ndarray:
        """Return what is to be spared on each side: standard errors of the terms of a rule."""
        if self.z == 0:
            return np.zeros(len(self.names))
        return self.z * terms.errors(terms.influences(decided), self.names)

    def excess(self, values: np.ndarray, spare: np.ndarray | float = 0.0) -> np.ndarray:
        """Return by how much values are outside."""
        return np.maximum(np.maximum(values + spare - self.high, self.low - values + spare), 0.0)


def z_of(confidence: float, bounded: int) -> float:
    """Return how many standard errors hold on both sides of several terms at once (Bonferroni).

    Examples
    --------
    >>> round(z_of(0.9, 1), 3), round(z_of(0.9, 2), 3)
    (1.645, 1.96)
    """
    return float(norm.ppf(1 - (1 - confidence) / (2 * max(bounded, 1))))


def check_bounds(bounds: Mapping[str, Any]) -> dict[str, float]:
    """Return the bounds that are given; refuse what is not a number of at least zero."""
    given = {term: bound for term, bound in bounds.items() if bound is not None}
    for term, bound in given.items():
        if isinstance(bound, bool) or not isinstance(bound, int | float | np.number) or not np.isfinite(bound):
            raise DataError(f"eps_{term} is {bound!r}, but must be a number of at least 0, or None for no bound.")
        if bound < 0:
            raise DataError(
                f"eps_{term} is {bound}, which no classifier can satisfy: the smallest feasible bound is 0, that of a "
                "classifier that decides alike for everybody."
            )
    return {term: float(bound) for term, bound in given.items()}


def listed(bounds: Mapping[Any, float]) -> str:
    """Say bounds as they are given to the classifier."""
    return ", ".join(f"eps_{_term(name)}={bound:.6g}" for name, bound in bounds.items())


def _term(name: Any) -> str:
    return f"{name[1]} (given {name[0]!r})" if isinstance(name, tuple) else str(name)


def widened(limits: Limits, by: float) -> dict[Any, float]:
    """Return bounds that are wider by an amount."""
    return dict(zip(limits.names, (limits.high + by).tolist(), strict=True))


def names_of(bounds: Mapping[str, float], terms: LinearTerms | None) -> dict[Any, float]:
    """Return the bounds by the names of the terms: one for each outcome in question."""
    return {} if terms is None else {name: bounds[term] for name, (_, term) in terms.names(list(bounds)).items()}
