"""The explanation criterion: for which covariates data and a diagram explain a classifier's error rates."""

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import networkx as nx

from causalaudit.arguments import check_name, check_names
from causalaudit.errors import DataError, nearest


def find_explaining_set(
    graph: "nx.DiGraph[Any]", features: Iterable[str], protected: str, *, outcome: str
) -> frozenset[str] | None:
    """Find covariates from which the error rates of a classifier can be explained (Zhang and Bareinboim, Algorithm 1).

    Parameters
    ----------
    graph
        The causal diagram, from `SCM.graph` or `causalaudit.diagram`; latent variables have the attribute `latent`.
    features
        What the classifier reads, with the protected attribute if it reads that too.
    protected
        The protected attribute X.
    outcome
        The true outcome Y, which a classifier cannot read.

    Returns
    -------
    frozenset or None
        A smallest set of observed covariates that satisfies Definition 4, in the sense that none can be left out.
        The empty set is an answer: there is nothing to adjust for. None: there is no such set, and direct, indirect
        and spurious terms cannot all be estimated from data and this diagram; `open_path` says why.

    Notes
    -----
    Condition 3 of Definition 4 is read over proper paths, which leave {X, Y} once and do not come back; neither X nor
    Y is a covariate.

    Examples
    --------
    >>> import causalaudit as ca
    >>> compas = ca.diagram([("X", "W"), ("X", "Y"), ("Z", "W"), ("Z", "Y"), ("W", "Y")], bidirected=[("X", "Z")])
    >>> ca.find_explaining_set(compas, ["X", "Z"], "X", outcome="Y")
    frozenset({'Z'})
    >>> ca.find_explaining_set(compas, ["X"], "X", outcome="Y")
    frozenset()
    >>> ca.find_explaining_set(compas, ["X", "W", "Z"], "X", outcome="Y") is None
    True
    """
    problem = _Problem.of(graph, features, protected, outcome)
    if not problem.targets:
        return problem.unaffected
    found = nx.find_minimal_d_separator(
        problem.backdoor_graph,
        set(problem.sources),
        set(problem.targets),
        included=set(problem.unaffected),
        restricted=set(problem.allowed),
    )
    return None if found is None else frozenset(found)


def is_explaining_set(
    graph: "nx.DiGraph[Any]", features: Iterable[str], protected: str, *, outcome: str, covariates: Iterable[str]
) -> bool:
    """Return whether a set of covariates satisfies the explanation criterion (Definition 4), by Definition 5.

    The two are one by Theorem 5.

    Examples
    --------
    >>> import causalaudit as ca
    >>> from causalaudit.error_rates.explaining.criterion import is_explaining_set
    >>> parallel = ca.diagram([("Z", "X"), ("Z", "W"), ("Z", "Y"), ("X", "W"), ("X", "Y")])
    >>> [is_explaining_set(parallel, ["X", "W"], "X", outcome="Y", covariates=chosen) for chosen in ({"Z"}, ())]
    [True, False]
    """
    problem, chosen = _Problem.of(graph, features, protected, outcome), frozenset(covariates)
    _check_nodes(graph, chosen, "covariate")
    if not problem.unaffected <= chosen <= problem.allowed:
        return False
    return nx.is_d_separator(problem.backdoor_graph, set(problem.sources), set(problem.targets), set(chosen))


