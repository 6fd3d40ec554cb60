"""Plots of situation tests: functions that take axes or make them, and return them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from causalaudit.arguments import check_count, check_name, check_types
from causalaudit.errors import DataError
from causalaudit.figures import BLUE, GREY, MARKERS, PALETTE, RED, as_written, mark_outside, own_axes

if TYPE_CHECKING:
    from causalaudit.results import AuditResult
    from causalaudit.situation_testing.result import SituationTestingResult

_CONTROL, _TEST, _WALD = GREY, RED, BLUE
_SIDES = {"control": (-0.2, _CONTROL), "test": (0.2, _TEST)}  # where a group is drawn, and its colour
_DOT: dict[str, Any] = {"markeredgecolor": "white", "markersize": 5.5}
_INTERVALS = {"wald2": (_WALD, 1.2), "population": (_TEST, 1.2), "structural": (_TEST, 3.5)}
_MOST_BINS = 1000  # of a histogram; more than a picture has room for


def plot_cases(
    results: "AuditResult | Mapping[str, AuditResult]", value: str = "cases", ax: Axes | None = None
) -> Axes:
    """Draw the number of cases, or their mean difference, against k, for one or more situation tests.

    Solid lines are all cases, dashed ones those that are significant, both at the point counterfactual. If there are
    draws, a band holds the number of cases of a draw with the probability `prob`; points outside of it are hollow.
    (Figures 4, 5, 7 and 8 of Alvarez and Ruggieri 2025.)

    Parameters
    ----------
    results
        A result, or several with their names.
    value
        "cases"; "delta" for the mean difference of the cases; or "cf_cases" for those whom the decision would have
        treated otherwise, significant by the bound of their groups (the papers take `centres=True`).
    ax
        Where to draw.

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> result = ca.situation_testing(applicants, "approved", {"gender": "female"}, features=["salary"], k=[5, 10, 20])
    >>> ca.plots.plot_cases({"ST": result}).get_ylabel()
    'cases'
    """
    check_types(plot_cases, locals())
    labels = {"cases": "cases", "delta": "mean Δ of the cases", "cf_cases": "cases"}
    if value not in labels:
        raise DataError(f"value is {value!r}, but must be 'cases', 'delta' or 'cf_cases'.")
    ax = own_axes(ax)
    named = dict(results) if isinstance(results, Mapping) else {"": results}
    for place, (name, result) in enumerate(named.items(), start=len(ax.get_lines()) // 2):
        colour, mark = PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)]
        summary = result.summary()
        banded = value == "cases" and "expected_low" in summary
        for column, style, kind in (("beyond_tau", "-", "all"), ("significant", "--", "significant")):
            rows = _against_k(result.table, column, value)
            words = ", ".join(filter(None, [name, kind, "at the point counterfactual" if banded else ""]))
            ax.plot(rows.index, rows, style, marker=mark, color=colour, label=words, markersize=4, linewidth=1.2)
        if banded:
            low, high = summary["expected_low"], summary["expected_high"]
            label = ", ".join(filter(None, [name, f"all, over the draws ({result.settings['prob']:.0%})"]))
            ax.fill_between(summary.index, low, high, color=colour, alpha=0.2, linewidth=0, label=label)
            mark_outside(ax, summary.index, summary["cases"], ~summary["cases"].between(low, high), colour)
    ax.set(xlabel="k", ylabel=labels[value], ylim=(0, None))
    ax.legend(frameon=False, fontsize="small")
    return as_written(ax)


def _against_k(table: pd.DataFrame, column: str, value: str) -> "pd.Series[Any]":
    if value == "delta":
        return table.loc[table[column], "delta"].groupby(level="k").mean()
    chosen = table[column]
    if value == "cf_cases":
        if "cf_flip" not in table:
            raise DataError("The decision on the counterfactual people is not known.")
        chosen = table["cf_flip"] if column == "beyond_tau" else table["cf_flip"] & table[column]
    return chosen.groupby(level="k").sum()


def plot_groups(
    result: "SituationTestingResult",
    complainants: Sequence[Any],
    feature: str,
    *,
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
    >>> result = ca.situation_testing(applicants, "approved", {"gender": "female"}, features=["salary", "balance"])
    >>> cases = result.at()[lambda table: table.beyond_tau].index[:5]
    >>> ca.plots.plot_groups(result, cases, "salary").get_ylabel()
    'salary'
    """
    check_types(plot_groups, locals())
    if feature not in result.question.features:
        known = ", ".join(map(str, result.question.features))
        raise DataError(f"{feature!r} is not a feature of the test: {known}.")
    if len(complainants) == 0:
        raise DataError("There is nobody to draw: complainants is empty.")
    ax = own_axes(ax)
    shown = [result.explain(complainant, k) for complainant in complainants]
    levels = _levels(result.evidence.people[feature], [table[side, feature] for table in shown for side in _SIDES])
    handles: dict[str, Any] = {}
    for side, (offset, colour) in _SIDES.items():
        columns = [table[side, feature].dropna() for table in shown]
        values = [_numbers(column, levels) for column in columns]
        places = np.arange(len(shown)) + offset
        draw = _draw_boxes if levels is None else _draw_discs
        group = draw(ax, [value[1:] for value in values], places, colour)
        (cross,) = ax.plot(places, [value[0] for value in values], "x", color=colour, markersize=7)
        handles |= {f"{side} group": group, _centre_name(result, side): cross}
    if levels is not None:
        ax.set_yticks(range(len(levels)), [str(level) for level in levels])
        ax.set_ylim(-0.5, len(levels) - 0.5)
    ax.set_xticks(range(len(shown)), [str(label) for label in complainants])
    ax.set(xlabel="complainant", ylabel=str(feature))
    ax.legend(
        list(handles.values()), list(handles), loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False,
        fontsize="small",
    )  # fmt: skip
    return as_written(ax)


