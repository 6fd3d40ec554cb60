"""Matching subgroups with actions, and applying these: step (b) of FACTS."""

from dataclasses import dataclass

import numpy as np

from causalaudit.errors import DataError
from causalaudit.people import distinct_rows
from causalaudit.progress import watched
from causalaudit.recourse.evidence.affected_rows import AffectedRows
from causalaudit.recourse.evidence.candidates import Candidates, runs
from causalaudit.recourse.evidence.known_answers import KnownAnswers
from causalaudit.recourse.question.change_rules import ChangeRules
from causalaudit.recourse.question.coding import CodedPeople

# The most pairs of a subgroup and an action; the bytes of bits (people × pairs) that are answered for in one pass, and
# that are counted at a time; counterfactual rows that are looked up at a time.
MOST_PAIRS = 20_000_000
_ANSWERED = 2**28
_COUNTED = 2**21
_KEYS = 2**19


@dataclass(frozen=True)
class SameFeatures:
    """Subgroups with the same features, and their valid actions.

    Attributes
    ----------
    places
        The features.
    before
        Codes of the subgroups (rows) at these features.
    at, after
        The subgroup of each pair of a subgroup and an action, ascending; what its action sets the features to.
    """

    places: np.ndarray
    before: np.ndarray
    at: np.ndarray
    after: np.ndarray


def match(subgroups: np.ndarray, actions: np.ndarray, rules: ChangeRules, subsets: bool = False) -> list[SameFeatures]:
    """Find the valid actions of each subgroup: those that set exactly its features, feasibly, and change one.

    With `subsets` they set some of its features, each to another value, and leave the others as they are: step (b)(i)
    of FACTS to the letter (Kavouras et al. 2023, section 3), a change that several actions make being counted once.
    Subgroups without a valid action are left out.
    """
    blocks = []
    by_features = _by_features(actions)
    number = 0
    for features, mine in _by_features(subgroups).items():
        places = np.array(features)
        before = subgroups[np.ix_(mine, places)]
        pairs = [(np.empty(0, dtype=np.intp), np.empty((0, len(places)), dtype=before.dtype))]
        for own in _on_features(by_features, features, subsets):
            after = actions[np.ix_(own, places)]
            at, action = np.nonzero(rules.feasible(places, before, after, each=subsets))
            number += len(at)
            _check_pairs(number)
            pairs.append((at, np.where(after[action] < 0, before[at], after[action])))
        at, after = (np.concatenate(part) for part in zip(*pairs, strict=True))
        if len(at):
            order = np.argsort(at, kind="stable")
            kept, place = np.unique(at[order], return_inverse=True)
            blocks.append(SameFeatures(places, before[kept], place, after[order]))
    return blocks


def _on_features(
    by_features: dict[tuple[int, ...], np.ndarray], features: tuple[int, ...], subsets: bool
) -> list[np.ndarray]:
    """Return the actions (rows) on features, or on each part of them."""
    if not subsets:
        return [by_features[features]] if features in by_features else []
    return [own for part, own in by_features.items() if set(part) <= set(features)]


def _check_pairs(number: int) -> None:
    if number > MOST_PAIRS:
        raise DataError(
            f"There are at least {number:,} pairs of a subgroup and an action, but at most {MOST_PAIRS:,} are "
            "evaluated: raise the support or leave features out."
        )


