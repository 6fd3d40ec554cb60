"""What a classifier says of people after an intervention, in every draw; each distinct row is asked about once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.decisions import ROWS
from causalaudit.progress import pieces
from causalaudit.recourse.causal.modelled_people import Column, ModelledPeople
from causalaudit.recourse.evidence.known_answers import KnownAnswers
from causalaudit.recourse.evidence.row_keys import RowKeys, distinct_keys, words


@dataclass(frozen=True, eq=False)
class CounterfactualAnswers:
    """Asks the classifier about the people that interventions make of the affected people."""

    modelled: ModelledPeople
    answers: KnownAnswers

    def after(self, persons: np.ndarray, codes: np.ndarray, status: np.ndarray, do: dict[str, list[Any]]) -> np.ndarray:
        """Return who has the favourable prediction after an intervention.

        The protected column never responds.

        Parameters
        ----------
        persons
            Positions among the affected people, repeated at will.
        codes, status
            Their features and protected levels, with what is set set.
        do
            The variables that are set, with a value for each person.

        Returns
        -------
        numpy.ndarray
            Draws × people; only one draw where no feature responds, all draws being the same.
        """
        modelled = self.modelled
        vocabulary, downstream = modelled.people.vocabulary, modelled.downstream(do)
        if vocabulary.protected in downstream:
            do = {**do, vocabulary.protected: modelled.persons[vocabulary.protected].iloc[persons].tolist()}
        responding = [name for name in vocabulary.features if name in downstream]
        columns = self._columns(codes, status)
        if not responding:
            return self._decide(columns)
        worlds = modelled.population.under(do, persons)
        return np.concatenate(
            [
                self._decide(columns | {name: modelled.column(name, world[name]) for name in responding})
                for world in worlds
            ]
        )

    def _columns(self, codes: np.ndarray, status: np.ndarray) -> dict[str, Column]:
        people = self.modelled.people
        names = enumerate(people.vocabulary.features)
        columns = {name: (people.typed_levels[place], codes[None, :, place]) for place, name in names}
        return {**columns, people.vocabulary.protected: (people.typed_statuses, status[None])}

    def _decide(self, columns: dict[str, Column]) -> np.ndarray:
        shape = np.broadcast_shapes(*(codes.shape for _, codes in columns.values()))
        row_keys = RowKeys(tuple(len(values) for values, _ in columns.values()))
        keys, place = distinct_keys(row_keys.broadcast([codes for _, codes in columns.values()]))
        good = np.empty(len(keys), dtype=bool)
        for part in pieces(len(keys), budget=ROWS):  # so that no table is larger than what is asked about at once
            rows = dict(zip(columns, row_keys.codes(words(keys[part])).T, strict=True))
            table = {name: columns[name][0].take(rows[name]) for name in self.modelled.people.data.columns}
            good[part] = self.answers.good(pd.DataFrame(table))
        return good[place].reshape(shape)
