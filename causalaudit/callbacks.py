"""Functions of the user that are given tables of people: each gets a copy, and labelled answers are put in order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError


def answer_of(function: Callable[[pd.DataFrame], Any], people: pd.DataFrame, what: str) -> Any:
    """Return what a function of the user says of people; whatever it does to its table, it does to a copy.

    A Series whose labels are in another order comes back in the order of the people.

    Parameters
    ----------
    function
        Of a table.
    people
        Whom it is asked about. Their labels may repeat.
    what
        The function, in words for an error: "The decision".

    Raises
    ------
    DataError
        If a Series lacks some of the people, by label, or does not say which of several is meant; if the order of the
        table was changed in place and the answer has no labels: nobody knows which order it is in.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"score": [3, 1, 2]}, index=["ann", "bob", "cem"])
    >>> answer_of(lambda table: table.score.sort_values() > 1, people, "The rule").tolist()
    [True, False, True]
    """
    shown = people.copy()
    answer = function(shown)
    if isinstance(answer, pd.Series):
        if answer.index.equals(people.index):
            return answer
        return _in_order(answer, people, what) if people.index.is_unique else _by_table(function, people, what)
    if np.ndim(answer) and _moved(shown.index, people.index):
        raise DataError(
            f"{what} changed the order of its table in place and returned values without labels, so that it is not "
            "known whose they are. Sort a copy (table = table.sort_values(...)), or return a Series."
        )
    return answer


def _in_order(answer: "pd.Series[Any]", people: pd.DataFrame, what: str) -> "pd.Series[Any]":
    known = people.index.isin(answer.index)
    if not known.all():
        raise DataError(
            f"{what} returned a Series whose index lacks {int((~known).sum())} of {len(people)} people, such as "
            f"{people.index[~known][0]!r}: values are aligned by label. If they are in the order of the table, return "
            "them without labels, as in values.to_numpy()."
        )
    if not answer.index.is_unique:
        twice = answer.index[answer.index.duplicated()][0]
        raise DataError(
            f"{what} returned a Series in which the label {twice!r} occurs twice, so that it is not known which "
            "value is meant: return one for each person of the table."
        )
    return answer.reindex(people.index)


def _by_table(function: Callable[[pd.DataFrame], Any], people: pd.DataFrame, what: str) -> "pd.Series[Any]":
    """Ask about people whose labels repeat (several draws below one another) so that each is in a table once."""
    codes = pd.Series(pd.factorize(people.index)[0])
    turn = codes.groupby(codes).cumcount().to_numpy()
    places = [np.flatnonzero(turn == number) for number in range(turn.max() + 1)]
    answers = [pd.Series(answer_of(function, people.iloc[place], what)) for place in places]
    together = pd.concat(answers, ignore_index=True).iloc[np.argsort(np.concatenate(places))]
    return together.set_axis(people.index)


def _moved(now: "pd.Index[Any]", before: "pd.Index[Any]") -> bool:
    """Tell whether the same labels are in another order."""
    if len(now) != len(before) or now.equals(before):
        return False
    return bool((now.value_counts().reindex(before.unique()) == before.value_counts().reindex(before.unique())).all())
