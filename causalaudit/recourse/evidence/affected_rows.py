"""The affected people as bits, so that sets of people are joined and counted fast."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from causalaudit.people import distinct_rows
from causalaudit.recourse.evidence.row_keys import RowKeys, flat
from causalaudit.recourse.question.coding import CodedPeople, Vocabulary

_WORD = 64


@dataclass(frozen=True)
class AffectedRows:
    """The distinct rows of the affected people, about which a classifier is asked, and how many people have each.

    A set of people, in which everybody of a row is or nobody, is a list of 64-bit words. A row has a bit for each one
    among the binary digits of its number of people: it takes few bits whether it stands for one person or for many.

    Attributes
    ----------
    codes
        Distinct rows × features.
    shares
        The shares of each column of a row in its key: columns × distinct rows × words of the key.
    keys
        How rows, with the protected level last, become keys.
    row
        The distinct row of each bit; one more than the last where the bit is nobody's.
    weights
        Words × 2: how many people of the two groups a bit of the word stands for; whole numbers.
    vocabulary
        What the codes of subgroups mean.
    """

    codes: np.ndarray
    shares: np.ndarray
    keys: RowKeys
    row: np.ndarray
    weights: np.ndarray
    vocabulary: Vocabulary

    @classmethod
    def of(cls, people: CodedPeople, affected: np.ndarray, keys: RowKeys) -> "AffectedRows":
        """Lay out the rows of the people who are affected."""
        everyone = np.column_stack([people.codes, people.status])[affected]
        columns = np.arange(everyone.shape[1])
        distinct = distinct_rows(list(everyone.T))
        codes = everyone[distinct.first]
        shares = np.stack([keys.key(codes[:, [column]], columns[[column]]) for column in columns])
        row, weights = _layout(distinct.counts, people.group_of_status[codes[:, -1]])
        return cls(codes[:, :-1], shares, keys, row, weights, people.vocabulary)

    @property
    def width(self) -> int:
        """The bytes of a set."""
        return len(self.row) // 8

    @cached_property
    def _first(self) -> np.ndarray:
        """A bit of each distinct row."""
        return np.unique(self.row, return_index=True)[1][: len(self.codes)]

    @cached_property
    def _unchanged(self) -> np.ndarray:
        """The keys of the distinct rows as they are."""
        return self.shares.sum(axis=0)

    def bits(self, rows: np.ndarray) -> np.ndarray:
        """Return the people with some of the distinct rows (positions, or a flag for each)."""
        flags = np.zeros(len(self.codes) + 1, dtype=bool)
        flags[:-1][rows] = True
        return np.packbits(flags[self.row]).view(np.uint64)

    def rows(self, people: np.ndarray) -> np.ndarray:
        """Return the distinct rows (positions) of a set of people."""
        return np.flatnonzero(np.unpackbits(people.view(np.uint8))[self._first])

    def members(self, subgroups: np.ndarray) -> np.ndarray:
        """Return the people of each subgroup: subgroups × words."""
        found = np.repeat(self.bits(np.arange(len(self.codes)))[None], len(subgroups), axis=0)
        for place, codes in enumerate(subgroups.T):
            for code in np.unique(codes[codes >= 0]):
                low, high = (ends[code] for ends in self.vocabulary.ranges[place])
                found[codes == code] &= self.bits((low <= self.codes[:, place]) & (self.codes[:, place] <= high))
        return found

    def count(self, sets: np.ndarray) -> np.ndarray:
        """Return how many people of the two groups are in each set: 2 × sets."""
        return (np.bitwise_count(sets) @ self.weights).T.astype(np.int64)

    def changed(self, rows: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return the keys of distinct rows after a change: new codes, -1 where a feature stays as it is."""
        places = np.flatnonzero(change >= 0)
        others = self._unchanged[rows] - self.shares[places][:, rows].sum(axis=0)
        return flat(others + self.keys.key(change[None, places], places))


def _layout(number: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of each bit, and what the bits of each word stand for, given people and group of each row.

    Examples
    --------
    >>> row, weights = _layout(np.array([1, 5, 2]), np.array([0, 0, 1]))
    >>> row[::64].tolist(), weights.tolist()  # the first bits of three words; bits that are nobody's have row 3
    ([0, 1, 2], [[1.0, 0.0], [4.0, 0.0], [0.0, 2.0]])
    """
    rows, weights = [], []
    for side in (0, 1):
        for digit in range(int(number.max()).bit_length()):
            own = np.flatnonzero((group == side) & (number >> digit & 1 == 1))
            rows.append(np.pad(own, (0, -len(own) % _WORD), constant_values=len(number)))
            # Floats, which multiply fast; sums of people are exact.
            weights.append(np.tile(2.0**digit * np.eye(2)[side], (len(rows[-1]) // _WORD, 1)))
    return np.concatenate(rows), np.concatenate(weights)
