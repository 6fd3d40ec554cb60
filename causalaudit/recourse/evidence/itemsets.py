"""Frequent itemsets on bit masks: one bit for each person, one mask for each value of a feature."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np

from causalaudit.errors import DataError
from causalaudit.progress import pieces
from causalaudit.randomness import generator

# The most itemsets that are mined, and the bytes of masks that are looked at in one step.
MOST_ITEMSETS = 1_000_000
_BYTES = 2**25
_PROBES = 200


Ranges = Sequence[tuple[np.ndarray, np.ndarray]]


def frequent_itemsets(groups: Sequence[np.ndarray], support: float, ranges: Ranges | None = None) -> np.ndarray:
    """Return the sets of feature values that are frequent in every one of the groups.

    Step (a) of FACTS (Kavouras et al. 2023, section 3). Frequent means a count of at least `support` × the size of the
    group. With two groups these are the subgroups of the paper (the itemsets frequent in both), with one they are its
    actions A. A set frequent in all groups has only parts that are, so that the intersection is mined in one search.

    Parameters
    ----------
    groups
        For each group its people as codes: people × features.
    support
        The share of a group that must have the values.
    ranges
        For each feature the lowest and the highest code of its items; default its values alone.

    Returns
    -------
    numpy.ndarray
        Itemsets × features: the code of the feature, or -1 where the set does not have it. Smaller sets come first.

    Raises
    ------
    DataError
        If there would be more than a million, by an estimate made before the search.

    Examples
    --------
    >>> import numpy as np
    >>> frequent_itemsets([np.array([[0, 0], [0, 1], [1, 1], [0, 1]])], support=0.5)
    array([[ 0, -1],
           [-1,  1],
           [ 0,  1]], dtype=int32)
    """
    least = [_at_least(support, len(group)) for group in groups]
    ranges = _values(groups) if ranges is None else ranges
    _check_number(groups, least, support, ranges)
    widths = [-(-len(group) // 64) for group in groups]
    ends = np.cumsum([0, *widths])
    features = groups[0].shape[1]
    items = [_items(groups, place, least, ranges[place]) for place in range(features)]
    found = [np.empty((0, features), dtype=np.int32)]
    number = 0
    # Depth first over blocks of sets: memory is bounded by blocks × features, whatever the number of sets.
    pending = [(np.full((1, features), -1, dtype=np.int32), np.full((1, ends[-1]), ~np.uint64(0)), 0)]
    while pending:
        sets, masks, start = pending.pop()
        for place in range(start, features):
            codes, item_masks = items[place]
            for part in pieces(len(sets), each=item_masks.nbytes, budget=_BYTES):
                more = _extend(sets[part], masks[part], codes, item_masks, place, ends, least)
                if len(more[0]):
                    found.append(more[0])
                    number += len(more[0])
                    pending.append((*more, place + 1))
        if number > MOST_ITEMSETS:
            raise DataError(_too_many(support, number, "more than"))
    everything = np.concatenate(found)
    order = np.lexsort([*everything.T[::-1], *(everything < 0).T[::-1], (everything >= 0).sum(axis=1)])
    return everything[order]


def _at_least(support: float, size: int) -> int:
    """Return the smallest whole count that is at least support × size, and at least one."""
    exact = Fraction(str(support)) * size
    return max(1, -(-exact.numerator // exact.denominator))


def _values(groups: Sequence[np.ndarray]) -> Ranges:
    """Return the values of each feature as ranges of one code."""
    most = np.max([group.max(axis=0, initial=-1) for group in groups], axis=0)
    return [(np.arange(code + 1), np.arange(code + 1)) for code in most]


def _items(
    groups: Sequence[np.ndarray], place: int, least: list[int], ranges: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the frequent items of a feature and their masks: items × words, group after group."""
    low, high = ranges
    number = int(high.max(initial=-1)) + 1
    below = [np.append(0, np.cumsum(np.bincount(group[:, place], minlength=number))) for group in groups]
    counts = [sums[high + 1] - sums[low] for sums in below]
    codes = np.flatnonzero(np.all([count >= few for count, few in zip(counts, least, strict=True)], axis=0))
    low, high = low[codes, None], high[codes, None]
    return codes, np.concatenate(
        [_pack((low <= group[:, place]) & (group[:, place] <= high)) for group in groups], axis=1
    )


