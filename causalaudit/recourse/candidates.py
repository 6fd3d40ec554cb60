"""Subgroups with their valid actions: what each action costs, and whom it gives recourse."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from causalaudit.errors import DataError
from causalaudit.progress import watched
from causalaudit.recourse.people import People
from causalaudit.recourse.predictions import Keys, Predictions, distinct_keys, flat, words
from causalaudit.recourse.rules import Rules

# The most pairs of a subgroup and an action; cells (people × actions) and counterfactual rows that are held at a time.
MOST_PAIRS = 20_000_000
_CELLS = 2**22
_KEYS = 2**21


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
    has = itemsets >= 0
    kinds, kind = np.unique(has, axis=0, return_inverse=True)
    order = np.argsort(kind.reshape(-1), kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(kind.reshape(-1), minlength=len(kinds)))[:-1])
    found = {tuple(np.flatnonzero(part).tolist()): own for part, own in zip(kinds, rows, strict=True)}
    return dict(sorted(found.items(), key=lambda entry: (len(entry[0]), entry[0])))


@dataclass(frozen=True)
class _Rows:
    """The distinct rows of the affected people, those of group 0 first, and how many people each stands for.

    `keys` are those of the rows, rows × words, and `shares` the shares of each column in them: columns × rows × words.
    """

    codes: np.ndarray
    group: np.ndarray
    weight: np.ndarray
    keys: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, people: People, affected: np.ndarray, keys: Keys) -> "_Rows":
        everyone = np.column_stack([people.codes, people.group])[affected]
        columns = np.arange(everyone.shape[1])
        _, first, weight = np.unique(flat(keys.key(everyone, columns)), return_index=True, return_counts=True)
        order = np.argsort(everyone[first, -1], kind="stable")
        codes = everyone[first[order]]
        shares = np.stack([keys.key(codes[:, [column]], columns[[column]]) for column in columns])
        return cls(codes, codes[:, -1], weight[order], shares.sum(axis=0), shares)


@dataclass(frozen=True)
class _Task:
    """Some subgroups of a block with their people, and the counterfactual rows to ask about.

    Attributes
    ----------
    subgroups, subgroup
        Which subgroups of the block these are; and for each row of people (sorted by it) the position among them.
    group, weight
        Of each row of people.
    base
        For each row of people, what its other features are, as a position among `needed`.
    needed
        Which actions are asked about: other features × actions.
    keys
        Of the counterfactual rows that are needed.
    """

    block: Block
    subgroups: np.ndarray
    subgroup: np.ndarray
    group: np.ndarray
    weight: np.ndarray
    base: np.ndarray
    needed: np.ndarray
    keys: np.ndarray


def evaluate(
    people: People,
    affected: np.ndarray,
    blocks: list[Block],
    rules: Rules,
    predictions: Predictions,
    progress: bool = True,
) -> Candidates:
    """Apply every valid action to every affected person of its subgroup, and count who gets recourse.

    Section 3, step (b)(ii). People of the same row are asked about once, and so are counterfactual rows that several
    actions lead to.
    """
    rows = _Rows.of(people, affected, predictions.keys)
    parts: list[tuple[np.ndarray, ...]] = []
    waiting: list[_Task] = []
    number = 0
    for block in watched(blocks, len(blocks), "Applying actions", progress):
        for task in _tasks(rows, block, predictions.keys):
            waiting.append(task)
            number += len(task.keys)
            if number > _KEYS:
                parts += _answer(waiting, rules, predictions)
                waiting, number = [], 0
    parts += _answer(waiting, rules, predictions)
    return _join(parts, len(people.features))


def _tasks(rows: _Rows, block: Block, keys: Keys) -> Iterator[_Task]:
    """Find the people of each subgroup of a block, and what they would be after its actions."""
    own = rows.shares[block.places].sum(axis=0)
    others = rows.keys - own
    subgroup = _find(flat(own), flat(keys.key(block.before, block.places)))
    members = np.flatnonzero(subgroup >= 0)
    members = members[_order(subgroup[members], len(block.before))]
    after = keys.key(block.after, block.places)
    for part in _runs(subgroup[members], max(1, _CELLS // len(block.after))):
        chosen = members[part]
        mine = subgroup[chosen]
        distinct, base = distinct_keys(flat(others[chosen]))
        order = _order(base, len(distinct))
        first = np.concatenate([[0], np.cumsum(np.bincount(base))[:-1]])
        needed = np.logical_or.reduceat(block.valid[mine[order]], first, axis=0)
        at, action = np.nonzero(needed)
        asked = flat(words(distinct)[at] + after[action])
        present = mine[np.flatnonzero(np.diff(mine, prepend=-1))]
        position = np.cumsum(np.diff(mine, prepend=mine[0]) > 0)
        yield _Task(block, present, position, rows.group[chosen], rows.weight[chosen], base, needed, asked)


def _find(values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the position in `wanted` of each value, -1 if it is not there."""
    order = np.argsort(wanted)
    known = wanted[order]
    at = np.minimum(np.searchsorted(known, values), len(wanted) - 1)
    return np.where(known[at] == values, order[at], -1)


