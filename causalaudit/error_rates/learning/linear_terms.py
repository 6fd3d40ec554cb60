"""Terms of the explanation formula as linear functions of a decision rule: weighted people in four worlds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.error_rates.explaining.terms import DECOMPOSITIONS, TERMS
from causalaudit.error_rates.groups import read_as
from causalaudit.errors import DataError

# The four worlds are N(x0, x0 | x0), N(x1, x0 | x0), N(x1, x1 | x0) and N(x1, x1 | x1): the first argument is what the
# classifier reads as X, the second what the other features come from, the third whose noise it is. Each step between
# neighbours changes one of them, and the steps are the additive terms of Theorem 2.
READ, MADE_BY, GIVEN = [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]
_STEPS = {term: coefficients[READ, MADE_BY, GIVEN] for term, coefficients in DECOMPOSITIONS[1].items()}


@dataclass(frozen=True, eq=False)
class WeightedPeople:
    """Rows of features, whose weights add up to one."""

    rows: pd.DataFrame
    weights: np.ndarray

    @classmethod
    def of(cls, rows: pd.DataFrame, weights: np.ndarray) -> "WeightedPeople":
        """Scale the weights."""
        return cls(rows, weights / weights.sum())

    def read_as(self, protected: str, level: Any) -> "WeightedPeople":
        """Return the same people as a classifier reads them if they have a level."""
        return WeightedPeople(read_as(self.rows, protected, level), self.weights)


@dataclass(frozen=True, eq=False)
class LinearTerms:
    """The terms of Theorem 2 as sums over rows: term(f) = sum of coefficients times P(f decides 1) at the rows.

    Attributes
    ----------
    rows : pandas.DataFrame
        What the classifier would read.
    world : numpy.ndarray
        Which of the four worlds a row belongs to.
    weights : numpy.ndarray
        They add up to one in each world.
    """

    rows: pd.DataFrame
    world: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(
        cls,
        own: Mapping[Any, WeightedPeople],
        moved: WeightedPeople | None,
        protected: str,
        levels: tuple[Any, Any],
    ) -> "LinearTerms":
        """Collect the worlds.

        Parameters
        ----------
        own
            The people of each of the two levels as they are, all with the outcome in question.
        moved
            The people of the first level with the features they would have at the second, if that is known.
        protected
            The protected attribute: set in the rows, if the classifier reads it.
        levels
            Its two levels, baseline first.
        """
        first, second = levels
        worlds = [own[first], own[first].read_as(protected, second)]
        worlds += [] if moved is None else [moved.read_as(protected, second)]
        worlds.append(own[second])
        numbers = [0, 1, 2, 3] if moved is not None else [0, 1, 3]
        return cls(
            pd.concat([people.rows for people in worlds], ignore_index=True),
            np.repeat(numbers, [len(people.rows) for people in worlds]),
            np.concatenate([people.weights for people in worlds]),
        )

    @property
    def known(self) -> tuple[str, ...]:
        """The terms that can be computed: without people moved to the other level, neither indirect nor spurious."""
        return TERMS if 2 in self.world else ("total", "direct")

    def coefficients(self, term: str) -> np.ndarray:
        """Return the coefficient of each row in a term."""
        return _STEPS[term][self.world] * self.weights

    def matrix(self, terms: tuple[str, ...]) -> np.ndarray:
        """Return the coefficients of several terms, a row each."""
        return np.stack([self.coefficients(term) for term in terms]) if terms else np.empty((0, len(self.rows)))

    def values(self, decided: np.ndarray) -> pd.Series:
        """Return the terms of a rule, given the probability that it decides 1 at each row; NaN if not known."""
        return pd.Series({term: self.coefficients(term) @ decided if term in self.known else np.nan for term in TERMS})


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
