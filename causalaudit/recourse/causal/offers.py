"""The changes that the subgroups of people offer them, and what they cost there."""

from dataclasses import dataclass

import numpy as np

from causalaudit.progress import pieces
from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.question.coding import Vocabulary

_CELLS = 2**22  # pairs of a row and an action that are listed at a time


@dataclass(frozen=True, eq=False)
class Offers:
    """What is offered to whoever has one of some rows of codes, each change at the least cost at which it is.

    Attributes
    ----------
    keys
        Row × number of changes + change, sorted.
    costs
        The cost of each.
    start
        Where the offers of each row begin; one more at the end.
    number
        Of changes.
    """

    keys: np.ndarray
    costs: np.ndarray
    start: np.ndarray
    number: int

    def cost(self, rows: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Return what changes cost those who have rows; infinite where a change is not offered to them."""
        wanted = rows.astype(np.int64) * self.number + changes
        at = np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))
        if not len(self.keys):
            return np.full(wanted.shape, np.inf)
        return np.where(self.keys[at] == wanted, self.costs[at], np.inf)

    def changes(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all that is offered to some rows: which of the rows (positions), and the change."""
        lengths = np.diff(self.start)[rows]
        return np.repeat(np.arange(len(rows)), lengths), self.keys[expand(self.start[rows], lengths)] % self.number


def make_offers(
    candidates: Candidates, vocabulary: Vocabulary, pair_change: np.ndarray, number: int, rows: np.ndarray
) -> Offers:
    """List what the subgroups that hold each row offer.

    Parameters
    ----------
    candidates, vocabulary
        Subgroups and their actions, and what their codes mean.
    pair_change, number
        The change that each action makes, and how many there are.
    rows
        Rows × features: codes, -1 for a value that no subgroup names.
    """
    lengths = np.diff(candidates.start)
    keys, costs = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for part in pieces(len(rows), each=len(candidates.costs), budget=_CELLS):
        row, subgroup = np.nonzero(vocabulary.inside(candidates.subgroups, rows[part, None]))
        pairs = expand(candidates.start[subgroup], lengths[subgroup])
        key = np.repeat(row + part.start, lengths[subgroup]) * number + pair_change[pairs]
        order = np.lexsort([candidates.costs[pairs], key])
        first = np.diff(key[order], prepend=-1) > 0
        keys.append(key[order][first])
        costs.append(candidates.costs[pairs][order][first])
    every = np.concatenate(keys)
    start = np.searchsorted(every, np.arange(len(rows) + 1) * number)
    return Offers(every, np.concatenate(costs), start, number)


def expand(start: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the positions of runs that begin at `start` and are so long, one run after the other.

    Examples
    --------
    >>> expand(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(start - before, lengths) + np.arange(int(lengths.sum()))
