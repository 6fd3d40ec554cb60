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
from causalaudit.situation_testing.coupling_bounds import CaseBounds, Profiles
from causalaudit.situation_testing.draw_comparison import DrawCounts
from causalaudit.situation_testing.geometry import Geometry
from causalaudit.situation_testing.neighbours import SearchSpace
from causalaudit.situation_testing.outcomes import Outcomes
from causalaudit.situation_testing.question import SituationQuestion
from causalaudit.situation_testing.shift import ComparedPeople, compare_by
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
    bounds
        Between what the probability of a case lies under any coupling, if that was asked for.
    """

    people: pd.DataFrame
    rejected: np.ndarray
    rows: np.ndarray
    control: FoundGroups
    test: FoundGroups
    counts: pd.DataFrame
    counterfactual: CounterfactualPeople | None = None
    draws: DrawCounts | None = None
    bounds: CaseBounds | None = None

    @property
    def complainants(self) -> "pd.Index[Any]":
        """The labels of the complainants."""
        return self.people.index[self.rows]


@dataclass(frozen=True, eq=False)
class AtProfiles:
    """All that complainants could have been under any coupling: where that is, and what is decided there."""

    profiles: Profiles
    centres: CounterfactualCentres
    outcomes: Outcomes


def gather_evidence(
    question: SituationQuestion,
    data: pd.DataFrame,
    geometry: Geometry,
    outcomes: Outcomes,
    centres: CounterfactualCentres | None = None,
    *,
    of_profiles: AtProfiles | None = None,
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
    of_profiles
        Where they could be under any coupling, if bounds are asked for.
    as_published
        Ties go to the later row, as in the published code.
    progress
        Show a bar when it is long.
    """
    ours = np.flatnonzero(question.groups.protected(data))
    people = data[question.features]
    coordinates = geometry.encode(people)
    goals = coordinates[ours] if centres is None else centres.at_point()
    controls, tests = (_nobody(len(ours), question.sizes[-1]) for _ in range(2))
    spaces: list[tuple[SearchSpace, ComparedPeople]] = []
    for one in compare_by(question.groups, data):
        control, test = (
            SearchSpace(geometry, coordinates[rows], outcomes.rejected[rows], as_published)
            for rows in (one.control, one.test)
        )
        own = np.searchsorted(one.control, ours[one.complainants])
        _find(controls, control, one.control, one.complainants, control.coordinates[own], question, own)
        _find(tests, test, one.test, one.complainants, goals[one.complainants], question)
        spaces.append((test, one))
    counts = _count(question, controls, tests, outcomes, data.index[ours])
    counterfactual, draws, bounds = None, None, None
    if centres is not None:
        point = centres.point.loc[centres.complainants]
        drawn = centres.of_complainants()
        counterfactual = CounterfactualPeople(point, outcomes.at_point, drawn, centres.numbers, centres.origin)
        if len(centres.numbers) > 1:
            draws = _count_over_draws(question, counts, spaces, centres, outcomes, progress)
    if of_profiles is not None:
        found = _count_over_draws(question, counts, spaces, of_profiles.centres, of_profiles.outcomes, progress)
        bounds = of_profiles.profiles.bounds(found, question, of_profiles.centres.columns)
    return SituationEvidence(people, outcomes.rejected, ours, controls, tests, counts, counterfactual, draws, bounds)


def _nobody(complainants: int, most: int) -> FoundGroups:
    """Return groups to be filled in."""
    shape = (complainants, most)
    return FoundGroups(np.zeros(shape, np.int32), np.zeros(shape), np.ones(shape, bool))


def _find(
    groups: FoundGroups,
    space: SearchSpace,
    rows: np.ndarray,
    who: np.ndarray,
    goals: np.ndarray,
    question: SituationQuestion,
    own: np.ndarray | None = None,
) -> None:
    """Fill in the groups of some complainants, who are found among some rows."""
    most, limit = question.sizes[-1], question.max_distance
    positions, distances = space.nearest(goals, most, own)
    if np.isinf(distances).any():
        raise DataError(
            f"Some complainants have fewer than {most} people to be compared with: their distance from all others is "
            "infinite."
        )
    groups.rows[who], groups.distances[who] = rows[positions], distances
    if limit is not None:
        groups.near[who] = np.rint(distances * 1e12) <= np.rint(limit * 1e12)


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
    spaces: Sequence[tuple[SearchSpace, ComparedPeople]],
    centres: CounterfactualCentres,
    outcomes: Outcomes,
    progress: bool,
) -> DrawCounts:
    """Return the groups at every draw of the counterfactuals."""
    sizes, limit = question.sizes, question.max_distance
    shape = (len(sizes), len(centres.complainants))
    names = ("n_control", "rejected_control", "n_test", "rejected_test")
    n_control, control, n_point, point = (counts[name].to_numpy().reshape(shape) for name in names)
    each = len(centres.numbers) * len(centres.geometry.features)
    tasks = [
        (test, one.complainants[part]) for test, one in spaces for part in pieces(len(one.complainants), each=each)
    ]
    found = list(parallel(partial(_search, centres, sizes, limit), tasks, "Searching test groups", progress))
    order = np.argsort(np.concatenate([who for _, who in tasks]))
    rejected = np.concatenate([part[0] for part in found], axis=2)[:, :, order]
    n_test = np.array(sizes)[:, None, None]
    if limit is not None:
        n_test = np.concatenate([part[1] for part in found], axis=2)[:, :, order]
    if question.centres:
        assert outcomes.over_draws is not None
        rejected, n_test = rejected + outcomes.over_draws, n_test + 1
    return DrawCounts(n_control, control, n_test, rejected, point == n_point, point == 0)


def _search(
    centres: CounterfactualCentres, sizes: tuple[int, ...], limit: float | None, task: tuple[SearchSpace, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    test, people = task
    return test.rejections(centres.over_draws(people), sizes, limit)
