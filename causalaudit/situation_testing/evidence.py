"""The evidence of a situation test, as data: both groups of every complainant, at the point and at every draw.

Algorithm 1 of Alvarez and Ruggieri (2025; `run_cfST` of the preliminary paper), for all complainants at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.errors import DataError
from causalaudit.progress import parallel, pieces
from causalaudit.situation_testing.counterfactual_centres import CounterfactualCentres
from causalaudit.situation_testing.draw_comparison import DrawCounts
from causalaudit.situation_testing.geometry import Geometry
from causalaudit.situation_testing.neighbours import SearchSpace
from causalaudit.situation_testing.outcomes import Outcomes
from causalaudit.situation_testing.question import SituationQuestion
from causalaudit.storage import storable


@storable
@dataclass(frozen=True, eq=False)
class FoundGroups:
    """One of the two groups of every complainant, nearest first.

    Attributes
    ----------
    rows
        Which rows of the data they are: complainants × the largest k.
    distances
        How far they are from their centre.
    near
        Which of them are near enough to belong to the group.
    """

    rows: np.ndarray
    distances: np.ndarray
    near: np.ndarray

    def count(self, rejected: np.ndarray, sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return how many members there are, and how many of them rejected; sizes × complainants."""
        last = np.array(sizes) - 1
        among = np.cumsum(rejected[self.rows] & self.near, axis=1, dtype=np.int64)[:, last].T
        return np.cumsum(self.near, axis=1, dtype=np.int64)[:, last].T, among

    def farthest(self, sizes: Sequence[int]) -> np.ndarray:
        """Return the distance of the farthest member, NaN where there is none; sizes × complainants."""
        reached = np.where(self.near, self.distances, -np.inf)
        farthest = np.maximum.accumulate(reached, axis=1)[:, np.array(sizes) - 1].T
        return np.where(np.isinf(farthest), np.nan, farthest)

    def mean_distance(self, sizes: Sequence[int]) -> np.ndarray:
        """Return the mean distance of the members, NaN where there is none; sizes × complainants."""
        last = np.array(sizes) - 1
        total = np.cumsum(np.where(self.near, self.distances, 0.0), axis=1)[:, last].T
        members = np.cumsum(self.near, axis=1, dtype=np.int64)[:, last].T
        return np.divide(total, members, out=np.full(total.shape, np.nan), where=members > 0)


@storable
@dataclass(frozen=True, eq=False)
class CounterfactualPeople:
    """The counterfactuals of the complainants.

    Attributes
    ----------
    point
        The features at the point counterfactual.
    rejected
        The decision on them, where it is known.
    draws
        The features that the program models, by draw and complainant.
    numbers
        Which draws of the posterior they are.
    origin
        The posterior and the seed of the draws; empty if they were computed elsewhere.
    """

    point: pd.DataFrame
    rejected: np.ndarray | None
    draws: xr.Dataset
    numbers: np.ndarray
    origin: dict[str, Any]


@storable
@dataclass(frozen=True, eq=False)
class SituationEvidence:
    """What a situation test found, before anything is concluded from it.

    Attributes
    ----------
    people
        The features of everyone.
    rejected
        Whether the decision on them is unfavourable.
    rows
        The rows of the complainants: all who have the protected level.
    control, test
        Their control groups (equation 6) and test groups (equation 7).
    counts
        Sizes and rejections of both groups, by `k` and `complainant`.
    counterfactual
        Their counterfactuals; None in standard situation testing.
    draws
        The counts at every draw, if there are several.
    """

    people: pd.DataFrame
    rejected: np.ndarray
    rows: np.ndarray
    control: FoundGroups
    test: FoundGroups
    counts: pd.DataFrame
    counterfactual: CounterfactualPeople | None = None
    draws: DrawCounts | None = None

    @property
    def complainants(self) -> "pd.Index[Any]":
        """The labels of the complainants."""
        return self.people.index[self.rows]


