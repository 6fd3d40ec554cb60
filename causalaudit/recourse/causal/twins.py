"""Individual fairness of causal recourse: a person's cost against that of their counterfactual twin."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from causalaudit.errors import DataError
from causalaudit.progress import pieces, watched
from causalaudit.recourse.causal.counterfactual_answers import CounterfactualAnswers
from causalaudit.recourse.causal.modelled_people import Column, ModelledPeople
from causalaudit.recourse.causal.offers import Offers, make_offers
from causalaudit.recourse.causal.tried_changes import TriedChanges, batches, interventions, kinds
from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.evidence.row_keys import RowKeys, distinct_keys, words
from causalaudit.recourse.intervals.credible import credible_interval
from causalaudit.recourse.notions.notion import less_the_other
from causalaudit.recourse.question.coding import EVERYONE_ELSE

# Cells (trials × draws) of which costs are computed at a time.
_CELLS = 2**22


@dataclass(frozen=True, eq=False)
class Twins:
    """The affected people with the other level of the protected column, draw by draw.

    Attributes
    ----------
    asked
        How the classifier is asked.
    rows
        The distinct rows of features that twins have: rows × features; -1 for a value that nobody has.
    row
        Which one each twin has: draws × people, or 1 × people where nothing responds.
    """

    asked: CounterfactualAnswers
    rows: np.ndarray
    row: np.ndarray

    def good(self, persons: np.ndarray, new: np.ndarray) -> np.ndarray:
        """Return which twins have the favourable prediction after changes (rows, of the same features)."""
        modelled = self.asked.modelled
        codes = np.where(new >= 0, new, modelled.codes[persons])
        do = {**_do(modelled, persons), **interventions(modelled, new)}
        return self.asked.after(persons, codes, _status(modelled, persons), do)

    def offered(self, offers: Offers) -> np.ndarray:
        """Return what to try on whom, as change × number of people + person, sorted: all that some draw offers."""
        number = self.row.shape[1]
        having = np.unique(self.row.astype(np.int64) * number + np.arange(number))
        at, change = offers.changes(having // number)
        return np.unique(change * number + (having % number)[at])


def _status(modelled: ModelledPeople, persons: np.ndarray) -> np.ndarray:
    """Return the protected levels of twins, as codes: there are two, 0 and 1."""
    return 1 - modelled.status[persons]


def _do(modelled: ModelledPeople, persons: np.ndarray) -> dict[str, list[object]]:
    """Return the intervention that makes people their twins."""
    vocabulary = modelled.people.vocabulary
    return {vocabulary.protected: [vocabulary.groups[other] for other in _status(modelled, persons).tolist()]}


def make_twins(asked: CounterfactualAnswers) -> Twins:
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
    everyone = np.arange(len(modelled.who))
    responding = [name for name in vocabulary.features if name in modelled.downstream([protected])]
    parts: dict[str, list[np.ndarray]] = {name: [] for name in responding}
    for world in modelled.population.under(_do(modelled, everyone), everyone) if responding else ():
        for name in responding:
            parts[name].append(_as_people(modelled, name, modelled.column(name, world[name])))
    columns = [
        np.concatenate(parts[name]) if name in parts else modelled.codes[None, :, place]
        for place, name in enumerate(vocabulary.features)
    ]
    # One more than the code, so that values that nobody has are 0.
    row_keys = RowKeys(tuple(len(levels) + 1 for levels in vocabulary.levels))
    keys, row = distinct_keys(row_keys.broadcast([codes + 1 for codes in columns]))
    shape = np.broadcast_shapes(*(codes.shape for codes in columns))
    return Twins(asked, row_keys.codes(words(keys)) - 1, row.reshape(shape))


def _as_people(modelled: ModelledPeople, name: str, column: Column) -> np.ndarray:
    """Return codes among the values that people have; -1 for one that nobody has, which no subgroup names."""
    values, codes = column
    vocabulary = modelled.people.vocabulary
    known = pd.Index(list(vocabulary.levels[vocabulary.features.index(name)]))
    found = known.get_indexer(pd.Index(list(values)))[codes].astype(np.int32)
    if name in vocabulary.thresholds and (found < 0).any():
        raise DataError(
            f"Twins have values of {name!r} that nobody has, so that it is not known on which side of its thresholds "
            "they are: bin it, and say what the bins stand for, as in Actions(values={feature: {bin: value}})."
        )
    return found


def compare_twins(
    asked: CounterfactualAnswers,
    trials: TriedChanges,
    candidates: Candidates,
    tolerance: float,
    prob: float,
    progress: bool = True,
) -> pd.DataFrame:
    """Compare each affected person's recourse cost with that of their twin.

    See `RecourseResult.individuals`.
    """
    modelled, twins = asked.modelled, make_twins(asked)
    ours = _own_costs(modelled, trials, candidates)
    theirs = _twin_costs(twins, trials, candidates, progress)
    return _table(modelled, trials, ours, theirs, tolerance, prob)


def _own_costs(modelled: ModelledPeople, trials: TriedChanges, candidates: Candidates) -> np.ndarray:
    """Return the cheapest of the changes that turn the prediction: draws × people."""
    costs = np.full((modelled.draws, trials.number), np.inf)
    vocabulary, number = modelled.people.vocabulary, len(trials.changes)
    offers = make_offers(candidates, vocabulary, trials.pair_change, number, modelled.codes)
    by_person = np.argsort(trials.keys % trials.number, kind="stable")
    for part in pieces(len(by_person), each=modelled.draws, budget=_CELLS):
        own = by_person[part]
        change, persons = trials.keys[own] // trials.number, trials.keys[own] % trials.number
        helped = np.unpackbits(trials.flips[own], axis=1)[:, : modelled.draws].T.astype(bool)
        _lower(costs, persons, np.where(helped, offers.cost(persons, change), np.inf))
    return costs


def _twin_costs(twins: Twins, trials: TriedChanges, candidates: Candidates, progress: bool) -> np.ndarray:
    """Return the same of the twins, who are offered what the subgroups offer that they are in, draw by draw."""
    modelled, number = twins.asked.modelled, trials.number
    shape = (modelled.draws, number)
    everyone, nothing = np.arange(number), np.full((number, modelled.codes.shape[1]), -1)
    costs = np.where(np.broadcast_to(twins.good(everyone, nothing), shape), 0.0, np.inf)
    vocabulary = modelled.people.vocabulary
    offers = make_offers(candidates, vocabulary, trials.pair_change, len(trials.changes), twins.rows)
    keys = twins.offered(offers)
    parts = list(batches(kinds(trials.changes, modelled), keys // number, _CELLS // shape[0]))
    for own in watched(parts, len(parts), "Twins", progress):
        own = own[np.argsort(keys[own] % number, kind="stable")]
        change, persons = keys[own] // number, keys[own] % number
        price = offers.cost(twins.row[:, persons], change)
        _lower(costs, persons, np.where(twins.good(persons, trials.changes[change]), price, np.inf))
    return costs


class TwinComparison:
    """What a result asks about twins, with the classifier and the posterior; it is not saved.

    Attributes
    ----------
    asked, trials, candidates
        How the classifier is asked, what was tried on whom, and what changes cost.
    """

    def __init__(
        self, asked: CounterfactualAnswers, trials: TriedChanges, candidates: Candidates, prob: float = 0.9
    ) -> None:
        self.asked, self.trials, self.candidates, self.prob = asked, trials, candidates, prob
        self.__name__ = "what asks the classifier about twins"  # a result that was loaded says that it was not saved

    def __call__(self, tolerance: float = 0.0, progress: bool = True) -> pd.DataFrame:
        """Return `compare_twins`."""
        return compare_twins(self.asked, self.trials, self.candidates, tolerance, self.prob, progress)


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
