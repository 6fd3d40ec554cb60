"""What a classifier says of people after an intervention, in every draw; each distinct row is asked about once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.recourse.bridge import Bridge, Column
from causalaudit.recourse.predictions import ROWS, Predictions

# The largest number that a row of codes may be written as.
_LARGEST = 2.0**62


@dataclass(frozen=True)
class Decider:
    """Asks the classifier about the people that interventions make of the affected people."""

    bridge: Bridge
    predictions: Predictions

    def after(self, persons: np.ndarray, codes: np.ndarray, group: np.ndarray, do: dict[str, list[Any]]) -> np.ndarray:
        """Return who has the favourable prediction after an intervention.

        The protected column never responds.

        Parameters
        ----------
        persons
            Positions among the affected people, repeated at will.
        codes, group
            Their features and protected groups, with what is set set.
        do
            The variables that are set, with a value for each person.

        Returns
        -------
        numpy.ndarray
            Draws × people; only one draw where no feature responds, all draws being the same.
        """
        bridge = self.bridge
        protected, downstream = bridge.people.protected, bridge.downstream(do)
        if protected in downstream:
            do = {**do, protected: bridge.persons[protected].iloc[persons].tolist()}
        responding = [name for name in bridge.people.features if name in downstream]
        columns = self._columns(codes, group)
        if not responding:
            return self._decide(columns)
        abduction, parts = bridge.abduction(persons, do), []
        for numbers in abduction.tasks():
            world = abduction.worlds(numbers)
            parts.append(self._decide(columns | {name: bridge.column(name, world[name]) for name in responding}))
        return np.concatenate(parts)

    def _columns(self, codes: np.ndarray, group: np.ndarray) -> dict[str, Column]:
        people = self.bridge.people
        columns = {name: (people.levels[place], codes[None, :, place]) for place, name in enumerate(people.features)}
        return {**columns, people.protected: (people.group_levels, group[None])}

    def _decide(self, columns: dict[str, Column]) -> np.ndarray:
        shape = np.broadcast_shapes(*(codes.shape for _, codes in columns.values()))
        first, back = _distinct(columns, shape)
        rows = np.unravel_index(first, shape)
        answers = [
            self._ask(columns, [at[start : start + ROWS] for at in rows]) for start in range(0, len(first), ROWS)
        ]
        return np.concatenate(answers)[back].reshape(shape)

    def _ask(self, columns: dict[str, Column], rows: list[np.ndarray]) -> np.ndarray:
        draw, person = rows
        frame = {
            name: columns[name][0].take(columns[name][1][draw if len(columns[name][1]) > 1 else 0, person])
            for name in self.bridge.people.data.columns
        }
        return self.predictions.decide(pd.DataFrame(frame))


def _distinct(columns: dict[str, Column], shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return where each distinct row of codes is first, and which one each row is."""
    key = np.zeros(shape, dtype=np.int64)
    if np.prod([float(len(values)) for values, _ in columns.values()]) < _LARGEST:
        for values, codes in columns.values():
            key = key * len(values) + codes
        _, first, back = np.unique(key.ravel(), return_index=True, return_inverse=True)
    else:
        rows = np.stack([np.broadcast_to(codes, shape).ravel() for _, codes in columns.values()])
        _, first, back = np.unique(rows, axis=1, return_index=True, return_inverse=True)
    return first, back.reshape(-1)