def _levels(column: "pd.Series[Any]", shown: "list[pd.Series[Any]]") -> list[Any] | None:
    """Return the levels of a feature, those of counterfactuals included; None if it is a number."""
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return None
    levels = list(column.cat.categories) if isinstance(column.dtype, pd.CategoricalDtype) else sorted(column.unique())
    more = pd.unique(pd.concat([part.dropna().astype(object) for part in shown]))
    return levels + [level for level in more if level not in levels]


def _numbers(column: "pd.Series[Any]", levels: list[Any] | None) -> np.ndarray:
    if levels is None:
        return column.astype(float).to_numpy()
    return np.array([levels.index(value) for value in column])


def _draw_boxes(ax: Axes, values: list[np.ndarray], places: np.ndarray, colour: str) -> Any:
    boxes = ax.boxplot(values, positions=places, widths=0.32, patch_artist=True)
    for box, median in zip(boxes["boxes"], boxes["medians"], strict=True):
        box.set(facecolor=colour, alpha=0.35, edgecolor=colour)
        median.set(color=colour)
    return boxes["boxes"][0]


def _draw_discs(ax: Axes, values: list[np.ndarray], places: np.ndarray, colour: str) -> Any:
    for place, value in zip(places, values, strict=True):
        codes, counts = np.unique(value, return_counts=True)
        area = 400 * counts / max(1, len(value))
        ax.scatter(np.full(len(codes), place), codes, s=area, color=colour, alpha=0.35, linewidth=0)
    return Patch(color=colour, alpha=0.35, linewidth=0)


def _centre_name(result: "SituationTestingResult", side: str) -> str:
    moved = side == "test" and result.evidence.counterfactual is not None
    return "her counterfactual" if moved else "the complainant"


