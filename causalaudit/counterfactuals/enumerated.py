"""All people that a finite program can give, in two worlds that share their noise, with their probabilities."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np

from causalaudit.counterfactuals.bounded import MOST_NUMBERS, OTHERWISE, AnyCoupling, refuse_confounded
from causalaudit.counterfactuals.coupling_bounds import CouplingBounds
from causalaudit.counterfactuals.finite_sites import MOST_STATES, SIMULATE, Places, Site, tabulate, too_many
from causalaudit.counterfactuals.shared_noise import correlated_joint
from causalaudit.counterfactuals.tabled import Tabled
from causalaudit.errors import DataError
from causalaudit.global_state import cached_property
from causalaudit.progress import pieces
from causalaudit.scm.confounding import pair_of
from causalaudit.scm.noise import Coupling

# Numbers (draws x states) that one pass holds, 16 MiB; a handful of such arrays are alive at once.
_BUDGET = 2**21


@dataclass(frozen=True, eq=False)
class EnumeratedPeople(Tabled):
    """The people of a finite program: every joint state of its variables, with its probability at each draw."""

    draws: int | None
    coupling: dict[str, Coupling]
    otherwise: str = SIMULATE
    """What to do where there is too much, in the words of an error."""

    @cached_property
    def numbers(self) -> np.ndarray:
        """The draws of the posterior that are used."""
        return self.posterior.draw_numbers(self.draws)

    @cached_property
    def sites(self) -> dict[str, Site]:
        """The variables, tabulated."""
        parameters = {name: value[self.numbers] for name, value in self.posterior.parameters().items()}
        return tabulate(self.scm, parameters, len(self.numbers), self.coupling, self.otherwise)

    def worlds(
        self, do: Mapping[str, Any], given: Mapping[str, Sequence[Any]], names: Sequence[str]
    ) -> "EnumeratedWorlds":
        """Return the joint states of a factual and of a counterfactual world.

        Parameters
        ----------
        do
            What is set in the counterfactual world.
        given
            Factual values, of which people have one for each variable; nothing given means everybody.
        names
            The counterfactual variables that are asked about.
        """
        at = {name: self._position(name, value) for name, value in do.items()}
        known = {name: np.array([self._position(name, value) for value in values]) for name, values in given.items()}
        return EnumeratedWorlds(self, at, known, tuple(names))

    def any_coupling(self, do: Mapping[str, Any], given: Mapping[str, Any], names: Sequence[str]) -> AnyCoupling:
        """Return the people who have some values, and what they can be under an intervention and any coupling.

        Parameters
        ----------
        do
            What is set in the counterfactual world.
        given
            Factual values.
        names
            The variables that are asked about.

        Raises
        ------
        DataError
            If a variable of the program is not finite, if there are too many states, or if nobody has the values.
        """
        refuse_confounded(self.scm)
        kinds = replace(self, otherwise=OTHERWISE)
        known = {name: [value] for name, value in given.items()}
        states = kinds.worlds({}, known, [*given, *names])
        draws = len(self.numbers)
        if draws * len(states) > MOST_NUMBERS:
            raise too_many(f"there are {len(states):,} kinds of people at each of {draws:,} draws", OTHERWISE)
        weights = states.probability(slice(0, draws))
        there = weights.any(axis=0)
        if not weights.sum(axis=1).all():
            raise DataError(f"The program gives nobody with {', '.join(f'{n} = {v!r}' for n, v in given.items())}.")
        sites = {name: site for name, site in kinds.sites.items() if name in states.asked}
        factual = {name: states.positions(name)[there] for name in sites}
        at = {name: np.full(int(there.sum()), kinds._position(name, value)) for name, value in do.items()}
        return AnyCoupling(self.scm, self.numbers, CouplingBounds(sites, factual, at), weights=weights[:, there])

    def _position(self, name: str, value: object) -> int:
        """Return the position of a value of a column among the values of its site."""
        values = self.sites[name].values
        found = np.flatnonzero(values == self.number(name, value))
        if not len(found):
            raise DataError(f"{name!r} is never {value!r} under the program; it is one of {values.tolist()}.")
        return int(found[0])


@dataclass(frozen=True, eq=False)
class EnumeratedWorlds:
    """The joint states of a factual world, some values of which are given, and of one in which some are set.

    Of the factual variables those are enumerated that decide on what is given, of the counterfactual ones those that
    decide on what is asked about. A variable in both has the probability of the noise that gives both values.
    """

    people: EnumeratedPeople
    do: Mapping[str, int]
    given: Mapping[str, np.ndarray]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(next(iter(self._axes.values())))

    def tasks(self) -> list[slice]:
        """Cut the draws into passes."""
        return pieces(len(self.people.numbers), len(self), _BUDGET)

    def had(self, name: str) -> np.ndarray:
        """Return for each value of a variable that is given (rows) in which states people have it."""
        return np.stack([self._axes[name, True] == code for code in self.given[name]])

    def positions(self, name: str) -> np.ndarray:
        """Return where the value of a counterfactual variable in each state is among the values of its site."""
        return self._axes[name, False]

    @property
    def asked(self) -> dict[str, None]:
        """The variables of either world."""
        return dict.fromkeys([*self._factual, *self._counterfactual])

    def probability(self, draws: slice) -> np.ndarray:
        """Return the probability of each joint state (columns) at some draws."""
        weights = np.ones((draws.stop - draws.start, len(self)))
        for name in self.asked:
            pair = pair_of(self.people.scm.confounding, name)
            if pair is not None and pair.names <= self.asked.keys():
                if name == pair.second:
                    steps = [self._sites[one].shared(draws, self._places(one)) for one in (pair.first, pair.second)]
                    weights *= correlated_joint(steps[0], steps[1], pair.rho)
                continue
            site, places = self._sites[name], self._places(name)
            weights *= site.joint(draws, *places) if len(places) == 2 else site.probability(draws, *places[0])
        return weights

    def _places(self, name: str) -> list[tuple[Places, np.ndarray]]:
        """Return the positions of a variable and of its parents, of both worlds if they differ."""
        first = self._place(name, name in self._factual)
        both = name in self._factual and name in self._counterfactual and name in self._changed
        return [first, self._place(name, False)] if both else [first]

    def _place(self, name: str, factual: bool) -> tuple[Places, np.ndarray]:
        """Return the positions of the parents and of the value of a variable in one of the worlds."""
        return tuple(self._axes[parent, factual] for parent in self._sites[name].parents), self._axes[name, factual]

    @property
    def _sites(self) -> dict[str, Site]:
        return self.people.sites

    @property
    def _graph(self) -> "nx.DiGraph[str]":
        return self.people.scm.graph

    @cached_property
    def _factual(self) -> list[str]:
        """The variables of the factual world that decide on what is given, in causal order."""
        needed = set(self.given).union(*(nx.ancestors(self._graph, name) for name in self.given))
        return [name for name in self.people.scm.variables if name in needed]

    @cached_property
    def _counterfactual(self) -> list[str]:
        """The variables of the counterfactual world that decide on what is asked about, in causal order."""
        graph = self._graph.copy()
        graph.remove_edges_from([(parent, name) for name in self.do for parent in self._graph.predecessors(name)])
        needed = set(self.names).union(*(nx.ancestors(graph, name) for name in self.names)) - set(self.do)
        return [name for name in self.people.scm.variables if name in needed]

    @cached_property
    def _changed(self) -> set[str]:
        """The variables that the intervention can change."""
        return set().union(*(nx.descendants(self._graph, name) for name in self.do))

    @cached_property
    def _axes(self) -> dict[tuple[str, bool], np.ndarray]:
        """The position of the value of each variable, in the factual world (True) or not, in each joint state."""
        own = [(name, True) for name in self._factual]
        own += [(name, False) for name in self._counterfactual if name in self._changed or name not in self._factual]
        choices = [
            self.given[name] if factual and name in self.given else np.arange(len(self._sites[name].values))
            for name, factual in own
        ]
        states = math.prod(len(choice) for choice in choices)
        if states > MOST_STATES:
            raise too_many(
                f"{', '.join(dict.fromkeys(name for name, _ in own))} have {states:,} joint states",
                self.people.otherwise,
            )
        places = np.indices([len(choice) for choice in choices]).reshape(len(choices), states)
        axes = {key: choice[place] for key, choice, place in zip(own, choices, places, strict=True)}
        shared = {(name, False): axes[name, True] for name in self._counterfactual if (name, False) not in axes}
        return {**axes, **shared, **{(name, False): np.full(states, code) for name, code in self.do.items()}}
