"""One prediction for each distinct counterfactual row, in batches."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.decisions import Asked
from causalaudit.errors import DataError, nearest
from causalaudit.recourse.people import People

# Rows of one call of a classifier.
ROWS = 2**17
_LARGEST = 2**62


@dataclass(frozen=True)
class Keys:
    """Rows as numbers: the codes of a row are the digits of one whole number, or of several if one is too small.

    A key is linear in the codes, so that the key after an action is the key without the features that it sets, plus
    the key of what they are set to.

    Attributes
    ----------
    sizes
        The number of values of each column of a row (the features and, last, the protected group).
    """

    sizes: tuple[int, ...]

    @cached_property
    def _digits(self) -> tuple[np.ndarray, np.ndarray]:
        """For each column the word it is in, and what one step of its code adds there."""
        words, factors, word, factor = [], [], 0, 1
        for size in self.sizes:
            if factor * size > _LARGEST:
                word, factor = word + 1, 1
            words.append(word)
            factors.append(factor)
            factor *= size
        return np.array(words), np.array(factors, dtype=np.int64)

    def key(self, codes: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the share of some columns in the keys of rows: rows × words."""
        words, factors = (part[columns] for part in self._digits)
        parts = codes.astype(np.int64) * factors
        number = int(self._digits[0][-1]) + 1
        return np.stack([parts[:, words == word].sum(axis=1) for word in range(number)], axis=1)

    def codes(self, keys: np.ndarray) -> np.ndarray:
        """Return the rows behind keys."""
        words, factors = self._digits
        return (keys[:, words] // factors % np.array(self.sizes)).astype(np.int32)

    def distinct(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct rows of codes, and which of them each row is.

        Examples
        --------
        >>> Keys((2, 3)).distinct(np.array([[1, 2], [0, 1], [1, 2]]))
        (array([[1, 2],
               [0, 1]], dtype=int32), array([0, 1, 0]))
        """
        keys, place = distinct_keys(flat(self.key(rows, np.arange(len(self.sizes)))))
        return self.codes(words(keys)), place


def flat(keys: np.ndarray) -> np.ndarray:
    """Return keys as a list that can be sorted and searched."""
    if keys.shape[1] == 1:
        return keys[:, 0]
    return np.ascontiguousarray(keys).view([("", np.int64)] * keys.shape[1])[:, 0]


def words(keys: np.ndarray) -> np.ndarray:
    """Return a flat list of keys as rows × words again."""
    return np.ascontiguousarray(keys).view(np.int64).reshape(len(keys), -1)


def distinct_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys of a flat list, and which of them each key is."""
    if keys.dtype == np.int64:
        place, distinct = pd.factorize(keys)
        return distinct, place
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, place.reshape(-1)


@dataclass
class Predictions:
    """The answers of a classifier, each row being asked about once.

    The classifier is given tables of the features and the protected column, of at most 131,072 rows at a time.
    """

    people: People
    classifier: Any
    favourable: Any
    keys: Keys = field(init=False)
    asked: int = field(default=0, init=False)
    _known: np.ndarray = field(init=False)
    _answers: np.ndarray = field(init=False)
    _probabilities: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        _check_columns(self.classifier, self.people)
        self.keys = Keys((*(len(levels) for levels in self.people.levels), 2))
        self._known = flat(self.keys.key(np.empty((0, len(self.keys.sizes))), np.arange(len(self.keys.sizes))))
        self._answers = np.empty(0, dtype=bool)

    def factual(self) -> np.ndarray:
        """Return who has the favourable prediction as they are; it is asked of the table as it was given."""
        return self._good(self._labels(self.people.data))

    def good(self, keys: np.ndarray) -> np.ndarray:
        """Return which rows would have the favourable prediction."""
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
        parts = [np.empty(0, dtype=bool)]
        for start in range(0, len(keys), ROWS):
            codes = self.keys.codes(words(keys[start : start + ROWS]))
            parts.append(self.decide(self.people.frame(codes[:, :-1], codes[:, -1])))
            self.asked += len(codes)
        return np.concatenate(parts)

    def decide(self, frame: Any) -> np.ndarray:
        """Return which people of a table have the favourable prediction."""
        return self._good(self._labels(frame))

    def _labels(self, frame: Any) -> np.ndarray:
        try:
            return Asked(self.classifier).answers(frame)
        except KeyError as error:
            raise DataError(
                f"The classifier asks for the column {error.args[0]!r}, but is given the features and the protected "
                f"column alone ({', '.join(map(repr, frame.columns))}): add what it reads to features, and to "
                "immutable what may not change."
            ) from error

    def _good(self, answers: np.ndarray) -> np.ndarray:
        """Return which answers are favourable: the label, or a probability of it above one half."""
        if answers.dtype.kind == "f":
            self._probabilities |= bool(((answers > 0) & (answers < 1)).any())
        if not self._probabilities:
            return np.asarray(answers == self.favourable)
        outside = answers[(answers < 0) | (answers > 1)]
        if len(outside):
            raise DataError(
                "The classifier returned numbers that are neither labels nor probabilities of the favourable label, "
                f"for example {outside[0]}."
            )
        return answers > 0.5


def _check_columns(classifier: Any, people: People) -> None:
    if isinstance(classifier, str):
        raise DataError(
            f"The classifier is the column {classifier!r}, but recourse asks what would be predicted after a change: "
            "give a fitted classifier or a function of a table."
        )
    names = getattr(classifier, "feature_names_in_", None)
    for name in () if names is None else names:
        if name not in people.data.columns:
            raise DataError(
                f"The classifier was fitted on {name!r}, which is not a feature: {nearest(name, people.features)}"
                " Add it to features, and to immutable if it may not change."
            )
