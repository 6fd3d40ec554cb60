"""Plots of why error rates are unequal: functions that take axes or make them, and return them."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from causalaudit.arguments import check_types
from causalaudit.error_rates.explaining.conditional import PREDICTION, ConditionalDiagram
from causalaudit.errors import DataError
from causalaudit.figures import AMBER, INK, NAVY, PALE, RED, as_written, own_axes

if TYPE_CHECKING:
    from causalaudit.results import AuditResult

_COLOURS = {"direct": RED, "indirect": AMBER, "spurious": NAVY}
_WIDTH = 0.6
_OFFSETS = {"direct": -0.15, "indirect": 0.0, "spurious": 0.15}


def plot_contributions(
    results: "AuditResult | Mapping[str, AuditResult]", decomposition: int = 1, ax: Axes | None = None
) -> Axes:
    """Stack the direct, indirect and spurious contributions to a difference of error rates, with their intervals.

    Contributions that raise the rate of the contrast level are stacked upwards, those that lower it downwards; the
    diamond is the total, which they sum to. Whiskers are the intervals of the results. Where a diagram identifies the
    direct contribution alone, the rest is drawn as one hatched block. (Figure 7 of Zhang and Bareinboim 2018.)

    Parameters
    ----------
    results
        An answer of `decompose_error_rates` or `estimate_error_rates`, or several with their names.
    decomposition
        Which of the four of Theorem 7; 1 is the causal explanation formula.
    ax
        Where to draw.

    Examples
    --------
    >>> import causalaudit as ca
    >>> scm = ca.models.standard_prediction.scm_b()
    >>> people = scm.prior_predictive(200, draws=1).isel(draw=0).to_dataframe()[["Z", "X", "W", "Y", "D"]]
    >>> rule = lambda people: people.W + people.D + people.X >= 2
    >>> result = ca.decompose_error_rates(ca.fit(scm, people), rule, "X", outcome="Y", population="exact", draws=1)
    >>> ca.plots.plot_contributions({"rule": result}).get_xticklabels()[0].get_text()
    'rule'
    """
    check_types(plot_contributions, locals())
    if decomposition not in (1, 2, 3, 4):
        raise DataError(f"decomposition is {decomposition!r}, but must be 1, 2, 3 or 4.")
    ax = own_axes(ax)
    named = dict(results) if isinstance(results, Mapping) else {"": results}
    for place, result in enumerate(named.values()):
        _stack(ax, place, _rows(result, decomposition))
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set_xticks(range(len(named)), list(named))
    ax.set_xlim(-0.7, len(named) - 0.3)
    first = next(iter(named.values())).settings
    ax.set_ylabel(
        f"P(Ŷ = {first['yhat']} | {first['outcome']} = {first['y']}), {first['contrast']} minus {first['baseline']}"
    )
    _legend(ax)
    return as_written(ax)


def _rows(result: Any, decomposition: int) -> dict[str, tuple[float, float, float]]:
    """Return the mean and the interval of each term."""
    chosen = (result.table["decomposition"] == decomposition).to_numpy()
    columns = [column[chosen].astype(float) for column in (result.table["mean"], *result.ends)]
    return dict(zip(result.table["term"][chosen], zip(*columns, strict=True), strict=True))


def _stack(ax: Axes, place: int, rows: dict[str, tuple[float, float, float]]) -> None:
    """Draw one bar: each contribution from where the last of its sign ended."""
    tops = {True: 0.0, False: 0.0}
    known = [term for term in _COLOURS if np.isfinite(rows[term][0])]
    for term in known:
        mean, low, high = rows[term]
        start, at = tops[mean >= 0], place + _OFFSETS[term]
        tops[mean >= 0] = start + mean
        ax.bar(place, mean, _WIDTH, start, color=_COLOURS[term], alpha=0.85, edgecolor="white", linewidth=0.8)
        ax.vlines(at, start + low, start + high, color=INK, linewidth=1.3)
        ax.hlines([start + low, start + high], at - 0.03, at + 0.03, color=INK, linewidth=1.3)
    total, low, high = rows["total"]
    rest = total - sum(rows[term][0] for term in known)
    if len(known) < len(_COLOURS):
        ax.bar(place, rest, _WIDTH, tops[rest >= 0], color=PALE, hatch="///", edgecolor="white", linewidth=0.8)
    side = place + _WIDTH / 2 + 0.09
    ax.vlines(side, low, high, color="black", linewidth=1.3)
    ax.plot(side, total, "D", color="black", markeredgecolor="white", markersize=6.5)


def _legend(ax: Axes) -> None:
    shown: dict[str, Any] = {term: Patch(color=colour, alpha=0.85) for term, colour in _COLOURS.items()}
    if any(patch.get_hatch() for patch in ax.patches):
        shown["not told apart"] = Patch(facecolor=PALE, hatch="///", edgecolor="white")
    shown["total"] = Line2D([], [], color="black", marker="D", linestyle="", markeredgecolor="white")
    ax.legend(
        list(shown.values()), list(shown), frameon=False, fontsize="small", loc="lower center",
        bbox_to_anchor=(0.5, 1.0), ncols=len(shown),
    )  # fmt: skip


def plot_conditional_diagram(
    graph: "nx.DiGraph[str]", features: Iterable[str], protected: str, *, outcome: str, ax: "Axes | None" = None
) -> Axes:
    """Draw the diagram given the true outcome, with the prediction Ŷ and the active paths that lead to it.

    The outcome is gone, and variables whose noises it has made dependent are joined by dashed arcs. The path from the
    protected attribute straight to Ŷ is direct, those along arrows are indirect, all others spurious: the colour of an
    edge is the first of these that it is part of; edges that are on no active path are grey. (Figures 2 and 3 of
    Zhang and Bareinboim 2018.)

    Examples
    --------
    >>> import causalaudit as ca
    >>> compas = ca.diagram([("X", "W"), ("X", "Y"), ("Z", "W"), ("Z", "Y"), ("W", "Y")], bidirected=[("X", "Z")])
    >>> ax = ca.plots.plot_conditional_diagram(compas, ["X", "W", "Z"], "X", outcome="Y")
    """
    check_types(plot_conditional_diagram, locals())
    ax = own_axes(ax)
    given = ConditionalDiagram.of(graph, features, protected, outcome)
    colours = _edge_colours(given)
    positions = _positions(given)
    boxes = {}
    for node, (x, y) in positions.items():
        box = {"boxstyle": "round,pad=0.4", "facecolor": "white", "edgecolor": "#333333"}
        boxes[node] = ax.text(x, y, node, ha="center", va="center", bbox=box, zorder=3).get_bbox_patch()
        ax.plot(x, y, alpha=0)  # text alone does not stretch the axes
    pairs = [(min(pair), max(pair)) for pair in given.bidirected]
    for bidirected, edges in ((False, sorted(given.directed.edges)), (True, sorted(pairs))):
        for edge in edges:
            colour = colours.get((frozenset(edge), bidirected), PALE)
            _arrow(ax, positions, boxes, edge, bidirected, colour)
    kinds = [kind for kind in _COLOURS if _COLOURS[kind] in colours.values()]
    handles = [Line2D([], [], color=_COLOURS[kind], linewidth=2) for kind in kinds]
    ax.legend(handles, kinds, frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=3)
    ax.margins(0.15, 0.3)
    ax.set_axis_off()
    return as_written(ax)


def _edge_colours(given: ConditionalDiagram) -> dict[tuple[frozenset[str], bool], str]:
    """Return the colour of each edge that is on an active path, by its ends and whether it is bidirected."""
    order = list(_COLOURS)
    best: dict[tuple[frozenset[str], bool], int] = {}
    for kind, edges in given.paths():
        for cause, effect, bidirected in edges:
            key = (frozenset({cause, effect}), bidirected)
            best[key] = min(best.get(key, len(order)), order.index(kind))
    return {key: _COLOURS[order[place]] for key, place in best.items()}


def _positions(given: ConditionalDiagram) -> dict[str, tuple[float, float]]:
    """Place causes left of effects, the prediction last, the nodes of a layer above one another."""
    others = given.directed.subgraph(set(given.directed) - {PREDICTION})
    layers = [sorted(layer) for layer in nx.topological_generations(others)]
    places: dict[str, tuple[float, float]] = {}
    for column, nodes in enumerate([*layers, [PREDICTION]]):
        for row, node in enumerate(nodes):
            # Every other layer is a little lower, which keeps an edge that skips a layer clear of the nodes it passes.
            places[node] = (float(column), (len(nodes) - 1) / 2 - row - 0.45 * (column % 2))
    return places


def _arrow(
    ax: Axes, places: dict[str, tuple[float, float]], boxes: dict[str, Any], edge: tuple[str, str], bidirected: bool,
    colour: str,
) -> None:  # fmt: skip
    start, end = edge
    far = abs(places[end][0] - places[start][0]) != 1
    arrow = {
        "arrowstyle": "<|-|>,head_width=0.22,head_length=0.45" if bidirected else "-|>,head_width=0.25,head_length=0.5",
        "color": colour,
        "linestyle": "dashed" if bidirected else "solid",
        "linewidth": 1.2 if colour == PALE else 1.8,
        "connectionstyle": f"arc3,rad={0.35 if bidirected else -0.12 if far else 0.0}",
        "patchA": boxes[start],
        "patchB": boxes[end],
        "shrinkA": 2,
        "shrinkB": 2,
    }
    ax.annotate("", xy=places[end], xytext=places[start], arrowprops=arrow)
