"""Nested counterfactual rates of a finite SCM, by enumerating two worlds that share their noise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np

from causalaudit.error_rates.explaining.finite import MOST_STATES, Places, Site, tabulate, too_many
from causalaudit.error_rates.explaining.frames import People
from causalaudit.error_rates.explaining.question import nobody
from causalaudit.error_rates.explaining.terms import EVERYBODY, SHAPE
from causalaudit.errors import DataError

# Numbers (draws x states) that one pass holds, 16 MiB; a handful of such arrays are alive at once.
_BUDGET = 2**21


def exact_rates(people: People, draws: int | None) -> np.ndarray:
    """Return N(xd, xi | x, y) and its version for everybody at each draw of the parameters.

    For each world do(X = xi, Y = y) the joint states of the factual and of the counterfactual variables are
    enumerated: of the factual ones those that X and Y depend on, of the counterfactual ones those that the
    classifier's features depend on. A variable in both has the probability of the noise that gives both values.

    Raises
    ------
    DataError
        If a site is not finite, if there are too many states, or if nobody has X = x and Y = y.
    """
    numbers = people.posterior.draw_numbers(draws)
    parameters = {name: value[numbers] for name, value in people.posterior.parameters().items()}
    sites = tabulate(people.scm, parameters, len(numbers))
    question = people.question
    codes = [_position(people, question.protected, level, sites) for level in question.levels]
    outcome = _position(people, question.outcome, question.y, sites)
    given = {question.protected: np.array(codes), question.outcome: np.array([outcome])}
    rates = np.empty((len(numbers), *SHAPE))
    for xi, code in enumerate(codes):
        do = {question.protected: code}
        rates[:, :, xi, :EVERYBODY] = Worlds(people, sites, {**do, question.outcome: outcome}, given).rates(
            len(numbers)
        )
        rates[:, :, xi, EVERYBODY] = Worlds(people, sites, do, {}).rates(len(numbers))[..., 0]
    return rates


def _position(people: People, name: str, value: object, sites: Mapping[str, Site]) -> int:
    """Return the position of a value of a column among the values of its site."""
    found = np.flatnonzero(sites[name].values == people.number(name, value))
    if not len(found):
        raise DataError(f"{name!r} is never {value!r} under the program; it is one of {sites[name].values.tolist()}.")
    return int(found[0])


@dataclass(frozen=True)
class Worlds:
    """A factual world, of which some values are given, and a counterfactual one, in which some variables are set.

    `do` maps variables to a position among their values, `given` to several; nothing given means everybody.
    """

    people: People
    sites: Mapping[str, Site]
    do: Mapping[str, int]
    given: Mapping[str, np.ndarray]

    @property
    def _graph(self) -> "nx.DiGraph[str]":
        return self.people.scm.graph

    @cached_property
    def factual(self) -> list[str]:
        """The variables of the factual world that decide on what is given, in causal order."""
        needed = set(self.given).union(*(nx.ancestors(self._graph, name) for name in self.given))
        return [name for name in self.people.scm.variables if name in needed]

    @cached_property
    def counterfactual(self) -> list[str]:
        """The variables of the counterfactual world that decide on the features, in causal order."""
        graph = self._graph.copy()
        graph.remove_edges_from([(parent, name) for name in self.do for parent in self._graph.predecessors(name)])
        features = self.people.question.features
        needed = set(features).union(*(nx.ancestors(graph, name) for name in features)) - set(self.do)
        return [name for name in self.people.scm.variables if name in needed]

    @cached_property
    def changed(self) -> set[str]:
        """The variables that the intervention can change."""
        return set().union(*(nx.descendants(self._graph, name) for name in self.do))

    @cached_property
    def _axes(self) -> dict[tuple[str, bool], np.ndarray]:
        """The position of the value of each variable, in the factual world (True) or not, in each joint state."""
        own = [(name, True) for name in self.factual]
        own += [(name, False) for name in self.counterfactual if name in self.changed or name not in self.factual]
        choices = [
            self.given[name] if factual and name in self.given else np.arange(len(self.sites[name].values))
            for name, factual in own
        ]
        states = math.prod(len(choice) for choice in choices)
        if states > MOST_STATES:
            raise too_many(f"{', '.join(dict.fromkeys(name for name, _ in own))} have {states:,} joint states")
        places = np.indices([len(choice) for choice in choices]).reshape(len(choices), states)
        axes = {key: choice[place] for key, choice, place in zip(own, choices, places, strict=True)}
        shared = {(name, False): axes[name, True] for name in self.counterfactual if (name, False) not in axes}
        return {**axes, **shared, **{(name, False): np.full(states, code) for name, code in self.do.items()}}

    def rates(self, draws: int) -> np.ndarray:
        """Return the mean of P(ŷ), by draw, level read and group: the given values of X, or everybody."""
        groups = self._groups()
        size = max(1, _BUDGET // groups.shape[1])
        passes = [slice(start, min(start + size, draws)) for start in range(0, draws, size)]
        return np.concatenate([self._pass(part, groups) for part in passes])

    def _pass(self, draws: slice, groups: np.ndarray) -> np.ndarray:
        weights = self._probability(draws)
        shares = weights @ groups.T
        if not (shares > 0).all():
            level = self.people.question.levels[int(np.argmin(shares.min(axis=0)))]
            raise DataError(nobody(self.people.question, level))
        return np.einsum("ds,gs,ls->dlg", weights, groups, self._thetas) / shares[:, None, :]

    def _groups(self) -> np.ndarray:
        """Return which states (columns) belong to each group."""
        protected = self.people.question.protected
        if protected not in self.given:
            return np.ones((1, len(next(iter(self._axes.values())))))
        return np.stack([self._axes[protected, True] == code for code in self.given[protected]]).astype(float)

    def _probability(self, draws: slice) -> np.ndarray:
        """Return the probability of each joint state (columns) at some draws."""
        weights = np.ones((draws.stop - draws.start, len(next(iter(self._axes.values())))))
        for name in dict.fromkeys([*self.factual, *self.counterfactual]):
            site, factual = self.sites[name], self._place(name, name in self.factual)
            if name in self.factual and name in self.counterfactual and name in self.changed:
                weights *= site.joint(draws, factual, self._place(name, False))
            else:
                weights *= site.probability(draws, *factual)
        return weights

    def _place(self, name: str, factual: bool) -> tuple[Places, np.ndarray]:
        """Return the positions of the parents and of the value of a variable in one of the worlds."""
        return tuple(self._axes[parent, factual] for parent in self.sites[name].parents), self._axes[name, factual]

    @cached_property
    def _thetas(self) -> np.ndarray:
        """P(ŷ) by level read (rows) and state: the classifier is asked once for each combination of features."""
        names = self.people.question.features
        sizes = tuple(len(self.sites[name].values) for name in names)
        values = {
            name: self.sites[name].values.reshape([-1 if other == name else 1 for other in names]) for name in names
        }
        if not names:
            return np.repeat(self.people.rates({}, (1,)), len(next(iter(self._axes.values()))), axis=1)
        cells: Places = (slice(None), *(self._axes[name, False] for name in names))
        return self.people.rates(values, sizes)[cells]
