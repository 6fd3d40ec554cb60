"""Figures: where a plot is drawn if nobody says where, and how an estimate is shown beside an interval."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUTSIDE = "outside of the interval beside it"


def own_axes(ax: "Axes | None") -> "Axes":
    """Return the given axes, or those of a new figure.

    A plot never draws into whatever figure happens to be open. A new figure makes room for its labels and legends by
    itself, so that a plain ``ax.figure.savefig(path)`` cuts nothing off.

    Examples
    --------
    >>> first, second = own_axes(None), own_axes(None)
    >>> first.figure is second.figure
    False
    >>> own_axes(first) is first
    True
    """
    import matplotlib.pyplot as plt  # heavy: only those who draw pay for it

    return plt.subplots(layout="constrained")[1] if ax is None else ax


def mark_outside(ax: "Axes", x: Any, y: Any, outside: Any, colour: str) -> None:
    """Make those estimates hollow that are outside of the interval shown beside them, and say so in the legend.

    An estimate at one point and an interval over draws answer two questions: nothing makes the one lie in the other.

    Examples
    --------
    >>> ax = own_axes(None)
    >>> mark_outside(ax, [1, 2], [0.3, 0.9], [False, True], "black")
    >>> ax.get_legend_handles_labels()[1]
    ['outside of the interval beside it']
    """
    outside = np.asarray(outside, dtype=bool)
    if not outside.any():
        return
    label = None if OUTSIDE in ax.get_legend_handles_labels()[1] else OUTSIDE
    at = np.asarray(x)[outside], np.asarray(y)[outside]
    ax.scatter(*at, s=24, facecolor="white", edgecolor=colour, linewidth=1.2, zorder=3, label=label)
