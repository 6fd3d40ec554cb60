"""Subgroups with their valid actions: what each action costs, and whom it gives recourse."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from causalaudit.errors import DataError
from causalaudit.progress import watched
from causalaudit.recourse.crowd import Crowd
from causalaudit.recourse.people import People
from causalaudit.recourse.predictions import Keys, Predictions
from causalaudit.recourse.rules import Rules

# The most pairs of a subgroup and an action; the bytes of bits (people × pairs) that are answered for in one pass, and
# that are counted at a time; counterfactual rows that are looked up at a time.
MOST_PAIRS = 20_000_000
_ANSWERED = 2**28
_COUNTED = 2**21
_KEYS = 2**19


@dataclass(frozen=True)
class Candidates:
    """All subgroups and their valid actions, in flat arrays: everything that the notions of fairness are made of.

    The pairs of subgroup s are ``start[s]:start[s + 1]``, the cheapest action first, and every subgroup has at least
    one. Counts have an axis of length two, for the protected groups 0 and 1, before that of subgroups or pairs.

    Attributes
    ----------
    subgroups
        Subgroups × features: the codes of the predicate, -1 where a feature is not in it.
    sizes
        2 × subgroups: affected people.
    start
        Where the pairs of each subgroup begin; one more at the end.
    actions
        Pairs × features: the codes that the features of the predicate are set to, -1 elsewhere.
    costs
        Of each pair, the same for all people of a subgroup, ascending within a subgroup.
    flipped
        2 × pairs: people to whom the action gives recourse (macro). A leading axis of draws is allowed, and so are
        expected numbers.
    reached
        2 × pairs: people to whom this or an earlier action of the list gives recourse (micro); at the last pair of a
        cost it is the effectiveness–cost distribution times the size.
    """

    subgroups: np.ndarray
    sizes: np.ndarray
    start: np.ndarray
    actions: np.ndarray
    costs: np.ndarray
    flipped: np.ndarray
    reached: np.ndarray

    def __len__(self) -> int:
        return len(self.subgroups)

    @property
    def subgroup(self) -> np.ndarray:
        """The subgroup of each pair."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def pairs(self, subgroup: int) -> slice:
        """The pairs of a subgroup."""
        return slice(int(self.start[subgroup]), int(self.start[subgroup + 1]))

    def only(self, subgroup: int) -> "Candidates":
        """One subgroup alone."""
        pairs = self.pairs(subgroup)
        return Candidates(
            self.subgroups[[subgroup]], self.sizes[:, [subgroup]], np.array([0, pairs.stop - pairs.start]),
            self.actions[pairs], self.costs[pairs], self.flipped[..., pairs], self.reached[..., pairs],
        )  # fmt: skip


@dataclass(frozen=True)
class Block:
    """Subgroups with the same features, and the actions on these features.

    Attributes
    ----------
    places
        The features.
    before, after
        Codes of the subgroups (rows) and of the actions (rows) at these features.
    valid
        Subgroups × actions.
    """

    places: np.ndarray
    before: np.ndarray
    after: np.ndarray
    valid: np.ndarray


def match(subgroups: np.ndarray, actions: np.ndarray, rules: Rules) -> list[Block]:
    """Find the valid actions of each subgroup: those that set exactly its features, feasibly, and change one.

    Section 3, step (b)(i). Subgroups without a valid action are left out.
    """
    blocks = []
    by_features = _by_features(actions)
    number = 0
    for features, mine in _by_features(subgroups).items():
        if features not in by_features:
            continue
        places = np.array(features)
        before, after = subgroups[np.ix_(mine, places)], actions[np.ix_(by_features[features], places)]
        valid = rules.feasible(places, before, after)
        number += int(valid.sum())
        if number > MOST_PAIRS:
            raise DataError(
                f"There are at least {number:,} pairs of a subgroup and an action, but at most {MOST_PAIRS:,} are "
                "evaluated: raise the support or leave features out."
            )
        rows, columns = valid.any(axis=1), valid.any(axis=0)
        if rows.any():
            blocks.append(Block(places, before[rows], after[columns], valid[np.ix_(rows, columns)]))
    return blocks


def _by_features(itemsets: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
    """Return the rows of the itemsets that have the same features."""
    kinds, kind = Keys((2,) * itemsets.shape[1]).distinct(itemsets >= 0)
    order = np.argsort(kind, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(kind, minlength=len(kinds)))[:-1])
    found = {tuple(np.flatnonzero(part).tolist()): own for part, own in zip(kinds, rows, strict=True)}
    return dict(sorted(found.items(), key=lambda entry: (len(entry[0]), entry[0])))


