"""People apart: those who are searched, and those on whom disparities are measured."""

import numpy as np

from causalaudit.bias_scan.question.scan_question import ScanQuestion
from causalaudit.errors import DataError
from causalaudit.people import draw_part
from causalaudit.randomness import generator


def split_people(question: ScanQuestion, split: float | None, seed: int) -> list[ScanQuestion]:
    """Return those who are searched and, with a split, the others; alike in statuses and in the filter."""
    if split is None:
        return [question]
    strata = 2 * question.protected + question.inside
    searched = draw_part(strata, split, generator(seed, "bias scan split"), question.index)
    parts = [question.of(people) for people in (np.flatnonzero(searched), np.flatnonzero(~searched))]
    for part in parts:
        if any(not (who & part.inside).any() for who in (part.protected, ~part.protected)):
            raise DataError(
                f"split is {split!r}, which leaves {len(parts[0].index)} people to search and {len(parts[1].index)} "
                "others, but no protected people, or nobody to compare them with, in one part: give more people, or no "
                "split."
            )
    return parts