def _by_features(itemsets: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
    """Return the rows of the itemsets that have the same features."""
    if not len(itemsets):
        return {}
    has = itemsets >= 0
    distinct = distinct_rows(list(has.T))
    order = np.argsort(distinct.inverse, kind="stable")
    rows = np.split(order, np.cumsum(distinct.counts)[:-1])
    found = {tuple(np.flatnonzero(has[at]).tolist()): own for at, own in zip(distinct.first, rows, strict=True)}
    return dict(sorted(found.items(), key=lambda entry: (len(entry[0]), entry[0])))


def evaluate(
    people: CodedPeople,
    affected: np.ndarray,
    blocks: list[SameFeatures],
    rules: ChangeRules,
    answers: KnownAnswers,
    progress: bool = True,
) -> Candidates:
    """Apply every valid action to every affected person of its subgroup, and count who gets recourse.

    Step (b)(ii) of FACTS (Kavouras et al. 2023, section 3). Actions of different subgroups often change the same: each
    distinct change is tried once on everybody on whom an action makes it. People of the same row are asked about once,
    and so are counterfactual rows that several changes lead to.
    """
    everyone = AffectedRows.of(people, affected, answers.keys)
    subgroups, start, actions, costs = _list_pairs(blocks, rules, len(people.vocabulary.features))
    parts = []
    for own in runs(start, _ANSWERED // everyone.width):
        pairs, first = slice(start[own.start], start[own.stop]), start[own.start : own.stop + 1] - start[own.start]
        parts.append(_apply(everyone, subgroups[own], first, actions[pairs], answers, progress))
    sizes, flipped, reached = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return Candidates(subgroups, sizes, start, actions, costs, flipped, reached)


def _list_pairs(blocks: list[SameFeatures], rules: ChangeRules, features: int) -> tuple[np.ndarray, ...]:
    """Return the subgroups, where the pairs of each begin, and the actions and costs of all pairs, cheapest first."""

    def spread(codes: np.ndarray, places: np.ndarray) -> np.ndarray:
        full = np.full((len(codes), features), -1, dtype=np.int32)
        full[:, places] = codes
        return full

    subgroups, numbers, actions, costs = [], [], [], []
    for block in blocks:
        subgroups.append(spread(block.before, block.places))
        numbers.append(np.bincount(block.at))
        actions.append(spread(block.after, block.places))
        costs.append(rules.cost(block.places, block.before[block.at], block.after))
    number, cost = np.concatenate(numbers), np.concatenate(costs)
    order = np.lexsort([cost, np.repeat(np.arange(len(number)), number)])
    start = np.concatenate([[0], np.cumsum(number)])
    return np.concatenate(subgroups), start, np.concatenate(actions)[order], cost[order]


def _apply(
    everyone: AffectedRows,
    subgroups: np.ndarray,
    start: np.ndarray,
    actions: np.ndarray,
    answers: KnownAnswers,
    progress: bool,
) -> tuple[np.ndarray, ...]:
    """Return the sizes of some subgroups, and how many people their actions help: 2 × subgroups and 2 × pairs."""
    members = everyone.members(subgroups)
    subgroup = np.repeat(np.arange(len(subgroups)), np.diff(start))
    changes, change = distinct_changes(subgroups[subgroup], actions)
    order = np.argsort(change, kind="stable")
    made_on = np.split(subgroup[order], np.cumsum(np.bincount(change))[:-1])
    concerned = np.stack([np.bitwise_or.reduce(members[own], axis=0) for own in made_on])
    flips = _try_changes(everyone, changes, concerned, answers, progress)
    return everyone.count(members), *_count(everyone, members, start, flips, change)


def distinct_changes(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct changes (new codes, -1 where a feature stays as it is), and which one each action makes."""
    made = np.where(after == before, -1, after)
    distinct = distinct_rows(list(made.T))
    return made[distinct.first], distinct.inverse


def _try_changes(
    everyone: AffectedRows, changes: np.ndarray, concerned: np.ndarray, answers: KnownAnswers, progress: bool
) -> np.ndarray:
    """Return which of the people concerned get recourse by each change: changes × words."""
    flips = np.empty_like(concerned)
    parts = list(runs(np.append(0, np.cumsum(everyone.count(concerned).sum(axis=0))), _KEYS))
    for own in watched(parts, len(parts), "Applying actions", progress):
        rows = [everyone.rows(people) for people in concerned[own]]
        keys = [everyone.changed(part, change) for part, change in zip(rows, changes[own], strict=True)]
        good = np.split(answers.after(np.concatenate(keys)), np.cumsum([len(part) for part in keys])[:-1])
        flips[own] = [everyone.bits(part[helped]) for part, helped in zip(rows, good, strict=True)]
    return flips


def _count(
    everyone: AffectedRows, members: np.ndarray, start: np.ndarray, flips: np.ndarray, change: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many people of the two groups each action helps, alone and with those before it: 2 × pairs."""
    alone, together = [], []
    for own in runs(start, _COUNTED // everyone.width):
        pairs, number = slice(start[own.start], start[own.stop]), np.diff(start[own.start : own.stop + 1])
        helped = flips[change[pairs]] & np.repeat(members[own], number, axis=0)
        alone.append(everyone.count(helped))
        for part in np.split(helped, np.cumsum(number)[:-1]):
            np.bitwise_or.accumulate(part, axis=0, out=part)
        together.append(everyone.count(helped))
    return np.concatenate(alone, axis=1), np.concatenate(together, axis=1)
