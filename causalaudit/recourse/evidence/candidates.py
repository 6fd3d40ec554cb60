"""Subgroups with their valid actions: what each action costs, and how many people it gives recourse."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from causalaudit.storage import storable


@storable
@dataclass(frozen=True, eq=False)
class Candidates:
    """All subgroups and their valid actions, in flat arrays: everything that the notions of fairness are made of.

    The pairs of subgroup s are ``start[s]:start[s + 1]``, the cheapest action first, and every subgroup has at least
    one. Counts have an axis of length two, for the protected groups 0 and 1, before that of subgroups or pairs.

    Attributes
    ----------
    subgroups
        Subgroups × features: the codes of the predicate, -1 where a feature is not in it.
    sizes
        2 × subgroups: affected people, |G₀| and |G₁|.
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
        return self.part(slice(subgroup, subgroup + 1))

    def part(self, subgroups: slice) -> "Candidates":
        """Some subgroups, one after the other."""
        start = self.start[subgroups.start : subgroups.stop + 1]
        pairs = slice(int(start[0]), int(start[-1]))
        return Candidates(
            self.subgroups[subgroups], self.sizes[:, subgroups], start - start[0], self.actions[pairs],
            self.costs[pairs], self.flipped[..., pairs], self.reached[..., pairs],
        )  # fmt: skip

    def where(self, kept: np.ndarray) -> "Candidates":
        """The subgroups of a list of flags."""
        pairs = kept[self.subgroup]
        start = np.append(0, np.cumsum(np.diff(self.start)[kept]))
        return Candidates(
            self.subgroups[kept], self.sizes[:, kept], start, self.actions[pairs], self.costs[pairs],
            self.flipped[..., pairs], self.reached[..., pairs],
        )  # fmt: skip

    def flat(self) -> "Candidates":
        """The subgroups of every draw one after the other, those of the first draw first, without an axis of draws."""
        draws, pairs = len(self.flipped), len(self.costs)
        start = (np.arange(draws)[:, None] * pairs + self.start[:-1]).ravel()
        flipped, reached = (np.moveaxis(counts, 0, 1).reshape(2, -1) for counts in (self.flipped, self.reached))
        return Candidates(
            np.tile(self.subgroups, (draws, 1)), np.tile(self.sizes, draws), np.append(start, draws * pairs),
            np.tile(self.actions, (draws, 1)), np.tile(self.costs, draws), flipped, reached,
        )  # fmt: skip


def runs(start: np.ndarray, most: int) -> Iterator[slice]:
    """Cut a list into parts with so many pairs at most, or of one entry, whose pairs begin at `start`."""
    low = 0
    while low < len(start) - 1:
        high = max(low + 1, int(np.searchsorted(start, start[low] + most, side="right")) - 1)
        yield slice(low, high)
        low = high
