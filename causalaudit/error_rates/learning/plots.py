"""Plots of fair classifiers: functions that take axes or make them, and return them."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from causalaudit.arguments import check_types
from causalaudit.error_rates.explaining.terms import TERMS
from causalaudit.errors import DataError, nearest
from causalaudit.figures import MARKERS, PALETTE, as_written, own_axes

_NAMES = {"eps": "bound ε", "accuracy": "accuracy"} | {term: f"|{term} term|" for term in TERMS}


def plot_frontier(
    frontiers: pd.DataFrame | Mapping[str, pd.DataFrame],
    x: str = "eps",
    y: str = "accuracy",
    ax: Axes | None = None,
) -> Axes:
    """Draw the accuracy–fairness frontier: what accuracy is left at each bound.

    Parameters
    ----------
    frontiers
        A table of `FairClassifier.frontier`, or several with their names.
    x, y
        Columns of the table to draw; terms are shown by their absolute value. With `y` a term that is not bounded, the
        plot shows what a bound on the others does to it.
    ax
        Where to draw.

    Examples
    --------
    >>> import causalaudit as ca, pandas as pd
    >>> table = pd.DataFrame({"eps": [0.0, 0.1], "accuracy": [0.6, 0.8], "total": [0.0, -0.1]})
    >>> ca.plots.plot_frontier({"bounded total": table}).get_ylabel()
    'accuracy'
    """
    check_types(plot_frontier, locals())
    ax = own_axes(ax)
    named = {"": frontiers} if isinstance(frontiers, pd.DataFrame) else dict(frontiers)
    for place, (name, table) in enumerate(named.items()):
        for column in (x, y):
            if column not in table.columns:
                raise DataError(f"A frontier has no column {column!r}: {nearest(column, list(table.columns))}")
        shown = table[[x, y]].assign(**{term: table[term].abs() for term in (x, y) if term in TERMS})
        colour, mark = PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)]
        ax.plot(shown[x], shown[y], color=colour, marker=mark, markersize=4, linewidth=1.5, label=name or None)
    ax.set(xlabel=_NAMES.get(x, x), ylabel=_NAMES.get(y, y))
    ax.grid(color="#e5e5e5", linewidth=0.6)
    if any(named):
        ax.legend(frameon=False, fontsize="small")
    return as_written(ax)
