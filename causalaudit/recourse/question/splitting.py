"""People apart: those among whom subgroups and actions are mined, and those on whom they are measured."""

import numpy as np

from causalaudit.errors import DataError
from causalaudit.people import draw_part
from causalaudit.randomness import generator
from causalaudit.recourse.question.coding import CodedPeople


def split_people(
    people: CodedPeople, affected: np.ndarray, split: float | None, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return who is searched and who is measured, as flags: everybody both times without a split.

    With one, the parts are alike in groups and in predictions.
    """
    if split is None:
        everyone = np.ones(len(affected), dtype=bool)
        return everyone, everyone
    searched = draw_part(2 * people.group + affected, split, generator(seed, "recourse split"), people.data.index)
    for part in (searched, ~searched):
        if any(not (affected & part & (people.group == side)).any() for side in (0, 1)):
            raise DataError(
                f"split is {split!r}, which leaves {searched.sum()} people to search and {(~searched).sum()} others, "
                "but nobody of one group who is affected in one part: give more people, or no split."
            )
    if not (searched & ~affected).any():
        raise DataError(
            f"split is {split!r}, which leaves nobody with the favourable prediction to learn actions from: give more "
            "people, or no split."
        )
    return searched, ~searched
