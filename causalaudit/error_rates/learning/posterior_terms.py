"""Terms of a rule by the counterfactuals of a posterior: in the people of the data, or of a finite SCM itself."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from causalaudit.counterfactuals import population as population_of
from causalaudit.error_rates.explaining.classifier import Rate
from causalaudit.error_rates.explaining.enumerated_rates import enumerated_rates
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.explaining.terms import EVERYBODY
from causalaudit.error_rates.learning.labelled_people import LabelledPeople
from causalaudit.error_rates.learning.linear_terms import NATURAL, LinearTerms, WorldKey, WorldRows
from causalaudit.errors import DataError, nearest

if TYPE_CHECKING:
    from causalaudit.inference import Posterior

_GIVEN = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1))  # the worlds between which the terms of Theorem 2 are steps
_NATURAL = ((0, 0, EVERYBODY), (1, 0, EVERYBODY), (0, 1, EVERYBODY))


def posterior_terms(
    people: LabelledPeople,
    posterior: "Posterior",
    bounded: Sequence[str],
    *,
    population: str,
    draws: int | None,
    seed: int,
) -> LinearTerms:
    """Return the terms by a posterior, as means over its draws; its program must hold X and Y."""
    scm = posterior.scm
    for role, name in (("protected column", people.protected), ("outcome", people.outcome)):
        if name not in scm.columns:
            raise DataError(f"The {role} {name!r} is not in the SCM {scm.name!r}: {nearest(name, scm.columns)}")
    natural = bool(set(NATURAL) & set(bounded))
    worlds: dict[WorldKey, WorldRows] = {}
    for y in people.ys:
        if population == "exact":
            worlds |= _enumerated(people, posterior, y, _GIVEN, draws)
            continue
        worlds |= people.observed_worlds(y)
        chosen, do = people.members(people.levels[0], y), {people.protected: people.levels[1], people.outcome: y}
        worlds[(y, 1, 1, 0)] = _read(people, people.moved_by_posterior(posterior, chosen, do, draws, seed), 1)
    if natural and population == "exact":
        worlds |= _enumerated(people, posterior, None, _NATURAL, draws)
    elif natural:
        moved = [
            people.moved_by_posterior(posterior, people.counted, {people.protected: level}, draws, seed)
            for level in people.levels
        ]
        worlds |= {(None, *place): _read(people, moved[place[1]], place[0]) for place in _NATURAL}
    return LinearTerms(worlds, people.ys, len(people.table))


def _read(people: LabelledPeople, world: WorldRows, level: int) -> WorldRows:
    return world.read_as(people.protected, people.levels[level])


def _enumerated(
    people: LabelledPeople, posterior: "Posterior", y: Any, places: Sequence[tuple[int, int, int]], draws: int | None
) -> dict[WorldKey, WorldRows]:
    """Return exact worlds: rates are linear in the rule, so each weight is the rate of the rule for one cell alone."""
    seen: list[pd.DataFrame] = []
    states = population_of(posterior, kind="enumerated", draws=draws)
    given = people.ys[0] if y is None else y

    def look(rows: pd.DataFrame) -> np.ndarray:
        seen.append(rows)
        return np.zeros(len(rows))

    def rates(rule: Callable[[pd.DataFrame], Any]) -> np.ndarray:
        rate = Rate(rule, 1, people.outcome, tuple(people.features))
        question = RateQuestion(people.protected, people.levels, people.outcome, given, rate)
        return enumerated_rates(question, states).mean(axis=0)

    rates(look)
    cells = pd.concat(seen).drop_duplicates(ignore_index=True)
    table = pd.MultiIndex.from_frame(cells)

    def only(cell: int) -> Callable[[pd.DataFrame], np.ndarray]:
        return lambda rows: (table.get_indexer(pd.MultiIndex.from_frame(rows)) == cell).astype(float)

    weights = np.stack([rates(only(cell)) for cell in range(len(cells))], axis=-1)
    return {(y, *place): WorldRows(cells, weights[place]) for place in places}