def _pack(flags: np.ndarray) -> np.ndarray:
    """Return rows of flags as rows of 64-bit words."""
    words = np.zeros((len(flags), -(-flags.shape[1] // 64) * 8), dtype=np.uint8)
    packed = np.packbits(flags, axis=1)
    words[:, : packed.shape[1]] = packed
    return words.view(np.uint64)


def _extend(
    sets: np.ndarray,
    masks: np.ndarray,
    codes: np.ndarray,
    item_masks: np.ndarray,
    place: int,
    ends: np.ndarray,
    least: list[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the frequent sets with one more feature, and their masks."""
    both = masks[:, None, :] & item_masks
    ones = np.bitwise_count(both)
    spans = zip(ends[:-1], ends[1:], least, strict=True)
    keep = np.all([ones[..., low:high].sum(axis=-1) >= few for low, high, few in spans], axis=0)
    parent, item = np.nonzero(keep)
    longer = sets[parent]
    longer[:, place] = codes[item]
    return longer, both[parent, item]


def _check_number(groups: Sequence[np.ndarray], least: list[int], support: float, ranges: Ranges) -> None:
    """Refuse a search that would explode; a row holds so many sets and a set is in many rows, which bounds them."""
    held = [_held(np.arange(int(high.max(initial=0)) + 1), (low, high)).max() for low, high in ranges]
    if float(np.prod(1.0 + np.array(held))) * len(groups[0]) / least[0] > MOST_ITEMSETS:
        number = estimated_number(groups, least, ranges=ranges)
        if number > MOST_ITEMSETS:
            raise DataError(_too_many(support, number, "about"))


def _held(codes: np.ndarray, ranges: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return how many items of a feature each code has."""
    low, high = (np.sort(ends) for ends in ranges)
    return np.searchsorted(low, codes, side="right") - np.searchsorted(high, codes, side="left")


def _too_many(support: float, number: float, how: str) -> str:
    return (
        f"With support={support:g} there would be {how} {number:,.0f} frequent itemsets, but at most {MOST_ITEMSETS:,} "
        "are searched: raise the support, bin features of many values, or leave features out."
    )


def estimated_number(
    groups: Sequence[np.ndarray], least: Sequence[int], seed: int = 0, *, ranges: Ranges | None = None
) -> float:
    """Estimate the number of frequent itemsets without mining them.

    A set that `count` people have is drawn, as a random part of a random person, of whom one item of each feature is
    named at random, with a probability in proportion to `count` over the items that the person has: for each size, the
    mean of their number / count over draws that are frequent, times the number of (person, part), is an unbiased
    estimate.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).integers(0, 2, (400, 6))
    >>> round(estimated_number([rows], [4]) / len(frequent_itemsets([rows], 0.01)), 1)
    1.0
    """
    ranges = _values(groups) if ranges is None else ranges
    random = generator(seed, "number of itemsets")
    people, features = groups[0].shape
    total = 0.0
    for size in range(1, features + 1):
        inverse = np.zeros(_PROBES)
        for probe in range(_PROBES):
            row, part = int(random.integers(people)), random.permutation(features)[:size]
            low, high, times = _named(random, groups[0][row], part, ranges)
            counts = [int(((low <= group[:, part]) & (group[:, part] <= high)).all(axis=1).sum()) for group in groups]
            if all(count >= few for count, few in zip(counts, least, strict=True)):
                inverse[probe] = times / counts[0]
        total += comb(features, size) * people * float(inverse.mean())
        if not inverse.any() or total > 1000 * MOST_ITEMSETS:
            break
    return total


def _named(
    random: np.random.Generator, row: np.ndarray, part: np.ndarray, ranges: Ranges
) -> tuple[np.ndarray, np.ndarray, float]:
    """Name an item of each of some features that a row has; return their ranges, and of how many they were chosen."""
    chosen, times = [], 1.0
    for place in part:
        low, high = ranges[place]
        items = np.flatnonzero((low <= row[place]) & (row[place] <= high))
        item = items[0] if len(items) == 1 else random.choice(items)
        chosen.append((low[item], high[item]))
        times *= len(items)
    ends = np.array(chosen)
    return ends[:, 0], ends[:, 1], times
