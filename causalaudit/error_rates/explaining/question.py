"""What is asked about an error rate: which label, which outcome, and which two levels are compared."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from causalaudit.error_rates.explaining.classifier import Rate
from causalaudit.errors import DataError, nearest
from causalaudit.people import check_table, pick_column

_FEWEST = 5  # people in a group of which a rate is estimated


@dataclass(frozen=True)
class Question:
    """How much more often Ŷ = ŷ befalls those with the contrast level, of the people with Y = y."""

    protected: str
    levels: tuple[Any, Any]
    outcome: str
    y: Any
    rate: Rate

    @property
    def features(self) -> tuple[str, ...]:
        """The features that the classifier reads, without the protected attribute."""
        return tuple(name for name in self.rate.features if name != self.protected)

    @property
    def settings(self) -> dict[str, Any]:
        """The question in the words it was asked with."""
        return {
            "protected": self.protected,
            "baseline": self.levels[0],
            "contrast": self.levels[1],
            "outcome": self.outcome,
            "y": self.y,
            "yhat": self.rate.yhat,
            "features": list(self.rate.features),
        }


def protected_column(protected: str | Mapping[str, Any], outcome: str, columns: Collection[str], where: str) -> str:
    """Return the protected column; refuse it, or the outcome, if it is not there."""
    if isinstance(protected, Mapping):
        if len(protected) != 1:
            raise DataError(f"protected is {protected!r}, but must be a column or {{column: (baseline, contrast)}}.")
        (column,) = protected
    else:
        column = protected
    for what, name in (("protected attribute", column), ("outcome", outcome)):
        if name not in columns:
            raise DataError(f"The {what} {name!r} is not in {where}: {nearest(str(name), columns)}")
    if column == outcome:
        raise DataError(f"{column!r} is given as protected attribute and as outcome; they must differ.")
    return str(column)


def compared_levels(
    protected: str | Mapping[str, Any], baseline: Any, contrast: Any, levels: Sequence[Any]
) -> tuple[Any, Any]:
    """Return the baseline and the contrast level: those asked for, else the first and the second."""
    if isinstance(protected, Mapping):
        ((column, pair),) = protected.items()
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise DataError(f"protected is {protected!r}, but must name two levels: {{{column!r}: (level0, level1)}}.")
        levels, named = pair, list(levels)
        if any(level not in named for level in pair):
            raise DataError(f"protected names the levels {list(pair)}, but {column!r} has {named}.")
    others = [level for level in levels if level not in (baseline, contrast)]
    first = baseline if baseline is not None else next(iter(others), None)
    second = contrast if contrast is not None else next((level for level in others if level != first), None)
    for what, level in (("baseline", first), ("contrast", second)):
        if level not in list(levels):
            raise DataError(f"The {what} is {level!r}, but the levels of the protected attribute are {list(levels)}.")
    if first == second:
        raise DataError(f"baseline and contrast are both {first!r}: two levels are compared.")
    return first, second


def levels_in(data: pd.DataFrame, column: str) -> list[Any]:
    """Return the levels of a column of data: in the order of its categories, else sorted."""
    values = data[column]
    if isinstance(values.dtype, pd.CategoricalDtype):
        return [level for level in values.cat.categories if (values == level).any()]
    return sorted(values.unique().tolist(), key=lambda level: (str(type(level)), level))


def check_columns(data: pd.DataFrame, names: Collection[str]) -> None:
    """Refuse a table that lacks columns, or values in them."""
    check_table(data)
    for name in names:
        if name not in data.columns:
            raise DataError(f"data has no column {name!r}: {nearest(name, [str(column) for column in data.columns])}")
        pick_column(data, name, "column")


def nobody(question: Question, level: Any) -> str:
    """Say that a program gives nobody whose error rate could be explained."""
    return (
        f"The program gives nobody with {question.protected!r} = {level!r} and {question.outcome!r} = {question.y!r}: "
        "there is no error rate to explain."
    )


def fewest_people(question: Question, protected: "pd.Series[Any]", outcome: "pd.Series[Any]") -> None:
    """Refuse data in which hardly anybody has one of the two levels and the outcome that is asked about."""
    for level in question.levels:
        number = int(((protected == level) & (outcome == question.y)).sum())
        if number < _FEWEST:
            raise DataError(
                f"Only {number} people have {question.protected!r} = {level!r} and {question.outcome!r} = "
                f"{question.y!r}; at least {_FEWEST} are needed for an interval of their error rate."
            )
