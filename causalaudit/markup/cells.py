"""What a cell of a table shows: numbers short, what is not known as a dash, subgroups in words."""

import math
import re
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

UNKNOWN = "–"
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_PLAIN = (str, bool, int, float, np.generic)


def plain_text(value: Any) -> str:
    """Return what is shown of a value.

    Examples
    --------
    >>> [plain_text(value) for value in (0.123456, float("nan"), True, 12_345, 61_250.75, ("ada", "bank"))]
    ['0.1235', '–', 'yes', '12,345', '61,251', 'ada, bank']
    >>> plain_text({"sex": ["Male"], "priors": ["none", "some"], "job": "clerk"})
    'sex: Male; priors: none or some; job: clerk'
    """
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    number = number_of(value)
    if number is not None:
        return _number(number, isinstance(value, int | np.integer))
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, Real) and math.isnan(value)):
        return UNKNOWN
    return in_words(value)


def readable(text: str) -> str:
    r"""Return text without characters that no page may hold: control characters and halves of pairs.

    Examples
    --------
    >>> readable("a\x00b")
    'a�b'
    """
    return _CONTROL.sub("\ufffd", text)


def number_of(value: Any) -> float | None:
    """Return a value as a number, to sort by; None if it is none, or not known.

    Examples
    --------
    >>> number_of(3), number_of(float("nan")), number_of("3"), number_of(True)
    (3.0, None, None, None)
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return None
    return None if math.isnan(value) else float(value)


def in_words(value: Any) -> str:
    """Return a subgroup (feature → value), a unit or a list as text.

    Examples
    --------
    >>> in_words({}), in_words(["a", "b"]), in_words("<b>")
    ('everybody', 'a, b', '<b>')
    """
    if isinstance(value, Mapping):
        return "; ".join(_feature(name, part) for name, part in value.items()) or "everybody"
    if isinstance(value, frozenset | set):
        value = sorted(value, key=str)
    if isinstance(value, tuple) and type(value).__str__ is not tuple.__str__:  # a unit that says what it is
        return str(value)
    if isinstance(value, list | tuple):
        return ", ".join(plain_text(part) for part in value)
    return str(value)


def _feature(name: Any, value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"{name}: {' or '.join(plain_text(part) for part in value)}"
    return f"{name}: {plain_text(value)}" if isinstance(value, _PLAIN) else f"{name} {value}"


def _number(value: float, whole: bool) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if whole or (value == round(value) and abs(value) >= 1000) or abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
