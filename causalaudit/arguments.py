"""Arguments, checked in one way for all public functions, in words that all functions share."""

from collections.abc import Collection, Hashable, Mapping
from numbers import Integral, Real
from reprlib import Repr
from typing import Any

import numpy as np

from causalaudit.errors import DataError, nearest

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 80
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxdict = 6


def shown(value: Any) -> str:
    """Return a value as it is shown in an error: short, and a table by its name.

    Examples
    --------
    >>> shown("half"), shown(list(range(100))), shown(np.zeros((3, 2)))
    ("'half'", '[0, 1, 2, 3, 4, 5, ...]', 'ndarray of shape (3, 2)')
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{type(value).__name__} of shape {shape}"
    return _SHORT.repr(value)


# Numbers


def is_number(value: Any) -> bool:
    """Whether a value is a real number: no truth value, and no text that looks like one."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise DataError(f"{name} is {shown(value)}, but must be a whole number of at least {least}.")
    return int(value)


def check_number(name: str, value: Any, low: float = -np.inf, high: float = np.inf) -> float:
    """Return a finite number from `low` to `high`, the ends included.

    Examples
    --------
    >>> check_number("C", 2, low=0)
    2.0
    """
    if not is_number(value) or not np.isfinite(float(value)) or not low <= float(value) <= high:
        ends = " and ".join(
            words
            for words, there in ((f"at least {low:g}", low > -np.inf), (f"at most {high:g}", high < np.inf))
            if there
        )
        raise DataError(f"{name} is {shown(value)}, but must be a finite number{' of ' * bool(ends)}{ends}.")
    return float(value)


def check_positive(name: str, value: Any) -> float:
    """Return a finite number above 0."""
    if not is_number(value) or not 0 < float(value) < np.inf:
        raise DataError(f"{name} is {shown(value)}, but must be a finite number above 0.")
    return float(value)


def check_share(name: str, value: Any, one: bool = False) -> float:
    """Return a number between 0 and 1; refuse the ends, unless `one` admits 1."""
    ends = "above 0 and at most 1" if one else "between 0 and 1"
    number = float(value) if is_number(value) else np.nan
    if not (0 < number < 1 or (one and number == 1)):
        raise DataError(f"{name} is {shown(value)}, but must be a number {ends}.")
    return number


def check_seed(seed: Any) -> int:
    """Return a seed: a whole number of at least 0."""
    return check_count("seed", seed, least=0)


def check_draws(draws: Any) -> int | None:
    """Return a number of draws; None means all that there are."""
    return None if draws is None else check_count("draws", draws)


# Words and lists


def check_flag(name: str, value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, bool | np.bool_):
        raise DataError(f"{name} is {shown(value)}, but must be True or False.")
    return bool(value)


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return one of several words.

    Examples
    --------
    >>> check_choice("scale", "std", ["range", "std"])
    'std'
    """
    if not isinstance(value, str) or value not in choices:
        raise DataError(f"{name} is {shown(value)}, but must be one of {', '.join(map(repr, choices))}.")
    return value


def check_name(name: str, value: Any, of: str = "a column") -> Any:
    """Return what can be the name of a column: a text, a number, a tuple, but nothing that cannot be compared."""
    if value is None or not isinstance(value, Hashable) or not _hashes(value) or callable(value):
        raise DataError(f"{name} is {shown(value)}, but must be the name of {of}.")
    return value


def check_names(name: str, value: Any, of: str = "columns") -> list[Any]:
    """Return a list of names: any collection, but no text and no mapping, each name once.

    Examples
    --------
    >>> check_names("features", ("age", "sex"))
    ['age', 'sex']
    """
    if isinstance(value, str):
        raise DataError(f"{name} is the text {shown(value)}, but must be a list of {of}: [{shown(value)}].")
    if not isinstance(value, Collection) or isinstance(value, Mapping) or getattr(value, "ndim", 1) != 1:
        raise DataError(f"{name} is {shown(value)}, but must be a list of {of}.")
    names = list(value)
    for one in names:
        if not isinstance(one, Hashable) or not _hashes(one):
            raise DataError(f"{name} lists {shown(one)}, but must be a list of {of}, by name.")
    return names


def check_kind(name: str, value: Any, kind: type | tuple[type, ...], expected: str) -> Any:
    """Return what is of the kind (class) that is expected, which the words say.

    Examples
    --------
    >>> check_kind("edges", {}, Mapping, "a mapping")
    {}
    """
    if not isinstance(value, kind):
        raise DataError(f"{name} is {shown(value)} ({type(value).__name__}), but must be {expected}.")
    return value


def check_mapping(name: str, value: Any, names: Collection[Any], of: str = "features") -> dict[Any, Any]:
    """Return a mapping from some of the names as a dict.

    Examples
    --------
    >>> check_mapping("weights", {"age": 2.0}, ["age", "sex"])
    {'age': 2.0}
    """
    if not isinstance(value, Mapping):
        raise DataError(f"{name} is {shown(value)}, but must be a mapping from {of}.")
    for one in value:
        if one not in names:
            raise DataError(f"{name} names {one!r}, which is none of the {of}: {nearest(str(one), names)}")
    return dict(value)


def _hashes(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:  # a tuple that holds a list
        return False
    return True