def evaluate(
    people: People,
    affected: np.ndarray,
    blocks: list[Block],
    rules: Rules,
    predictions: Predictions,
    progress: bool = True,
) -> Candidates:
    """Apply every valid action to every affected person of its subgroup, and count who gets recourse.

    Section 3, step (b)(ii). Actions of different subgroups often change the same: each distinct change is tried once
    on everybody on whom an action makes it. People of the same row are asked about once, and so are counterfactual rows
    that several changes lead to.
    """
    crowd = Crowd.of(people, affected, predictions.keys)
    subgroups, start, actions, costs = _list_pairs(blocks, rules, len(people.features))
    parts = []
    for own in _runs(start, _ANSWERED // crowd.width):
        pairs, first = slice(start[own.start], start[own.stop]), start[own.start : own.stop + 1] - start[own.start]
        parts.append(_apply(crowd, subgroups[own], first, actions[pairs], predictions, progress))
    sizes, flipped, reached = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    return Candidates(subgroups, sizes, start, actions, costs, flipped, reached)


def _list_pairs(blocks: list[Block], rules: Rules, features: int) -> tuple[np.ndarray, ...]:
    """Return the subgroups, where the pairs of each begin, and the actions and costs of all pairs, cheapest first."""

    def spread(codes: np.ndarray, places: np.ndarray) -> np.ndarray:
        full = np.full((len(codes), features), -1, dtype=np.int32)
        full[:, places] = codes
        return full

    subgroups, numbers, actions, costs = [], [], [], []
    for block in blocks:
        at, action = np.nonzero(block.valid)
        after = block.after[action]
        subgroups.append(spread(block.before, block.places))
        numbers.append(block.valid.sum(axis=1))
        actions.append(spread(after, block.places))
        costs.append(rules.cost(block.places, block.before[at], after))
    number, cost = np.concatenate(numbers), np.concatenate(costs)
    order = np.lexsort([cost, np.repeat(np.arange(len(number)), number)])
    start = np.concatenate([[0], np.cumsum(number)])
    return np.concatenate(subgroups), start, np.concatenate(actions)[order], cost[order]


def _runs(start: np.ndarray, most: int) -> Iterator[slice]:
    """Cut a list into parts with so many pairs at most, or of one entry, whose pairs begin at `start`."""
    low = 0
    while low < len(start) - 1:
        high = max(low + 1, int(np.searchsorted(start, start[low] + most, side="right")) - 1)
        yield slice(low, high)
        low = high


def _apply(
    crowd: Crowd,
    subgroups: np.ndarray,
    start: np.ndarray,
    actions: np.ndarray,
    predictions: Predictions,
    progress: bool,
) -> tuple[np.ndarray, ...]:
    """Return the sizes of some subgroups, and how many people their actions help: 2 × subgroups and 2 × pairs."""
    members = crowd.members(subgroups)
    subgroup = np.repeat(np.arange(len(subgroups)), np.diff(start))
    changes, change = _distinct_changes(subgroups[subgroup], actions, crowd.keys)
    order = np.argsort(change, kind="stable")
    made_on = np.split(subgroup[order], np.cumsum(np.bincount(change))[:-1])
    concerned = np.stack([np.bitwise_or.reduce(members[own], axis=0) for own in made_on])
    flips = _try_changes(crowd, changes, concerned, predictions, progress)
    return crowd.count(members), *_count(crowd, members, start, flips, change)


def _distinct_changes(before: np.ndarray, after: np.ndarray, keys: Keys) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct changes (new codes, -1 where a feature stays as it is), and which one each action makes."""
    made = np.where(after == before, -1, after)
    distinct, change = Keys(tuple(size + 1 for size in keys.sizes[: made.shape[1]])).distinct(made + 1)
    return distinct - 1, change


def _try_changes(
    crowd: Crowd, changes: np.ndarray, concerned: np.ndarray, predictions: Predictions, progress: bool
) -> np.ndarray:
    """Return which of the people concerned get recourse by each change: changes × words."""
    flips = np.empty_like(concerned)
    parts = list(_runs(np.append(0, np.cumsum(crowd.count(concerned).sum(axis=0))), _KEYS))
    for own in watched(parts, len(parts), "Applying actions", progress):
        rows = [crowd.rows(people) for people in concerned[own]]
        keys = [crowd.changed(part, change) for part, change in zip(rows, changes[own], strict=True)]
        good = np.split(predictions.good(np.concatenate(keys)), np.cumsum([len(part) for part in keys])[:-1])
        flips[own] = [crowd.bits(part[helped]) for part, helped in zip(rows, good, strict=True)]
    return flips


def _count(
    crowd: Crowd, members: np.ndarray, start: np.ndarray, flips: np.ndarray, change: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many people of the two groups each action helps, alone and with those before it: 2 × pairs."""
    alone, together = [], []
    for own in _runs(start, _COUNTED // crowd.width):
        pairs, number = slice(start[own.start], start[own.stop]), np.diff(start[own.start : own.stop + 1])
        helped = flips[change[pairs]] & np.repeat(members[own], number, axis=0)
        alone.append(crowd.count(helped))
        for part in np.split(helped, np.cumsum(number)[:-1]):
            np.bitwise_or.accumulate(part, axis=0, out=part)
        together.append(crowd.count(helped))
    return np.concatenate(alone, axis=1), np.concatenate(together, axis=1)
