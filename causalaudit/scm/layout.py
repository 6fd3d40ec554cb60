"""Where the variables of a causal diagram stand: in layers, with as few crossings as a short search finds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
from scipy.optimize import isotonic_regression

Edge: TypeAlias = tuple[Any, Any]
_SWEEPS, _RELAXATIONS = 12, 40
_STRAIGHT = 4.0  # how much rather a long edge is straight than a variable near its neighbours


@dataclass(frozen=True)
class Layout:
    """A layered drawing.

    Attributes
    ----------
    places
        Of each variable its layer (causes before effects) and where it stands in it.
    bends
        Of each edge that passes over layers, where it goes through them.
    """

    places: dict[Any, tuple[int, float]]
    bends: dict[Edge, list[tuple[int, float]]]


def layered(graph: "nx.DiGraph[Any]", extent: Callable[[Any], float], gap: float) -> Layout:
    """Lay out an acyclic diagram so that no edge runs through a variable that it does not touch.

    An edge over several layers has a place of its own in each, of no extent; layers are ordered by the means of their
    neighbours, back and forth, and of the orders met the one with the fewest crossings is kept.

    Parameters
    ----------
    graph
        An acyclic diagram.
    extent
        How much room a variable takes in its layer.
    gap
        How much is left free between two of them.

    References
    ----------
    Sugiyama, Tagawa and Toda (1981), Methods for visual understanding of hierarchical system structures.

    Examples
    --------
    >>> import networkx as nx
    >>> chain = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")])
    >>> found = layered(chain, lambda node: 1.0, 0.5)
    >>> [found.places[node][0] for node in "abc"], [layer for layer, _ in found.bends["a", "c"]]
    ([0, 1, 2], [1])
    >>> abs(found.bends["a", "c"][0][1] - found.places["b"][1]) >= 1.0  # beside b, not through it
    True
    """
    layers = [list(nodes) for nodes in nx.topological_generations(graph)]
    layer_of = {node: number for number, nodes in enumerate(layers) for node in nodes}
    drawn: nx.DiGraph[Any] = nx.DiGraph()
    drawn.add_nodes_from(graph)
    chains = {}
    for cause, effect in graph.edges:
        chain = [_Bend(cause, effect, number) for number in range(layer_of[cause] + 1, layer_of[effect])]
        for bend in chain:
            layers[bend.layer].append(bend)
        nx.add_path(drawn, [cause, *chain, effect])
        chains[cause, effect] = chain
    order = _ordered(drawn, layers)
    at = _relaxed(drawn, order, lambda node: 0.0 if isinstance(node, _Bend) else extent(node), gap)
    places = {node: (number, at[node]) for node, number in layer_of.items()}
    return Layout(places, {edge: [(bend.layer, at[bend]) for bend in chain] for edge, chain in chains.items() if chain})


@dataclass(frozen=True)
class _Bend:
    """Where a long edge passes through a layer."""

    cause: Any
    effect: Any
    layer: int


def _ordered(drawn: "nx.DiGraph[Any]", layers: Sequence[list[Any]]) -> list[list[Any]]:
    best, fewest = list(layers), _crossings(drawn, layers)
    order = [list(nodes) for nodes in layers]
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        numbers = range(1, len(order)) if down else range(len(order) - 2, -1, -1)
        for number in numbers:
            beside = order[number - 1 if down else number + 1]
            rank = {node: place for place, node in enumerate(beside)}
            neighbours = drawn.predecessors if down else drawn.successors
            order[number] = _by_means(order[number], rank, neighbours)
        found = _crossings(drawn, order)
        if found < fewest:
            best, fewest = [list(nodes) for nodes in order], found
    return best


def _by_means(nodes: list[Any], rank: dict[Any, int], neighbours: Callable[[Any], Any]) -> list[Any]:
    """Order by the mean rank of the neighbours; a node without any keeps its place."""

    def mean(place: int) -> float:
        ranks = [rank[other] for other in neighbours(nodes[place]) if other in rank]
        return float(np.mean(ranks)) if ranks else float(place)

    return [nodes[place] for place in sorted(range(len(nodes)), key=mean)]


def _crossings(drawn: "nx.DiGraph[Any]", layers: Sequence[list[Any]]) -> int:
    total = 0
    for upper, lower in pairwise(layers):
        rank = {node: place for place, node in enumerate(lower)}
        ends = [(place, rank[other]) for place, node in enumerate(upper) for other in drawn.successors(node)]
        if ends:
            first, second = np.array(ends).T
            total += int(((first[:, None] < first) & (second[:, None] > second)).sum())
    return total


def _relaxed(
    drawn: "nx.DiGraph[Any]", layers: list[list[Any]], extent: Callable[[Any], float], gap: float
) -> dict[Any, float]:
    """Draw each node towards its neighbours, the order in its layer and the gaps being kept."""
    steps = [_steps([extent(node) for node in nodes], gap) for nodes in layers]
    at = {
        node: place for nodes, step in zip(layers, steps, strict=True) for node, place in zip(nodes, step, strict=True)
    }
    beside = {node: [*drawn.predecessors(node), *drawn.successors(node)] for node in drawn}
    for _ in range(_RELAXATIONS):
        for nodes, step in zip(layers, steps, strict=True):
            wanted = np.array([np.mean([at[other] for other in beside[node]] or [at[node]]) for node in nodes])
            weights = np.array([_STRAIGHT if isinstance(node, _Bend) else 1.0 for node in nodes])
            found = isotonic_regression(wanted - step, weights=weights).x + step
            at.update(zip(nodes, found.tolist(), strict=True))
    return at


def _steps(extents: Sequence[float], gap: float) -> np.ndarray:
    """Places of a layer that is packed, in the middle around 0."""
    sizes = np.array(extents)
    ends = np.concatenate([[0.0], np.cumsum((sizes[:-1] + sizes[1:]) / 2 + gap)])
    packed: np.ndarray = ends - ends[-1] / 2
    return packed
