"""Figures: where a plot is drawn if nobody says where."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
