"""Plots of situation tests: functions that take axes or make them, and return them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from causalaudit.errors import DataError
from causalaudit.figures import mark_outside, own_axes

if TYPE_CHECKING:
    from causalaudit.results import AuditResult
    from causalaudit.situation_testing.result import SituationTestingResult

_CONTROL, _TEST, _WALD = "#7f7f7f", "#c44e52", "#4c72b0"
_COLOURS = ("#c44e52", "#4c72b0", "#55a868", "#8172b3", "#ccb974", "#64b5cd")


def plot_cases(
    results: "AuditResult | Mapping[str, AuditResult]", value: str = "cases", ax: Axes | None = None
) -> Axes:
    """Draw the number of cases, or their mean difference, against k, for one or more situation tests.

    Solid lines are all cases at the point counterfactual, dashed ones those that are significant. If there are draws, a
    band holds the number of cases of a draw with the probability `prob`; points outside of it are hollow. (Figures 4,
    5, 7 and 8 of Alvarez and Ruggieri 2025.)

    Parameters
    ----------
    results
        A result, or several with their names.
    value
        "cases"; "delta" for the mean difference of the cases; or "cf_cases" for those whom the decision would have
        treated otherwise, significant by the bound of their groups (the papers take `centers=True`).
    ax
        Where to draw.

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> result = ca.situation_testing(applicants, "approved", {"gender": "female"}, ["salary"], k=[5, 10, 20])
    >>> ca.plots.plot_cases({"ST": result}).get_ylabel()
    'cases'
    """
    labels = {"cases": "cases", "delta": "mean Δ of the cases", "cf_cases": "cases"}
    if value not in labels:
        raise DataError(f"value is {value!r}, but must be 'cases', 'delta' or 'cf_cases'.")
    ax = own_axes(ax)
    named = dict(results) if isinstance(results, Mapping) else {"": results}
    for place, (name, result) in enumerate(named.items(), start=len(ax.get_lines()) // 2):
        colour = _COLOURS[place % len(_COLOURS)]
        for column, style in (("discriminated", "-o"), ("significant", "--s")):
            rows = _against_k(result.table, column, value)
            label = f"{name}, significant" if column == "significant" else name or "all"
            ax.plot(
                rows.index, rows, style, color=colour, label=label.removeprefix(", "), markersize=3.5, linewidth=1.2
            )
        summary = result.summary()
        if value == "cases" and "expected_low" in summary:
            label = f"{name}, over the draws ({result.settings['prob']:.0%})".removeprefix(", ")
            low, high = summary["expected_low"], summary["expected_high"]
            ax.fill_between(summary.index, low, high, color=colour, alpha=0.2, linewidth=0, label=label)
            mark_outside(ax, summary.index, summary["cases"], ~summary["cases"].between(low, high), colour)
    ax.set(xlabel="k", ylabel=labels[value], ylim=(0, None))
    ax.legend(frameon=False, fontsize="small")
    return ax


def _against_k(table: pd.DataFrame, column: str, value: str) -> "pd.Series[Any]":
    if value == "delta":
        return table.loc[table[column], "delta"].groupby(level="k").mean()
    chosen = table[column]
    if value == "cf_cases":
        if "cf_flip" not in table:
            raise DataError("The decision on the counterfactual people is not known.")
        chosen = table["cf_flip"] if column == "discriminated" else table["cf_flip"] & table[column]
    return chosen.groupby(level="k").sum()


def plot_groups(
    result: "SituationTestingResult",
    complainants: Sequence[Any],
    feature: str,
    k: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a feature in the control and test groups of some complainants, side by side.

    A number is drawn as boxes; a feature with levels as discs, whose area is the share of the group at a level. Crosses
    are the complainants and their counterfactuals. (Figure 3 of Alvarez and Ruggieri 2025.)

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> result = ca.situation_testing(applicants, "approved", {"gender": "female"}, ["salary", "balance"])
    >>> cases = result.at()[lambda table: table.discriminated].index[:5]
    >>> ca.plots.plot_groups(result, cases, "salary").get_ylabel()
    'salary'
    """
    if feature not in result.settings["features"]:
        raise DataError(f"{feature!r} is not a feature of the test: {', '.join(result.settings['features'])}.")
    ax = own_axes(ax)
    shown = [result.explain(complainant, k) for complainant in complainants]
    levels = _levels(result.search.data[feature])
    handles: dict[str, Any] = {}
    for offset, side, colour in ((-0.2, "control", _CONTROL), (0.2, "test", _TEST)):
        values = [_numbers(table[side, feature].dropna(), levels) for table in shown]
        places = np.arange(len(shown)) + offset
        draw = _draw_boxes if levels is None else _draw_counts
        group = draw(ax, places, [value[1:] for value in values], colour)
        (cross,) = ax.plot(places, [value[0] for value in values], "x", color=colour, markersize=7)
        handles |= {f"{side} group": group if shown else cross, _centre_name(result, side): cross}
    if levels is not None:
        ax.set_yticks(range(len(levels)), [str(level) for level in levels])
    ax.set_xticks(range(len(shown)), [str(label) for label in complainants])
    ax.set(xlabel="complainant", ylabel=feature)
    ax.legend(
        list(handles.values()), list(handles), loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False,
        fontsize="small",
    )  # fmt: skip
    return ax


def _levels(column: "pd.Series[Any]") -> list[Any] | None:
    """Return the levels of a feature that is no number, in the order of a categorical."""
    if pd.api.types.is_numeric_dtype(column):
        return None
    return list(column.cat.categories) if isinstance(column.dtype, pd.CategoricalDtype) else sorted(column.unique())


