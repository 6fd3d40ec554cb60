"""Whether the intervals of an audit of recourse hold what is true."""

import numpy as np

from causalaudit.recourse.notions.notion import less_the_other


def all_held(result, truth):
    """For each notion, whether the intervals of all subgroups hold the truth."""
    found = []
    for notion, rows in zip(result.notions, result.by_notion(), strict=True):
        true = less_the_other(notion.values(truth))
        point = less_the_other(notion.values(result.candidates))
        true = np.abs(true) if notion.is_distance else true * np.where(point < 0, -1, 1)
        low, high = (rows[f"simultaneous_{end}"].to_numpy() for end in ("low", "high"))
        found.append(bool(((low <= true + 1e-9) & (true <= high + 1e-9)).all()))
    return found