def split_features(
    graph: "nx.DiGraph[Any]", features: Iterable[str], protected: str, *, outcome: str
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the features that descend from X or Y (X among them), and the others: the paper's Ŵ and Ẑ.

    Examples
    --------
    >>> import causalaudit as ca
    >>> from causalaudit.error_rates.explaining.criterion import split_features
    >>> graph = ca.diagram([("X", "W"), ("Z", "W"), ("W", "Y")])
    >>> affected, unaffected = split_features(graph, ["X", "W", "Z"], "X", outcome="Y")
    >>> sorted(affected), sorted(unaffected)
    (['W', 'X'], ['Z'])
    """
    problem = _Problem.of(graph, features, protected, outcome)
    return problem.features - problem.unaffected, problem.unaffected


def open_path(graph: "nx.DiGraph[Any]", features: Iterable[str], protected: str, *, outcome: str) -> str | None:
    """Say in words which spurious path no covariates can block; None when there is an explaining set.

    Where covariates could block anything at all, the observed ancestors that Definition 4 allows do, all together: a
    path that is open given those is open for good.

    Examples
    --------
    >>> import causalaudit as ca
    >>> from causalaudit.error_rates.explaining.criterion import open_path
    >>> graph = ca.diagram([("X", "W"), ("X", "Y"), ("W", "Y")], bidirected=[("X", "W")])
    >>> open_path(graph, ["X", "W"], "X", outcome="Y")
    'Y <- W: nothing lies between Y and the feature W'
    >>> open_path(ca.diagram([("X", "W"), ("X", "Y"), ("Y", "W")], [("X", "W")]), ["W"], "X", outcome="Y")
    'X <-> W: an unobserved variable is behind both'
    """
    problem = _Problem.of(graph, features, protected, outcome)
    if not problem.targets:
        return None
    path, conditioned = _connection(problem)
    if not path:
        return None
    return f"{_written(graph, path)}: {_reason(graph, path, conditioned)}"


@dataclass(frozen=True)
class _Problem:
    """The sets of Definition 4: {X, Y} are the sources; the features they change, without X, the targets."""

    graph: "nx.DiGraph[Any]"
    features: frozenset[str]
    sources: frozenset[str]

    @classmethod
    def of(cls, graph: "nx.DiGraph[Any]", features: Iterable[str], protected: str, outcome: str) -> "_Problem":
        """Check what was given."""
        if not isinstance(graph, nx.DiGraph) or not nx.is_directed_acyclic_graph(graph):
            raise DataError("graph must be a causal diagram without cycles: use SCM.graph or causalaudit.diagram.")
        if isinstance(features, Iterable) and not isinstance(features, Collection):
            features = list(features)
        read = frozenset(check_names("features", features, of="variables"))
        for name, value in (("protected", protected), ("outcome", outcome)):
            check_name(name, value, of="a variable")
        _check_nodes(graph, [protected], "protected attribute")
        _check_nodes(graph, [outcome], "outcome")
        _check_nodes(graph, sorted(read, key=str), "feature")
        if protected == outcome:
            raise DataError(f"{protected!r} is given as protected attribute and as outcome; they must differ.")
        if outcome in read:
            raise DataError(
                f"The classifier reads the outcome {outcome!r}, which it is to predict: take it out of the features."
            )
        return cls(graph, read, frozenset({protected, outcome}))

    @cached_property
    def unaffected(self) -> frozenset[str]:
        """The features that descend neither from X nor from Y."""
        return self.features - self.sources - _closure(self.graph.successors, self.sources)

    @cached_property
    def targets(self) -> frozenset[str]:
        return self.features - self.unaffected - self.sources

    @cached_property
    def mediators(self) -> frozenset[str]:
        """The nodes on proper causal paths from {X, Y} to the targets, without the sources."""
        reached = _closure(self.graph.successors, self.sources, around=self.sources)
        reaching = _closure(self.graph.predecessors, self.targets, around=self.sources)
        return (reached & reaching) - self.sources

    @cached_property
    def allowed(self) -> frozenset[str]:
        """The observed nodes that may be covariates: no descendants of mediators, and neither X nor Y."""
        observed = {node for node, latent in self.graph.nodes(data="latent") if not latent}
        return frozenset(observed - _closure(self.graph.successors, self.mediators) - self.sources)

    @cached_property
    def backdoor_graph(self) -> "nx.DiGraph[Any]":
        """The diagram without the first edge of each proper causal path (Definition 5)."""
        first = [(source, node) for source in self.sources for node in self.graph.successors(source)]
        pruned = self.graph.copy()
        pruned.remove_edges_from([edge for edge in first if edge[1] in self.mediators])
        return pruned


def _closure(step: Any, start: Iterable[str], around: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return `start` and all that `step` leads to from there, entering no node of `around`."""
    seen, waiting = set(start), deque(start)
    while waiting:
        fresh = set(step(waiting.popleft())) - seen - around
        seen |= fresh
        waiting.extend(fresh)
    return frozenset(seen)


def _check_nodes(graph: "nx.DiGraph[Any]", names: Iterable[str], what: str) -> None:
    for name in names:
        if name not in graph:
            known = [str(node) for node, latent in graph.nodes(data="latent") if not latent]
            raise DataError(f"The {what} {name!r} is not in the diagram: {nearest(str(name), known)}")
        if graph.nodes[name].get("latent"):
            raise DataError(f"The {what} {name!r} is latent in the diagram, but must be observed.")


def _connection(problem: _Problem) -> tuple[list[str], frozenset[str]]:
    """Return a shortest open path between sources and targets (or none), and what was conditioned on.

    A search over pairs of a node and whether it was entered against the arrow (upwards).
    """
    graph = problem.backdoor_graph
    ends = problem.sources | problem.targets | problem.unaffected
    ancestors = _closure(graph.predecessors, ends)
    conditioned = problem.allowed & ancestors
    opened = _closure(graph.predecessors, conditioned)
    start: list[tuple[str, bool]] = [(source, True) for source in sorted(problem.sources, key=str)]
    came: dict[tuple[str, bool], tuple[str, bool] | None] = dict.fromkeys(start)
    waiting = deque(start)
    while waiting:
        node, upwards = state = waiting.popleft()
        if node in problem.targets:
            return _walk(came, state), conditioned
        for following in _next_states(graph, node, upwards, conditioned, opened):
            if following not in came and following[0] not in problem.sources:
                came[following] = state
                waiting.append(following)
    return [], conditioned


def _next_states(
    graph: "nx.DiGraph[Any]", node: str, upwards: bool, conditioned: frozenset[str], opened: frozenset[str]
) -> list[tuple[str, bool]]:
    """Return where an open path may go on from a node: through non-colliders not given, and opened colliders."""
    steps: list[tuple[str, bool]] = []
    if node not in conditioned:
        steps += [(child, False) for child in graph.successors(node)]
    if (upwards and node not in conditioned) or (not upwards and node in opened):
        steps += [(parent, True) for parent in graph.predecessors(node)]
    return steps


def _walk(came: dict[tuple[str, bool], tuple[str, bool] | None], state: tuple[str, bool]) -> list[str]:
    path: list[str] = []
    position: tuple[str, bool] | None = state
    while position is not None:
        path.append(position[0])
        position = came[position]
    return path[::-1]


def _bidirected(graph: "nx.DiGraph[Any]", node: str) -> bool:
    """Whether a node stands for a bidirected edge of `causalaudit.diagram`."""
    return bool(graph.nodes[node].get("latent")) and str(node) == f"U({','.join(sorted(map(str, graph[node])))})"


def _written(graph: "nx.DiGraph[Any]", path: list[str]) -> str:
    words = [str(path[0])]
    for before, node in pairwise(path):
        if _bidirected(graph, node):
            words.append("<->")
        elif _bidirected(graph, before):
            words.append(str(node))
        else:
            words += ["->" if graph.has_edge(before, node) else "<-", str(node)]
    return " ".join(words)


def _reason(graph: "nx.DiGraph[Any]", path: list[str], conditioned: frozenset[str]) -> str:
    """Say why what lies between the ends does not block the path."""
    between = path[1:-1]
    if not between:
        return f"nothing lies between {path[0]} and the feature {path[-1]}"
    if all(graph.nodes[node].get("latent") for node in between):
        return "an unobserved variable is behind both" if len(between) == 1 else "only unobserved variables lie between"
    reasons = []
    for before, node, after in zip(path, between, path[2:], strict=False):
        if graph.has_edge(before, node) and graph.has_edge(after, node):
            reasons.append(f"conditioning on {node} or on what follows from it opens it")
        elif not graph.nodes[node].get("latent") and node not in conditioned:
            reasons.append(f"{node} may not be conditioned on: the protected attribute or the outcome affects it")
    return "; ".join(dict.fromkeys(reasons))
