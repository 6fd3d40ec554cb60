"""Situation testing, standard and counterfactual."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.decisions import Asked, Decision, decide_draws
from causalaudit.errors import CausalAuditWarning, DataError, nearest
from causalaudit.people import check_table
from causalaudit.situation_testing.centres import Centres
from causalaudit.situation_testing.gower import Distance, Gower, custom_space
from causalaudit.situation_testing.neighbours import Group
from causalaudit.situation_testing.posterior import DrawCounts, posterior_columns
from causalaudit.situation_testing.question import Question, check_sizes, split
from causalaudit.situation_testing.result import SituationTestingResult
from causalaudit.situation_testing.search import Search


def situation_testing(
    data: pd.DataFrame,
    decision: Decision,
    protected: Mapping[str, Any],
    features: Sequence[str],
    counterfactuals: CounterfactualDraws | None = None,
    k: int | Sequence[int] = 15,
    alpha: float = 0.05,
    prob: float = 0.9,
    tau: float = 0.0,
    centers: bool = False,
    direction: str = "negative",
    distance: Gower | Distance = Gower(),  # noqa: B008  (it is frozen)
    max_distance: float | None = None,
    favourable: Any = 1,
    seed: int = 0,
    progress: bool = True,
) -> SituationTestingResult:
    """Test for discrimination of every protected person, by comparing how people like her are decided upon.

    Each complainant is compared, by the share of unfavourable decisions, with two groups of k people: the *control
    group*, those of her own status who are most like her, and the *test group*, those of the other status who are most
    like her (standard situation testing), or most like who she would have been had she been one of them
    (counterfactual situation testing, if `counterfactuals` are given). Complainants are all who have the protected
    level, whatever was decided.

    Parameters
    ----------
    data
        Everyone, with a unique index.
    decision
        A column, a function of a table, or a fitted classifier; it must have two values.
    protected
        ``{column: level}``: who is protected, against everyone else; ``{column: (level, reference)}``: against those
        with the level `reference`.
    features
        The columns by which people are compared.
    counterfactuals
        What the complainants would have been with another status; None for standard situation testing.
    k
        The size of the groups, or several sizes; neighbours are searched once.
    alpha
        The level of Wald's and Newcombe's intervals.
    prob
        The probability of the credible intervals.
    tau
        The accepted deviation: a difference beyond it is a case.
    centers
        Count the complainant and her counterfactual in their groups, which then have k + 1 members ("CST w/").
    direction
        "negative": against the complainant, delta > tau. "positive": in her favour, delta < tau.
    distance
        `Gower`, or a function of two tables that returns the distances of the rows of the first from those of the
        second.
    max_distance
        Leave out neighbours that are farther; groups can then be smaller than k. Where one is empty there is no delta
        (NaN, which is no case), and a warning says for how many.
    favourable
        The good value of the decision; any other is unfavourable.
    seed
        Of the draws of rejection rates behind `hdi_low` and `hdi_high`.
    progress
        Show a bar when it is long.

    Returns
    -------
    SituationTestingResult

    Notes
    -----
    At the point counterfactual (`CounterfactualDraws.point`) all is as in the papers. With several draws, each draw has
    a test group of its own. `delta_mean`, `structural_low`, `structural_high` and `prob_discriminated` (the share of
    draws with a delta beyond tau) are about delta among the people of these data, uncertain only in where the
    counterfactual lies; the posterior number of cases in the summary counts the same. Intervals of such lattice values
    are the shortest run that holds at least `prob` of the draws. `hdi_low` and `hdi_high` add, by Beta(½, ½)
    posteriors, that the groups are samples: they are about the difference of rejection rates in the population inside
    the two neighbourhoods. No probability of discrimination is taken from these, which would be one half where nobody
    is rejected in either group.

    Where a complainant has equally distant neighbours (to 1e-12), those of earlier rows come first.

    References
    ----------
    Alvarez and Ruggieri (2025), Counterfactual situation testing: from single to multidimensional discrimination.
    Thanh, Ruggieri and Turini (2011), k-NN as an implementation of situation testing.

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> posterior = ca.fit(ca.models.loan.linear(), applicants, seed=0)
    >>> women = applicants.gender == "female"
    >>> worlds = ca.counterfactuals(posterior, do={"gender": "male"}, rows=women, draws=200)
    >>> bank = lambda people: people.salary + 5 * people.balance > 225_000
    >>> result = ca.situation_testing(
    ...     applicants, bank, protected={"gender": "female"}, features=["salary", "balance"], counterfactuals=worlds
    ... )
    >>> bool(result.summary().loc[15, "cases"] > result.summary().loc[15, "cf_cases"])
    True
    """
    check_table(data)
    column, ours, theirs = split(data, protected)
    names = _check_features(data, features, column)
    sizes = check_sizes(k, int(ours.sum()) - 1, int(theirs.sum()))
    authors = isinstance(distance, Gower) and distance.scale == "authors"
    question = Question(sizes, alpha, prob, tau, direction, distance.decimals if isinstance(distance, Gower) else None)
    if max_distance is not None and not max_distance > 0:
        raise DataError(f"max_distance is {max_distance!r}, but must be a positive number.")
    rejected = _rejected(decision, data, favourable)
    space = distance.space(data[names]) if isinstance(distance, Gower) else custom_space(data[names], distance)
    coordinates = space.encode(data)
    control, test = (Group(space, coordinates[who], rejected[who], authors) for who in (ours, theirs))
    complainants = data.index[ours]
    centres, flipped = None, None
    if counterfactuals is not None:
        centres = Centres(space, counterfactuals, data, complainants, authors)
        centres.check()
        flipped = _point_rejected(decision, counterfactuals, data.loc[complainants], favourable)
    if centers and flipped is None:
        raise DataError(
            "centers=True needs the decision on the counterfactual people: "
            + ("give counterfactuals." if counterfactuals is None else _RECORDED.format(decision))
        )
    search = Search(
        data, rejected, np.flatnonzero(ours), np.flatnonzero(theirs), control, test, centres, centers, flipped,
        max_distance,
    )  # fmt: skip
    counts = search.counts(sizes)
    columns = question.point_columns(counts)
    if flipped is not None:
        columns["cf_flip"] = np.tile(question.flips(rejected[ours], flipped), len(sizes))
    draw_counts, cases = None, None
    if centres is not None and centres.draws > 1:
        decide_all = partial(_draws_rejected, decision, centres, favourable) if flipped is not None else None
        draw_counts, more, cases = _posterior(search, counts, question, decide_all, seed, progress)
        columns |= more
    _warn_of_empty_groups(columns["delta"], len(sizes))
    settings = {
        "protected": dict(protected), "features": names, "k": sizes, "alpha": alpha, "prob": prob, "tau": tau,
        "centers": centers, "direction": direction, "distance": distance, "max_distance": max_distance,
        "favourable": favourable, "seed": seed,
    }  # fmt: skip
    table = pd.DataFrame(columns, index=counts.index)
    return SituationTestingResult(table, settings, counts, question, search, draw_counts, cases)


_RECORDED = (
    "the decision {!r} is a recorded column, which the counterfactuals do not hold. Give the decision rule as a "
    "function or a classifier, or make the decision a variable of the program; or leave the centers out."
)


def _posterior(
    search: Search,
    counts: pd.DataFrame,
    question: Question,
    decide_all: Callable[[], np.ndarray] | None,
    seed: int,
    progress: bool,
) -> tuple[DrawCounts, dict[str, np.ndarray], np.ndarray]:
    """Return the groups at all draws, the columns that come from them, and the cases of each draw."""
    shape = (len(question.sizes), len(search.ours))
    names = ("n_control", "rejected_control", "n_test", "rejected_test")
    n_control, control, n_point, point = (counts[name].to_numpy().reshape(shape) for name in names)
    drawn = None if decide_all is None else decide_all()
    n_test, test = search.counts_over_draws(question.sizes, drawn, progress)
    draw_counts = DrawCounts(n_control, control, n_test, test, point == n_point, point == 0)
    columns, cases = posterior_columns(draw_counts, question, seed)
    if drawn is not None:
        flips = question.flips(search.rejected[search.ours], drawn).mean(axis=0)
        columns["prob_cf_flip"] = np.tile(flips, len(question.sizes))
    return draw_counts, columns, cases


def _check_features(data: pd.DataFrame, features: Sequence[str], protected: str) -> list[str]:
    if isinstance(features, str):
        raise DataError(f"features is {features!r}, but must be a list of columns: [{features!r}].")
    names = list(features)
    if not names:
        raise DataError("features is empty: there is nothing to compare people by.")
    for name in names:
        if name not in data.columns:
            raise DataError(f"The feature {name!r} is not in data: {nearest(name, [*map(str, data.columns)])}")
        if names.count(name) > 1:
            raise DataError(f"The feature {name!r} is given twice.")
    if protected in names:
        warnings.warn(
            f"features include the protected column {protected!r}. With two levels it adds the same to all distances "
            "within a group, so that it chooses nobody, but it counts against max_distance and in the mean; with more "
            "levels it draws the test group towards the level that the counterfactual has. Situation testing compares "
            "people by their other features.",
            CausalAuditWarning,
            stacklevel=3,
        )
    return names


def _rejected(decision: Decision, data: pd.DataFrame, favourable: Any) -> np.ndarray:
    answers = Asked(decision).answers(data)
    values = pd.unique(answers)
    if len(values) != 2:
        shown = ", ".join(map(repr, values[:5].tolist())) + (", ..." if len(values) > 5 else "")
        raise DataError(f"The decision must have two values, but has {len(values)}: {shown}.")
    if favourable not in values:
        raise DataError(
            f"No decision is {favourable!r}, the favourable value; there are {', '.join(map(repr, values.tolist()))}."
        )
    return np.asarray(answers != favourable)


def _point_rejected(
    decision: Decision, worlds: CounterfactualDraws, people: pd.DataFrame, favourable: Any
) -> np.ndarray | None:
    """Return the decision on the point counterfactuals; None if it is a recorded column."""
    if isinstance(decision, str) and decision not in worlds.dataset:
        return None
    point = worlds.point.loc[people.index]
    if isinstance(decision, str):
        return np.asarray(Asked(decision).answers(point) != favourable)
    set_to = {name: value for name, value in worlds.do.items() if name in people.columns and np.ndim(value) == 0}
    known = {name: value for name, value in set_to.items() if not callable(value)}
    moved = {str(name): point[name] for name in point.columns if name in people.columns}
    return np.asarray(Asked(decision).answers(people.assign(**{**known, **moved})) != favourable)


def _draws_rejected(decision: Decision, centres: Centres, favourable: Any) -> np.ndarray:
    """Return the decision on the counterfactuals at all draws: draws × complainants."""

    def good(frame: pd.DataFrame) -> np.ndarray:
        return np.asarray(Asked(decision).answers(frame) == favourable)

    return decide_draws(good, centres.worlds)[:, centres.columns] == 0


def _warn_of_empty_groups(delta: np.ndarray, sizes: int) -> None:
    empty = int(np.isnan(delta.reshape(sizes, -1)).any(axis=0).sum())
    if empty:
        warnings.warn(
            f"{empty} complainants have a group without anyone within max_distance: their delta is NaN, and they are "
            "no cases.",
            CausalAuditWarning,
            stacklevel=3,
        )
