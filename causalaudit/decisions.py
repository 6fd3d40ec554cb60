"""Decisions: a column, a function of a table or a classifier, all asked and read in one way.

Booleans, whole numbers and text are labels, of which one is favourable. Floats other than 0 and 1 are probabilities of
the favourable label, whichever auditor asks; those that need labels refuse them. (Floats that are all whole, such as
-1.0 and 1.0, can only be labels.)
"""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_value
from causalaudit.callbacks import answer_of
from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.errors import DataError
from causalaudit.people import distinct_rows
from causalaudit.progress import pieces

Decision = str | Callable[[pd.DataFrame], Any] | Any

ROWS = 2**17  # people of one call of a decision
_LOOKED_AT = 2**10  # people of whom it is seen whether many are alike
_WORTH_WHILE = 0.5  # the share of distinct rows below which each is asked about once


class Asked:
    """A decision that is asked about tables of people, some 131,000 at a time, and read in one way.

    Parameters
    ----------
    decision
        A column of the table; a function of a table that returns labels or probabilities; or a fitted scikit-learn
        classifier, which is given the columns it was fitted on (`feature_names_in_`) if it knows them, and whose
        `predict` is used.
    favourable
        The good label; any other is unfavourable.
    reads
        The columns that the decision is shown; default all of the table.
    labels_only
        Refuse probabilities, with the one-line fix.

    Notes
    -----
    A decision is about one person at a time: where many rows are alike, each distinct one is asked about once. It is
    given copies, and a Series that it returns is aligned by label.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"score": [0.25, 0.75, 1.0]})
    >>> Asked(lambda table: table.score)(people)
    array([0.25, 0.75, 1.  ])
    >>> Asked(lambda table: table.score > 0.5)(people)
    array([0., 1., 1.])
    """

    def __init__(
        self, decision: Decision, favourable: Any = 1, reads: Sequence[str] | None = None, labels_only: bool = False
    ) -> None:
        asked = callable(decision) or hasattr(decision, "predict")
        if isinstance(decision, type) or not (isinstance(decision, str) or asked):
            raise DataError(
                "A decision is a column, a function of a table or a fitted classifier, but this is "
                f"{f'the class {decision.__name__}' if isinstance(decision, type) else type(decision).__name__}."
            )
        check_value("favourable", favourable)
        self.decision, self.favourable, self.labels_only = decision, favourable, labels_only
        self.reads = None if reads is None else list(reads)
        self.has_probabilities = False
        """Whether an answer so far was a probability: then all floats are."""

    def __call__(self, people: pd.DataFrame) -> np.ndarray:
        """Return how favourable the decision is for each person: 0 and 1 for labels, or the probability."""
        return self.read(self.answers(people))

    def answers(self, people: pd.DataFrame) -> np.ndarray:
        """Return the answers as the decision gives them, one for each person."""
        if isinstance(self.decision, str):
            return self._column(people, self.decision)
        seen = self._seen(people)
        distinct = _distinct(seen)
        if distinct is not None:
            return self._in_batches(seen.iloc[distinct[0]])[distinct[1]]
        return self._in_batches(seen)

    def _column(self, people: pd.DataFrame, name: str) -> np.ndarray:
        if name not in people.columns:
            raise DataError(f"The decision {name!r} is not a column; there are {', '.join(map(str, people.columns))}.")
        return self._checked(people[name].to_numpy(), len(people))

    def _seen(self, people: pd.DataFrame) -> pd.DataFrame:
        """Return what the decision is shown."""
        known = getattr(self.decision, "feature_names_in_", None)
        names = self.reads if known is None else list(known)
        if names is None:
            return people
        missing = [str(name) for name in names if name not in people.columns]
        if missing:
            raise DataError(f"The classifier was fitted on columns that the data lack: {', '.join(missing)}.")
        return people[names]

    def _in_batches(self, people: pd.DataFrame) -> np.ndarray:
        parts = [people if len(people) <= ROWS else people.iloc[part] for part in pieces(len(people), budget=ROWS)]
        answers = [self._checked(self._ask(part), len(part)) for part in parts]
        return answers[0] if len(answers) == 1 else np.concatenate(answers)

    def _ask(self, people: pd.DataFrame) -> np.ndarray:
        """Ask about some people; a column that a decision reads and is not given is an error for its user."""
        ask: Any = self.decision.predict if hasattr(self.decision, "predict") else self.decision
        try:
            return np.asarray(answer_of(ask, people, "The decision"))
        except (KeyError, AttributeError) as error:
            raise DataError(
                f"The decision failed with {type(error).__name__}: {error}. It is given the columns "
                f"{', '.join(map(str, people.columns))}."
            ) from error

    @staticmethod
    def _checked(answers: np.ndarray, people: int) -> np.ndarray:
        if answers.shape != (people,):
            raise DataError(f"The decision returned shape {answers.shape} for {people} people; expected ({people},).")
        missing = int(pd.isna(answers).sum())
        if missing:
            raise DataError(f"The decision is missing for {missing} of {people} people.")
        if answers.dtype == object and len(answers) and all(isinstance(value, float) for value in answers):
            return answers.astype(float)
        return answers

    def read(self, answers: np.ndarray) -> np.ndarray:
        """Return how favourable answers are."""
        if answers.dtype.kind != "f":
            return np.asarray(answers == self.favourable).astype(float)
        self.has_probabilities |= bool(((answers != np.floor(answers)) | np.isinf(answers)).any())
        certain = bool(((answers == 0) | (answers == 1)).all())
        if certain and not self.has_probabilities and not isinstance(self.favourable, bool | Real):
            return answers.astype(float)  # where labels are texts, zeros and ones are probabilities that are certain
        if not self.has_probabilities:
            return np.asarray(answers == self.favourable).astype(float)
        self._check_probabilities(answers)
        return answers.astype(float)

    def _check_probabilities(self, answers: np.ndarray) -> None:
        outside = answers[(answers < 0) | (answers > 1)]
        if len(outside):
            raise DataError(
                f"The decision returned {outside[0]}, which is neither a label nor a probability: floats other than 0 "
                "and 1 are probabilities of the favourable label. Return labels as whole numbers, booleans or text, as "
                "in decision=lambda people: rule(people).astype(int)."
            )
        if self.labels_only:
            example = next(iter(answers[(answers != 0) & (answers != 1)]), answers[0])
            raise DataError(
                f"The decision returned probabilities, for example {example}, but labels are needed here. Say where it "
                "decides: decision=lambda people: rule(people) > 0.5 (with favourable=True)."
            )


