"""The distinct changes that actions make, tried on everybody of their subgroups in every draw."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from causalaudit.errors import DataError
from causalaudit.progress import parallel
from causalaudit.recourse.bridge import Bridge
from causalaudit.recourse.candidates import Candidates
from causalaudit.recourse.deciding import Decider

# Cells (people × draws) that are decided in one batch, and the bytes that all decisions may take, a bit each.
_CELLS = 2**23
_MOST_BYTES = 2**31


@dataclass(frozen=True)
class Trials:
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


def try_actions(candidates: Candidates, decider: Decider, progress: bool = True) -> Trials:
    """Try each distinct change once on everybody on whom an action makes it.

    What an action sets to the value that it has already is not changed: it may respond like any other feature.
    """
    bridge = decider.bridge
    before = candidates.subgroups[candidates.subgroup]
    made = np.where(candidates.actions == before, -1, candidates.actions)
    changes, pair_change = np.unique(made, axis=0, return_inverse=True)
    pair_change, number = pair_change.reshape(-1).astype(np.int64), len(bridge.who)
    inside = _inside(candidates, bridge)
    keys = np.unique(
        np.concatenate(
            [
                (np.unique(pair_change[candidates.pairs(place)])[:, None] * number + own).ravel()
                for place, own in enumerate(inside)
            ]
        )
    )
    width = -(-len(bridge.numbers) // 8)
    if len(keys) * width > _MOST_BYTES:
        raise DataError(
            f"{len(keys):,} trials in {len(bridge.numbers):,} draws are more than can be held: choose fewer draws, or "
            "raise the support."
        )
    flips = np.empty((len(keys), width), dtype=np.uint8)
    parts = list(batches(kinds(changes, bridge), keys // number, _CELLS // len(bridge.numbers)))
    asked = partial(_flips, decider, changes)
    tasks = [(keys[own] // number, keys[own] % number) for own in parts]
    for own, answer in zip(parts, parallel(asked, tasks, "Causal recourse", progress), strict=True):
        flips[own] = answer
    start = np.concatenate([[0], np.cumsum([len(own) for own in inside])])
    return Trials(changes, pair_change, np.concatenate(inside), start, keys, number, flips)


def _inside(candidates: Candidates, bridge: Bridge) -> list[np.ndarray]:
    """Return the affected people of each subgroup, those of group 0 first."""
    order = np.argsort(bridge.group, kind="stable")
    codes = bridge.codes[order]
    return [order[(codes[:, own >= 0] == own[own >= 0]).all(axis=1)] for own in candidates.subgroups]


def kinds(changes: np.ndarray, bridge: Bridge) -> np.ndarray:
    """Return what changes must have in common to be tried in one pass: the features; all if people must not repeat."""
    return changes if bridge.joint else changes >= 0


def batches(kinds: np.ndarray, change: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield trials (positions) whose changes are of the same kind (rows), at most so many at a time."""
    _, kind = np.unique(kinds, axis=0, return_inverse=True)
    of_trial = kind.reshape(-1)[change]
    order = np.argsort(of_trial, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(of_trial[order])) + 1):
        yield from np.array_split(own, -(-len(own) // max(size, 1)))


def _flips(decider: Decider, changes: np.ndarray, trial: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the packed draws in which changes (of the same features) give people recourse."""
    change, persons = trial
    bridge, new = decider.bridge, changes[change]
    codes = np.where(new >= 0, new, bridge.codes[persons])
    good = decider.after(persons, codes, bridge.group[persons], interventions(bridge, new))
    everywhere = np.broadcast_to(good, (len(bridge.numbers), len(persons)))
    return np.packbits(everywhere, axis=0).T


def interventions(bridge: Bridge, new: np.ndarray) -> dict[str, list[object]]:
    """Return what changes (rows, of the same features) are in the model: variable → values."""
    found = {}
    for place in np.flatnonzero(new[0] >= 0).tolist():
        name = bridge.people.features[place]
        if name in bridge.targets:
            found[name] = [bridge.targets[name][code] for code in new[:, place].tolist()]
    return found
