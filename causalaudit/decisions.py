"""Decisions: a column, a function of a table or a classifier, all asked in one way."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.errors import DataError

Decision = str | Callable[[pd.DataFrame], Any] | Any

# Rows of one call of a decision over many draws.
_ROWS = 2**18


def decide(decision: Decision, frame: pd.DataFrame, favourable: Any = 1, outcome: str | None = None) -> np.ndarray:
    """Return how favourable a decision is for each person.

    Parameters
    ----------
    decision
        A column of `frame`; a function of a table that returns labels, or probabilities of the favourable label; or a
        fitted scikit-learn classifier, which is given the columns it was fitted on (`feature_names_in_`) if it knows
        them, and whose `predict` is used.
    frame
        The people. A decision sees every column but the outcome.
    favourable
        The good label; any other is unfavourable.
    outcome
        The column of the true outcome, which a decision must not see.

    Returns
    -------
    numpy.ndarray
        1.0 for the favourable label and 0.0 for any other, or the probabilities as they were returned.

    Examples
    --------
    >>> import causalaudit as ca
    >>> from causalaudit.decisions import decide
    >>> applicants = ca.datasets.make_loan(3, seed=0)
    >>> bank = lambda people: people.salary + 5 * people.balance > 225_000
    >>> bool((decide(bank, applicants) == applicants.approved).all())
    True
    """
    return _favourable(labels(decision, frame, outcome), favourable)


def labels(decision: Decision, frame: pd.DataFrame, outcome: str | None = None) -> np.ndarray:
    """Return the answers of a decision as it gives them, one for each person."""
    if isinstance(decision, str):
        if decision not in frame.columns:
            raise DataError(
                f"The decision {decision!r} is not a column; there are {', '.join(map(str, frame.columns))}."
            )
        answers = frame[decision].to_numpy()
    else:
        seen = frame.drop(columns=[outcome]) if outcome is not None and outcome in frame.columns else frame
        answers = np.asarray(_ask(decision, seen))
    if answers.shape != (len(frame),):
        raise DataError(
            f"The decision returned shape {answers.shape} for {len(frame)} people; expected ({len(frame)},)."
        )
    if pd.isna(answers).any():
        raise DataError(f"The decision is missing for {int(pd.isna(answers).sum())} of {len(answers)} people.")
    return answers


def _ask(decision: Any, frame: pd.DataFrame) -> Any:
    if hasattr(decision, "predict"):
        names = getattr(decision, "feature_names_in_", None)
        if names is None:
            return decision.predict(frame)
        missing = [name for name in names if name not in frame.columns]
        if missing:
            raise DataError(f"The classifier was fitted on columns that the data lack: {', '.join(missing)}.")
        return decision.predict(frame[list(names)])
    if callable(decision):
        return decision(frame)
    raise DataError(
        f"A decision is a column, a function of a table or a fitted classifier, but this is {type(decision).__name__}."
    )


def _favourable(answers: np.ndarray, favourable: Any) -> np.ndarray:
    if answers.dtype.kind == "f" and not np.isin(answers, (0.0, 1.0)).all() and not (answers == favourable).any():
        if (answers < 0).any() or (answers > 1).any():
            raise DataError(
                "The decision returned numbers that are neither labels nor probabilities, for example "
                f"{answers[(answers < 0) | (answers > 1)][0]}; the favourable label is {favourable!r}."
            )
        return answers.astype(float)
    return (answers == favourable).astype(float)


def decide_draws(
    decision: Decision, worlds: CounterfactualDraws, favourable: Any = 1, outcome: str | None = None
) -> np.ndarray:
    """Return how favourable a decision is for each counterfactual person, by draw (rows) and person (columns).

    A decision given as a column is read from the counterfactuals, which hold it if it is a variable of the program or a
    column of `CounterfactualDraws.from_frame`. Others are called with some 262,000 people at a time.

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
    if isinstance(decision, str) and decision not in worlds.dataset:
        raise DataError(
            f"The decision {decision!r} is a recorded column, which the counterfactuals do not hold: give the decision "
            "rule as a function or a classifier, or make the decision a variable of the program."
        )
    sizes = worlds.dataset.sizes
    step = max(1, _ROWS // sizes["individual"])
    parts = [
        decide(decision, worlds.frame(slice(start, start + step)), favourable, outcome)
        for start in range(0, sizes["draw"], step)
    ]
    return np.concatenate(parts).reshape(sizes["draw"], sizes["individual"])
