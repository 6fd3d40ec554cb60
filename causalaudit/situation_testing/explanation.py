"""One complainant, her counterfactual and both groups, side by side."""

from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError
from causalaudit.situation_testing.search import Search


def explain(search: Search, complainant: Any, k: int) -> pd.DataFrame:
    """Return the centres in row 0 and their neighbours below, under the headings control and test."""
    place = search.complainants.get_indexer(pd.Index([complainant]))[0]
    if place < 0:
        raise DataError(f"{complainant!r} is not a complainant: nobody with this label has the protected level.")
    (control, control_far), (test, test_far) = search.neighbours(np.array([place]), k)
    names = search.control.space.names
    person = search.data.loc[[complainant], names]
    other = person if search.centres is None else search.centres.worlds.point.loc[[complainant], names]
    answer = np.nan if search.centres is not None else float(not search.rejected[search.ours[place]])
    if search.counterfactual_rejected is not None:
        answer = float(not search.counterfactual_rejected[place])
    own = float(not search.rejected[search.ours[place]])
    sides = {
        "control": _side(search, search.ours, control[0], control_far[0], person, own),
        "test": _side(search, search.theirs, test[0], test_far[0], other, answer),
    }
    return pd.concat(sides, axis=1)


def _side(
    search: Search, rows: np.ndarray, positions: np.ndarray, distances: np.ndarray, centre: pd.DataFrame, answer: float
) -> pd.DataFrame:
    near = search.near(distances)
    people = rows[positions[near]]
    group = search.data.iloc[people][list(centre.columns)]
    side = pd.concat([centre, group])
    side.insert(0, "person", side.index)
    side["decision"] = [answer, *(~search.rejected[people]).astype(float)]
    side["distance"] = [0.0, *distances[near]]
    return side.reset_index(drop=True)
