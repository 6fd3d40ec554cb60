"""What the classifier answers; each distinct counterfactual row is asked about once."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.decisions import Asked
from causalaudit.errors import DataError, nearest
from causalaudit.recourse.evidence.row_keys import RowKeys, distinct_keys, flat, words
from causalaudit.recourse.question.coding import CodedPeople


@dataclass(eq=False)
class KnownAnswers:
    """The answers of a classifier, which is given tables of the features and the protected column.

    Attributes
    ----------
    people, asked
        The people, and the classifier, of which labels are needed.
    keys
        How rows, with the protected level last, become keys.
    number
        Of counterfactual rows that were asked about.
    """

    people: CodedPeople
    asked: Asked
    keys: RowKeys = field(init=False)
    number: int = field(default=0, init=False)
    _known: np.ndarray = field(init=False)
    _answers: np.ndarray = field(init=False)

    @classmethod
    def of(cls, people: CodedPeople, classifier: Any, favourable: Any) -> "KnownAnswers":
        """Return the answers of a classifier, of which nothing is known yet."""
        _check_columns(classifier, people)
        return cls(people, Asked(classifier, favourable, labels_only=True))

    def __post_init__(self) -> None:
        self.keys = RowKeys(self.people.sizes)
        self._known = flat(self.keys.key(np.empty((0, len(self.keys.sizes))), np.arange(len(self.keys.sizes))))
        self._answers = np.empty(0, dtype=bool)

    def factual(self) -> np.ndarray:
        """Return who has the favourable prediction as they are; it is asked of the table as it was given."""
        return self.good(self.people.data)

    def after(self, keys: np.ndarray) -> np.ndarray:
        """Return which rows, given as keys, would have the favourable prediction."""
        distinct, place = distinct_keys(keys)
        order = np.argsort(distinct)
        ordered, answers = distinct[order], np.empty(len(distinct), dtype=bool)
        at = np.searchsorted(self._known, ordered)
        inside = at < len(self._known)
        inside[inside] = self._known[at[inside]] == ordered[inside]
        answers[order[inside]] = self._answers[at[inside]]
        new = self._ask(ordered[~inside])
        answers[order[~inside]] = new
        self._known = np.insert(self._known, at[~inside], ordered[~inside])
        self._answers = np.insert(self._answers, at[~inside], new)
        return answers[place]

    def _ask(self, keys: np.ndarray) -> np.ndarray:
        if not len(keys):
            return np.empty(0, dtype=bool)
        codes = self.keys.codes(words(keys))
        self.number += len(codes)
        return self.good(self.people.frame(codes[:, :-1], codes[:, -1]))

    def good(self, table: pd.DataFrame) -> np.ndarray:
        """Return which people of a table have the favourable prediction."""
        try:
            return self.asked(table) == 1
        except DataError as failure:
            if not isinstance(failure.__cause__, (KeyError, AttributeError)):
                raise
            raise DataError(
                f"{failure} These are the features and the protected column: add what it reads to features, and to "
                "immutable what may not change."
            ) from failure.__cause__


def _check_columns(classifier: Any, people: CodedPeople) -> None:
    if isinstance(classifier, str):
        raise DataError(
            f"The classifier is the column {classifier!r}, but recourse asks what would be predicted after a change: "
            "give a fitted classifier or a function of a table."
        )
    names = getattr(classifier, "feature_names_in_", None)
    for name in () if names is None else names:
        if name not in people.data.columns:
            raise DataError(
                f"The classifier was fitted on {name!r}, which is not a feature: "
                f"{nearest(name, people.vocabulary.features)} Add it to features, and to immutable if it may not "
                "change."
            )