def _numbers(values: "pd.Series[Any]", levels: list[Any] | None) -> np.ndarray:
    return values.to_numpy(dtype=float) if levels is None else pd.Index(levels).get_indexer(pd.Index(values))


def _draw_boxes(ax: Axes, places: np.ndarray, groups: list[np.ndarray], colour: str) -> Any:
    drawn = ax.boxplot(groups, positions=places, widths=0.32, patch_artist=True)
    for box, median in zip(drawn["boxes"], drawn["medians"], strict=True):
        box.set(facecolor=colour, alpha=0.35, edgecolor=colour)
        median.set(color=colour)
    return next(iter(drawn["boxes"]), None)


def _draw_counts(ax: Axes, places: np.ndarray, groups: list[np.ndarray], colour: str) -> Any:
    for place, group in zip(places, groups, strict=True):
        codes, counts = np.unique(group, return_counts=True)
        ax.scatter(
            np.full(len(codes), place), codes, s=400 * counts / len(group), color=colour, alpha=0.35, linewidth=0
        )
    return Patch(color=colour, alpha=0.35, linewidth=0)


def _centre_name(result: "SituationTestingResult", side: str) -> str:
    return "her counterfactual" if side == "test" and result.counterfactuals is not None else "the complainant"


def plot_distributions(result: "SituationTestingResult", feature: str, bins: int = 40, ax: Axes | None = None) -> Axes:
    """Draw the distribution of a feature among the complainants, factual and counterfactual.

    The counterfactual one is the average over draws. (Figure 2 of Alvarez and Ruggieri 2025.)

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> men = applicants.assign(salary=applicants.salary_if_male, balance=applicants.balance_if_male)
    >>> worlds = ca.CounterfactualDraws.from_frame(men)
    >>> result = ca.situation_testing(applicants, "approved", {"gender": "female"}, ["salary", "balance"], worlds)
    >>> ca.plots.plot_distributions(result, "salary").get_xlabel()
    'salary'
    """
    worlds, centres = result.counterfactuals, result.search.centres
    if worlds is None or centres is None:
        raise DataError("There are no counterfactuals to draw: this is standard situation testing.")
    if feature not in worlds.dataset:
        raise DataError(f"The counterfactuals do not hold {feature!r} apart from its factual values.")
    ax = own_axes(ax)
    factual = result.search.data.loc[result.search.complainants, feature]
    if not pd.api.types.is_numeric_dtype(factual):
        raise DataError(f"{feature!r} is not a number.")
    draws = worlds.dataset[feature].to_numpy()[:, centres.columns]
    edges = np.linspace(min(factual.min(), draws.min()), max(factual.max(), draws.max()), bins + 1).tolist()
    for values, colour, label in ((factual, _CONTROL, "factual"), (draws.ravel(), _TEST, "counterfactual")):
        weights = np.full(values.size, 1 / values.size)
        ax.hist(values, edges, weights=weights, color=colour, alpha=0.5, label=label)
    ax.set(xlabel=feature, ylabel="share of complainants")
    ax.legend(frameon=False)
    return ax


def plot_forest(
    result: "SituationTestingResult",
    complainants: Sequence[Any] | None = None,
    k: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw complainants in rows: delta with Wald's two-sided and, with draws, the credible intervals.

    A delta at the point counterfactual that is outside of its structural interval is hollow.

    Parameters
    ----------
    result
        A situation test.
    complainants
        Whom to draw; default at most 20 cases, evenly spaced by their delta.
    k
        The size of the groups; default the smallest.
    ax
        Where to draw.

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> result = ca.situation_testing(applicants, "approved", {"gender": "female"}, ["salary", "balance"])
    >>> ax = ca.plots.plot_forest(result, complainants=result.at().index[:5])
    >>> len(ax.get_yticks())
    5
    """
    table = result.at(k)
    if complainants is None:
        cases = table[table["discriminated"]].sort_values("delta", ascending=False, kind="stable")
        complainants = list(cases.index[np.unique(np.linspace(0, len(cases) - 1, min(20, len(cases))).astype(int))])
    table = table.loc[list(complainants)]
    ax = own_axes(ax)
    settings = result.settings
    centre = "" if result.counterfactuals is None else " at the point counterfactual"
    lines = [("ci2", _WALD, -0.22, 1.2, f"Δ{centre}, Wald {1 - settings['alpha']:.0%}")]
    if "structural_low" in table:
        lines += [
            ("hdi", _TEST, 0.0, 1.2, f"population of the neighbourhoods, {settings['prob']:.0%}"),
            ("structural", _TEST, 0.22, 3.5, f"structural: mean over the draws, {settings['prob']:.0%}"),
        ]
    rows = np.arange(len(table))
    for name, colour, offset, width, label in lines:
        ends = table[f"{name}_low"], table[f"{name}_high"]
        ax.hlines(rows + offset, *ends, color=colour, linewidth=width, label=label)
        points = table["delta" if name == "ci2" else "delta_mean"]
        if name != "hdi":
            ax.plot(points, rows + offset, "o", color=colour, markeredgecolor="white", markersize=5.5)
    if "structural_low" in table:
        outside = ~table["delta"].between(table["structural_low"], table["structural_high"])
        mark_outside(ax, table["delta"], rows - 0.22, outside, _WALD)
    ax.axvline(settings["tau"], color=_CONTROL, linewidth=0.8, linestyle=":")
    ax.set_yticks(rows, [str(label) for label in table.index])
    ax.set(ylim=(len(table) - 0.4, -0.6), xlabel=f"Δ at k = {result.size(k)}", ylabel="complainant")
    ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return ax
