"""What an audit of recourse concludes: intervals explained, verdicts by unit, and one number."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from causalaudit.recourse.notions.notion import Notion
from causalaudit.results import IntervalKind, headline_of, interval_table, verdict_table

if TYPE_CHECKING:
    from causalaudit.recourse.result.result import RecourseResult

RULE = "the simultaneous interval of how much worse off the group is, for all subgroups by one notion, lies above 0"


HONEST = "valid after the search, on people who were not searched"
HELD_FIXED = "subgroups and actions held fixed, mined from the same people"


def explain_intervals(result: "RecourseResult") -> pd.DataFrame:
    """Return what the two kinds of intervals are."""
    causal = result.draws is not None
    parameters = ", and the form of the causal model; the parameters of the causal model are not" * causal
    split = result.settings["split"] is not None
    if causal and split:
        parameters += " (they are those of the posterior's people, of both parts)"
    simultaneous = IntervalKind(
        "simultaneous", 1 - result.settings["alpha"], "confidence", "simultaneous",
        "how much worse off the group in bias_against is in the population that the people are a sample of; for all "
        f"subgroups of the search at once, by one notion; {HONEST if split else HELD_FIXED}",
        f"the mined subgroups and actions, their costs, the sizes of the groups and the classifier{parameters}",
    )  # fmt: skip
    credible = IntervalKind(
        "credible", result.settings["prob"], "credible", "one unit",
        "how much worse off the group in bias_against is among these people",
        "who they are, the classifier and the causal model; uncertain is how each of them responds to an action"
        if causal
        else "everything, because nobody responds without a posterior: all are NaN",
    )  # fmt: skip
    return interval_table([simultaneous, credible])


def judge(result: "RecourseResult") -> pd.DataFrame:
    """Return verdicts with `case` and `mean`, notion by notion: both groups of every subgroup, or a row for both.

    The trade-off compares whole distributions, of which either may lie above the other in places: its interval is of a
    distance, which has no direction, and nor has its unit.
    """
    return pd.concat([_of_notion(result, place) for place in range(len(result.notions))], ignore_index=True)


def _of_notion(result: "RecourseResult", place: int) -> pd.DataFrame:
    notion, number = result.notions[place], len(result.candidates)
    rows = result.rows(notion)
    values = result.values.to_numpy().T[:, place * number : (place + 1) * number]
    worse = notion.disadvantage(values)
    above = (rows["simultaneous_low"] > 0).to_numpy()
    drawn = None if result.draws is None else _disadvantages(result, notion)
    subgroups = [f"{notion.label}: {label}" for label in result.labels]
    first, second = result.groups
    if notion.is_distance:
        units = [f"{subgroup}, {first} and {second} differ" for subgroup in subgroups]
        return _verdicts(units, above, np.abs(worse), None if drawn is None else np.abs(drawn))
    sides = []
    for group, sign in ((first, 1.0), (second, -1.0)):
        units = [f"{subgroup}, against {group}" for subgroup in subgroups]
        own = None if drawn is None else sign * drawn
        sides.append(_verdicts(units, above & (sign * worse > 0), sign * worse + 0.0, own))
    return pd.concat(sides).sort_index(kind="stable")


def _verdicts(units: list[str], flagged: np.ndarray, value: np.ndarray, drawn: np.ndarray | None) -> pd.DataFrame:
    if drawn is None:
        return verdict_table(units, flagged, rule=RULE, value=value).assign(case=value > 0, mean=value)
    finite = np.isfinite(drawn).all(axis=0)
    known = np.where(finite, drawn, 0.0)
    mean, variance = (np.where(finite, moment, np.nan) for moment in (known.mean(axis=0), known.var(axis=0)))
    return verdict_table(
        units, flagged, rule=RULE, probability=(drawn > 0).mean(axis=0), value=value, structural=variance
    ).assign(case=value > 0, mean=mean)


def _disadvantages(result: "RecourseResult", notion: Notion) -> np.ndarray:
    """Return how much worse off group 0 is in every draw: draws × subgroups."""
    assert result.draws is not None
    apart = result.draws.differences(notion)
    return apart if notion.is_cost else -apart + 0.0


def mean_gap(result: "RecourseResult") -> "pd.Series[float]":
    """Return the headline: how much smaller the share with recourse is in the protected group, mean over subgroups."""
    notion = result.notions[0]
    sizes = result.candidates.sizes.sum(axis=0)
    if result.draws is None:
        gaps = notion.disadvantage(notion.values(result.candidates))[None]
    else:
        gaps = _disadvantages(result, notion)
    reference, level = result.groups
    name = f"mean gap in effectiveness (micro) of {result.vocabulary.protected} = {level} against {reference}"
    return headline_of(-gaps @ sizes / sizes.sum() + 0.0, name)
