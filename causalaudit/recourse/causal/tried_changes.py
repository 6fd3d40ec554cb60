"""The distinct changes that actions make, tried on everybody of their subgroups in every draw."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from causalaudit.errors import DataError
from causalaudit.people import distinct_rows
from causalaudit.progress import parallel, pieces
from causalaudit.recourse.causal.counterfactual_answers import CounterfactualAnswers
from causalaudit.recourse.causal.modelled_people import ModelledPeople
from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.evidence.evaluation import distinct_changes

# Cells (people × draws) that are decided in one batch, and the bytes that all decisions may take, a bit each.
_CELLS = 2**23
_MOST_BYTES = 2**31


@dataclass(frozen=True, eq=False)
class TriedChanges:
    """What is tried on whom, and in which draws it gives recourse.

    Attributes
    ----------
    changes
        Changes × features: the new codes, -1 where a feature is not changed.
    pair_change
        The change of each pair of a subgroup and an action.
    members, member_start
        The affected people of each subgroup (positions), those of group 0 first; where each subgroup begins.
    keys
        Change × number of people + person, sorted: the trials.
    number
        Of affected people.
    flips
        Trials × bytes: the draws in which the classifier turns, a bit each.
    """

    changes: np.ndarray
    pair_change: np.ndarray
    members: np.ndarray
    member_start: np.ndarray
    keys: np.ndarray
    number: int
    flips: np.ndarray

    def of(self, subgroup: int, pairs: slice) -> np.ndarray:
        """Return where the trials of a subgroup are: its actions × its people."""
        own = self.members[self.member_start[subgroup] : self.member_start[subgroup + 1]]
        return np.searchsorted(self.keys, self.pair_change[pairs, None] * self.number + own)


def try_changes(candidates: Candidates, asked: CounterfactualAnswers, progress: bool = True) -> TriedChanges:
    """Try each distinct change once on everybody on whom an action makes it.

    What an action sets to the value that it has already is not changed: it may respond like any other feature.
    """
    modelled = asked.modelled
    changes, pair_change = distinct_changes(candidates.subgroups[candidates.subgroup], candidates.actions)
    pair_change, number = pair_change.astype(np.int64), len(modelled.who)
    inside = _inside(candidates, modelled)
    keys = np.unique(
        np.concatenate(
            [
                (np.unique(pair_change[candidates.pairs(place)])[:, None] * number + own).ravel()
                for place, own in enumerate(inside)
            ]
        )
    )
    width = -(-modelled.draws // 8)
    if len(keys) * width > _MOST_BYTES:
        raise DataError(
            f"{len(keys):,} trials in {modelled.draws:,} draws are more than can be held: choose fewer draws, or "
            "raise the support."
        )
    flips = np.empty((len(keys), width), dtype=np.uint8)
    parts = list(batches(kinds(changes, modelled), keys // number, _CELLS // modelled.draws))
    flip = partial(_flips, asked, changes)
    tasks = [(keys[own] // number, keys[own] % number) for own in parts]
    for own, answer in zip(parts, parallel(flip, tasks, "Causal recourse", progress), strict=True):
        flips[own] = answer
    start = np.concatenate([[0], np.cumsum([len(own) for own in inside])])
    return TriedChanges(changes, pair_change, np.concatenate(inside), start, keys, number, flips)


def _inside(candidates: Candidates, modelled: ModelledPeople) -> list[np.ndarray]:
    """Return the affected people of each subgroup, those of group 0 first."""
    order = np.argsort(modelled.group, kind="stable")
    codes = modelled.codes[order]
    inside = modelled.people.vocabulary.inside
    return [order[inside(own, codes)] for own in candidates.subgroups]


def kinds(changes: np.ndarray, modelled: ModelledPeople) -> np.ndarray:
    """Return what changes must have in common to be tried in one pass: the features; all if people must not repeat."""
    return changes if modelled.joint else changes >= 0


def batches(kinds: np.ndarray, change: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield trials (positions) whose changes are of the same kind (rows), at most so many at a time."""
    of_trial = distinct_rows(list(kinds.T)).inverse[change]
    order = np.argsort(of_trial, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(of_trial[order])) + 1):
        yield from (own[part] for part in pieces(len(own), budget=size))


def _flips(asked: CounterfactualAnswers, changes: np.ndarray, trial: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the packed draws in which changes (of the same features) give people recourse."""
    change, persons = trial
    modelled, new = asked.modelled, changes[change]
    codes = np.where(new >= 0, new, modelled.codes[persons])
    good = asked.after(persons, codes, modelled.status[persons], interventions(modelled, new))
    everywhere = np.broadcast_to(good, (modelled.draws, len(persons)))
    return np.packbits(everywhere, axis=0).T


def interventions(modelled: ModelledPeople, new: np.ndarray) -> dict[str, list[object]]:
    """Return what changes (rows, of the same features) are in the model: variable → values."""
    found = {}
    for place in np.flatnonzero(new[0] >= 0).tolist():
        name = modelled.people.vocabulary.features[place]
        if name in modelled.targets:
            found[name] = [modelled.targets[name][code] for code in new[:, place].tolist()]
    return found
