"""Plots of worlds: who is flagged where, one number in each, where the variance comes from, and what overturns it."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from causalaudit.arguments import check_count, check_name, check_types
from causalaudit.errors import DataError
from causalaudit.figures import BLUE, GREY, INK, PALE, RED, as_written, own_axes
from causalaudit.worlds.units import FLAGGED, NOT_EXAMINED, NOT_FLAGGED, SHARES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from causalaudit.worlds.result import WorldsResult
    from causalaudit.worlds.sweep_result import SweepResult

_COLOURS = {NOT_EXAMINED: GREY, NOT_FLAGGED: "#dce8f3", FLAGGED: RED}
_PARTS = {"between": RED, "structural": BLUE, "sampling": PALE}
_WORDS = {"between": "between worlds", "structural": "over draws", "sampling": "within draws"}
_MOST_LABELS = 30  # units that are named beside a map
_WIDEST_NAME = 12  # letters in a line of the name of a world below a map


def plot_verdict_map(result: "WorldsResult", units: Sequence[Any] | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw the verdict on each unit (rows) in each world (columns).

    Parameters
    ----------
    result
        From `compare_worlds`.
    units
        Which, as in the column `unit` of the table. By default those that some world flags, most worlds first.
    ax
        Where to draw; by default a figure of its own.
    """
    check_types(plot_verdict_map, locals())
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    table = result.table
    if units is None:
        table = table[table["worlds_flagged"] > 0]
        table = table.sort_values(["worlds_flagged", "probability"], ascending=False, kind="stable")
    else:
        wanted = [check_name("units", unit, of="units") for unit in units]
        table = table[[unit in wanted for unit in table["unit"].tolist()]]
    if table.empty:
        raise DataError("There is nothing to draw: no world flags a unit. Name the units to draw by units=.")
    states = list(_COLOURS)
    codes = np.column_stack([table[f"verdict_{world}"].map(states.index).to_numpy() for world in result.worlds])
    ax = own_axes(ax)
    ax.imshow(
        codes, aspect="auto", interpolation="nearest", cmap=ListedColormap(list(_COLOURS.values())), vmin=0, vmax=2
    )
    ax.set_xticks(range(len(result.worlds)), [fill(world, _WIDEST_NAME) for world in result.worlds])
    if len(table) <= _MOST_LABELS:
        ax.set_yticks(range(len(table)), _names(table), fontsize="small")
    ax.set_ylabel(f"{len(table)} units" + (" that some world flags" if units is None else ""))
    shown = [state for place, state in enumerate(states) if (codes == place).any()]
    handles = [Patch(facecolor=_COLOURS[state], edgecolor="0.6", label=state) for state in reversed(shown)]
    ax.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(handles), frameon=False)
    return as_written(ax)


def _names(table: Any) -> list[str]:
    """Return the names of units; where they differ in their first part alone, as complainants do, just that."""
    units = table["unit"].tolist()
    if all(isinstance(unit, tuple) and unit[1:] == units[0][1:] for unit in units):
        return [str(unit[0]) for unit in units]
    return [str(words) for words in table["words"]]


def plot_headlines(result: "WorldsResult", ax: "Axes | None" = None) -> "Axes":
    """Draw the audit's number in each world with its credible interval, beside the weighted average and its range."""
    check_types(plot_headlines, locals())
    ax = own_axes(ax)
    table, worlds = result.headline, result.worlds
    places = np.arange(len(worlds))[::-1] + 1
    value = table["value"].to_numpy()
    ends = np.stack([table["credible_low"].to_numpy(), table["credible_high"].to_numpy()])
    known = ~np.isnan(ends).any(axis=0)
    ax.hlines(places[known], *ends[:, known], color=BLUE, linewidth=3, label=_interval(result))
    ax.scatter(value, places, color=BLUE, s=40, zorder=3)
    average = result.average
    ax.hlines([0], average["min"], average["max"], color=GREY, linewidth=1.5, linestyle=":", label="range over worlds")
    ax.scatter([average["value"]], [0], marker="D", color=INK, zorder=3)
    labels = [f"{world}\nweight {weight:.2f}" for world, weight in zip(worlds, table["weight"], strict=True)]
    ax.set_yticks([*places, 0], [*labels, "average"])
    ax.set_ylim(-0.6, len(worlds) + 0.6)
    ax.set_xlabel(result.settings["headline"])
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    return as_written(ax)


def _interval(result: "WorldsResult | SweepResult") -> str:
    return f"{result.settings['prob']:.0%} credible interval"


def plot_variance_shares(result: "WorldsResult", most: int = 20, ax: "Axes | None" = None) -> "Axes":
    """Draw where the variance of the value of the most uncertain units comes from.

    Parameters
    ----------
    result
        From `compare_worlds`.
    most
        How many units.
    ax
        Where to draw; by default a figure of its own.
    """
    check_types(plot_variance_shares, locals())
    check_count("most", most)
    table = result.table[result.table["variance"] > 0]
    if table.empty:
        raise DataError("There is nothing to draw: no unit has a variance that is known and above 0.")
    table = table.sort_values("variance", ascending=False, kind="stable").head(most)[::-1]
    ax, left = own_axes(ax), np.zeros(len(table))
    for name in SHARES:
        part = np.nan_to_num(table[name].to_numpy()) * table["variance"].to_numpy()
        ax.barh(np.arange(len(table)), part, left=left, color=_PARTS[name], label=_WORDS[name])
        left = left + part
    ax.set_yticks(range(len(table)), _names(table), fontsize="small")
    ax.set_xlim(0, 1.03 * left.max())  # bars stick to both ends of the axis otherwise
    ax.set_xlabel(f"variance of {result.settings['value']}")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(SHARES), frameon=False, fontsize="small")
    return as_written(ax)


def plot_sweep(result: "SweepResult", ax: "Axes | None" = None) -> "Axes":
    """Draw the audit's number against an assumption, with its interval, the threshold, and where the answer tips."""
    check_types(plot_sweep, locals())
    ax, table = own_axes(ax), result.table
    values = table[result.parameter].to_numpy()
    low, high = table["credible_low"].to_numpy(), table["credible_high"].to_numpy()
    if not np.isnan(low).all():
        ax.fill_between(values, low, high, color=BLUE, alpha=0.2, linewidth=0, label=_interval(result))
    ax.plot(values, table["value"], color=BLUE, marker="o", markersize=4)
    ax.axhline(
        result.settings["threshold"], color=GREY, linestyle=":", label=f"threshold {result.settings['threshold']:g}"
    )
    ax.axvline(result.settings["reference"], color=PALE, linewidth=1, zorder=0)
    first = result.tipping_points.iloc[0]
    tips = [value for value in (first["below"], first["above"]) if value is not None]
    for place, value in enumerate(tips):
        label = "overturned here" if place == 0 else None
        ax.axvline(value, color=RED, linestyle="--", linewidth=1.2, label=label)
    ax.set_xlabel(f"{result.parameter}: {result.settings['about']}")
    ax.set_ylabel(result.settings["headline"])
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize="small")
    return as_written(ax)
