"""What a fair classifier learns from: weighted people in each world, by a diagram and data or by a posterior."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd

from causalaudit.adjustment import Covariates, NoOverlapError, check_overlap, fit_propensity
from causalaudit.counterfactuals import counterfactuals
from causalaudit.error_rates.explaining.criterion import find_explaining_set, open_path
from causalaudit.error_rates.learning.feature_selection import observed_graph
from causalaudit.error_rates.learning.linear_terms import LinearTerms, WeightedPeople
from causalaudit.errors import DataError
from causalaudit.people import why_discrete

if TYPE_CHECKING:
    from causalaudit.inference import Posterior

FEWEST = 5  # people with a level and the outcome, below which no rate is bounded
_MOST_ROWS = 2**22  # people times draws whose counterfactual features are held at once


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
    """

    table: pd.DataFrame
    labels: np.ndarray
    weights: np.ndarray
    features: list[str]
    protected: str
    levels: tuple[Any, Any]
    outcome: str
    y: Any

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

    def members(self, level: Any) -> np.ndarray:
        """Return who has a level and the outcome in question."""
        chosen = (self.table[self.protected] == level).to_numpy() & (self.labels == self.y) & self.counted
        if chosen.sum() < FEWEST:
            raise DataError(
                f"Only {int(chosen.sum())} people have {self.protected!r} = {level!r} and {self.outcome!r} = "
                f"{self.y!r}, too few to bound their error rate: at least {FEWEST} are needed."
            )
        return chosen

    def observed_terms(self, moved: WeightedPeople | None) -> LinearTerms:
        """Return the terms with the people of both levels as they are observed."""
        own = {}
        for level in self.levels:
            chosen = self.members(level)
            own[level] = WeightedPeople.of(self.table.loc[chosen, self.features], self.weights[chosen])
        return LinearTerms.of(own, moved, self.protected, self.levels)

    def explaining_set(self, graph: "nx.DiGraph[Any]") -> frozenset[str] | None:
        """Return covariates among the columns that satisfy the explanation criterion."""
        return find_explaining_set(self._observed(graph), self.features, self.protected, outcome=self.outcome)

    def _observed(self, graph: "nx.DiGraph[Any]") -> "nx.DiGraph[Any]":
        return observed_graph(graph, self.with_outcome)

    def unexplainable(self, graph: "nx.DiGraph[Any]") -> DataError:
        """Return the error that names the open path."""
        path = open_path(self._observed(graph), self.features, self.protected, outcome=self.outcome)
        return DataError(
            f"Indirect and spurious error rates of a classifier that reads {', '.join(self.features)} are not "
            f"explainable from data and this diagram, because a spurious path stays open: {path}. Choose features by "
            'select_explainable_features or features="explainable", bound only eps_direct and eps_total, or give a '
            "posterior of an SCM."
        )

    def moved_by_covariates(self, covariates: Covariates) -> WeightedPeople:
        """Return the contrast group weighted to the covariates of the baseline group (Lemmas 6 and 7).

        The weights are the odds P(x0 | c, y) / P(x1 | c, y), by the propensities that `estimate_error_rates` uses. They
        are scaled to add up to one.
        """
        first, second = (self.members(level) for level in self.levels)
        either = first | second
        own, weights = covariates.only(either[self.counted]), self.weights[either]
        chance = fit_propensity(own, second[either]).chances(weights[None])[0]
        group = f"{self.protected!r} = {self.levels[1]!r}, among those with {self.outcome!r} = {self.y!r},"
        check_overlap(chance, first[either], own, group, "Leave these people out, or coarsen the covariates.")
        chosen = second[either]
        odds = (1 - chance[chosen]) / chance[chosen]
        return WeightedPeople.of(self.table.loc[second, self.features], weights[chosen] * odds)

    def moved_if_overlapping(self, covariates: Covariates) -> WeightedPeople | None:
        """Return the same, or None where there is no overlap."""
        try:
            return self.moved_by_covariates(covariates)
        except NoOverlapError:
            return None

    def covariates(self, names: Collection[str], declared: Collection[str]) -> Covariates:
        """Return covariates of everybody who counts; `declared` are columns that the user says are discrete."""
        return Covariates.of(self.table[self.counted], sorted(names), declared)

    def moved_by_posterior(self, posterior: "Posterior", draws: int | None, seed: int) -> WeightedPeople:
        """Return the baseline group as it would be under do(X = x1, Y = y), at several draws of the posterior."""
        chosen = self.members(self.levels[0])
        number, people = len(posterior.draw_numbers(draws)), int(chosen.sum())
        if number * people > _MOST_ROWS:
            raise DataError(
                f"The counterfactuals of {people:,} people at {number:,} draws are more than can be bounded at once: "
                f"use fewer draws, as in draws={max(1, _MOST_ROWS // people)}."
            )
        do = {self.protected: self.levels[1], self.outcome: self.y}
        worlds = counterfactuals(
            posterior, do, data=self.with_outcome, rows=chosen, draws=draws, seed=seed, progress=False
        )
        rows = worlds.frame(slice(None))[self.features].reset_index(drop=True)
        return WeightedPeople.of(rows, np.tile(self.weights[chosen], len(rows) // people))
