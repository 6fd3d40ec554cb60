"""What is decided about everyone, and about the counterfactual people where that can be known."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.decisions import Asked, Decision, decide_draws
from causalaudit.errors import DataError

_RECORDED = (
    "the decision {!r} is a recorded column, which the counterfactuals do not hold. Give the decision rule as a "
    "function or a classifier, or make the decision a variable of the program."
)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Whether decisions are unfavourable.

    Attributes
    ----------
    rejected
        On everyone.
    of_complainants
        On the complainants, in the order of the data.
    at_point
        On their point counterfactuals; None where that is not known.
    over_draws
        On their counterfactuals at every draw: draws × complainants; None where it is not known, or there is one draw.
    """

    rejected: np.ndarray
    of_complainants: np.ndarray
    at_point: np.ndarray | None = None
    over_draws: np.ndarray | None = None


def decide_outcomes(
    data: pd.DataFrame,
    decision: Decision,
    favourable: Any,
    complainants: np.ndarray,
    worlds: CounterfactualDraws | None,
    *,
    centres: bool = False,
) -> Outcomes:
    """Ask the decision about everyone and about the counterfactual complainants, in one reading.

    Parameters
    ----------
    data
        Everyone.
    decision, favourable
        The decision, and its good value.
    complainants
        Who complains, as a mask.
    worlds
        The counterfactuals, if there are any.
    centres
        Whether the decision on the counterfactuals must be known.
    """
    asked = Asked(decision, favourable, labels_only=True)
    answers = asked.answers(data)
    rejected = asked.read(answers) == 0
    if rejected.all():
        values = pd.unique(answers).tolist()
        raise DataError(f"No decision is {favourable!r}, the favourable value; there are {_listed(values)}.")
    if not rejected.any():
        raise DataError(f"Every decision is {favourable!r}, the favourable value: there is nothing to compare.")
    if worlds is None:
        if centres:
            raise DataError("centres=True needs the decision on the counterfactual people: give counterfactuals.")
        return Outcomes(rejected, rejected[complainants])
    if isinstance(decision, str) and decision not in worlds.dataset:
        if centres:
            needed = "centres=True needs the decision on the counterfactual people: "
            raise DataError(needed + _RECORDED.format(decision))
        return Outcomes(rejected, rejected[complainants])
    people = data[complainants]
    point = asked(_as_decided(people, worlds, isinstance(decision, str))) == 0
    drawn = None
    if worlds.dataset.sizes["draw"] > 1:
        drawn = _over_draws(asked, people, worlds)
    return Outcomes(rejected, rejected[complainants], point, drawn)


def decide_elsewhere(
    outcomes: Outcomes, decision: Decision, favourable: Any, people: pd.DataFrame, worlds: CounterfactualDraws
) -> Outcomes:
    """Return outcomes with the decisions on other counterfactuals of the complainants (`people`)."""
    asked = Asked(decision, favourable, labels_only=True)
    return replace(outcomes, over_draws=_over_draws(asked, people, worlds))


def _over_draws(asked: Asked, people: pd.DataFrame, worlds: CounterfactualDraws) -> np.ndarray:
    """Return whom the decision rejects, draws × complainants."""
    places = worlds.factual.index.get_indexer(people.index)
    return np.concatenate([decide_draws(asked, part)[:, places] == 0 for part in worlds.in_memory()])


def _as_decided(people: pd.DataFrame, worlds: CounterfactualDraws, recorded: bool) -> pd.DataFrame:
    """Return the point counterfactuals as a decision sees them.

    Columns that the counterfactuals do not hold are as the intervention sets them, or as they are.
    """
    point = worlds.point.loc[people.index]
    if recorded:
        return point
    seen = people.copy()
    for name, value in worlds.do.items():
        if name in seen.columns and np.ndim(value) == 0 and not callable(value):
            seen[name] = value
    for name in point.columns:
        if name in seen.columns:
            seen[name] = point[name]
    return seen


def _listed(values: list[Any]) -> str:
    return ", ".join(map(repr, values[:5])) + (", …" if len(values) > 5 else "")
