"""The probability that a classifier gives a label, whatever kind of classifier it is, and what it may read."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.decisions import Asked
from causalaudit.errors import DataError
from causalaudit.people import check_features


@dataclass(frozen=True)
class Rate:
    """P(Ŷ = ŷ) for each person of a table: the paper's θ.

    Booleans, whole numbers and text are labels; floats other than 0 and 1 are probabilities of the label 1.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"score": [0.25, 0.75, 1.0]})
    >>> Rate(lambda people: people.score > 0.5, 1, "recid", ("score",))(people)
    array([0., 1., 1.])
    >>> Rate(lambda people: people.score, 0, "recid", ("score",))(people)
    array([0.75, 0.25, 0.  ])
    """

    classifier: Any
    yhat: Any
    outcome: str
    features: tuple[str, ...]

    @cached_property
    def _asked(self) -> Asked:
        return Asked(self.classifier, self.yhat, reads=self.features)

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        """Ask the classifier, showing it its features alone."""
        answers = self._answers(frame)
        if answers.dtype.kind in "OUST" and not isinstance(self.yhat, str) and not (answers == self.yhat).any():
            found = ", ".join(map(repr, sorted(set(map(str, answers)))[:5]))
            raise DataError(f"yhat is {self.yhat!r}, but the classifier gives the labels {found}: choose one of them.")
        rates = self._asked.read(answers)
        if answers.dtype.kind != "f" or not (self._asked.has_probabilities or isinstance(self.yhat, str)):
            return rates
        if self.yhat not in (0, 1):
            raise DataError(
                f"The classifier returned probabilities, which are those of the label 1, but yhat is {self.yhat!r}: "
                "choose 1 or 0, or let the classifier return labels."
            )
        return rates if self.yhat == 1 else 1 - rates

    def _answers(self, frame: pd.DataFrame) -> np.ndarray:
        try:
            return self._asked.answers(frame)
        except DataError as failure:
            error = failure.__cause__
            if not isinstance(error, (KeyError, AttributeError)) or self.outcome not in str(error):
                raise
            raise DataError(
                f"The classifier reads the outcome {self.outcome!r} ({type(error).__name__}: {error}), which it is to "
                "predict. An error rate is explained for a classifier that does not know the outcome."
            ) from error


def rate_of(classifier: Any, yhat: Any, features: Sequence[str] | None, data: pd.DataFrame, outcome: str) -> Rate:
    """Return the rate of a label, with the features: those given, those the classifier knows, or all columns.

    Raises
    ------
    DataError
        If the features hold the outcome, or lack something that the classifier reads, or are not among the columns.
    """
    if isinstance(classifier, str):
        raise DataError(f"classifier is the text {classifier!r}, but must be a function or a fitted classifier.")
    known = [str(name) for name in getattr(classifier, "feature_names_in_", ())]
    if outcome in known:
        raise DataError(f"The classifier reads the outcome {outcome!r}, which it is to predict: leave it out.")
    chosen = features if features is not None else known or [str(name) for name in data.columns if name != outcome]
    chosen = check_features(data, chosen, {outcome: "outcome"})
    hidden = [name for name in known if name not in chosen]
    if hidden:
        raise DataError(f"The classifier was fitted on {', '.join(map(repr, hidden))}, which features do not list.")
    classes = getattr(classifier, "classes_", None)
    if classes is not None and yhat not in list(classes):
        raise DataError(f"yhat is {yhat!r}, but the labels of the classifier are {', '.join(map(repr, classes))}.")
    return Rate(classifier, yhat, outcome, tuple(chosen))
