"""Response functions of a group of people: what a mechanism that serves them all would answer, state by state.

A mechanism answers every state of the parents of its site; which answers go together is the coupling. People whose
states are linked (somebody has one in fact and another in the other world) ask the same *mechanism*; states that nobody
links are answered by mechanisms of their own.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from causalaudit.counterfactuals.coupling_bounds import CouplingBounds

# The most numbers of a linear program, and of all of its people together (128 MiB).
MOST_FUNCTIONS = 2**12
_MOST_NUMBERS = 2**24


@dataclass(frozen=True, eq=False)
class Mechanism:
    """The answers of one site to states of its parents that are linked.

    Attributes
    ----------
    site
        Its name.
    states
        The states, as positions among all states of the parents of the site.
    law
        The probability of each value, by draw and state.
    functions
        The answers: response functions × states.
    """

    site: str
    states: np.ndarray
    law: np.ndarray
    functions: np.ndarray


@dataclass(frozen=True, eq=False)
class Cell:
    """People who ask the same mechanisms.

    Attributes
    ----------
    mechanisms
        The positions of these, one for each site, in causal order.
    people
        Who they are.
    worth
        What is asked about each of them under each joint response, zero where that denies what was observed: people ×
        an axis for each mechanism.
    """

    mechanisms: tuple[int, ...]
    people: np.ndarray
    worth: np.ndarray


@dataclass(frozen=True, eq=False)
class ResponseFunctions:
    """All mechanisms that a group asks, and what their answers are worth.

    Attributes
    ----------
    mechanisms, cells
        The mechanisms, and the people by the mechanisms that they ask.
    """

    mechanisms: list[Mechanism]
    cells: list[Cell]

    @classmethod
    def of(cls, bounds: CouplingBounds, names: Sequence[str], worth: np.ndarray) -> "ResponseFunctions | int":
        """Return the response functions, or how many there would be where they are too many.

        Parameters
        ----------
        bounds
            The people.
        names
            The variables of the counterfactual world that matter, all of which are reached.
        worth
            What is asked about people, by the value of each of `names`: an axis for each, after one for the people (of
            length one where all are asked the same).
        """
        scope = bounds.scope(names)
        asked = {name: _States.of(bounds, name, scope) for name in scope}
        sizes = {name: asked[name].count() for name in scope}
        first = {name: sum(len(sizes[other]) for other in scope[:place]) for place, name in enumerate(scope)}
        tuples = np.stack([first[name] + asked[name].mechanism for name in scope], axis=1)
        distinct, inverse = np.unique(tuples, axis=0, return_inverse=True)
        every = [size for name in scope for size in sizes[name]]
        joint = [math.prod(every[place] for place in row) for row in distinct]
        members = np.bincount(inverse.ravel(), minlength=len(distinct))
        if sum(joint) > MOST_FUNCTIONS or int(members @ np.array(joint, dtype=float)) > _MOST_NUMBERS:
            return sum(joint)
        mechanisms = [one for name in scope for one in asked[name].mechanisms()]
        cells = []
        for place, row in enumerate(distinct):
            people = np.flatnonzero(inverse.ravel() == place)
            numbers = _worth(bounds, asked, mechanisms, row, people, (names, worth))
            cells.append(Cell(tuple(int(one) for one in row), people, numbers))
        return cls(mechanisms, cells)


@dataclass(frozen=True, eq=False)
class _States:
    """What people ask one site: the state of its parents in fact, and those that may be in the other world.

    Attributes
    ----------
    name, law
        The site, and the probability of its values, by draw and state.
    factual
        The state of everybody in fact.
    other
        For each parent its position in the other world, by person, or None where any value may be.
    mechanism
        Which mechanism each person asks.
    of_state
        Which mechanism answers each state; -1 if nobody asks.
    """

    name: str
    law: np.ndarray
    shape: tuple[int, ...]
    factual: np.ndarray
    other: Mapping[str, np.ndarray | None]
    mechanism: np.ndarray
    of_state: np.ndarray

    @classmethod
    def of(cls, bounds: CouplingBounds, name: str, scope: Sequence[str]) -> "_States":
        site, people = bounds.sites[name], len(bounds)
        shape = tuple(len(bounds.sites[parent].values) for parent in site.parents)
        flat = bounds.law(name).reshape(-1, math.prod(shape), len(site.values))
        factual = np.zeros(people, dtype=int)
        other: dict[str, np.ndarray | None] = {}
        for parent, size in zip(site.parents, shape, strict=True):
            factual = factual * size + bounds.factual[parent]
            other[parent] = None if parent in scope else bounds.do.get(parent, bounds.factual[parent])
        states = np.stack(
            [np.broadcast_to(flat_state(shape, other, values), people) for values in _any_values(shape, other)], axis=1
        )
        linked = coo_matrix(
            (np.ones(states.size), (np.repeat(factual, states.shape[1]), states.ravel())), shape=[math.prod(shape)] * 2
        )
        _, component = connected_components(linked, directed=False)
        used = np.unique(component[factual])
        of_state = np.where(np.isin(component, used), np.searchsorted(used, component), -1)
        of_state = np.where(of_state >= len(used), -1, of_state)
        return cls(name, flat, shape, factual, other, of_state[factual], of_state)

    def _possible(self, states: np.ndarray) -> list[np.ndarray]:
        """Return the values that each state can have at some draw."""
        return [np.flatnonzero((self.law[:, state] > 0).any(axis=0)) for state in states]

    def count(self) -> list[int]:
        """Return how many response functions each mechanism has."""
        number = int(self.of_state.max()) + 1
        return [
            math.prod(len(values) for values in self._possible(np.flatnonzero(self.of_state == place)))
            for place in range(number)
        ]

    def mechanisms(self) -> list[Mechanism]:
        found = []
        for place in range(int(self.of_state.max()) + 1):
            states = np.flatnonzero(self.of_state == place)
            functions = np.array(list(itertools.product(*self._possible(states))))
            found.append(Mechanism(self.name, states, self.law[:, states], functions))
        return found


def _any_values(shape: Sequence[int], other: Mapping[str, np.ndarray | None]) -> list[tuple[int, ...]]:
    """Return the joint values of the parents that may be anything (0 for the others)."""
    free = [range(size) if known is None else range(1) for size, known in zip(shape, other.values(), strict=True)]
    return list(itertools.product(*free))


def flat_state(
    shape: Sequence[int], known: Mapping[str, np.ndarray | None], values: Sequence[int | np.ndarray]
) -> np.ndarray:
    """Return the position of the states of parents, those that are not known having the given values."""
    state: np.ndarray = np.zeros(1, dtype=int)
    for size, places, value in zip(shape, known.values(), values, strict=True):
        state = state * size + (value if places is None else places)
    return state


def _worth(
    bounds: CouplingBounds,
    asked: Mapping[str, _States],
    mechanisms: Sequence[Mechanism],
    row: np.ndarray,
    people: np.ndarray,
    question: tuple[Sequence[str], np.ndarray],
) -> np.ndarray:
    """Return what is asked about some people under each joint response of their mechanisms, zero where it denies."""
    names, worth = question
    scope, grid = list(asked), (1,) * len(row)
    values: dict[str, np.ndarray] = {}
    agrees: np.ndarray = np.ones((len(people), *grid), dtype=bool)
    for axis, (name, place) in enumerate(zip(scope, row, strict=True)):
        own, states = mechanisms[place], asked[name]
        along = [len(own.functions) if axis == other else 1 for other in range(len(row))]
        where = np.zeros(len(states.of_state), dtype=int)
        where[own.states] = np.arange(len(own.states))
        answer = own.functions[:, where[states.factual[people]]].T
        agrees = agrees & (answer == bounds.factual[name][people, None]).reshape(len(people), *along)
        known = {parent: _column(at, people, grid) for parent, at in states.other.items()}
        state = flat_state(states.shape, known, [values.get(parent, np.zeros(1, int)) for parent in known])
        function = np.arange(len(own.functions)).reshape(1, *along)
        values[name] = own.functions[function, where[state]]
    person = (people if len(worth) > 1 else np.zeros_like(people)).reshape(-1, *grid)
    found = worth[(person, *(values[name] for name in names))]
    return np.where(agrees, found, 0.0)


def _column(at: np.ndarray | None, people: np.ndarray, grid: tuple[int, ...]) -> np.ndarray | None:
    return None if at is None else at[people].reshape(-1, *grid)
