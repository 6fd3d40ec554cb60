"""The probability that a classifier gives a label, whatever kind of classifier it is, and what it may read."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.decisions import Asked
from causalaudit.errors import DataError, nearest


@dataclass(frozen=True)
class Rate:
    """P(Ŷ = ŷ) for each person of a table: the paper's θ.

    Examples
    --------
    >>> import pandas as pd
    >>> rate = Rate(lambda people: people.score > 3, 1, "recid", ("score",))
    >>> rate(pd.DataFrame({"score": [2, 5]}))
    array([0., 1.])
    """

    classifier: Any
    yhat: Any
    outcome: str
    features: tuple[str, ...]

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        """Ask the classifier, showing it its features alone."""
        try:
            answers = Asked(self.classifier).answers(frame[list(self.features)])
        except (KeyError, AttributeError) as error:
            raise self._unreadable(error) from error
        if answers.dtype.kind == "f" and (answers != np.round(answers)).any():
            return self._from_probabilities(answers.astype(float))
        if answers.dtype.kind in "OUST" and not isinstance(self.yhat, str) and not (answers == self.yhat).any():
            found = ", ".join(map(repr, sorted(set(map(str, answers)))[:5]))
            raise DataError(f"yhat is {self.yhat!r}, but the classifier gives the labels {found}: choose one of them.")
        return np.asarray(answers == self.yhat).astype(float)

    def _from_probabilities(self, answers: np.ndarray) -> np.ndarray:
        if (answers < 0).any() or (answers > 1).any():
            wrong = answers[(answers < 0) | (answers > 1)][0]
            raise DataError(f"The classifier returned {wrong}, which is neither a label nor a probability.")
        if self.yhat not in (0, 1):
            raise DataError(
                f"The classifier returned probabilities, which are those of the label 1, but yhat is {self.yhat!r}: "
                "choose 1 or 0, or let the classifier return labels."
            )
        return answers if self.yhat == 1 else 1 - answers

    def _unreadable(self, error: Exception) -> DataError:
        shown = ", ".join(self.features)
        if self.outcome in str(error):
            return DataError(
                f"The classifier reads the outcome {self.outcome!r} ({type(error).__name__}: {error}), which it is to "
                "predict. An error rate is explained for a classifier that does not know the outcome."
            )
        return DataError(
            f"The classifier failed with {type(error).__name__}: {error}. It is given the columns {shown}."
        )


def rate_of(classifier: Any, yhat: Any, features: Iterable[str] | None, columns: Collection[str], outcome: str) -> Rate:
    """Return the rate of a label, with the features: those given, those the classifier knows, or all columns.

    Raises
    ------
    DataError
        If the features hold the outcome, or lack something that the classifier reads, or are not among the columns.
    """
    if isinstance(classifier, str):
        raise DataError(f"classifier is the text {classifier!r}, but must be a function or a fitted classifier.")
    if isinstance(features, str):
        raise DataError(f"features is the text {features!r}, but must be a list of columns: [{features!r}].")
    known = [str(name) for name in getattr(classifier, "feature_names_in_", ())]
    chosen = list(features) if features is not None else known or [name for name in columns if name != outcome]
    if outcome in chosen or outcome in known:
        raise DataError(f"The classifier reads the outcome {outcome!r}, which it is to predict: leave it out.")
    for name in chosen:
        if name not in columns:
            raise DataError(f"The feature {name!r} is not among the columns: {nearest(str(name), columns)}")
    hidden = [name for name in known if name not in chosen]
    if hidden:
        raise DataError(f"The classifier was fitted on {', '.join(map(repr, hidden))}, which features do not list.")
    if not chosen:
        raise DataError("features is empty: list the columns that the classifier reads.")
    classes = getattr(classifier, "classes_", None)
    if classes is not None and yhat not in list(classes):
        raise DataError(f"yhat is {yhat!r}, but the labels of the classifier are {', '.join(map(repr, classes))}.")
    return Rate(classifier, yhat, outcome, tuple(chosen))
