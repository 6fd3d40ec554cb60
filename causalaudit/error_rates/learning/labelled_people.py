"""What a fair classifier learns from: people with their outcome, and whose error rates are compared."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd

from causalaudit.counterfactuals import counterfactuals
from causalaudit.error_rates.explaining.criterion import find_explaining_set, open_path
from causalaudit.error_rates.learning.feature_selection import observed_graph
from causalaudit.error_rates.learning.linear_terms import WorldKey, WorldRows
from causalaudit.errors import DataError
from causalaudit.people import why_discrete

if TYPE_CHECKING:
    from causalaudit.inference import Posterior

FEWEST = 5  # people with a level and the outcome, below which no rate is bounded
_MOST_ROWS = 2**22  # people times draws whose counterfactual features are held at once
_FEW_CELLS, _PEOPLE_A_CELL = 32, 10  # a table of more combinations needs so many people in each, on average


@dataclass(frozen=True, eq=False)
class LabelledPeople:
    """People with their outcome, and the two levels that are compared among those with Y = y.

    Attributes
    ----------
    table : pandas.DataFrame
        All columns but the outcome, with a RangeIndex.
    labels : numpy.ndarray
        The outcome.
    weights : numpy.ndarray
        Of the people; they add up to one.
    features : list of str
        What the classifier reads.
    ys : tuple
        The values of the outcome in question.
    states : bool
        Whether the rows are the states of a population with their probabilities, rather than a sample.
    """

    table: pd.DataFrame
    labels: np.ndarray
    weights: np.ndarray
    features: list[str]
    protected: str
    levels: tuple[Any, Any]
    outcome: str
    ys: tuple[Any, ...]
    states: bool = False

    @property
    def counted(self) -> np.ndarray:
        """Who has a weight: the others say nothing about what is discrete."""
        return self.weights > 0

    @property
    def with_outcome(self) -> pd.DataFrame:
        """The table with a column of the outcome."""
        data = self.table.copy()
        data[self.outcome] = self.labels
        return data

    def discrete(self, declared: Collection[str]) -> bool:
        """Whether a table of the features is meant to be filled."""
        table = self.table[self.counted]
        return all(why_discrete(table[name], declared) for name in self.features)

    def crowded(self) -> str | None:
        """Say why a table of the features is not filled by these people; None if it is, or if they are all states."""
        rows = self.table.loc[self.counted, self.features]
        cells = len(rows.drop_duplicates())
        if cells <= _FEW_CELLS or len(rows) >= _PEOPLE_A_CELL * cells or self.states:
            return None
        most = max(self.features, key=lambda name: rows[name].nunique())
        return (
            f"The features have {cells:,} combinations of values for {len(rows):,} people, fewer than "
            f"{_PEOPLE_A_CELL} in each ({most!r} alone has {rows[most].nunique()} levels)"
        )

    def members(self, level: Any, y: Any = None) -> np.ndarray:
        """Return who has a level and an outcome (None: any)."""
        chosen = (self.table[self.protected] == level).to_numpy() & self.counted
        chosen &= True if y is None else self.labels == y
        if chosen.sum() < FEWEST:
            raise DataError(
                f"Only {int(chosen.sum())} people have {self.protected!r} = {level!r} and {self.outcome!r} = "
                f"{y!r}, too few to bound their error rate: at least {FEWEST} are needed."
            )
        return chosen

    def world(self, chosen: np.ndarray, read: int) -> WorldRows:
        """Return people as they are, as the classifier reads them with one of the two levels."""
        rows, place = self.table.loc[chosen, self.features], np.flatnonzero(chosen)
        return WorldRows.of(rows, self.weights[chosen], place).read_as(self.protected, self.levels[read])

    def observed_worlds(self, y: Any) -> dict[WorldKey, WorldRows]:
        """Return the people of both levels as they are observed, those of the first read as either."""
        first, second = (self.members(level, y) for level in self.levels)
        places = {(0, 0, 0): (first, 0), (1, 0, 0): (first, 1), (1, 1, 1): (second, 1)}
        return {(y, *place): self.world(*mean) for place, mean in places.items()}

    # What a diagram says

    def explaining_set(self, graph: "nx.DiGraph[Any]") -> frozenset[str] | None:
        """Return covariates among the columns that satisfy the explanation criterion."""
        return find_explaining_set(self.observed(graph), self.features, self.protected, outcome=self.outcome)

    def observed(self, graph: "nx.DiGraph[Any]") -> "nx.DiGraph[Any]":
        """Return the diagram, variables without a column being unobserved."""
        return observed_graph(graph, self.with_outcome)

    def unexplainable(self, graph: "nx.DiGraph[Any]") -> DataError:
        """Return the error that names the open path."""
        path = open_path(self.observed(graph), self.features, self.protected, outcome=self.outcome)
        return DataError(
            f"Indirect and spurious error rates of a classifier that reads {', '.join(self.features)} are not "
            f"explainable from data and this diagram, because a spurious path stays open: {path}. Choose features by "
            'select_explainable_features or features="explainable", bound only eps_direct and eps_total, or give a '
            "posterior of an SCM."
        )

    # What a posterior says

    def moved_by_posterior(
        self, posterior: "Posterior", chosen: np.ndarray, do: dict[str, Any], draws: int | None, seed: int
    ) -> WorldRows:
        """Return people as they would be under an intervention, at several draws of the posterior."""
        number, people = len(posterior.draw_numbers(draws)), int(chosen.sum())
        if number * people > _MOST_ROWS:
            raise DataError(
                f"The counterfactuals of {people:,} people at {number:,} draws are more than can be bounded at once: "
                f"use fewer draws, as in draws={max(1, _MOST_ROWS // people)}."
            )
        worlds = counterfactuals(
            posterior, do, data=self.with_outcome, rows=chosen, draws=draws, seed=seed, progress=False
        )
        rows = worlds.frame(slice(None))[self.features].reset_index(drop=True)
        copies = len(rows) // people
        return WorldRows.of(rows, np.tile(self.weights[chosen], copies), np.tile(np.flatnonzero(chosen), copies))