def decide(decision: Decision, people: pd.DataFrame, favourable: Any = 1) -> np.ndarray:
    """Return how favourable a decision is for each person: 1.0 and 0.0 for labels, or probabilities.

    Examples
    --------
    >>> import causalaudit as ca
    >>> from causalaudit.decisions import decide
    >>> applicants = ca.datasets.make_loan(3, seed=0)
    >>> bank = lambda people: people.salary + 5 * people.balance > 225_000
    >>> bool((decide(bank, applicants) == applicants.approved).all())
    True
    """
    return Asked(decision, favourable)(people)


def decide_draws(decision: Decision | Asked, worlds: CounterfactualDraws, favourable: Any = 1) -> np.ndarray:
    """Return how favourable a decision is for each counterfactual person, by draw (rows) and person (columns).

    A decision given as a column is read from the counterfactuals, which hold it if it is a variable of the program or a
    column of `CounterfactualDraws.from_frame`.

    Raises
    ------
    DataError
        If the decision is a recorded column that the counterfactuals do not hold: what was decided about the factual
        person says nothing about the counterfactual one.

    Examples
    --------
    >>> import pandas as pd, causalaudit as ca
    >>> from causalaudit.decisions import decide_draws
    >>> worlds = ca.CounterfactualDraws.from_frame(pd.DataFrame({"salary": [10.0, 30.0]}))
    >>> decide_draws(lambda people: people.salary > 20, worlds)
    array([[0., 1.]])
    """
    asked = decision if isinstance(decision, Asked) else Asked(decision, favourable)
    if isinstance(asked.decision, str) and asked.decision not in worlds.dataset:
        raise DataError(
            f"The decision {asked.decision!r} is a recorded column, which the counterfactuals do not hold: give the "
            "decision rule as a function or a classifier, or make the decision a variable of the program."
        )
    sizes = worlds.dataset.sizes
    parts = pieces(sizes["draw"], each=sizes["individual"], budget=2 * ROWS)
    answers = np.concatenate([asked.answers(worlds.frame(part)) for part in parts])
    return asked.read(answers).reshape(sizes["draw"], sizes["individual"])


def _distinct(people: pd.DataFrame) -> tuple[np.ndarray, np.ndarray] | None:
    """Return where each distinct row is first, and which one each row is; None if most are different."""
    if len(people) <= _LOOKED_AT or not len(people.columns):
        return None
    some = people.iloc[np.linspace(0, len(people) - 1, _LOOKED_AT).astype(int)]
    try:
        if len(some.drop_duplicates()) > _WORTH_WHILE * _LOOKED_AT:
            return None
    except TypeError:  # values that cannot be compared by hashing
        return None
    codes = [pd.factorize(people.iloc[:, place], use_na_sentinel=False)[0] for place in range(people.shape[1])]
    found = distinct_rows(codes)
    return found.first, found.inverse
