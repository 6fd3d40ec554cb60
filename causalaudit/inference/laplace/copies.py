"""Modes that are copies of one another: labels that can be exchanged, signs that nothing identifies."""

from collections.abc import Mapping, Sequence

import numpy as np

from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.laplace.mode import Mode

_EQUAL = 0.02  # log-density by which copies may differ
_CLOSE = 1e-2  # share of a value, or of the greatest, by which the values of copies may differ
_NAMED = 6  # entries of parameters


def copies_in_words(density: ProgramDensity, modes: Sequence[Mode]) -> str:
    """Say which modes are copies of one another; nothing if none are.

    Two are copies if the density is as high at one as at the other, and the values of the parameters are the same but
    for their order or their signs.
    """
    values = density.constrain(np.stack([mode.location for mode in modes]))
    names = density.scm.parameters
    labels, table = _entries({name: values[name] for name in names})
    signs, exchanged, count = set[str](), set[str](), 1
    for mode, row in zip(modes[1:], table[1:], strict=True):
        if abs(mode.height - modes[0].height) > _EQUAL:
            continue
        first = table[0]
        changed = np.abs(row - first) > _CLOSE * np.maximum(np.abs(row), np.abs(first))
        own = [label for label, differs in zip(labels, changed, strict=True) if differs]
        share = changed & (first > 0) & (first < 1) & (np.abs(row + first - 1) < _CLOSE)  # one of two
        row = np.where(share, first, row)
        if _same(row, first):
            exchanged.update(own)
        elif _same(np.abs(row), np.abs(first)):
            signs.update(own)
        elif _same(np.sort(row), np.sort(first)):
            exchanged.update(own)
        elif _same(np.sort(np.abs(row)), np.sort(np.abs(first))):
            signs.update(own)
            exchanged.update(own)
        else:
            continue
        count += 1
    if count == 1:
        return ""
    how = [
        *([f"{_listed(exchanged, labels)} change places (label switching)"] if exchanged else []),
        *([f"{_listed(signs, labels)} change sign" + ("" if len(signs) == 1 else " together")] if signs else []),
    ]
    which = "They are" if count == len(modes) else f"{count} of them are"
    return f"{which} copies of one mode: the density stays the same if {', or if '.join(how)}."


def _entries(values: Mapping[str, np.ndarray]) -> tuple[list[str], np.ndarray]:
    """Return a label for each entry of each parameter, and the entries (columns) by mode."""
    labels = [
        name if value.ndim == 1 else f"{name}[{', '.join(map(str, position))}]"
        for name, value in values.items()
        for position in np.ndindex(value.shape[1:])
    ]
    return labels, np.concatenate([value.reshape(len(value), -1) for value in values.values()], axis=1)


def _same(one: np.ndarray, two: np.ndarray) -> bool:
    return bool(np.allclose(one, two, rtol=_CLOSE, atol=_CLOSE * np.abs(two).max(initial=0.0)))


def _listed(names: set[str], labels: Sequence[str]) -> str:
    ordered = [repr(label) for label in labels if label in names]
    return ", ".join(ordered[:_NAMED]) + (", …" if len(ordered) > _NAMED else "")
