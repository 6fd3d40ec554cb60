"""Subgroups with their valid actions: what each action costs, and how many people it gives recourse."""

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
        pairs = self.pairs(subgroup)
        return Candidates(
            self.subgroups[[subgroup]], self.sizes[:, [subgroup]], np.array([0, pairs.stop - pairs.start]),
            self.actions[pairs], self.costs[pairs], self.flipped[..., pairs], self.reached[..., pairs],
        )  # fmt: skip
