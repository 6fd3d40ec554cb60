"""Causal diagrams as small pictures for notebooks: causes above their effects, what is latent dashed."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import Any

import networkx as nx

_LETTER, _HEIGHT, _GAP, _LAYER, _MARGIN = 7.4, 26, 26, 74, 22  # pixels
_DASHED = ' stroke-dasharray="4 3"'


@dataclass(frozen=True)
class _Box:
    """A variable, where it stands."""

    x: float
    y: float
    width: float

    def towards(self, x: float, y: float) -> tuple[float, float]:
        """Return the point where the line from the middle to (x, y) leaves the box."""
        right, down = x - self.x, y - self.y
        steps = [half / abs(way) for half, way in ((self.width / 2, right), (_HEIGHT / 2, down)) if way]
        share = min([1.0, *steps])
        return self.x + share * right, self.y + share * down


def svg(graph: "nx.DiGraph[Any]") -> str:
    """Return a diagram as an SVG picture that holds no script, no style sheet and no reference.

    A latent cause that stands for a bidirected edge, ``U(a,b)``, is drawn as a dashed arc between the two.

    Examples
    --------
    >>> import causalaudit as ca
    >>> picture = svg(ca.diagram([("X", "Y")], bidirected=[("X", "Y")]))
    >>> picture.count("<rect"), picture.count("stroke-dasharray")
    (2, 1)
    """
    arcs = {node: tuple(graph.successors(node)) for node in graph if _is_arc(graph, node)}
    shown: nx.DiGraph[Any] = nx.DiGraph(graph.subgraph([node for node in graph if node not in arcs]))
    boxes = _places([list(layer) for layer in nx.topological_generations(shown)])
    parts = [_edge(boxes, cause, effect, dashed=False) for cause, effect in shown.edges]
    parts += [_edge(boxes, one, other, dashed=True) for one, other in arcs.values()]
    parts += [_variable(str(node), box, bool(graph.nodes[node].get("latent"))) for node, box in boxes.items()]
    width, height = _size(boxes.values())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


def _is_arc(graph: "nx.DiGraph[Any]", node: Any) -> bool:
    effects = sorted(map(str, graph.successors(node)))
    return bool(graph.nodes[node].get("latent")) and len(effects) == 2 and node == f"U({effects[0]},{effects[1]})"


def _places(layers: list[list[Any]]) -> dict[Any, _Box]:
    """Put each layer in the middle; every other one a little aside, so that edges which skip it can be seen."""
    widths = {node: _LETTER * len(str(node)) + 18 for layer in layers for node in layer}
    rows = [sum(widths[node] for node in layer) + _GAP * (len(layer) - 1) for layer in layers]
    boxes: dict[Any, _Box] = {}
    for number, layer in enumerate(layers):
        left = _MARGIN + _LAYER + (max(rows) - rows[number]) / 2 + (1.2 if number % 2 else -1.2) * _GAP
        for node in layer:
            boxes[node] = _Box(left + widths[node] / 2, _MARGIN + _HEIGHT / 2 + _LAYER * number, widths[node])
            left += widths[node] + _GAP
    return boxes


def _size(boxes: Iterable[_Box]) -> tuple[float, float]:
    ends = [(box.x + box.width / 2, box.y + _HEIGHT / 2) for box in boxes]
    right, down = (max((end[axis] for end in ends), default=0.0) for axis in (0, 1))
    return right + _MARGIN + _LAYER, down + _MARGIN


def _variable(name: str, box: _Box, latent: bool) -> str:
    return (
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y - _HEIGHT / 2:.1f}" width="{box.width:.1f}" '
        f'height="{_HEIGHT}" rx="7" fill="white" stroke="#333"{_DASHED if latent else ""}/>'
        f'<text x="{box.x:.1f}" y="{box.y + 4:.1f}" text-anchor="middle" fill="#111">{escape(name)}</text>'
    )


def _edge(boxes: dict[Any, _Box], cause: Any, effect: Any, dashed: bool) -> str:
    """Draw an arrow: straight to the next layer, bent where it skips one; a dashed arc has a head at both ends."""
    start, end = boxes[cause], boxes[effect]
    outwards = 1 if start.x >= end.x else -1
    bend = -0.3 if dashed else 0.0 if end.y - start.y <= _LAYER else 0.22 * outwards
    middle = (
        (start.x + end.x) / 2 + bend * (end.y - start.y),
        (start.y + end.y) / 2 - bend * (end.x - start.x) - (0.6 * _LAYER if dashed and start.y == end.y else 0),
    )
    first, last = start.towards(*middle), end.towards(*middle)
    line = (
        f'<path d="M{first[0]:.1f},{first[1]:.1f} Q{middle[0]:.1f},{middle[1]:.1f} {last[0]:.1f},{last[1]:.1f}" '
        f'fill="none" stroke="#333"{_DASHED if dashed else ""}/>'
    )
    return line + _head(middle, last) + (_head(middle, first) if dashed else "")


def _head(origin: tuple[float, float], tip: tuple[float, float]) -> str:
    """Draw the head of an arrow; a marker would need a name that is unique in the whole page."""
    angle = math.atan2(tip[1] - origin[1], tip[0] - origin[0])
    sides = [(tip[0] - 8 * math.cos(angle + turn), tip[1] - 8 * math.sin(angle + turn)) for turn in (-0.4, 0.4)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [tip, *sides])
    return f'<polygon points="{points}" fill="#333"/>'
