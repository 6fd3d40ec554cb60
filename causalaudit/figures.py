"""Figures: their one style, where a plot is drawn if nobody says where, and an estimate beside an interval."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUTSIDE = "outside of the interval beside it"

# Told apart by people who are colour-blind and, as they differ in lightness, on paper printed in grey.
RED, BLUE, NAVY, AMBER, GREEN, PURPLE = "#b3272d", "#4d90c8", "#1b3c66", "#d9921c", "#3b7d5a", "#9a86c0"
PALETTE = (RED, BLUE, NAVY, AMBER, GREEN, PURPLE)
MARKERS = ("o", "s", "^", "D", "v", "P")  # beside the colours, for whom these are not enough
GREY, PALE, INK = "#7f7f7f", "#d9d9d9", "#222222"

_DOLLAR = re.compile(r"(?<!\\)\$")  # one that is not marked as such

_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#555555",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 10,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
}


def own_axes(ax: "Axes | None", size: tuple[float, float] | None = None) -> "Axes":
    """Return the given axes, or those of a new figure, in the style of the house and of a size in inches.

    A plot never draws into whatever figure happens to be open. A new figure makes room for its labels and legends by
    itself, so that a plain ``ax.figure.savefig(path)`` cuts nothing off. Settings of matplotlib are left as they are.

    Examples
    --------
    >>> first, second = own_axes(None), own_axes(None)
    >>> first.figure is second.figure
    False
    >>> own_axes(first) is first
    True
    """
    import matplotlib.pyplot as plt  # heavy: only those who draw pay for it

    if ax is not None:
        return ax
    with plt.rc_context(_STYLE):
        return plt.subplots(figsize=size, layout="constrained")[1]


def as_written(ax: "Axes") -> "Axes":
    """Return axes whose words are shown as they are written: a dollar in a level or a name begins no mathematics.

    Examples
    --------
    >>> ax = own_axes(None)
    >>> text = ax.set_title("from $5 to $x_{")
    >>> as_written(ax).get_title()
    'from $5 to $x_{'
    >>> text.get_parse_math()
    False
    """
    from matplotlib.text import Text
    from matplotlib.ticker import FixedFormatter, FuncFormatter

    for axis in (ax.xaxis, ax.yaxis):  # ticks of numbers keep their powers of ten
        if isinstance(axis.get_major_formatter(), FixedFormatter | FuncFormatter):
            for tick in axis.get_major_ticks():
                tick.label1.set_parse_math(False)
                tick.label2.set_parse_math(False)
    for text in ax.findobj(Text):
        if _DOLLAR.search(text.get_text()) and "mathdefault" not in text.get_text():
            text.set_parse_math(False)
    return ax


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
