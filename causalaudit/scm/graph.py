"""Causal diagrams: directed graphs over variables, in which latent ones are marked."""

from collections.abc import Iterable

import networkx as nx

from causalaudit.arguments import check_types, shown
from causalaudit.errors import CausalAuditError, DataError
from causalaudit.markup import piece
from causalaudit.scm.svg import svg


class Diagram(nx.DiGraph):
    """A causal diagram: a directed graph that notebooks show as a picture."""

    def _repr_html_(self) -> str:
        return piece(f'<div class="paper">{svg(self)}</div>')


def diagram(directed: Iterable[tuple[str, str]], bidirected: Iterable[tuple[str, str]] = ()) -> Diagram:
    """Build a causal diagram by hand.

    Parameters
    ----------
    directed
        Pairs (cause, effect).
    bidirected
        Pairs that share an unobserved cause; each becomes a latent parent of both, named ``U(a,b)``.

    Returns
    -------
    Diagram
        A `networkx.DiGraph`, shown as a picture in notebooks. Its nodes have the attribute `latent`.

    Examples
    --------
    >>> import causalaudit as ca
    >>> graph = ca.diagram([("X", "W"), ("W", "Y")], bidirected=[("X", "Y")])
    >>> sorted(graph.predecessors("Y"))
    ['U(X,Y)', 'W']
    >>> [node for node, latent in graph.nodes(data="latent") if latent]
    ['U(X,Y)']
    """
    check_types(diagram, locals())
    graph = Diagram()
    for name in (node for pair in (*directed, *bidirected) for node in pair):
        if not isinstance(name, str) or not name:
            raise DataError(f"A variable of the diagram is {shown(name)}, but must have a text for a name.")
    for cause, effect in directed:
        graph.add_edge(cause, effect)
    for one, other in bidirected:
        first, second = sorted((one, other))
        latent = f"U({first},{second})"
        graph.add_node(latent, latent=True)
        graph.add_edges_from([(latent, one), (latent, other)])
    for node in graph:
        graph.nodes[node].setdefault("latent", False)
    if not nx.is_directed_acyclic_graph(graph):
        cycle = " -> ".join(cause for cause, _ in nx.find_cycle(graph))
        raise CausalAuditError(f"A causal diagram has no cycles, but this one has {cycle}. Remove one of its edges.")
    return graph
