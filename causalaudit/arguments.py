"""Arguments, checked in one way for all public functions, in words that all functions share.

`check_types` is the first line of a public function: what is of another type than its signature says is refused, by
name. The other checks are of values.
"""

import re
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from functools import partial
from inspect import signature
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from reprlib import Repr
from types import EllipsisType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from causalaudit.errors import DataError

_LARGEST = 2**63  # whole numbers that a column can hold are smaller
_NO_VALUES = (slice, frozenset, EllipsisType)
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


def check_count(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Return a whole number that is large enough, and not too large."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        ends = "" if most is None else f" and at most {most}"
        raise DataError(f"{name} is {shown(value)}, but must be a whole number of at least {least}{ends}.")
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
    nothing = value is None or type(value).__name__ == "NAType"
    if nothing or not _hashes(value) or callable(value):
        raise DataError(f"{name} is {shown(value)}, but must be the name of {of}.")
    return value.item() if isinstance(value, np.generic) else value


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
        if type(one).__name__ == "NAType" or not _hashes(one):
            raise DataError(f"{name} lists {shown(one)}, but must be a list of {of}, by name.")
    return names


def check_value(name: str, value: Any) -> Any:
    """Return what a cell of a table may hold: a text, a number, a date; no list, no mapping, no function.

    Examples
    --------
    >>> check_value("favourable", "granted")
    'granted'
    """
    large = isinstance(value, int) and abs(value) >= _LARGEST
    if (
        large
        or type(value).__name__ == "NAType"
        or not _hashes(value)
        or callable(value)
        or np.ndim(value)
        or isinstance(value, _NO_VALUES)
    ):
        raise DataError(f"{name} is {shown(value)}, but must be a single value, as a column holds it.")
    return value.item() if isinstance(value, np.generic) else value


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


def _hashes(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:  # a tuple that holds a list
        return False
    return True


# Types

# What means the same everywhere is checked by `people` or `decisions`, which say more than its type, or by the checks
# of values above.
_SHARED: dict[str, Callable[[Any], Any]] = {
    "seed": check_seed,
    "alpha": partial(check_share, "alpha"),
    "prob": partial(check_share, "prob"),
    "confidence": partial(check_share, "confidence"),
}
_BY_ITSELF = {
    "data", "protected", "features", "decision", "classifier", "do", "draws", "posterior", "actions", "latents",
    "edges",
}  # fmt: skip
# Columns may have other names than texts.
_COLUMNS = {"outcome", "prediction", "recommendation", "feature", "variable", "by", "weights"}
_GENERIC = re.compile(r"\b(nx\.DiGraph|pd\.Series|pd\.Index)\[\w+\]")  # types that cannot be subscripted when they run


def check_types(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Refuse arguments of other types than the signature says; call it first, with ``locals()``.

    Examples
    --------
    >>> def audit(weights: Mapping[str, float], top: int = 1) -> None:
    ...     check_types(audit, locals())
    >>> audit({"age": 2.0}, top="all")
    Traceback (most recent call last):
    causalaudit.errors.DataError: top is 'all', but must be a whole number.
    """
    for name, parameter in signature(function).parameters.items():
        annotation = parameter.annotation
        if name not in given or name in _BY_ITSELF or annotation is parameter.empty:
            continue
        if name in _SHARED and not (given[name] is None and annotation not in (int, float)):
            _SHARED[name](given[name])
        if name in _COLUMNS and annotation in (str, str | None):
            annotation = Hashable
        expected = _resolved(annotation, function)
        several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        values = given[name].values() if isinstance(given[name], Mapping) else given[name]
        for value in values if several else [given[name]]:
            check_type(name, value, expected)


def check_type(name: str, value: Any, annotation: Any) -> None:
    """Refuse a value that is not of a type."""
    if _fits(value, annotation):
        return
    expected = _words(annotation)
    if isinstance(value, str) and _fits([value], annotation):
        expected = expected.removesuffix(" or None")
        raise DataError(f"{name} is the text {shown(value)}, but must be {expected}: [{shown(value)}].")
    raise DataError(f"{name} is {shown(value)}, but must be {expected}.")


def _resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    """Return an annotation as types; those imported for type checkers alone are found where they are, if anywhere."""
    if not isinstance(annotation, str):
        return annotation
    known = dict(vars(sys.modules[function.__module__]))
    text = _GENERIC.sub(r"\1", annotation)
    for name in re.findall(r"\b[A-Z]\w+", re.sub(r"\.\w+", "", text)):
        if name not in known:
            homes = (
                module for path, module in sys.modules.items() if path.startswith(("causalaudit.", "matplotlib.axes"))
            )
            known[name] = next((vars(home)[name] for home in homes if name in vars(home)), type(name, (), {}))
    return eval(text, known)  # annotations are our own code


def _fits(value: Any, annotation: Any) -> bool:
    origin, inner = get_origin(annotation) or annotation, get_args(annotation)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if annotation in _SIMPLE:
        return _SIMPLE[annotation][0](value)
    if annotation is Any or not isinstance(origin, type):
        return True
    if origin is tuple:
        return _is_list(value) and (not inner or ... in inner or len(value) == len(inner)) and _hashes(tuple(value))
    ours = origin.__module__ in ("collections.abc", "builtins")
    if issubclass(origin, Mapping) and ours:
        entries = inner if len(inner) == 2 else (Any, Any)
        return isinstance(value, Mapping) and all(_is_key(key) and _fits(one, entries[1]) for key, one in value.items())
    if issubclass(origin, Iterable) and ours:
        return _is_list(value) and (not inner or all(_is_entry(one, inner[0]) for one in value))
    if _is_callable(origin):
        return callable(value) and not isinstance(value, type)
    return isinstance(value, origin)


def _is_callable(origin: Any) -> bool:
    return getattr(origin, "__name__", "") == "Callable"


def _is_key(key: Any) -> bool:
    """Whether something may be a name or a level in a mapping: a text or a number."""
    return key is not None and not isinstance(key, tuple | frozenset) and not callable(key)


def _is_list(value: Any) -> bool:
    listed = isinstance(value, Collection) or (hasattr(value, "__len__") and hasattr(value, "__getitem__"))
    return listed and not isinstance(value, str | bytes | Mapping | type) and getattr(value, "ndim", 1) == 1


def _is_entry(value: Any, annotation: Any) -> bool:
    """Whether a list may hold a value: columns may have other names than texts."""
    if annotation is str:
        return _hashes(value) and not callable(value)
    if get_origin(annotation) is tuple:
        pair = len(get_args(annotation))
        return _is_list(value) and len(value) == pair and all(map(_hashes, value))
    return _fits(value, annotation)


def _words(annotation: Any) -> str:
    origin, inner = get_origin(annotation) or annotation, get_args(annotation)
    if origin in (Union, UnionType):
        words = list(dict.fromkeys(_words(one) for one in inner))
        return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
    if origin is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if annotation in _SIMPLE:
        return _SIMPLE[annotation][1]
    ours = isinstance(origin, type) and origin.__module__ in ("collections.abc", "builtins")
    if ours and issubclass(origin, Mapping):
        values = f" to {_words(inner[1])}" if len(inner) == 2 and inner[1] is not Any else ""
        return f"a mapping{values}"
    if origin is tuple:
        return "the names of two variables" if len(inner) == 2 else "a tuple"
    if (
        isinstance(origin, type)
        and issubclass(origin, Iterable)
        and origin.__module__ in ("collections.abc", "builtins")
    ):
        return f"a list of {_plural(inner[0])}" if inner else "a list"
    name = getattr(origin, "__name__", str(origin))
    return "a function" if _is_callable(origin) else f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _plural(annotation: Any) -> str:
    known = {str: "names", int: "whole numbers", float: "numbers"}
    if get_origin(annotation) is tuple:
        return "pairs" if len(get_args(annotation)) == 2 else "tuples"
    return known.get(annotation, f"{getattr(annotation, '__name__', 'value')}s" if annotation is not Any else "values")


_SIMPLE: dict[Any, tuple[Callable[[Any], bool], str]] = {
    None: (lambda value: value is None, "None"),
    NoneType: (lambda value: value is None, "None"),
    bool: (lambda value: isinstance(value, bool | np.bool_), "True or False"),
    int: (lambda value: isinstance(value, Integral) and not isinstance(value, bool), "a whole number"),
    float: (is_number, "a number"),
    str: (lambda value: isinstance(value, str), "text"),
    Path: (lambda value: isinstance(value, str | PathLike) and value != "", "a path"),
    Hashable: (lambda value: _hashes(value) and not callable(value), "the name of a column"),
}
