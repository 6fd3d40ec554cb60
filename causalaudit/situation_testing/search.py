"""The two groups of every complainant: whom she is compared with, and how many of them were rejected."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError
from causalaudit.progress import parallel
from causalaudit.situation_testing.centres import Centres
from causalaudit.situation_testing.neighbours import Group

# Coordinates (people x draws x features) that one task holds.
_BUDGET = 2**20


@dataclass(frozen=True)
class Search:
    """Where the groups of the complainants are searched.

    Attributes
    ----------
    data
        Everyone.
    rejected
        Whether the decision on them is unfavourable.
    ours, theirs
        The rows of the protected people, who are the complainants, and of those they are compared with.
    control, test
        The two groups, in the order of those rows.
    centres
        The counterfactuals; None: the test groups are searched around the complainants themselves.
    with_centres
        Whether complainant and counterfactual belong to their groups.
    counterfactual_rejected
        The decision on the point counterfactuals, where it is known.
    max_distance
        How far a neighbour may be.
    """

    data: pd.DataFrame
    rejected: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray
    control: Group
    test: Group
    centres: Centres | None
    with_centres: bool
    counterfactual_rejected: np.ndarray | None
    max_distance: float | None

    @property
    def complainants(self) -> "pd.Index[Any]":
        """The labels of the complainants."""
        return self.data.index[self.ours]

    def neighbours(
        self, who: np.ndarray, k: int
    ) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Return positions and distances of the control groups and of the test groups of some complainants."""
        own = self.control.coordinates[who]
        goals = own if self.centres is None else self.centres.point()[who]
        found = self.control.nearest(own, k, who), self.test.nearest(goals, k)
        if np.isinf(found[0][1]).any() or np.isinf(found[1][1]).any():
            raise DataError(
                f"Some complainants have fewer than {k} people to be compared with: too many features are missing."
            )
        return found

    def counts(self, sizes: Sequence[int]) -> pd.DataFrame:
        """Return sizes and rejections of both groups, by k and complainant."""
        everyone = np.arange(len(self.ours))
        control, test = self.neighbours(everyone, sizes[-1])
        n_control, rejected_control = self._within(self.control, *control, sizes)
        n_test, rejected_test = self._within(self.test, *test, sizes)
        if self.with_centres:
            assert self.counterfactual_rejected is not None
            n_control, n_test = n_control + 1, n_test + 1
            rejected_control = rejected_control + self.rejected[self.ours]
            rejected_test = rejected_test + self.counterfactual_rejected
        index = pd.MultiIndex.from_product([list(sizes), self.complainants], names=["k", "complainant"])
        columns = {
            "n_control": n_control,
            "rejected_control": rejected_control,
            "n_test": n_test,
            "rejected_test": rejected_test,
        }
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)

    def _within(
        self, group: Group, positions: np.ndarray, distances: np.ndarray, sizes: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return how many neighbours there are, and how many of them rejected; sizes × complainants."""
        near = self.near(distances)
        last = np.array(sizes) - 1
        rejected = np.cumsum(group.rejected[positions] & near, axis=1, dtype=np.int64)[:, last].T
        return np.cumsum(near, axis=1, dtype=np.int64)[:, last].T, rejected

    def near(self, distances: np.ndarray) -> np.ndarray:
        """Return which distances are small enough."""
        if self.max_distance is None:
            return np.ones(distances.shape, dtype=bool)
        return np.rint(distances * 1e12) <= np.rint(self.max_distance * 1e12)

    def counts_over_draws(
        self, sizes: Sequence[int], centre_rejected: np.ndarray | None, progress: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return sizes and rejections of the test groups at every draw; sizes × draws × complainants.

        `centre_rejected` is the decision on the counterfactuals themselves, draws × complainants.
        """
        assert self.centres is not None
        numbers = self.centres.draws * len(self.centres.space.features)
        step = max(1, _BUDGET // numbers)
        parts = [slice(start, start + step) for start in range(0, len(self.ours), step)]
        task = partial(_count_part, self.test, self.centres, tuple(sizes), self.max_distance)
        found = list(parallel(task, parts, "Searching test groups", progress))
        rejected = np.concatenate([part[0] for part in found], axis=2)
        if self.with_centres:
            assert centre_rejected is not None
            rejected += centre_rejected
        if self.max_distance is None:
            return np.broadcast_to(np.array(sizes)[:, None, None] + self.with_centres, rejected.shape), rejected
        return np.concatenate([part[1] for part in found], axis=2) + self.with_centres, rejected


def _count_part(
    group: Group, centres: Centres, sizes: tuple[int, ...], limit: float | None, people: slice
) -> tuple[np.ndarray, np.ndarray]:
    return group.rejections(centres.over_draws(people), sizes, limit)
