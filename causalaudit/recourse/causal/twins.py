"""Individual fairness of causal recourse: a person's cost against that of their counterfactual twin."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from causalaudit.errors import DataError
from causalaudit.progress import watched
from causalaudit.recourse.causal.counterfactual_answers import CounterfactualAnswers
from causalaudit.recourse.causal.modelled_people import Column, ModelledPeople
from causalaudit.recourse.causal.tried_changes import TriedChanges, batches, interventions, kinds
from causalaudit.recourse.evidence.row_keys import RowKeys, distinct_keys, words
from causalaudit.recourse.intervals.credible import credible_interval
from causalaudit.recourse.notions.notion import less_the_other
from causalaudit.recourse.question.change_rules import ChangeRules
from causalaudit.recourse.question.coding import EVERYONE_ELSE

# Cells (trials × draws) of which costs are computed at a time.
_CELLS = 2**22


@dataclass(frozen=True, eq=False)
class Twins:
    """The affected people with the other level of the protected column, draw by draw.

    Attributes
    ----------
    asked, rules
        How the classifier is asked, and what changes cost.
    codes
        For each feature that responds to the protected column: what twins have, draws × people.
    """

    asked: CounterfactualAnswers
    rules: ChangeRules
    codes: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def modelled(self) -> ModelledPeople:
        """The people and their model."""
        return self.asked.modelled

    def status(self, persons: np.ndarray) -> np.ndarray:
        """Return the protected levels of twins, as codes: there are two, 0 and 1."""
        return 1 - self.modelled.status[persons]

    def do(self, persons: np.ndarray) -> dict[str, list[object]]:
        """Return the intervention that makes people their twins."""
        vocabulary = self.modelled.people.vocabulary
        return {vocabulary.protected: [vocabulary.groups[other] for other in self.status(persons).tolist()]}

    def good(self, persons: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Return which twins have the favourable prediction after changes (rows, of the same features)."""
        codes = np.where(new >= 0, new, self.modelled.codes[persons])
        do = {**self.do(persons), **interventions(self.modelled, new)}
        return self.asked.after(persons, codes, self.status(persons), do)

    def costs(self, persons: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Return what changes cost the twins, from what they have: infinite where a change is not feasible."""
        places = np.flatnonzero(new[0] >= 0)
        shape = (self.modelled.draws, len(persons))
        before = [np.broadcast_to(self.before(persons, place), shape) for place in places.tolist()]
        after = [np.broadcast_to(new[:, place], shape) for place in places]
        return changes_cost(self.rules, places, np.stack(before, axis=-1), np.stack(after, axis=-1))

    def before(self, persons: np.ndarray, place: int) -> np.ndarray:
        """Return what twins have of a feature: draws × people, or people where it does not respond."""
        return self.codes[place][:, persons] if place in self.codes else self.modelled.codes[persons, place]


def make_twins(asked: CounterfactualAnswers, rules: ChangeRules) -> Twins:
    """Ask what the affected people would have with the other level of the protected column."""
    modelled, vocabulary = asked.modelled, asked.modelled.people.vocabulary
    protected, level = vocabulary.protected, vocabulary.groups[1]
    if protected not in modelled.scm.columns:
        raise DataError(f"The model has no variable {protected!r}: it cannot tell what twins would have.")
    if len(modelled.people.group_of_status) > 2:
        raise DataError(
            f"{protected!r} = {level!r} was compared with {EVERYONE_ELSE}, but a twin has one other level: name it, as "
            f"in protected={{{protected!r}: ({level!r}, reference)}}."
        )
    everyone, twins = np.arange(len(modelled.who)), Twins(asked, rules)
    responding = [name for name in vocabulary.features if name in modelled.downstream([protected])]
    parts: dict[str, list[np.ndarray]] = {name: [] for name in responding}
    for world in modelled.population.under(twins.do(everyone), everyone) if responding else ():
        for name in responding:
            parts[name].append(_as_people(modelled, name, modelled.column(name, world[name])))
    places = {vocabulary.features.index(name): np.concatenate(part) for name, part in parts.items()}
    return Twins(asked, rules, places)


def _as_people(modelled: ModelledPeople, name: str, column: Column) -> np.ndarray:
    """Return codes among the values that people have; a number that nobody has counts as the nearest."""
    values, codes = column
    vocabulary = modelled.people.vocabulary
    known = pd.Index(list(vocabulary.levels[vocabulary.features.index(name)]))
    found = known.get_indexer(pd.Index(list(values)))
    if (found < 0).any() and pd.api.types.is_numeric_dtype(known):
        found = np.abs(np.asarray(values, dtype=float)[:, None] - known.to_numpy(dtype=float)).argmin(axis=1)
    if (found[np.unique(codes)] < 0).any():
        raise DataError(f"Twins have values of {name!r} that nobody has, so that it is not known what they cost.")
    return found[codes].astype(np.int32)


def changes_cost(rules: ChangeRules, places: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the cost of changes, features along the last axis; infinite where one is not feasible.

    Distinct changes are priced once.
    """
    row_keys = RowKeys(tuple(len(rules.rules[place].values) for place in places) * 2)
    columns = [*np.moveaxis(before, -1, 0), *np.moveaxis(after, -1, 0)]
    keys, back = distinct_keys(row_keys.broadcast(columns))
    old, new = np.split(row_keys.codes(words(keys)), 2, axis=1)
    allowed = [rules.rules[place].feasible(old[:, at], new[:, at]) for at, place in enumerate(places)]
    return np.where(np.all(allowed, axis=0), rules.cost(places, old, new), np.inf)[back].reshape(before.shape[:-1])


def compare_twins(
    asked: CounterfactualAnswers,
    trials: TriedChanges,
    rules: ChangeRules,
    tolerance: float,
    prob: float,
    progress: bool = True,
) -> pd.DataFrame:
    """Compare each affected person's recourse cost with that of their twin.

    See `RecourseResult.individuals`.
    """
    modelled, twins = asked.modelled, make_twins(asked, rules)
    shape = (modelled.draws, len(modelled.who))
    ours, theirs = np.full(shape, np.inf), np.full(shape, np.inf)
    nothing = np.full((1, modelled.codes.shape[1]), -1)
    everyone = np.arange(len(modelled.who))
    theirs[np.broadcast_to(twins.good(everyone, np.repeat(nothing, len(everyone), axis=0)), shape)] = 0.0
    parts = list(batches(kinds(trials.changes, modelled), trials.keys // trials.number, _CELLS // shape[0]))
    for own in watched(parts, len(parts), "Twins", progress):
        own = own[np.argsort(trials.keys[own] % trials.number, kind="stable")]
        persons, new = trials.keys[own] % trials.number, trials.changes[trials.keys[own] // trials.number]
        places = np.flatnonzero(new[0] >= 0)
        cost = changes_cost(rules, places, modelled.codes[persons][:, places], new[:, places])
        helped = np.unpackbits(trials.flips[own], axis=1)[:, : shape[0]].T.astype(bool)
        _lower(ours, persons, np.where(helped, cost, np.inf))
        _lower(theirs, persons, np.where(twins.good(persons, new), twins.costs(persons, new), np.inf))
    return _table(modelled, trials, ours, theirs, tolerance, prob)


class TwinComparison:
    """What a result asks about twins, with the classifier and the posterior; it is not saved.

    Attributes
    ----------
    asked, trials, rules
        How the classifier is asked, what was tried on whom, and what changes cost.
    """

    def __init__(
        self, asked: CounterfactualAnswers, trials: TriedChanges, rules: ChangeRules, prob: float = 0.9
    ) -> None:
        self.asked, self.trials, self.rules, self.prob = asked, trials, rules, prob
        self.__name__ = "what asks the classifier about twins"  # a result that was loaded says that it was not saved

    def __call__(self, tolerance: float = 0.0, progress: bool = True) -> pd.DataFrame:
        """Return `compare_twins`."""
        return compare_twins(self.asked, self.trials, self.rules, tolerance, self.prob, progress)


def _lower(costs: np.ndarray, persons: np.ndarray, tried: np.ndarray) -> None:
    """Lower the costs of people (draws × people) to those of trials on them, which are sorted by person."""
    first = np.flatnonzero(np.diff(persons, prepend=-1))
    who = persons[first]
    costs[:, who] = np.minimum(costs[:, who], np.minimum.reduceat(tried, first, axis=1))


def _table(
    modelled: ModelledPeople, trials: TriedChanges, ours: np.ndarray, theirs: np.ndarray, tolerance: float, prob: float
) -> pd.DataFrame:
    tried = np.unique(trials.keys % trials.number)
    ours, theirs = ours[:, tried], theirs[:, tried]
    apart = less_the_other(np.stack([ours, theirs], axis=1))
    low, high = credible_interval(apart, prob)
    return pd.DataFrame(
        {
            modelled.people.vocabulary.protected: modelled.people.typed_statuses.take(modelled.status[tried]),
            "cost": np.median(ours, axis=0),
            "twin_cost": np.median(theirs, axis=0),
            "credible_low": low,
            "credible_high": high,
            "prob_worse": (apart > tolerance).mean(axis=0),
            "prob_better": (apart < -tolerance).mean(axis=0),
        },
        index=modelled.persons.index[tried],
    )
