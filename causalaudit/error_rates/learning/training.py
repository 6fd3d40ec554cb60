"""What a fair classifier learns from: weighted people in each world, by a diagram and data or by a posterior."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from causalaudit.counterfactuals import counterfactuals
from causalaudit.error_rates.explaining.criterion import find_explaining_set, open_path
from causalaudit.error_rates.learning.linear_terms import LinearTerms, WeightedPeople
from causalaudit.error_rates.learning.logistic_rule import fit_logistic
from causalaudit.error_rates.learning.selection import observed_graph
from causalaudit.errors import DataError
from causalaudit.inference import Posterior

FEWEST = 5  # people with a level and the outcome, below which no rate is bounded
_RIDGE = 1e-8  # keeps the regression of propensities finite
_IMPOSSIBLE = 1e-6  # a propensity below it is none
FEW_VALUES = 10  # up to which a column of numbers counts as discrete


class NoOverlapError(DataError):
    """Somebody of the baseline group has covariates that nobody of the contrast group has."""


@dataclass(frozen=True)
class Training:
    """People with their outcome, and the two levels that are compared among those with Y = y.

    Attributes
    ----------
    people : pandas.DataFrame
        All columns but the outcome, with a RangeIndex.
    labels : numpy.ndarray
        The outcome.
    weights : numpy.ndarray
        Of the people; they add up to one.
    features : list of str
        What the classifier reads.
    """

    people: pd.DataFrame
    labels: np.ndarray
    weights: np.ndarray
    features: list[str]
    protected: str
    levels: tuple[Any, Any]
    outcome: str
    y: Any

    def members(self, level: Any) -> np.ndarray:
        """Return who has a level and the outcome in question."""
        chosen = (self.people[self.protected] == level).to_numpy() & (self.labels == self.y) & (self.weights > 0)
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
            own[level] = WeightedPeople.of(self.people.loc[chosen, self.features], self.weights[chosen])
        return LinearTerms.of(own, moved, self.protected, self.levels)

    def explaining_set(self, graph: "nx.DiGraph[Any]") -> frozenset[str] | None:
        """Return covariates among the columns that satisfy the explanation criterion."""
        return find_explaining_set(self._observed(graph), self.features, self.protected, self.outcome)

    def _observed(self, graph: "nx.DiGraph[Any]") -> "nx.DiGraph[Any]":
        return observed_graph(graph, self.people.assign(**{self.outcome: self.labels}))

    def unexplainable(self, graph: "nx.DiGraph[Any]") -> DataError:
        """Return the error that names the open path."""
        path = open_path(self._observed(graph), self.features, self.protected, self.outcome)
        return DataError(
            f"Indirect and spurious error rates of a classifier that reads {', '.join(self.features)} are not "
            f"explainable from data and this diagram, because a spurious path stays open: {path}. Choose features by "
            'select_explainable_features or features="explainable", bound only eps_direct and eps_total, or give a '
            "posterior of an SCM."
        )

    def moved_by_covariates(self, covariates: frozenset[str]) -> WeightedPeople:
        """Return the contrast group weighted to the covariates of the baseline group (Lemmas 6 and 7).

        The weights are the odds P(x0 | c, y) / P(x1 | c, y): shares of the table of discrete covariates, else those of
        logistic regression. They are scaled to add up to one.
        """
        first, second = (self.members(level) for level in self.levels)
        rows = self.people.loc[second, self.features]
        if not covariates:
            return WeightedPeople.of(rows, self.weights[second])
        table = self.people[[name for name in self.people.columns if name in covariates]]
        odds = self._table_odds if all(is_discrete(table[name]) for name in table) else self._logistic_odds
        return WeightedPeople.of(rows, self.weights[second] * odds(table, first, second))

    def _table_odds(self, table: pd.DataFrame, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        cells, values = pd.factorize(pd.MultiIndex.from_frame(table))
        ours = np.bincount(cells[first], self.weights[first], len(values))
        theirs = np.bincount(cells[second], self.weights[second], len(values))
        lonely = (ours > 0) & (theirs == 0)
        if lonely.any():
            cell = values[[int(np.argmax(lonely))]].to_frame(index=False).set_axis(table.columns, axis=1)
            where = ", ".join(f"{name} = {column.tolist()[0]!r}" for name, column in cell.items())
            raise NoOverlapError(
                f"No overlap: among people with {self.outcome!r} = {self.y!r} and {where}, some have "
                f"{self.protected!r} = {self.levels[0]!r} but nobody {self.levels[1]!r} (propensity 0). Merge levels, "
                "or leave these people out."
            )
        return (ours / np.where(theirs > 0, theirs, 1.0))[cells[second]]

    def _logistic_odds(self, table: pd.DataFrame, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        either = first | second
        weights = self.weights[either] / self.weights[either].sum()
        rule = fit_logistic(table[either], first[either], weights, None, {}, penalty=_RIDGE)
        lonely = rule.score(table[first]) > -np.log(_IMPOSSIBLE)
        if lonely.any():
            raise NoOverlapError(
                f"No overlap: by logistic regression, the propensity of {self.protected!r} = {self.levels[1]!r} is 0 "
                f"for {int(lonely.sum())} of {len(lonely)} people with {self.outcome!r} = {self.y!r} and "
                f"{self.levels[0]!r}. Leave these people out, or coarsen the covariates."
            )
        return np.exp(rule.score(table[second]))

    def moved_if_overlapping(self, covariates: frozenset[str]) -> WeightedPeople | None:
        """Return the same, or None where there is no overlap."""
        try:
            return self.moved_by_covariates(covariates)
        except NoOverlapError:
            return None

    def moved_by_posterior(self, posterior: Posterior, draws: int, seed: int) -> WeightedPeople:
        """Return the baseline group as it would be under do(X = x1, Y = y), at several draws of the posterior."""
        chosen = self.members(self.levels[0])
        data = self.people.assign(**{self.outcome: self.labels})
        do = {self.protected: self.levels[1], self.outcome: self.y}
        draws = min(draws, len(posterior.draw_numbers()))
        worlds = counterfactuals(posterior, do, data=data, rows=chosen, draws=draws, seed=seed, progress=False)
        rows = worlds.frame(slice(None))[self.features].reset_index(drop=True)
        repeats = len(rows) // int(chosen.sum())
        return WeightedPeople.of(rows, np.tile(self.weights[chosen], repeats))


def is_discrete(column: "pd.Series[Any]") -> bool:
    """Whether a column holds no numbers, or few different ones, all whole."""
    if not pd.api.types.is_numeric_dtype(column):
        return True
    return column.nunique() <= FEW_VALUES and bool((column == column.round()).all())


def all_discrete(people: pd.DataFrame, features: Sequence[str]) -> bool:
    """Whether a table of the features is meant to be filled."""
    return all(is_discrete(people[name]) for name in features)
