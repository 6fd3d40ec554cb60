"""One complainant, her counterfactual and both groups, side by side."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_name
from causalaudit.errors import DataError
from causalaudit.situation_testing.evidence import FoundGroups, SituationEvidence


def explain(evidence: SituationEvidence, complainant: Any, k: int) -> pd.DataFrame:
    """Return the centres in row 0 and their neighbours below, under the headings control and test."""
    check_name("complainant", complainant, of="a complainant")
    place = evidence.complainants.get_indexer(pd.Index([complainant]))[0]
    if place < 0:
        raise DataError(f"{complainant!r} is not a complainant: nobody with this label has the protected level.")
    row = evidence.rows[place]
    person = evidence.people.iloc[[row]]
    own = float(not evidence.rejected[row])
    other, answer = person, own
    if evidence.counterfactual is not None:
        other, answer = evidence.counterfactual.point.iloc[[place]], np.nan
        if evidence.counterfactual.rejected is not None:
            answer = float(not evidence.counterfactual.rejected[place])
    sides = {
        "control": _side(evidence, evidence.control, (place, k), person, own),
        "test": _side(evidence, evidence.test, (place, k), other, answer),
    }
    return pd.concat(sides, axis=1)


def own_name(name: str, features: Collection[Any]) -> str:
    """Return the name of a column of ours; a feature of the same name keeps it, and ours gets an underscore."""
    while name in features:
        name += "_"
    return name


def _side(
    evidence: SituationEvidence, groups: FoundGroups, which: tuple[int, int], centre: pd.DataFrame, answer: float
) -> pd.DataFrame:
    place, k = which
    near = groups.near[place, :k]
    rows, distances = groups.rows[place, :k][near], groups.distances[place, :k][near]
    side = pd.concat([centre, evidence.people.iloc[rows]])
    features = list(side.columns)
    side.insert(0, own_name("person", features), side.index)
    side[own_name("decision", features)] = [answer, *(~evidence.rejected[rows]).astype(float)]
    side[own_name("distance", features)] = [0.0, *distances]
    return side.reset_index(drop=True)