def plot_distributions(
    result: "SituationTestingResult", feature: str, bins: int = 40, *, ax: Axes | None = None
) -> Axes:
    """Draw the distribution of a feature among the complainants, factual and counterfactual.

    The counterfactual one is the average over draws. (Figure 2 of Alvarez and Ruggieri 2025.)

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> men = applicants.assign(salary=applicants.salary_if_male, balance=applicants.balance_if_male)
    >>> worlds = ca.CounterfactualDraws.from_frame(men)
    >>> result = ca.situation_testing(
    ...     applicants, "approved", {"gender": "female"}, features=["salary", "balance"], counterfactuals=worlds
    ... )
    >>> ca.plots.plot_distributions(result, "salary").get_xlabel()
    'salary'
    """
    check_types(plot_distributions, locals())
    check_count("bins", bins, most=_MOST_BINS)
    evidence = result.evidence
    if evidence.counterfactual is None:
        raise DataError("There are no counterfactuals to draw: this is standard situation testing.")
    if feature not in evidence.counterfactual.draws:
        raise DataError(f"The counterfactuals do not hold {feature!r} as a feature, apart from its factual values.")
    factual = evidence.people[feature].iloc[evidence.rows]
    if not pd.api.types.is_numeric_dtype(factual):
        raise DataError(f"{feature!r} is not a number.")
    ax = own_axes(ax)
    draws = evidence.counterfactual.draws[feature].to_numpy()
    edges = np.linspace(min(factual.min(), draws.min()), max(factual.max(), draws.max()), bins + 1).tolist()
    for values, colour, label in ((factual, _CONTROL, "factual"), (draws.ravel(), _TEST, "counterfactual")):
        weights = np.full(values.size, 1 / values.size)
        ax.hist(values, edges, weights=weights, color=colour, alpha=0.5, label=label)
    ax.set(xlabel=feature, ylabel="share of complainants")
    ax.legend(frameon=False)
    return as_written(ax)


def plot_forest(
    result: "SituationTestingResult",
    complainants: Sequence[Any] | None = None,
    k: int | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw complainants in rows: delta with Wald's two-sided and, with draws, the credible intervals.

    Delta at the point counterfactual is a dot on Wald's interval, the mean over draws one on the structural interval.
    The former may lie outside of the latter: it is then hollow.

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
    >>> result = ca.situation_testing(applicants, "approved", {"gender": "female"}, features=["salary", "balance"])
    >>> ax = ca.plots.plot_forest(result, complainants=result.at().index[:5])
    >>> len(ax.get_yticks())
    5
    """
    check_types(plot_forest, locals())
    table = result.at(k)
    if complainants is None:
        cases = table[table["beyond_tau"]].sort_values("delta", ascending=False, kind="stable")
        complainants = list(cases.index[np.unique(np.linspace(0, len(cases) - 1, min(20, len(cases))).astype(int))])
    for complainant in complainants:
        check_name("complainant", complainant, of="a complainant")
        if complainant not in table.index:
            raise DataError(f"{complainant!r} is not a complainant: nobody with this label has the protected level.")
    everyone, table = len(table), table.loc[list(complainants)]
    ax = own_axes(ax)
    ax.set(ylim=(len(table) - 0.4, -0.6), xlabel=f"Δ at k = {result.size(k)}", ylabel="complainant")
    if table.empty:
        words = f"none of {everyone} complainants has {result.question.case.replace('delta', 'Δ')}"
        ax.text(0.5, 0.5, words, ha="center", transform=ax.transAxes)
        ax.set_yticks([])
        return as_written(ax)
    rows = np.arange(len(table))
    centre = "" if result.evidence.counterfactual is None else " at the point counterfactual"
    _draw_interval(ax, table, "wald2", rows - 0.22, f"Δ{centre}, Wald {1 - result.question.alpha:.0%}")
    ax.plot(table["delta"], rows - 0.22, "o", color=_WALD, **_DOT)
    if "structural_low" in table:
        prob = f"{result.question.prob:.0%}"
        _draw_interval(ax, table, "population", rows, f"population of the neighbourhoods, {prob}")
        _draw_interval(ax, table, "structural", rows + 0.22, f"mean Δ over the draws, structural {prob}")
        ax.plot(table["delta_mean"], rows + 0.22, "o", color=_TEST, **_DOT)
        outside = ~table["delta"].between(table["structural_low"], table["structural_high"])
        mark_outside(ax, table["delta"], rows - 0.22, outside, _WALD)
    ax.axvline(result.question.tau, color=_CONTROL, linewidth=0.8, linestyle=":")
    ax.set_yticks(rows, [str(label) for label in table.index])
    ax.legend(frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return as_written(ax)


def _draw_interval(ax: Axes, table: pd.DataFrame, kind: str, rows: np.ndarray, label: str) -> None:
    colour, width = _INTERVALS[kind]
    ax.hlines(rows, table[f"{kind}_low"], table[f"{kind}_high"], color=colour, linewidth=width, label=label)
