"""Causal diagrams as pictures."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import ConnectionStyle
from matplotlib.path import Path

from causalaudit.arguments import check_types
from causalaudit.figures import RED, own_axes
from causalaudit.scm.layout import Layout, layered

_INK = "#333333"
_LETTER, _PADDING, _APART, _ROW = 0.085, 0.35, 0.55, 0.42  # inches: of a name and its box, between layers, of a row


def plot_diagram(graph: "nx.DiGraph[Any]", highlight: Sequence[tuple[str, str]] = (), ax: Axes | None = None) -> Axes:
    """Draw a causal diagram from causes (left) to effects (right); latent variables are dashed.

    Arrows go around the variables that they do not touch. A new figure is as large as its names need.

    Examples
    --------
    >>> import causalaudit as ca
    >>> ax = ca.plots.plot_diagram(ca.models.loan.linear().graph, highlight=[("gender", "salary")])
    """
    check_types(plot_diagram, locals())
    layout = layered(graph, lambda node: 1.0, 0.5)
    across = _across(layout)

    def point(place: tuple[int, float]) -> tuple[float, float]:
        return across[place[0]][0], -_ROW * place[1]

    ax = _room(ax, across, [point(place)[1] for place in _all_places(layout)])
    boxes = {}
    for node, place in layout.places.items():
        style = "dashed" if graph.nodes[node].get("latent") else "solid"
        box = {"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": _INK, "linestyle": style}
        text = ax.text(*point(place), _plain(node), ha="center", va="center", bbox=box, zorder=3)
        text.set_in_layout(False)
        boxes[node] = text.get_bbox_patch()
    for cause, effect in graph.edges:
        arrow = {
            "arrowstyle": "-|>,head_width=0.22,head_length=0.45",
            "color": RED if (cause, effect) in set(highlight) else _INK,
            "linewidth": 0.9,
            "connectionstyle": _Through(ax, _past(layout.bends.get((cause, effect), []), across)),
            "patchA": boxes[cause],
            "patchB": boxes[effect],
        }
        ends = point(layout.places[cause]), point(layout.places[effect])
        ax.annotate("", xy=ends[1], xytext=ends[0], arrowprops=arrow).set_in_layout(False)
    ax.set_axis_off()
    return ax


def _all_places(layout: Layout) -> list[tuple[int, float]]:
    return [*layout.places.values(), *(place for bends in layout.bends.values() for place in bends)]


def _across(layout: Layout) -> list[tuple[float, float]]:
    """Return the middle and half the width of each layer, in inches: as wide as its longest name."""
    widths: dict[int, float] = {}
    for node, (layer, _) in layout.places.items():
        widths[layer] = max(widths.get(layer, 0.0), _LETTER * len(str(node)) + _PADDING)
    middles, end = [], 0.0
    for layer in range(len(widths)):
        middles.append((end + widths[layer] / 2, widths[layer] / 2))
        end += widths[layer] + _APART
    return middles


def _past(bends: list[tuple[int, float]], across: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points of an edge that passes each layer on a level, as far as its names reach."""
    levels = [(across[layer], -_ROW * place) for layer, place in bends]
    return [(middle + side * half, y) for (middle, half), y in levels for side in (-1, 1)]


def _room(ax: Axes | None, across: list[tuple[float, float]], heights: list[float]) -> Axes:
    """Return axes whose limits hold all names; a new figure has an inch for an inch."""
    right = across[-1][0] + across[-1][1] if across else 1.0
    low, high = min(heights, default=0.0) - _ROW, max(heights, default=0.0) + _ROW
    ax = own_axes(ax, (right + 0.2, high - low))
    ax.set(xlim=(-0.1, right + 0.1), ylim=(low, high))
    return ax


def _plain(node: Any) -> str:
    """Return a name as it is: a dollar sign is no formula."""
    return str(node).replace("$", r"\$")


class _Through(ConnectionStyle._Base):
    """An arrow through given points of the axes: straight without any, bent where it passes over layers."""

    def __init__(self, ax: Axes, bends: list[tuple[float, float]]) -> None:
        self._ax, self._bends = ax, bends

    def connect(self, posA: Any, posB: Any) -> Path:
        """Return the path between two points of the screen."""
        if not self._bends:
            middle = (np.asarray(posA) + posB) / 2
            return Path([posA, middle, posB], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
        points = np.vstack([posA, self._ax.transData.transform(self._bends), posB])
        vertices, codes = [points[0]], [Path.MOVETO]
        for start, end in pairwise(points):
            middle = (start[0] + end[0]) / 2
            vertices += [(middle, start[1]), (middle, end[1]), end]
            codes += [Path.CURVE4] * 3
        return Path(vertices, codes)
