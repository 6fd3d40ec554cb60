"""Whether a value that was read from a file is of the type that a field of a class states."""

import dataclasses
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from causalaudit.errors import SavedFileError
from causalaudit.storage.values import CLASSES, Unsaved


def check_fields(cls: type, fields: Mapping[str, Any]) -> None:
    """Refuse other fields than those of a dataclass, and values of other types than it states.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: float
    >>> check_fields(Point, {"x": "far"})
    Traceback (most recent call last):
    causalaudit.errors.SavedFileError: The file holds a Point whose x is a str, and not float.
    """
    stated = _hints(cls)
    if set(fields) != set(stated):
        raise SavedFileError(f"The file holds a {cls.__name__} with the fields {sorted(fields)}, not {sorted(stated)}.")
    for name, hint in stated.items():
        if not _fits(fields[name], hint):
            wanted = hint.__name__ if isinstance(hint, type) else str(hint)
            raise SavedFileError(
                f"The file holds a {cls.__name__} whose {name} is a {type(fields[name]).__name__}, and not {wanted}."
            )


@cache
def _hints(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls) if field.init}


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or getattr(hint, "_is_protocol", False):  # what a protocol asks for shows itself when it is used
        return True
    if hint is None:
        return value is None
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return value in inner
    if origin is Callable or hint is Callable:
        return callable(value) or isinstance(value, Unsaved)
    if origin is None:
        return _is_a(value, hint)
    return isinstance(value, origin) and _all_fit(value, origin, inner)


def _is_a(value: Any, cls: type) -> bool:
    if cls is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if cls is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(value, Unsaved):
        return cls.__module__.startswith("causalaudit.") and cls not in CLASSES.values()
    return isinstance(value, cls)


def _all_fit(value: Any, origin: Any, inner: tuple[Any, ...]) -> bool:
    """Tell whether the items of a container are of the stated types."""
    if issubclass(origin, Mapping):
        return all(_fits(key, inner[0]) and _fits(item, inner[1]) for key, item in value.items())
    if origin is tuple and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(_fits, value, inner))
    return all(_fits(item, inner[0]) for item in value)
