"""What a subgroup says of a feature: that it has a value, or that it is on one side of a threshold.

An item is a range of codes. Those of a feature are its values and, with thresholds, the sides of every value between
its lowest and its highest (the sides of these two are values themselves, or everybody).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from causalaudit.storage import storable


@storable
@dataclass(frozen=True)
class AtLeast:
    """A value or one above it, in a subgroup: ``{"years": AtLeast(9)}``.

    Examples
    --------
    >>> in_words({"job": "clerk", "years": AtLeast(9)})
    'job=clerk, years ≥ 9'
    """

    value: Any

    def __str__(self) -> str:
        return f"≥ {self.value}"


@storable
@dataclass(frozen=True)
class AtMost:
    """A value or one below it, in a subgroup: ``{"years": AtMost(9)}``.

    Examples
    --------
    >>> in_words({"years": AtMost(9)})
    'years ≤ 9'
    """

    value: Any

    def __str__(self) -> str:
        return f"≤ {self.value}"


def items_of(levels: tuple[Any, ...], thresholds: bool) -> tuple[Any, ...]:
    """Return what may be said of a feature, in the order of its items.

    Examples
    --------
    >>> items_of((1, 2, 5), thresholds=True)
    (1, 2, 5, AtLeast(value=2), AtMost(value=2))
    """
    inner = levels[1:-1] if thresholds else ()
    return (*levels, *map(AtLeast, inner), *map(AtMost, inner))


def ranges_of(number: int, thresholds: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest code of each item of a feature with so many values.

    Examples
    --------
    >>> [codes.tolist() for codes in ranges_of(3, thresholds=True)]
    [[0, 1, 2, 1, 0], [0, 1, 2, 2, 1]]
    """
    every, inner = np.arange(number), np.arange(1, number - 1 if thresholds else 1)
    first, last = np.zeros_like(inner), np.full_like(inner, number - 1)
    return np.concatenate([every, inner, first]), np.concatenate([every, last, inner])


def in_words(predicate: Mapping[str, Any]) -> str:
    """Return a predicate as text."""
    return ", ".join(item_words(name, value) for name, value in predicate.items())


def item_words(name: str, value: Any) -> str:
    """Return what is said of one feature as text."""
    return f"{name} {value}" if isinstance(value, AtLeast | AtMost) else f"{name}={value}"
