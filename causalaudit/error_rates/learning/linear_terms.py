"""Terms of the explanation formula as linear functions of a decision rule: weighted people in several worlds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.error_rates.explaining.terms import (
    DECOMPOSITIONS,
    EVERYBODY,
    SHAPE,
    TERMS,
    direct,
    indirect,
    treated,
)
from causalaudit.error_rates.groups import read_as

NATURAL = ("nde", "nie")
BOUNDED = (*TERMS, "ett", *NATURAL)
# The additive terms of Theorem 2, the effect on the treated (equation 20, the sum of two of them by equation 23) and
# natural effects (33, 34), by world: what the classifier reads as X, what the other features come from, and whose noise
# it is.
COEFFICIENTS = DECOMPOSITIONS[1] | {
    "ett": treated(0, 1),
    "nde": direct(0, 1, EVERYBODY),
    "nie": indirect(0, 1, EVERYBODY),
}
WorldKey = tuple[Any, int, int, int]  # the outcome y (None: any), and a place in SHAPE


@dataclass(frozen=True, eq=False)
class WorldRows:
    """The rate N(xd, xi | x) as a weighted mean of decisions at rows.

    Attributes
    ----------
    rows : pandas.DataFrame
        What the classifier would read.
    weights : numpy.ndarray
        They add up to one.
    person : numpy.ndarray or None
        Whose row it is: a place in the table of people. None: that of nobody in particular.
    standing : Standing or None
        If the rows stand for other people, in cells of covariates: for whom.
    """

    rows: pd.DataFrame
    weights: np.ndarray
    person: np.ndarray | None = None
    standing: "Standing | None" = None

    @classmethod
    def of(cls, rows: pd.DataFrame, weights: np.ndarray, person: np.ndarray | None = None) -> "WorldRows":
        """Scale the weights."""
        return cls(rows, weights / weights.sum(), person)

    @property
    def whose(self) -> np.ndarray:
        """The person of each row, where they are those of people."""
        if self.person is None:
            raise ValueError("the rows are those of an SCM, not of people")
        return self.person

    def read_as(self, protected: str, level: Any) -> "WorldRows":
        """Return the same people as a classifier reads them if they have a level."""
        return replace(self, rows=read_as(self.rows, protected, level))

    def only(self, kept: np.ndarray) -> "WorldRows":
        """Return the part of some people."""
        mine = kept[self.whose]
        standing = None if self.standing is None else self.standing.only(kept, mine)
        weights = self.weights[mine] / self.weights[mine].sum()
        return replace(self, rows=self.rows[mine], weights=weights, person=self.whose[mine], standing=standing)

    def influence(self, decided: np.ndarray, people: int) -> np.ndarray:
        """Return how much each person moves the rate of a rule: the sum of squares is the variance of the rate."""
        if self.standing is None:
            return np.bincount(self.whose, self.weights * (decided - self.weights @ decided), people)
        other = self.standing
        mean = np.bincount(other.cell, self.weights * decided, other.cells) / other.total(self.weights)
        own = np.bincount(self.whose, self.weights * (decided - mean[other.cell]), people)
        stood_for = other.weights * (mean[other.cell_of_target] - self.weights @ decided)
        return own + np.bincount(other.target, stood_for, people)

    def pull_back(self, moved: np.ndarray) -> np.ndarray:
        """Return the adjoint of `influence`: coefficients of the rows from numbers of the people."""
        mine = moved[self.whose]
        if self.standing is None:
            return self.weights * (mine - self.weights @ mine)
        other = self.standing
        theirs = other.weights * moved[other.target]
        through = np.bincount(other.cell_of_target, theirs, other.cells)
        through -= np.bincount(other.cell, self.weights * mine, other.cells)
        return self.weights * (mine + (through / other.total(self.weights))[other.cell] - theirs.sum())


@dataclass(frozen=True, eq=False)
class Standing:
    """For whom the people of a world stand: those with the same covariates, by cells.

    Attributes
    ----------
    cell : numpy.ndarray
        Of each row of the world.
    target, weights, cell_of_target : numpy.ndarray
        The people stood for, their weights, which add up to one, and their cells.
    cells : int
        How many there are.
    """

    cell: np.ndarray
    target: np.ndarray
    weights: np.ndarray
    cell_of_target: np.ndarray
    cells: int

    def total(self, weights: np.ndarray) -> np.ndarray:
        """Return the weight of each cell; one where nobody is."""
        total = np.bincount(self.cell, weights, self.cells)
        return np.where(total > 0, total, 1.0)

    def only(self, kept: np.ndarray, mine: np.ndarray) -> "Standing":
        """Return the part of some people."""
        target = kept[self.target]
        weights = self.weights[target] / self.weights[target].sum()
        return replace(
            self,
            cell=self.cell[mine],
            target=self.target[target],
            weights=weights,
            cell_of_target=self.cell_of_target[target],
        )


@dataclass(frozen=True, eq=False)
class LinearTerms:
    """Terms as sums over rows: term(f) = sum of coefficients times P(f decides 1) at the rows.

    Attributes
    ----------
    worlds : dict
        By outcome and place in `SHAPE`.
    ys : tuple
        The values of the outcome among whose people error rates are compared. With several, the name of a term is the
        pair of the outcome and the term.
    people : int
        How many people there are.
    """

    worlds: Mapping[WorldKey, WorldRows]
    ys: tuple[Any, ...]
    people: int

    @property
    def rows(self) -> pd.DataFrame:
        """What the classifier would read, in all worlds."""
        return pd.concat([world.rows for world in self.worlds.values()], ignore_index=True)

    @property
    def person(self) -> np.ndarray:
        """Whose row each is."""
        return np.concatenate([world.whose for world in self.worlds.values()])

    def split(self, by_row: np.ndarray) -> list[np.ndarray]:
        """Return numbers of all rows by world."""
        return np.split(by_row, np.cumsum([len(world.rows) for world in self.worlds.values()])[:-1])

    def name(self, y: Any, term: str) -> Any:
        """Return what a term is called: natural effects are about everybody, whatever their outcome."""
        return term if len(self.ys) == 1 or term in NATURAL else (y, term)

    def names(self, terms: Sequence[str]) -> dict[Any, tuple[Any, str]]:
        """Return the names of terms, and the outcome and the term that each means."""
        return {
            self.name(y, term): (None if term in NATURAL else y, term)
            for y in self.ys
            for term in terms
        }  # fmt: skip

    def steps(self, name: Any) -> list[float] | None:
        """Return the coefficient of each world in a term; None if it cannot be computed."""
        y, term = self.names(BOUNDED)[name]
        wanted = {
            (y, *place): float(COEFFICIENTS[term][place]) for place in np.ndindex(SHAPE) if COEFFICIENTS[term][place]
        }
        return [wanted.get(key, 0.0) for key in self.worlds] if wanted.keys() <= self.worlds.keys() else None

    def coefficients(self, name: Any) -> np.ndarray:
        """Return the coefficient of each row in a term."""
        steps = self.steps(name)
        if steps is None:
            raise KeyError(name)
        return np.concatenate([step * world.weights for step, world in zip(steps, self.worlds.values(), strict=True)])

    def matrix(self, names: Sequence[Any]) -> np.ndarray:
        """Return the coefficients of several terms, a row each."""
        return np.stack([self.coefficients(name) for name in names]) if names else np.empty((0, len(self.rows)))

    def means(self, decided: np.ndarray) -> dict[WorldKey, float]:
        """Return the rate of a rule in each world, given the probability that it decides 1 at each row."""
        parts = self.split(decided)
        return {key: float(world.weights @ part) for (key, world), part in zip(self.worlds.items(), parts, strict=True)}

    def combine(self, means: Mapping[WorldKey, float], terms: Sequence[str] = TERMS) -> pd.Series:
        """Return the terms that rates in the worlds add up to; NaN if not known."""
        rates = np.array([*means.values()])
        found = {name: self.steps(name) for name in self.names(terms)}
        return pd.Series({name: np.nan if steps is None else np.dot(steps, rates) for name, steps in found.items()})

    def values(self, decided: np.ndarray, terms: Sequence[str] = TERMS) -> pd.Series:
        """Return the terms of a rule; NaN if not known."""
        return self.combine(self.means(decided), terms)

    # How sure they are

    def influences(self, decided: np.ndarray) -> dict[WorldKey, np.ndarray]:
        """Return how much each person moves the rate of a rule in each world."""
        parts = zip(self.worlds.items(), self.split(decided), strict=True)
        return {key: world.influence(part, self.people) for (key, world), part in parts}

    def errors(self, influences: Mapping[WorldKey, np.ndarray], names: Sequence[Any]) -> np.ndarray:
        """Return the standard errors of terms: the influence of a term is the sum of those of its rates."""
        moved = np.stack([*influences.values()])
        return np.array([np.linalg.norm(np.asarray(self.steps(name)) @ moved) for name in names])

    def error_slope(self, name: Any, decided: np.ndarray) -> np.ndarray:
        """Return the derivative of the standard error in the decision at each row."""
        steps = np.asarray(self.steps(name))
        moved = steps @ np.stack([*self.influences(decided).values()])
        moved /= max(float(np.linalg.norm(moved)), 1e-300)
        worlds = zip(steps, self.worlds.values(), strict=True)
        return np.concatenate([step * world.pull_back(moved) for step, world in worlds])

    def only(self, kept: np.ndarray) -> "LinearTerms":
        """Return the terms among some of the people."""
        return replace(self, worlds={key: world.only(kept) for key, world in self.worlds.items()})
