"""Plots of audits of recourse: functions that take axes or make them, and return them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from causalaudit.arguments import check_types
from causalaudit.figures import BLUE, GREY, RED, as_written, own_axes
from causalaudit.recourse.intervals.over_draws import joined_bands
from causalaudit.recourse.intervals.scores import curve_bands
from causalaudit.recourse.notions.measures import MICRO, distribution, last_of_cost, steps
from causalaudit.recourse.question.items import item_words
from causalaudit.recourse.result.rankings import rank_agreement

if TYPE_CHECKING:
    from causalaudit.recourse.result.result import RecourseResult

_COLOURS = (RED, BLUE)


def plot_top_subgroups(
    result: "RecourseResult",
    metric: str,
    n: int = 10,
    *,
    parameter: float | None = None,
    viewpoint: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the most unfair subgroups by one notion, with the intervals of their scores.

    The colour says whom they are biased against. Scores and ends that are infinite are drawn at the edge.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.datasets.make_loan(2_000, seed=0).assign(rich=lambda people: people.salary > 100_000)
    >>> people["saves"] = people.balance > 20_000
    >>> bank = lambda table: (table.rich.astype(int) + table.saves > (table.gender == "female")).astype(int)
    >>> result = ca.audit_recourse(people, bank, "gender", ["rich", "saves"])
    >>> ca.plots.plot_top_subgroups(result, "equal_effectiveness", n=3).get_xlabel()
    'score: Equal Effectiveness, micro'
    """
    check_types(plot_top_subgroups, locals())
    ax = own_axes(ax)
    notion = result.notion(metric, parameter, viewpoint)
    top = result.top(metric, n, parameter=parameter, viewpoint=notion.viewpoint)
    ends = top[["score", "simultaneous_low", "simultaneous_high"]].to_numpy(dtype=float)
    finite = np.append(ends[np.isfinite(ends)], 0.0)
    room = 0.1 * (np.ptp(finite) or 1.0)
    low, high = min(finite.min(), 0.0) - room, finite.max() + room
    drawn = np.clip(ends, low, high)
    for row, (bias, (score, left, right)) in enumerate(zip(top["bias_against"], drawn, strict=True)):
        colour = _colour(result, bias)
        ax.plot([left, right], [row, row], color=colour, linewidth=1.5, alpha=0.6, solid_capstyle="butt")
        ax.plot(score, row, ">" if np.isinf(ends[row, 0]) else "o", color=colour, markersize=7)
    names = [_short(predicate, sizes) for predicate, *sizes in top[["subgroup", "n0", "n1"]].itertuples(index=False)]
    ax.set_yticks(range(len(top)), names, fontsize="small")
    ax.set(ylim=(len(top) - 0.5, -0.5), xlim=(low, high), xlabel=f"score: {notion.title}, {notion.viewpoint}")
    ax.axvline(0, color=GREY, linewidth=0.8, linestyle=":")
    _mark_infinity(ax, ends, finite)
    shown = dict.fromkeys(top["bias_against"])
    marks = [Line2D([], [], marker="o", color=_colour(result, bias), linewidth=1.5) for bias in shown]
    labels = ["fair" if bias is None else f"bias against {bias}" for bias in shown]
    ax.legend(marks, labels, frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return as_written(ax)


def _mark_infinity(ax: Axes, ends: np.ndarray, finite: np.ndarray) -> None:
    """Name the edges at which infinite numbers are drawn."""
    low, high = ax.get_xlim()
    ticks = {tick: f"{tick:g}" for tick in ax.get_xticks().round(12) if low < tick < high}
    if np.isinf(ends).any():
        ticks = {tick: name for tick, name in ticks.items() if finite.min() <= tick <= finite.max()}
        ticks |= {edge: name for edge, name in ((low, "−∞"), (high, "∞")) if (ends == np.sign(edge) * np.inf).any()}
    ax.set_xticks(list(ticks), list(ticks.values()))


def _colour(result: "RecourseResult", bias: Any) -> str:
    return GREY if bias is None else _COLOURS[result.groups.index(bias)]


def _short(predicate: Mapping[str, Any], sizes: list[int]) -> str:
    """Write a subgroup over several lines, two features each."""
    items = [item_words(name, value) for name, value in predicate.items()]
    lines = [", ".join(items[start : start + 2]) for start in range(0, len(items), 2)]
    return "\n".join(lines) + f" ({sizes[0]:,} | {sizes[1]:,})"


def plot_effectiveness_cost(
    result: "RecourseResult", subgroup: Mapping[str, Any], viewpoint: str = MICRO, *, ax: Axes | None = None
) -> Axes:
    """Draw the effectiveness–cost distributions of the two groups of a subgroup (figure 1 (b) of the paper).

    The bands hold both curves of the population, for all subgroups of the search at once, at the level of the audit;
    with a posterior they join the uncertainty of its parameters, and there are none if its draws are too few.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.datasets.make_loan(2_000, seed=0).assign(rich=lambda people: people.salary > 100_000)
    >>> people["saves"] = people.balance > 20_000
    >>> bank = lambda table: (table.rich.astype(int) + table.saves > (table.gender == "female")).astype(int)
    >>> result = ca.audit_recourse(people, bank, "gender", ["rich", "saves"])
    >>> ca.plots.plot_effectiveness_cost(result, {"rich": False, "saves": False}).get_xlabel()
    'cost'
    """
    check_types(plot_effectiveness_cost, locals())
    ax = own_axes(ax)
    place = result.place(subgroup)
    candidates = result.candidates.only(place)
    last = last_of_cost(candidates)
    costs, curves = steps(candidates)[last], distribution(candidates, viewpoint)[:, last]
    alpha, number = result.settings["alpha"], len(result.candidates)
    if result.draws is None or result.draws.certain:
        low, high = curve_bands(candidates, viewpoint, alpha / number)
    elif result.draws.too_few(alpha):
        low = high = np.full((2, len(last)), np.nan)
    else:
        low, high = joined_bands(candidates, result.draws.drawn.only(place), viewpoint, alpha / number)
    right = costs[-1] + 0.08 * max(costs[-1] - costs[0], costs[-1], 1e-9)
    for group, level in enumerate(result.groups):
        x = np.concatenate([[0.0], costs, [right]])
        y, below, above = (
            np.concatenate([[start], part, part[-1:]])
            for start, part in ((0.0, curves[group]), (0.0, low[group][last]), (0.0, high[group][last]))
        )
        label = f"{level} ({candidates.sizes[group, 0]:,} people)"
        ax.step(x, y, where="post", color=_COLOURS[group], label=label)
        ax.fill_between(x, below, above, step="post", color=_COLOURS[group], alpha=0.2, linewidth=0)
    ax.set(xlabel="cost", ylabel=f"share with recourse ({viewpoint})", xlim=(0, right), ylim=(0, 1.02))
    ax.set_title("If " + _short(subgroup, candidates.sizes[:, 0].tolist()), fontsize="small")
    ax.legend(frameon=False, fontsize="small")
    return as_written(ax)


def plot_rank_agreement(result: "RecourseResult", ax: Axes | None = None) -> Axes:
    """Draw how far the notions agree on the order of the subgroups: Spearman's correlation of their ranks.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.datasets.make_loan(2_000, seed=0).assign(rich=lambda people: people.salary > 100_000)
    >>> people["saves"] = people.balance > 20_000
    >>> bank = lambda table: (table.rich.astype(int) + table.saves > (table.gender == "female")).astype(int)
    >>> result = ca.audit_recourse(people, bank, "gender", ["rich", "saves"])
    >>> len(ca.plots.plot_rank_agreement(result).get_yticks()) == len(result.notions)
    True
    """
    check_types(plot_rank_agreement, locals())
    ax = own_axes(ax)
    agreement = rank_agreement(result)
    image = ax.imshow(agreement, cmap="RdBu_r", vmin=-1, vmax=1)
    names = [notion.label.replace("_", " ") for notion in result.notions]
    ax.set_xticks(range(len(names)), names, rotation=90, fontsize="x-small")
    ax.set_yticks(range(len(names)), names, fontsize="x-small")
    for row, column in np.argwhere(agreement.notna().to_numpy()):
        value = float(agreement.iloc[row, column])
        colour = "white" if abs(value) > 0.6 else "black"
        ax.text(
            column, row, f"{round(value, 1) + 0.0:.1f}", ha="center", va="center", fontsize="xx-small", color=colour
        )
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label="Spearman's correlation of ranks")
    return as_written(ax)
