"""The explanation criterion against the reference, and against brute force over Definition 4."""

import itertools
import json

import networkx as nx
import numpy as np
import pytest

import causalaudit as ca
from causalaudit.error_rates.explaining.criterion import is_explaining_set, open_path, split_features
from causalaudit.errors import DataError

COMPAS = ca.diagram([("X", "W"), ("X", "Y"), ("Z", "W"), ("Z", "Y"), ("W", "Y")], bidirected=[("X", "Z")])


def random_diagram(seed):
    """Five observed variables in a random order, some bidirected edges, and some of them as features."""
    rng = np.random.default_rng(seed)
    names = list(rng.permutation(["X", "Y", "A", "B", "C"]))
    pairs = list(itertools.combinations(names, 2))
    directed = [pair for pair in pairs if rng.random() < 0.45]
    bidirected = [pair for pair in pairs if rng.random() < 0.15]
    graph = ca.diagram(directed, bidirected)
    graph.add_nodes_from(names, latent=False)
    return graph, [name for name in names if name != "Y" and rng.random() < 0.6]


def valid_sets(graph, features):
    """All sets of Definition 4, path by path: nothing here is shared with the package."""
    sources, observed = {"X", "Y"}, {node for node in graph if not str(node).startswith("U(")}
    below = set().union(*(nx.descendants(graph, source) for source in sources))
    unaffected = {name for name in features if name not in below | sources}
    targets = set(features) - unaffected - {"X"}
    forbidden, spurious = set(), []
    for source, target in itertools.product(sources, targets):
        for path in nx.all_simple_paths(graph.to_undirected(as_view=True), source, target):
            if set(path[1:]) & sources:
                continue
            if all(graph.has_edge(*edge) for edge in itertools.pairwise(path)):
                forbidden |= set(path[1:]).union(*(nx.descendants(graph, node) for node in path[1:]))
            else:
                spurious.append(path)
    free = sorted(observed - sources - unaffected)
    sets = (unaffected | set(extra) for size in range(len(free) + 1) for extra in itertools.combinations(free, size))
    return [chosen for chosen in sets if not chosen & forbidden and all(blocked(graph, p, chosen) for p in spurious)]


def blocked(graph, path, chosen):
    for before, node, after in zip(path, path[1:], path[2:], strict=False):
        if graph.has_edge(before, node) and graph.has_edge(after, node):
            if not ({node} | nx.descendants(graph, node)) & chosen:
                return True
        elif node in chosen:
            return True
    return False


def test_reference(reference_folder):
    cases = json.loads((reference_folder / "explaining_sets.json").read_text())["cases"]
    assert len(cases) == 20
    for case in cases:
        graph = ca.diagram(case["directed"], case["bidirected"])
        graph.add_nodes_from(case["nodes"])
        found = ca.find_explaining_set(graph, case["features"], "X", outcome="Y")
        affected, unaffected = split_features(graph, case["features"], "X", outcome="Y")
        assert (sorted(affected), sorted(unaffected)) == (sorted(case["What"]), sorted(case["Zhat"]))
        assert (found is not None) == case["explainable"], case["name"]
        assert found is None or sorted(found) in [sorted(each) for each in case["all_valid_sets"]]
        others = sorted(set(case["nodes"]) - {"X", "Y"})
        for size in range(len(others) + 1):
            for chosen in itertools.combinations(others, size):
                valid = sorted(chosen) in [sorted(each) for each in case["all_valid_sets"]]
                assert is_explaining_set(graph, case["features"], "X", outcome="Y", covariates=chosen) == valid


def test_brute_force():
    answers = []
    for seed in range(500):
        graph, features = random_diagram(seed)
        valid = valid_sets(graph, features)
        found = ca.find_explaining_set(graph, features, "X", outcome="Y")
        answers.append(found)
        assert (found is None) == (not valid)
        assert (open_path(graph, features, "X", outcome="Y") is None) == bool(valid)
        if found is not None:
            assert found in valid
            assert not any(smaller < found for smaller in valid), "a smaller set would do"
        for size in range(4):
            for chosen in itertools.combinations("ABC", size):
                assert is_explaining_set(graph, features, "X", outcome="Y", covariates=chosen) == (set(chosen) in valid)
    # The test means something only if all kinds of answers occur.
    assert sum(answer is None for answer in answers) > 100
    assert sum(answer == frozenset() for answer in answers) > 50
    assert sum(bool(answer) for answer in answers) > 100