def _order(numbers: np.ndarray, below: int) -> np.ndarray:
    """Return the stable order of small whole numbers; few enough are sorted in linear time."""
    return np.argsort(numbers.astype(np.uint16) if below <= 2**16 else numbers, kind="stable")


def _runs(subgroup: np.ndarray, step: int) -> Iterator[slice]:
    """Cut a sorted list into parts of some `step` entries that do not cut a subgroup."""
    first = np.flatnonzero(np.diff(subgroup, prepend=-1))
    start = 0
    while start < len(subgroup):
        later = first[first >= start + step]
        end = int(later[0]) if len(later) else len(subgroup)
        yield slice(start, end)
        start = end


def _answer(tasks: list[_Task], rules: Rules, predictions: Predictions) -> list[tuple[np.ndarray, ...]]:
    """Predict all counterfactual rows of some tasks at once, and count."""
    if not tasks:
        return []
    good = predictions.good(np.concatenate([task.keys for task in tasks]))
    ends = np.cumsum([len(task.keys) for task in tasks])[:-1]
    return [_count(task, own, rules) for task, own in zip(tasks, np.split(good, ends), strict=True)]


def _count(task: _Task, good: np.ndarray, rules: Rules) -> tuple[np.ndarray, ...]:
    """Return the features, subgroups, sizes, numbers of actions, actions, costs, flipped and reached of a task."""
    block = task.block
    flips = np.zeros(task.needed.shape, dtype=bool)
    flips[task.needed] = good
    valid, before = block.valid[task.subgroups], block.before[task.subgroups]
    at, action = np.nonzero(valid)
    priced = np.full(valid.shape, np.inf)
    priced[at, action] = rules.cost(block.places, before[at], block.after[action])
    order = np.argsort(priced, axis=1, kind="stable")
    priced = np.take_along_axis(priced, order, axis=1)
    inside = np.isfinite(priced)
    ours = np.take_along_axis(flips[task.base], order[task.subgroup], axis=1) & inside[task.subgroup]
    sizes, flipped, reached = tally(ours, task.subgroup * 2 + task.group, task.weight, 2 * len(before))
    pairs = [np.moveaxis(part.reshape(-1, 2, len(block.after)), 1, 2)[inside] for part in (flipped, reached)]
    actions = block.after[order[inside]]
    return block.places, before, sizes.reshape(-1, 2), inside.sum(axis=1), actions, priced[inside], *pairs


def tally(flips: np.ndarray, group: np.ndarray, weight: np.ndarray, number: int) -> tuple[np.ndarray, ...]:
    """Count people, who is flipped by each action, and who is reached by it or an earlier one.

    Parameters
    ----------
    flips
        People × actions, the cheapest action first: who gets recourse by what.
    group
        The group of each person, sorted; each of the `number` groups has somebody.
    weight
        How many people each row stands for.
    number
        The number of groups.

    Returns
    -------
    sizes, flipped, reached
        Groups, and groups × actions.

    Examples
    --------
    >>> import numpy as np
    >>> flips = np.array([[True, False], [False, True], [False, False]])
    >>> tally(flips, np.array([0, 0, 1]), np.array([1, 1, 5]), 2)
    (array([2, 5]), array([[1, 1],
           [0, 0]]), array([[1, 2],
           [0, 0]]))
    """
    starts = np.searchsorted(group, np.arange(number))
    actions = flips.shape[1]
    sizes = np.add.reduceat(weight, starts)
    flipped = np.add.reduceat(flips * weight[:, None], starts, axis=0)
    some = flips.any(axis=1)
    first = group[some] * actions + np.argmax(flips[some], axis=1)
    new = np.bincount(first, weights=weight[some], minlength=number * actions)
    return sizes, flipped, np.cumsum(new.reshape(number, actions), axis=1).round().astype(np.int64)


def _join(parts: list[tuple[np.ndarray, ...]], features: int) -> Candidates:
    """Put the counts of all blocks together."""

    def spread(codes: np.ndarray, places: np.ndarray) -> np.ndarray:
        full = np.full((len(codes), features), -1, dtype=np.int32)
        full[:, places] = codes
        return full

    def joined(place: int, empty: tuple[int, ...], dtype: type) -> np.ndarray:
        return np.concatenate([np.empty(empty, dtype=dtype), *(part[place] for part in parts)]).astype(dtype)

    nobody = [np.empty((0, features), dtype=np.int32)]
    return Candidates(
        subgroups=np.concatenate([*nobody, *(spread(part[1], part[0]) for part in parts)]),
        sizes=joined(2, (0, 2), np.int64).T,
        start=np.concatenate([[0], np.cumsum(joined(3, (0,), np.int64))]),
        actions=np.concatenate([*nobody, *(spread(part[4], part[0]) for part in parts)]),
        costs=joined(5, (0,), np.float64),
        flipped=np.ascontiguousarray(joined(6, (0, 2), np.int64).T),
        reached=np.ascontiguousarray(joined(7, (0, 2), np.int64).T),
    )
