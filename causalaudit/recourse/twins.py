"""Individual fairness of causal recourse: a person's cost against that of their counterfactual twin."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from causalaudit.errors import DataError
from causalaudit.progress import watched
from causalaudit.recourse.bridge import Bridge, Column
from causalaudit.recourse.deciding import Decider
from causalaudit.recourse.intervals import credible_interval
from causalaudit.recourse.notions import difference
from causalaudit.recourse.rules import Rules
from causalaudit.recourse.trials import Trials, batches, interventions, kinds

# Cells (trials × draws) of which costs are computed at a time.
_CELLS = 2**22


@dataclass(frozen=True)
class Twins:
    """The affected people with the other level of the protected column, draw by draw.

    Attributes
    ----------
    decider, rules
        How the classifier is asked, and what changes cost.
    codes
        For each feature that responds to the protected column: what twins have, draws × people.
    """

    decider: Decider
    rules: Rules
    codes: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def bridge(self) -> Bridge:
        """The people and their model."""
        return self.decider.bridge

    def do(self, persons: np.ndarray) -> dict[str, list[object]]:
        """Return the intervention that makes people their twins."""
        people = self.bridge.people
        return {people.protected: [people.groups[other] for other in (1 - self.bridge.group[persons]).tolist()]}

    def good(self, persons: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Return which twins have the favourable prediction after changes (rows, of the same features)."""
        codes = np.where(new >= 0, new, self.bridge.codes[persons])
        do = {**self.do(persons), **interventions(self.bridge, new)}
        return self.decider.after(persons, codes, 1 - self.bridge.group[persons], do)

    def costs(self, persons: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Return what changes cost the twins, from what they have: infinite where a change is not feasible."""
        places = np.flatnonzero(new[0] >= 0)
        shape = (len(self.bridge.numbers), len(persons))
        before = [np.broadcast_to(self.before(persons, place), shape) for place in places.tolist()]
        after = [np.broadcast_to(new[:, place], shape) for place in places]
        return changes_cost(self.rules, places, np.stack(before, axis=-1), np.stack(after, axis=-1))

    def before(self, persons: np.ndarray, place: int) -> np.ndarray:
        """Return what twins have of a feature: draws × people, or people where it does not respond."""
        return self.codes[place][:, persons] if place in self.codes else self.bridge.codes[persons, place]


def make_twins(decider: Decider, rules: Rules) -> Twins:
    """Ask what the affected people would have with the other level of the protected column."""
    bridge = decider.bridge
    protected = bridge.people.protected
    if protected not in bridge.scm.columns:
        raise DataError(f"The model has no variable {protected!r}: it cannot tell what twins would have.")
    everyone, twins = np.arange(len(bridge.who)), Twins(decider, rules)
    responding = [name for name in bridge.people.features if name in bridge.downstream([protected])]
    abduction = bridge.abduction(everyone, twins.do(everyone))
    parts: dict[str, list[np.ndarray]] = {name: [] for name in responding}
    for numbers in abduction.tasks() if responding else []:
        world = abduction.worlds(numbers)
        for name in responding:
            parts[name].append(_as_people(bridge, name, bridge.column(name, world[name])))
    places = {bridge.people.features.index(name): np.concatenate(part) for name, part in parts.items()}
    return Twins(decider, rules, places)


def _as_people(bridge: Bridge, name: str, column: Column) -> np.ndarray:
    """Return codes among the values that people have; a number that nobody has counts as the nearest."""
    values, codes = column
    place = bridge.people.features.index(name)
    known = pd.Index([bridge.people.value(place, code) for code in range(len(bridge.people.levels[place]))])
    found = known.get_indexer(pd.Index(list(values)))
    if (found < 0).any() and pd.api.types.is_numeric_dtype(known):
        found = np.abs(np.asarray(values, dtype=float)[:, None] - known.to_numpy(dtype=float)).argmin(axis=1)
    if (found[np.unique(codes)] < 0).any():
        raise DataError(f"Twins have values of {name!r} that nobody has, so that it is not known what they cost.")
    return found[codes].astype(np.int32)


def changes_cost(rules: Rules, places: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the cost of changes, features along the last axis; infinite where one is not feasible.

    Distinct changes are priced once.
    """
    sizes = [len(rules.rules[place].values) for place in places] * 2
    both = np.concatenate([before, after], axis=-1)
    keys, back = np.unique(np.ravel_multi_index(np.moveaxis(both, -1, 0), sizes), return_inverse=True)
    old, new = np.split(np.stack(np.unravel_index(keys, sizes), axis=1), 2, axis=1)
    allowed = [rules.rules[place].feasible(old[:, at], new[:, at]) for at, place in enumerate(places)]
    return np.where(np.all(allowed, axis=0), rules.cost(places, old, new), np.inf)[back].reshape(before.shape[:-1])


def compare_twins(
    decider: Decider, trials: Trials, rules: Rules, tolerance: float, prob: float, progress: bool = True
) -> pd.DataFrame:
    """Compare each affected person's recourse cost with that of their twin.

    See `RecourseResult.individuals`.
    """
    bridge = decider.bridge
    twins = make_twins(decider, rules)
    shape = (len(bridge.numbers), len(bridge.who))
    ours, theirs = np.full(shape, np.inf), np.full(shape, np.inf)
    nothing = np.full((1, bridge.codes.shape[1]), -1)
    everyone = np.arange(len(bridge.who))
    theirs[np.broadcast_to(twins.good(everyone, np.repeat(nothing, len(everyone), axis=0)), shape)] = 0.0
    parts = list(batches(kinds(trials.changes, bridge), trials.keys // trials.number, _CELLS // shape[0]))
    for own in watched(parts, len(parts), "Twins", progress):
        own = own[np.argsort(trials.keys[own] % trials.number, kind="stable")]
        persons, new = trials.keys[own] % trials.number, trials.changes[trials.keys[own] // trials.number]
        places = np.flatnonzero(new[0] >= 0)
        cost = changes_cost(rules, places, bridge.codes[persons][:, places], new[:, places])
        helped = np.unpackbits(trials.flips[own], axis=1)[:, : shape[0]].T.astype(bool)
        _lower(ours, persons, np.where(helped, cost, np.inf))
        _lower(theirs, persons, np.where(twins.good(persons, new), twins.costs(persons, new), np.inf))
    return _table(bridge, trials, ours, theirs, tolerance, prob)


def _lower(costs: np.ndarray, persons: np.ndarray, tried: np.ndarray) -> None:
    """Lower the costs of people (draws × people) to those of trials on them, which are sorted by person."""
    first = np.flatnonzero(np.diff(persons, prepend=-1))
    who = persons[first]
    costs[:, who] = np.minimum(costs[:, who], np.minimum.reduceat(tried, first, axis=1))


def _table(
    bridge: Bridge, trials: Trials, ours: np.ndarray, theirs: np.ndarray, tolerance: float, prob: float
) -> pd.DataFrame:
    tried = np.unique(trials.keys % trials.number)
    ours, theirs = ours[:, tried], theirs[:, tried]
    apart = difference(np.stack([ours, theirs], axis=1))
    low, high = credible_interval(apart, prob)
    return pd.DataFrame(
        {
            bridge.people.protected: bridge.people.group_levels.take(bridge.group[tried]),
            "cost": np.median(ours, axis=0),
            "twin_cost": np.median(theirs, axis=0),
            "hdi_low": low,
            "hdi_high": high,
            "prob_worse": (apart > tolerance).mean(axis=0),
            "prob_better": (apart < -tolerance).mean(axis=0),
        },
        index=bridge.persons.index[tried],
    )
