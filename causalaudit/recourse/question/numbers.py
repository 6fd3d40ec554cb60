"""The numbers of the question, checked: shares of people, budgets, the cost of no recourse; and settings as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from causalaudit.arguments import check_number, check_share
from causalaudit.errors import DataError
from causalaudit.recourse.question.change_rules import DECIMALS


def check_phi(phi: float | Sequence[float]) -> list[float]:
    """Return the shares of a group to be reached, which may be everybody."""
    return [check_share("phi", value, one=True) for value in _numbers("phi", phi)]


def check_budgets(budgets: float | Sequence[float]) -> list[float]:
    """Return the costs within which effectiveness is compared, each once."""
    for budget in _numbers("budgets", budgets):
        if not (budget >= 0 and np.isfinite(budget)):
            raise DataError(f"A budget is {budget!r}, but must be a finite number of at least 0.")
    return list(dict.fromkeys(np.round(_numbers("budgets", budgets), DECIMALS).tolist()))


def _numbers(name: str, values: Any) -> list[float]:
    try:
        numbers = np.atleast_1d(np.asarray(values, dtype=float))
    except (TypeError, ValueError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1:
        raise DataError(f"{name} is {values!r}, but must be a list of numbers.")
    return numbers.tolist()


def check_no_recourse_cost(cost: float | None) -> float | None:
    """Return the recourse cost of people without recourse, c∞ (section 2.1 of the paper)."""
    return None if cost is None else check_number("no_recourse_cost", cost, low=0)


def as_json(value: Any) -> Any:
    """Return what was asked for in the values that JSON has: a function by its name, what else there is as text.

    Examples
    --------
    >>> as_json({"orders": {"job": ("low", "high")}, "weights": abs})
    {'orders': {'job': ['low', 'high']}, 'weights': 'abs'}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return getattr(value, "__name__", str(value))
