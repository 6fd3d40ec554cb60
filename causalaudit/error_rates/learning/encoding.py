"""Features as numbers for a logistic rule, and what becomes of levels that it has never seen."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from causalaudit.adjustment import SplineBasis
from causalaudit.error_rates.learning.feature_selection import one_hot
from causalaudit.errors import CausalAuditWarning, DataError
from causalaudit.people import levels_of


@dataclass(frozen=True, eq=False)
class Encoder:
    """Features as numbers: levels one-hot, basis functions, everything standardised, a column of ones at the end."""

    levels: Any
    basis: Any
    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, rows: pd.DataFrame, weights: np.ndarray, everyone: pd.DataFrame, basis: Any = None) -> "Encoder":
        """Standardise by weighted people; the levels are those of everyone who may have to be decided upon."""
        levels = one_hot(rows).fit(everyone)
        fitted = None if basis is None else read_basis(basis).fit(levels.transform(rows))
        raw = cls(levels, fitted, np.zeros(1), np.ones(1))
        numbers = raw._numbers(rows)
        mean = weights @ numbers
        scale = np.sqrt(weights @ (numbers - mean) ** 2)
        return cls(levels, fitted, mean, np.where(scale > 0, scale, 1.0))

    def design(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the matrix that coefficients multiply."""
        return np.column_stack([(self._numbers(rows) - self.mean) / self.scale, np.ones(len(rows))])

    def _numbers(self, rows: pd.DataFrame) -> np.ndarray:
        numbers = np.asarray(self.levels.transform(rows), dtype=float)
        return numbers if self.basis is None else np.asarray(self.basis.transform(numbers), dtype=float)


def read_basis(basis: Any) -> Any:
    """Return basis functions as an unfitted transformer of scikit-learn."""
    if isinstance(basis, str) and basis == "splines":
        return SplineBasis()
    if not hasattr(basis, "fit") or not hasattr(basis, "transform"):
        raise DataError(
            f"basis is {basis!r}, but must be 'splines', a transformer of scikit-learn such as PolynomialFeatures(2), "
            "or None."
        )
    return clone(basis)


def known_levels(rows: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the levels of each column that is not of numbers."""
    others = [name for name in rows if not pd.api.types.is_numeric_dtype(rows[name])]
    return {str(name): levels_of(rows[name]) for name in others}


def _unseen(rows: pd.DataFrame, known: Mapping[str, list[Any]]) -> np.ndarray:
    """Return who has a level that nobody had in `fit`; warn, naming the first such level of each column."""
    found = np.zeros(len(rows), dtype=bool)
    for name, levels in known.items():
        new = ~rows[name].isin(levels).to_numpy()
        if new.any():
            warnings.warn(
                f"{int(new.sum())} of {len(rows)} people have a level of {name!r} that nobody had in fit, such as "
                f"{rows[name].to_numpy()[new][0]!r}: they are decided upon as most people are.",
                CausalAuditWarning,
                stacklevel=5,
            )
            found |= new
    return found


def unless_unseen(
    rows: pd.DataFrame, known: Mapping[str, list[Any]], answer: Callable[[pd.DataFrame], np.ndarray], otherwise: float
) -> np.ndarray:
    """Return answers, and something else for people with a level that nobody had in `fit`."""
    new = _unseen(rows, known)
    if not new.any():
        return answer(rows)
    found = np.full(len(rows), otherwise)
    if not new.all():
        found[~new] = answer(rows[~new])
    return found
