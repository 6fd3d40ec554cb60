"""What is asked about an error rate: which label, which outcome, and which two levels are compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_name, check_value
from causalaudit.error_rates.explaining.classifier import Rate, rate_of
from causalaudit.error_rates.groups import read_groups
from causalaudit.errors import DataError
from causalaudit.people import Protected, check_table, pick_column

_FEWEST = 5  # people in a group of which a rate is estimated


@dataclass(frozen=True)
class RateQuestion:
    """How much more often Ŷ = ŷ befalls those with the contrast level, of the people with Y = y.

    `levels` are the baseline x0 (the reference) and the contrast x1 (the protected level).
    """

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
            "y": plain(self.y),
            "yhat": plain(self.rate.yhat),
            "features": list(self.rate.features),
            "classifier": getattr(self.rate.classifier, "__name__", type(self.rate.classifier).__name__),
        }

    def refuse_nobody(self, shares: np.ndarray) -> None:
        """Refuse a program under which one of the groups (their shares, by level) is empty."""
        if not (shares > 0).all():
            level = self.levels[int(np.argmin(shares))]
            raise DataError(
                f"The program gives nobody with {self.protected!r} = {level!r} and {self.outcome!r} = {self.y!r}: "
                "there is no error rate to explain."
            )

    def refuse_few(self, data: pd.DataFrame) -> None:
        """Refuse data in which hardly anybody has one of the two levels and the outcome that is asked about."""
        for level in self.levels:
            number = int(((data[self.protected] == level) & (data[self.outcome] == self.y)).sum())
            if number < _FEWEST:
                raise DataError(
                    f"Only {number} people have {self.protected!r} = {level!r} and {self.outcome!r} = {self.y!r}; at "
                    f"least {_FEWEST} are needed for an interval of their error rate."
                )


def read_question(
    data: pd.DataFrame,
    classifier: Any,
    protected: Protected,
    outcome: str,
    *,
    features: Sequence[str] | None,
    y: Any,
    yhat: Any,
    baseline: Any,
    contrast: Any,
    levels: Mapping[str, Sequence[Any]] | None = None,
) -> RateQuestion:
    """Return a question about the people of a table, checked; `levels` are those that are declared."""
    check_table(data)
    for name, value in (("y", y), ("yhat", yhat), ("baseline", baseline), ("contrast", contrast)):
        check_value(name, value)
    check_name("outcome", outcome)
    named = protected if isinstance(protected, Mapping) else [protected]  # others are refused below
    column = next(iter(named), None)
    groups = read_groups(data, protected, outcome, baseline, contrast, (levels or {}).get(str(column)))
    pick_column(data, outcome, "outcome")
    rate = rate_of(classifier, yhat, features, data, outcome)
    return RateQuestion(groups.column, (groups.reference, groups.level), outcome, y, rate)


def plain(value: Any) -> Any:
    """Return a value as a plain Python one."""
    return value.item() if isinstance(value, np.generic) else value