def gather_evidence(
    question: SituationQuestion,
    data: pd.DataFrame,
    geometry: Geometry,
    outcomes: Outcomes,
    centres: CounterfactualCentres | None = None,
    *,
    as_published: bool = False,
    progress: bool = True,
) -> SituationEvidence:
    """Search both groups of every complainant, and count whom the decision rejects.

    Parameters
    ----------
    question
        What is asked.
    data
        Everyone.
    geometry
        How people are compared.
    outcomes
        What is decided about people, and about counterfactual people.
    centres
        Where the counterfactuals are; None: the test groups are searched around the complainants themselves.
    as_published
        Ties go to the later row, as in the published code.
    progress
        Show a bar when it is long.
    """
    ours, theirs = (np.flatnonzero(who(data)) for who in (question.groups.protected, question.groups.compared))
    people = data[question.features]
    coordinates = geometry.encode(people)
    control, test = (
        SearchSpace(geometry, coordinates[rows], outcomes.rejected[rows], as_published) for rows in (ours, theirs)
    )
    goals = control.coordinates if centres is None else centres.at_point()
    most, limit = question.sizes[-1], question.max_distance
    controls = _found(ours, control.nearest(control.coordinates, most, np.arange(len(ours))), limit)
    tests = _found(theirs, test.nearest(goals, most), limit)
    counts = _count(question, controls, tests, outcomes, data.index[ours])
    counterfactual, draws = None, None
    if centres is not None:
        point = centres.point.loc[centres.complainants]
        drawn = centres.of_complainants()
        counterfactual = CounterfactualPeople(point, outcomes.at_point, drawn, centres.numbers, centres.origin)
        if len(centres.numbers) > 1:
            draws = _count_over_draws(question, counts, test, centres, outcomes, progress)
    return SituationEvidence(people, outcomes.rejected, ours, controls, tests, counts, counterfactual, draws)


def _found(rows: np.ndarray, found: tuple[np.ndarray, np.ndarray], limit: float | None) -> FoundGroups:
    positions, distances = found
    if np.isinf(distances).any():
        raise DataError(
            f"Some complainants have fewer than {distances.shape[1]} people to be compared with: their distance from "
            "all others is infinite."
        )
    near = np.ones(distances.shape, bool) if limit is None else np.rint(distances * 1e12) <= np.rint(limit * 1e12)
    return FoundGroups(rows[positions].astype(np.int32), distances, near)


def _count(
    question: SituationQuestion,
    control: FoundGroups,
    test: FoundGroups,
    outcomes: Outcomes,
    complainants: "pd.Index[Any]",
) -> pd.DataFrame:
    """Return sizes and rejections of both groups, by k and complainant; with the centres if they are asked for."""
    n_control, rejected_control = control.count(outcomes.rejected, question.sizes)
    n_test, rejected_test = test.count(outcomes.rejected, question.sizes)
    if question.centres:
        assert outcomes.at_point is not None
        n_control, n_test = n_control + 1, n_test + 1
        rejected_control = rejected_control + outcomes.of_complainants
        rejected_test = rejected_test + outcomes.at_point
    columns = {
        "n_control": n_control,
        "rejected_control": rejected_control,
        "n_test": n_test,
        "rejected_test": rejected_test,
    }
    index = pd.MultiIndex.from_product([list(question.sizes), complainants], names=["k", "complainant"])
    return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)


def _count_over_draws(
    question: SituationQuestion,
    counts: pd.DataFrame,
    test: SearchSpace,
    centres: CounterfactualCentres,
    outcomes: Outcomes,
    progress: bool,
) -> DrawCounts:
    """Return the groups at every draw of the counterfactuals."""
    sizes, limit = question.sizes, question.max_distance
    shape = (len(sizes), len(centres.complainants))
    names = ("n_control", "rejected_control", "n_test", "rejected_test")
    n_control, control, n_point, point = (counts[name].to_numpy().reshape(shape) for name in names)
    tasks = pieces(shape[1], each=len(centres.numbers) * len(centres.geometry.features))
    found = list(parallel(partial(_search, test, centres, sizes, limit), tasks, "Searching test groups", progress))
    rejected = np.concatenate([part[0] for part in found], axis=2)
    n_test = np.array(sizes)[:, None, None] if limit is None else np.concatenate([part[1] for part in found], axis=2)
    if question.centres:
        assert outcomes.over_draws is not None
        rejected, n_test = rejected + outcomes.over_draws, n_test + 1
    return DrawCounts(n_control, control, n_test, rejected, point == n_point, point == 0)


def _search(
    test: SearchSpace, centres: CounterfactualCentres, sizes: tuple[int, ...], limit: float | None, people: slice
) -> tuple[np.ndarray, np.ndarray]:
    return test.rejections(centres.over_draws(people), sizes, limit)
