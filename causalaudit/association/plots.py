"""Plots of impact ratios."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from causalaudit.figures import BLUE, GREY, NAVY, PALE, RED, own_axes

if TYPE_CHECKING:
    from causalaudit.association.result import ImpactRatiosResult

_ROW, _SPACE = 0.28, 1.3  # inches
_MOST = 60  # categories in a picture


def plot_impact_ratios(result: "ImpactRatiosResult", ax: Axes | None = None) -> Axes:
    """Draw the impact ratio of each category with its interval; the threshold is a line.

    Flagged categories are red squares, those that are too small to be judged grey and hollow. Of more than 60
    categories those with the smallest ratios are drawn.

    Examples
    --------
    >>> import pandas as pd, causalaudit as ca
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "hired": [1, 1, 0, 1] * 10})
    >>> ca.plots.plot_impact_ratios(ca.impact_ratios(people, "hired", ["sex"])).get_xlabel()
    'impact ratio of selection rates'
    """
    shown = np.sort(np.argsort(result.table["impact_ratio"].to_numpy(), kind="stable")[:_MOST])
    table, flagged = result.table.iloc[shown], result.verdicts["flagged"].to_numpy()[shown]
    ax = own_axes(ax, (7.5, _SPACE + _ROW * len(table)))
    places, excluded = -np.arange(len(table)), table["excluded"].to_numpy(dtype=bool)
    ends = np.stack([table["ratio_low"], table["ratio_high"]])
    kinds = (
        (~flagged & ~excluded, BLUE, "o", NAVY, "not flagged"),
        (flagged, RED, "s", RED, "flagged"),
        (excluded, GREY, "D", "white", "too small to be judged"),
    )
    for chosen, colour, marker, face, label in kinds:
        if chosen.any():
            # A ratio to a rate of zero has no bound above: the line leaves the picture.
            ax.hlines(places[chosen], ends[0, chosen], np.minimum(ends[1, chosen], 10), color=colour, linewidth=2.5)
            values = table["impact_ratio"].to_numpy()[chosen]
            edge = face if face != "white" else colour
            ax.scatter(
                values, places[chosen], marker=marker, s=34, facecolor=face, edgecolor=edge, zorder=3, label=label
            )
    threshold = result.settings["threshold"]
    ax.axvline(threshold, color=RED, linestyle=":", linewidth=1.2, label=f"{threshold:g}")
    ax.axvline(1, color=PALE, linewidth=1, zorder=0)
    ax.set_yticks(places, [result.categories[place] for place in shown], fontsize="small")
    if len(shown) < len(result.table):
        ax.set_ylabel(f"{len(shown)} of {len(result.table):,} categories, those with the smallest ratios")
    known = [value for value in table["impact_ratio"] if np.isfinite(value)]
    ax.set_xlim(0, max(1.05, *(1.05 * value for value in known)) if known else 1.05)
    ax.set_xlabel(f"impact ratio of {result.settings['rate']} rates")
    ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=4, frameon=False, fontsize="small")
    return ax
