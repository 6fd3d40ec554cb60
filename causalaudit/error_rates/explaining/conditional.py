"""The diagram that explains an error rate: given the true outcome, with the prediction, and the paths it opens."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import networkx as nx

from causalaudit.error_rates.explaining.criterion import split_features

PREDICTION = "Ŷ"
Edge = tuple[str, str, bool]  # from, to, and whether it is bidirected


@dataclass(frozen=True)
class ConditionalDiagram:
    """G|Y with the prediction: what remains of a diagram once the outcome is known.

    Attributes
    ----------
    directed : networkx.DiGraph
        The observed variables without the outcome, and the prediction as a child of the features.
    bidirected : frozenset of frozenset
        Pairs whose noises are correlated given the outcome.
    protected : str
        Where the paths start.
    """

    directed: "nx.DiGraph[str]"
    bidirected: frozenset[frozenset[str]]
    protected: str

    @classmethod
    def of(
        cls, graph: "nx.DiGraph[str]", features: Iterable[str], protected: str, outcome: str
    ) -> "ConditionalDiagram":
        """Build it from a diagram (Zhang and Bareinboim 2018, below Theorem 1).

        The outcome is removed with its arrows; variables are joined by a bidirected edge if they share a latent cause,
        or if the noises (or latent causes) of both are among the causes of the outcome.

        Examples
        --------
        >>> import causalaudit as ca
        >>> collider = ca.diagram([("X", "Y"), ("Z", "Y")])
        >>> given = ConditionalDiagram.of(collider, ["X", "Z"], "X", "Y")
        >>> [sorted(pair) for pair in given.bidirected]
        [['X', 'Z']]
        """
        if isinstance(features, Iterable) and not isinstance(features, Collection):
            features = list(features)  # it is read twice
        split_features(graph, features, protected, outcome=outcome)  # refuses what is not in the diagram
        observed = [node for node, latent in graph.nodes(data="latent") if not latent and node != outcome]
        directed: nx.DiGraph[str] = nx.DiGraph(graph.subgraph(observed))
        directed.add_edges_from((name, PREDICTION) for name in features)
        causes = nx.ancestors(graph, outcome)
        noises = {node: {node} | _latent_causes(graph, node) for node in observed}
        pairs = {
            frozenset({one, other})
            for one, other in combinations(observed, 2)
            if noises[one] & noises[other] or (noises[one] & causes and noises[other] & causes)
        }
        return cls(directed, frozenset(pairs), protected)

    def paths(self) -> Iterator[tuple[str, list[Edge]]]:
        """Yield the active paths from the protected attribute to the prediction: their kind, and their edges.

        Without a path of a kind there is no measure of that kind (Theorem 1).

        A path is active if it has no collider, since nothing but the outcome is given. Edges point as their arrows do,
        bidirected ones along the path.
        """
        yield from self._go(self.protected, rising=True, visited=(self.protected,), edges=[])

    def _go(
        self, node: str, rising: bool, visited: tuple[str, ...], edges: list[Edge]
    ) -> Iterator[tuple[str, list[Edge]]]:
        if node == PREDICTION:
            yield self._kind(edges), edges
            return
        steps = [(child, False, (node, child, False)) for child in self.directed.successors(node)]
        if rising:
            steps += [(parent, True, (parent, node, False)) for parent in self.directed.predecessors(node)]
            others = [other for pair in self.bidirected if node in pair for other in pair - {node}]
            steps += [(other, False, (node, other, True)) for other in sorted(others)]
        for following, still_rising, edge in steps:
            if following not in visited:
                yield from self._go(following, still_rising, (*visited, following), [*edges, edge])

    def _kind(self, edges: list[Edge]) -> str:
        """Tell the direct path, indirect ones (along arrows alone) and spurious ones apart."""
        along = [edge[0] for edge in edges] == [self.protected, *(edge[1] for edge in edges[:-1])]
        if not along or any(bidirected for _, _, bidirected in edges):
            return "spurious"
        return "direct" if len(edges) == 1 else "indirect"


def _latent_causes(graph: "nx.DiGraph[str]", node: str) -> set[str]:
    """Return the latent variables that a node depends on by latent variables alone."""
    found: set[str] = set()
    waiting = [parent for parent in graph.predecessors(node) if graph.nodes[parent].get("latent")]
    while waiting:
        latent = waiting.pop()
        found.add(latent)
        waiting += [p for p in graph.predecessors(latent) if graph.nodes[p].get("latent") and p not in found]
    return found
