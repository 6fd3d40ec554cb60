"""Causal diagrams as pictures."""

from collections.abc import Sequence
from typing import Any

import networkx as nx
from matplotlib.axes import Axes

from causalaudit.arguments import check_types
from causalaudit.figures import as_written, own_axes

_HIGHLIGHT = "#c44e52"


def plot_diagram(graph: "nx.DiGraph[Any]", highlight: Sequence[tuple[str, str]] = (), ax: Axes | None = None) -> Axes:
    """Draw a causal diagram from causes (left) to effects (right); latent variables are dashed.

    Examples
    --------
    >>> import causalaudit as ca
    >>> ax = ca.plots.plot_diagram(ca.models.loan.linear().graph, highlight=[("gender", "salary")])
    """
    check_types(plot_diagram, locals())
    ax = own_axes(ax)
    positions: dict[Any, tuple[float, float]] = {}
    for layer, nodes in enumerate(nx.topological_generations(graph)):
        # Every other layer is a little lower, which keeps an edge that skips a layer clear of the nodes it passes.
        for place, node in enumerate(nodes):
            positions[node] = (layer, (len(nodes) - 1) / 2 - place - 0.4 * (layer % 2))
    boxes = {}
    for node, (x, y) in positions.items():
        style = "dashed" if graph.nodes[node].get("latent") else "solid"
        box = {"boxstyle": "round,pad=0.45", "facecolor": "white", "edgecolor": "#333333", "linestyle": style}
        boxes[node] = ax.text(x, y, str(node), ha="center", va="center", bbox=box).get_bbox_patch()
        ax.plot(x, y, alpha=0)  # text alone does not stretch the axes
    for cause, effect in graph.edges:
        arrow = {
            "arrowstyle": "-|>,head_width=0.25,head_length=0.5",
            "color": _HIGHLIGHT if (cause, effect) in set(highlight) else "#333333",
            "connectionstyle": f"arc3,rad={0.0 if positions[effect][0] - positions[cause][0] == 1 else -0.1}",
            "patchA": boxes[cause],
            "patchB": boxes[effect],
        }
        ax.annotate("", xy=positions[effect], xytext=positions[cause], arrowprops=arrow)
    ax.margins(0.2)
    ax.set_axis_off()
    return as_written(ax)
