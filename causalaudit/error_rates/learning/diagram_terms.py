"""Terms of a rule from data and a diagram: people of one level stand for those of the other, given covariates."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np

from causalaudit.adjustment import (
    SMALLEST_CHANCE,
    Covariates,
    NoOverlapError,
    SaturatedPropensity,
    check_overlap,
    fit_chance,
    well_filled,
)
from causalaudit.error_rates.explaining.criterion import find_explaining_set, split_features
from causalaudit.error_rates.learning.labelled_people import LabelledPeople
from causalaudit.error_rates.learning.linear_terms import NATURAL, LinearTerms, Standing, WorldKey, WorldRows
from causalaudit.error_rates.learning.robust_terms import RobustGroup
from causalaudit.errors import DataError

_ADJUSTED = ("indirect", "spurious", "ett")


@dataclass(frozen=True, eq=False)
class DiagramTerms:
    """The terms, by which covariates they are identified, and the groups whose rates need models.

    Attributes
    ----------
    terms : LinearTerms or None
        None if nothing is bounded. With inverse propensity weights: by tables they are what they should be; by
        flexible models they are a first guess, which `robust` corrects.
    robust : list of RobustGroup
        Of whom doubly robust rates are to be estimated for each rule.
    covariates : dict or None
        Those that explain the error rates, and their kinds.
    natural : frozenset or None
        Those by which natural effects are identified, if any are bounded.
    """

    terms: LinearTerms | None
    robust: list[RobustGroup]
    covariates: dict[str, str] | None
    natural: frozenset[str] | None


def diagram_terms(
    people: LabelledPeople, graph: "nx.DiGraph[Any]", bounded: Sequence[str], declared: Collection[str], seed: int
) -> DiagramTerms:
    """Identify and weigh: Lemmas 6 and 7 given each outcome, and the natural effects of appendix B.1 for everybody."""
    worlds: dict[WorldKey, WorldRows] = {}
    robust: list[RobustGroup] = []
    names = people.explaining_set(graph)
    needed = bool(set(_ADJUSTED) & set(bounded))
    if names is None and needed:
        raise people.unexplainable(graph)
    covariates = None if names is None else _covariates(people, names, declared)
    affected, _ = split_features(people.observed(graph), people.features, people.protected, outcome=people.outcome)
    for y in people.ys:
        worlds |= people.observed_worlds(y)
        if covariates is not None:
            group = _Group(people, y, covariates, tuple(sorted(affected - {people.protected})), seed)
            _add(group, worlds, robust, needed)
    natural = None
    if set(NATURAL) & set(bounded):
        natural, mediators = _natural_set(people, graph)
        _add(_Group(people, None, _covariates(people, natural, declared), mediators, seed), worlds, robust, True)
    terms = LinearTerms(worlds, people.ys, len(people.table))
    return DiagramTerms(terms, robust, None if covariates is None else covariates.kinds, natural)


def _covariates(people: LabelledPeople, names: Collection[str], declared: Collection[str]) -> Covariates:
    return Covariates.of(people.table[people.counted], sorted(names), declared)


def _natural_set(people: LabelledPeople, graph: "nx.DiGraph[Any]") -> tuple[frozenset[str], tuple[str, ...]]:
    """Return covariates that identify natural effects: the criterion in the same diagram, with no outcome given.

    The outcome is then a variable like others, which comes as it does: here an unobserved one.
    """
    usual = nx.relabel_nodes(people.observed(graph), {people.outcome: (people.outcome, "as it comes")})
    usual.nodes[(people.outcome, "as it comes")]["latent"] = True
    usual.add_node(people.outcome)
    found = find_explaining_set(usual, people.features, people.protected, outcome=people.outcome)
    if found is None:
        raise DataError(
            f"Natural effects on a classifier that reads {', '.join(people.features)} are not identified by data and "
            "this diagram: no observed covariates block all paths from behind. Leave out features, or give a posterior."
        )
    affected, _ = split_features(usual, people.features, people.protected, outcome=people.outcome)
    return found, tuple(sorted(affected - {people.protected}))


def _add(group: "_Group", worlds: dict[WorldKey, WorldRows], robust: list[RobustGroup], needed: bool) -> None:
    """Add the worlds of people who stand for others; where nobody can, only if they are not needed."""
    try:
        found, flexible = group.worlds()
    except NoOverlapError:
        if needed:
            raise
        return
    worlds |= found
    robust += [] if flexible is None else [flexible]


@dataclass(frozen=True, eq=False)
class _Group:
    """Those with an outcome (None: everybody), of whom people of one level stand for others."""

    people: LabelledPeople
    y: Any
    covariates: Covariates
    mediators: tuple[str, ...]
    seed: int

    def worlds(self) -> tuple[dict[WorldKey, WorldRows], RobustGroup | None]:
        """Return the worlds with xi ≠ x, or those of everybody, and what estimates them if it takes models."""
        has = [self.people.members(level, self.y) for level in self.people.levels]
        if not self.mediators:  # N(xd, xi | x) = N(xd, x | x) exactly
            read = {(1, 1, 0): (has[0], 1)} if self.y is not None else {
                (0, 0, 2): (has[0] | has[1], 0), (1, 0, 2): (has[0] | has[1], 1), (0, 1, 2): (has[0] | has[1], 0)
            }  # fmt: skip
            return {(self.y, *place): self.people.world(*mean) for place, mean in read.items()}, None
        either = has[0] | has[1]
        own = self.covariates.only(either[self.people.counted])
        x, weights = has[1][either].astype(int), self.people.weights[either]
        by_table = own.discrete and (self.people.states or well_filled(own, x))
        fitted = None if by_table else fit_chance(own, x, weights=_unless_equal(weights), seed=self.seed)
        if fitted is None:
            chance = SaturatedPropensity(own, x.astype(float)).chances(weights[None])[0]
        else:
            chance = np.clip(fitted.expected, SMALLEST_CHANCE, 1 - SMALLEST_CHANCE)
        self._check(chance, x, own)
        standing = self._standing(has, either, chance, own if by_table else None)
        flexible = None if fitted is None else RobustGroup(
            self.people, self.y, np.flatnonzero(either), x, own, self.mediators, fitted, self.seed
        )  # fmt: skip
        return standing, flexible

    def _standing(
        self, has: list[np.ndarray], either: np.ndarray, chance: np.ndarray, by_cells: Covariates | None
    ) -> dict[WorldKey, WorldRows]:
        """Return weighted people: the contrast group for the baseline group, or each of them for everybody."""
        full = np.zeros((2, len(either)))
        full[:, either] = 1 - chance, chance
        kinds = {(1, 1, 0): (1, 1, has[0])} if self.y is not None else {
            (0, 0, 2): (0, 0, either), (1, 0, 2): (1, 0, either), (0, 1, 2): (0, 1, either)
        }  # fmt: skip
        found: dict[WorldKey, WorldRows] = {}
        for place, (read, xi, target) in kinds.items():
            world = self.people.world(has[xi], read)
            ratio = (
                1 / full[xi, world.person] if self.y is None else full[1 - xi, world.person] / full[xi, world.person]
            )
            scaled = world.weights * ratio
            world = replace(world, weights=scaled / scaled.sum())
            found[(self.y, *place)] = world if by_cells is None else self._in_cells(world, either, target, by_cells)
        return found

    def _in_cells(self, world: WorldRows, either: np.ndarray, target: np.ndarray, covariates: Covariates) -> WorldRows:
        cell, place, who = covariates.cells, np.cumsum(either) - 1, np.flatnonzero(target)
        weights = self.people.weights[who] / self.people.weights[who].sum()
        return replace(
            world, standing=Standing(cell.cell[place[world.person]], who, weights, cell.cell[place[who]], cell.number)
        )

    def _check(self, chance: np.ndarray, x: np.ndarray, own: Covariates) -> None:
        """Refuse people whom nobody can stand for."""
        given = "everybody" if self.y is None else f"those with {self.people.outcome!r} = {self.y!r}"
        sides = [(1, chance, x == 0)] if self.y is not None else [(1, chance, x == 0), (0, 1 - chance, x == 1)]
        for level, share, needed in sides:
            group = f"{self.people.protected!r} = {self.people.levels[level]!r}, among {given},"
            check_overlap(share, needed, own, group, "Leave these people out, or coarsen the covariates.")


def _unless_equal(weights: np.ndarray) -> np.ndarray | None:
    """Return weights whose mean is one; None if all are equal."""
    return None if np.ptp(weights) == 0 else weights / weights.mean()
