"""Causal diagrams as small pictures for notebooks: causes above their effects, what is latent dashed."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import networkx as nx

from causalaudit.scm.layout import layered

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
    layout = layered(shown, _width, _GAP)
    left = min([place - _width(node) / 2 for node, (_, place) in layout.places.items()], default=0.0)
    left = min([left, *(place for bends in layout.bends.values() for _, place in bends)]) - _MARGIN - _LAYER / 2

    def point(place: tuple[int, float]) -> tuple[float, float]:
        return place[1] - left, _MARGIN + _HEIGHT / 2 + _LAYER * place[0]

    boxes = {node: _Box(*point(place), _width(node)) for node, place in layout.places.items()}
    parts = [
        _edge(boxes[cause], boxes[effect], [point(bend) for bend in layout.bends.get((cause, effect), [])])
        for cause, effect in shown.edges
    ]
    parts += [_arc(boxes[one], boxes[other]) for one, other in arcs.values()]
    parts += [_variable(str(node), box, bool(graph.nodes[node].get("latent"))) for node, box in boxes.items()]
    bends = [_Box(*point(bend), 0.0) for bends in layout.bends.values() for bend in bends]
    width, height = _size([*boxes.values(), *bends])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12">{"".join(parts)}</svg>'
    )


def _is_arc(graph: "nx.DiGraph[Any]", node: Any) -> bool:
    effects = sorted(map(str, graph.successors(node)))
    return bool(graph.nodes[node].get("latent")) and len(effects) == 2 and node == f"U({effects[0]},{effects[1]})"


def _width(node: Any) -> float:
    return _LETTER * len(str(node)) + 18


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


def _edge(start: _Box, end: _Box, bends: list[tuple[float, float]]) -> str:
    """Draw an arrow: straight to the next layer, bent where it passes over others, upright between their variables."""
    if not bends:
        first, last = start.towards(end.x, end.y), end.towards(start.x, start.y)
        return f'<path d="M{_at(first)} L{_at(last)}" fill="none" stroke="#333"/>' + _head(first, last)
    half = _HEIGHT / 2
    tip = (end.x, end.y - half)
    passed = [(x, y + side * half) for x, y in bends for side in (-1, 1)]
    points = [(start.x, start.y + half), *passed, tip]
    way = f"M{_at(points[0])}"
    for one, other in pairwise(points):
        middle = (one[1] + other[1]) / 2
        way += f" C{_at((one[0], middle))} {_at((other[0], middle))} {_at(other)}"
    return f'<path d="{way}" fill="none" stroke="#333"/>' + _head((tip[0], tip[1] - 1), tip)


def _arc(start: _Box, end: _Box) -> str:
    """Draw a dashed arc with a head at both ends: a hidden common cause."""
    beside = 0.6 * _LAYER if start.y == end.y else 0.0
    middle = (
        (start.x + end.x) / 2 - 0.3 * (end.y - start.y),
        (start.y + end.y) / 2 + 0.3 * (end.x - start.x) - beside,
    )
    first, last = start.towards(*middle), end.towards(*middle)
    line = f'<path d="M{_at(first)} Q{_at(middle)} {_at(last)}" fill="none" stroke="#333"{_DASHED}/>'
    return line + _head(middle, last) + _head(middle, first)


def _at(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _head(origin: tuple[float, float], tip: tuple[float, float]) -> str:
    """Draw the head of an arrow; a marker would need a name that is unique in the whole page."""
    angle = math.atan2(tip[1] - origin[1], tip[0] - origin[0])
    sides = [(tip[0] - 8 * math.cos(angle + turn), tip[1] - 8 * math.sin(angle + turn)) for turn in (-0.4, 0.4)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [tip, *sides])
    return f'<polygon points="{points}" fill="#333"/>'
