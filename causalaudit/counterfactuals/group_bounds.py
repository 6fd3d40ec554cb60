"""Bounds of what a group of people would have been, over all couplings: one mechanism serves everybody.

The best coupling for one person need not be that for another, so that sums of personal bounds are too wide. Here the
law of the joint response functions of all sites is found by one linear program: whatever the others answer, a
mechanism answers each state as often as the program says. In a coupling mechanisms are independent of one another,
which is more than the linear program asks. Its answer is "sharp" where independent mechanisms attain it, which is
tried, and an outer bound where they do not.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, vstack

from causalaudit.counterfactuals.coupling_bounds import CouplingBounds
from causalaudit.counterfactuals.response_functions import MOST_FUNCTIONS, Cell, Mechanism, ResponseFunctions
from causalaudit.errors import InferenceError
from causalaudit.global_state import cached_property
from causalaudit.progress import parallel

_ATTAINED = 1e-9  # by how much independent mechanisms may miss the bound, relative to the numbers of the program
_PRECISION = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True)
class GroupBounds:
    """The least and the greatest mean over a group, by draw.

    Attributes
    ----------
    low, high
        By draw.
    kind
        "sharp" where couplings attain them at every draw, else "outer".
    functions
        How many joint response functions there are, or would be.
    """

    low: np.ndarray
    high: np.ndarray
    kind: str
    functions: int

    @property
    def why(self) -> str:
        """Why the bounds are outer ones; empty if they are not."""
        if self.kind == "sharp":
            return ""
        if self.functions > MOST_FUNCTIONS:
            return (
                f"{self.functions:,} joint response functions are too many for a linear program (at most "
                f"{MOST_FUNCTIONS:,}): these are sums of personal bounds, which may be far too wide"
            )
        return "no coupling was found that attains them"


def bound_group(
    bounds: CouplingBounds, names: Sequence[str], worth: np.ndarray, weights: np.ndarray, progress: bool = False
) -> GroupBounds:
    """Return between what the weighted sum over people of a mean over their counterfactuals lies.

    Parameters
    ----------
    bounds
        The people.
    names
        Variables that are reached by the intervention.
    worth
        A number for each counterfactual, by the value of each of `names`, after an axis for the people; the mean of an
        indicator is a probability.
    weights
        Of the people: by draw (or one row for all) and person.
    progress
        Show a bar when it is long. Draws are solved in parallel, by `joblib`.
    """
    found = ResponseFunctions.of(bounds, names, worth)
    draws = bounds.sites[bounds.reached[0]].cumulative.shape[0]
    weights = np.broadcast_to(weights, (draws, len(bounds)))
    if isinstance(found, int):
        low, high = bounds.mean(worth, names)
        return GroupBounds((low * weights).sum(axis=1), (high * weights).sum(axis=1), "outer", found)
    program = _Program(found, weights / bounds.chance(bounds.scope(names)))
    answers = np.array(list(parallel(program.ends, range(draws), "Bounds of the group", progress)))
    kind = "sharp" if answers[:, 2].all() else "outer"
    return GroupBounds(answers[:, 0], answers[:, 1], kind, program.number)


@dataclass(frozen=True, eq=False)
class _Program:
    """The linear program: its unknowns are the chances of the joint responses, cell after cell.

    Attributes
    ----------
    responses
        Mechanisms and cells.
    weights
        How much each person counts, divided by how probable she is: draws × people.
    """

    responses: ResponseFunctions
    weights: np.ndarray

    def ends(self, draw: int) -> tuple[float, float, bool]:
        """Return the least and the greatest sum at a draw, and whether couplings attain both."""
        gains = [np.tensordot(self.weights[draw, cell.people], cell.worth, axes=1) for cell in self.responses.cells]
        found, attained = [], True
        for sign in (1.0, -1.0):
            costs = [sign * gain for gain in gains]
            least, chances = self._solve(draw, costs)
            scale = max(1.0, max(float(np.abs(cost).max()) for cost in costs))
            attained = attained and self._attains(least + _ATTAINED * scale, draw, costs, chances)
            found.append(sign * least)
        return found[0], found[1], attained

    @property
    def number(self) -> int:
        """The number of unknowns."""
        return int(self._starts[-1])

    @cached_property
    def _shapes(self) -> list[tuple[int, ...]]:
        return [cell.worth.shape[1:] for cell in self.responses.cells]

    @cached_property
    def _starts(self) -> np.ndarray:
        return np.cumsum([0, *(int(np.prod(shape)) for shape in self._shapes)])

    def _solve(self, draw: int, costs: Sequence[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        """Return the least cost, and the chances of the joint responses of each cell."""
        laws = np.concatenate([one.law[draw].ravel() for one in self.responses.mechanisms])
        parts = [self._answers.matrix(laws), self._links, self._totals]
        right = np.concatenate([np.zeros(sum(part.shape[0] for part in parts[:2])), np.ones(len(costs))])
        least, chances = _minimise(np.concatenate([cost.ravel() for cost in costs]), vstack(parts), right)
        each = np.split(chances, self._starts[1:-1])
        return least, [part.reshape(shape) for part, shape in zip(each, self._shapes, strict=True)]

    @cached_property
    def _answers(self) -> "_Answers":
        """Whatever the other mechanisms answer, one answers each state as often as the program says."""
        mechanisms, entries, row = self.responses.mechanisms, [], 0
        first = np.cumsum([0, *(one.law[0].size for one in mechanisms)])
        for cell, shape, start in zip(self.responses.cells, self._shapes, self._starts, strict=False):
            columns = start + np.arange(int(np.prod(shape))).reshape(shape)
            for axis, place in enumerate(cell.mechanisms):
                one = mechanisms[place]
                by_function = np.moveaxis(columns, axis, 0).reshape(shape[axis], -1)
                others = np.broadcast_to(np.arange(by_function.shape[1]), by_function.shape)
                for state, value in np.ndindex(one.law.shape[1], one.law.shape[2] - 1):
                    hits = np.broadcast_to((one.functions[:, state] == value)[:, None], by_function.shape)
                    law = np.full(by_function.size, first[place] + state * one.law.shape[2] + value)
                    entries.append((row + others.ravel(), by_function.ravel(), hits.ravel(), law))
                    row += by_function.shape[1]
        rows, columns, hits, law = (np.concatenate(part) for part in zip(*entries, strict=True))
        return _Answers(rows, columns, hits.astype(float), law, (row, self.number))

    @cached_property
    def _links(self) -> csr_matrix:
        """Cells that share mechanisms agree on what these answer."""
        cells, blocks = self.responses.cells, []
        both = {tuple(sorted(set(a.mechanisms) & set(b.mechanisms))) for a, b in itertools.combinations(cells, 2)}
        for shared in sorted(both - {()}):
            holders = [place for place, cell in enumerate(cells) if set(shared) <= set(cell.mechanisms)]
            marginals = [self._marginal(place, shared) for place in holders]
            blocks += [one - other for one, other in itertools.pairwise(marginals)]
        return vstack(blocks) if blocks else csr_matrix((0, self.number))

    def _marginal(self, place: int, shared: Sequence[int]) -> csr_matrix:
        """Return the matrix that sums the chances of a cell by what some of its mechanisms answer."""
        cell, shape = self.responses.cells[place], self._shapes[place]
        axes = [cell.mechanisms.index(one) for one in shared]
        number, sizes = int(np.prod(shape)), [shape[axis] for axis in axes]
        rows = np.ravel_multi_index([np.indices(shape)[axis].ravel() for axis in axes], sizes)
        columns = self._starts[place] + np.arange(number)
        return csr_matrix((np.ones(number), (rows, columns)), shape=(int(np.prod(sizes)), self.number))

    @cached_property
    def _totals(self) -> csr_matrix:
        rows = np.repeat(np.arange(len(self._shapes)), np.diff(self._starts))
        return csr_matrix(
            (np.ones(self.number), (rows, np.arange(self.number))), shape=(len(self._shapes), self.number)
        )

    def _attains(self, goal: float, draw: int, costs: Sequence[np.ndarray], chances: Sequence[np.ndarray]) -> bool:
        """Tell whether independent mechanisms cost as little: each in turn is the best beside the others."""
        cells, mechanisms = self.responses.cells, self.responses.mechanisms
        law: dict[int, np.ndarray] = {}
        for cell, chance in zip(cells, chances, strict=True):
            for axis, place in enumerate(cell.mechanisms):
                law[place] = np.moveaxis(chance, axis, 0).reshape(chance.shape[axis], -1).sum(axis=1)
        cost, was = _total(cells, costs, law), np.inf
        while goal < cost < was - _ATTAINED / 10:
            was = cost
            for place, one in enumerate(mechanisms):
                own = sum(_beside(cell, part, place, law) for cell, part in zip(cells, costs, strict=True))
                law[place] = _best(one, draw, np.asarray(own))
                cost = _total(cells, costs, law)
                if cost <= goal:
                    break
        return cost <= goal


@dataclass(frozen=True, eq=False)
class _Answers:
    """The conditions of the mechanisms: entries of a sparse matrix, one where a value is answered, less its chance."""

    rows: np.ndarray
    columns: np.ndarray
    hits: np.ndarray
    law: np.ndarray
    shape: tuple[int, int]

    def matrix(self, laws: np.ndarray) -> csr_matrix:
        return csr_matrix((self.hits - laws[self.law], (self.rows, self.columns)), shape=self.shape)


def _beside(cell: Cell, cost: np.ndarray, place: int, law: dict[int, np.ndarray]) -> np.ndarray | float:
    """Return the mean cost of each answer of a mechanism, the others answering independently by their laws."""
    if place not in cell.mechanisms:
        return 0.0
    axis = cell.mechanisms.index(place)
    cost = np.moveaxis(cost, axis, 0)
    for other in reversed([one for one in cell.mechanisms if one != place]):
        cost = cost @ law[other]
    return cost


def _total(cells: Sequence[Cell], costs: Sequence[np.ndarray], law: dict[int, np.ndarray]) -> float:
    """Return the mean cost under independent mechanisms."""
    total = 0.0
    for cell, cost in zip(cells, costs, strict=True):
        for place in reversed(cell.mechanisms):
            cost = cost @ law[place]
        total += float(cost)
    return total


def _best(one: Mechanism, draw: int, cost: np.ndarray) -> np.ndarray:
    """Return the law of the responses of one mechanism that costs least."""
    asked = [(state, value) for state in range(one.law.shape[1]) for value in range(one.law.shape[2] - 1)]
    rows = [one.functions[:, state] == value for state, value in asked]
    right = [one.law[draw, state, value] for state, value in asked]
    return _minimise(cost, np.array([*rows, np.ones(len(cost))], dtype=float), np.array([*right, 1.0]))[1]


def _minimise(cost: np.ndarray, matrix: Any, right: np.ndarray) -> tuple[float, np.ndarray]:
    found = linprog(cost, A_eq=matrix, b_eq=right, method="highs", options=_PRECISION)
    if found.status != 0:
        raise InferenceError(f"A linear program over response functions was not solved: {found.message}")
    return float(found.fun), np.asarray(found.x)