def test_latent_variables_of_a_program_are_no_covariates():
    graph = ca.diagram([("L", "X"), ("L", "W"), ("X", "W"), ("X", "Y")])
    assert ca.find_explaining_set(graph, ["X", "W"], "X", outcome="Y") == {"L"}
    graph.nodes["L"]["latent"] = True
    assert ca.find_explaining_set(graph, ["X", "W"], "X", outcome="Y") is None
    assert open_path(graph, ["X", "W"], "X", outcome="Y") == "X <- L -> W: an unobserved variable is behind both"


def test_the_empty_set_is_an_answer():
    found = ca.find_explaining_set(COMPAS, ["X"], "X", outcome="Y")
    assert found is not None
    assert found == frozenset()
    assert ca.find_explaining_set(COMPAS, [], "X", outcome="Y") == frozenset()


@pytest.mark.parametrize(
    ("directed", "bidirected", "features", "words"),
    [
        ([("X", "W"), ("W", "Y")], [], ["W"], "Y <- W: nothing lies between Y and the feature W"),
        (
            [("X", "W"), ("W", "Y"), ("W", "D"), ("Y", "D")],
            [],
            ["D"],
            "Y <- W -> D: W may not be conditioned on: the protected attribute or the outcome affects it",
        ),
        (
            [("X", "W"), ("X", "Y"), ("W", "V")],
            [("X", "Z"), ("Z", "W")],
            ["W", "Z"],
            "X <-> Z <-> W: conditioning on Z or on what follows from it opens it",
        ),
        (
            [("X", "W"), ("X", "Y"), ("A", "W")],
            [("Y", "A"), ("A", "W")],
            ["W", "A"],
            "Y <-> A <-> W: conditioning on A or on what follows from it opens it",
        ),
    ],
)
def test_the_open_path_is_named(directed, bidirected, features, words):
    graph = ca.diagram(directed, bidirected)
    assert ca.find_explaining_set(graph, features, "X", outcome="Y") is None
    assert open_path(graph, features, "X", outcome="Y") == words


def test_two_hundred_nodes():
    rng = np.random.default_rng(0)
    names = [f"V{number}" for number in range(200)]
    edges = [pair for pair in itertools.combinations(names, 2) if rng.random() < 0.05]
    graph = ca.diagram(edges, [pair for pair in itertools.combinations(names, 2) if rng.random() < 0.002])
    graph.add_nodes_from(names, latent=False)
    for protected, outcome, features in (("V100", "V199", range(110, 130)), ("V10", "V190", range(150, 180))):
        names = [f"V{number}" for number in features]
        found = ca.find_explaining_set(graph, names, protected, outcome=outcome)
        affected, _ = split_features(graph, names, protected, outcome=outcome)
        assert len(affected) > 3, "a case with nothing to separate would show nothing"
        assert (found is None) == (outcome == "V190")
        assert (open_path(graph, names, protected, outcome=outcome) is None) == (found is not None)
        assert found is None or is_explaining_set(graph, names, protected, outcome=outcome, covariates=found)


@pytest.mark.parametrize(
    ("features", "protected", "outcome", "words"),
    [
        (["X", "Y"], "X", "Y", "reads the outcome 'Y'"),
        (["X", "Q"], "X", "Y", "feature 'Q' is not in the diagram"),
        (["X"], "Race", "Y", "protected attribute 'Race' is not in the diagram"),
        (["X"], "X", "Recid", "outcome 'Recid' is not in the diagram"),
        (["X"], "X", "X", "given as protected attribute and as outcome"),
        (["U(X,Z)"], "X", "Y", r"'U\(X,Z\)' is latent"),
        ("X", "X", "Y", "must be a list"),
    ],
)
def test_bad_input(features, protected, outcome, words):
    with pytest.raises(DataError, match=words):
        ca.find_explaining_set(COMPAS, features, protected, outcome=outcome)


def test_a_graph_with_a_cycle():
    with pytest.raises(DataError, match="without cycles"):
        ca.find_explaining_set(nx.DiGraph([("X", "Y"), ("Y", "X")]), ["X"], "X", outcome="Y")


def test_bad_covariates():
    with pytest.raises(DataError, match="covariate 'Q' is not in the diagram"):
        is_explaining_set(COMPAS, ["X"], "X", outcome="Y", covariates=["Q"])
