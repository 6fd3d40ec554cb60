"""Diagrams are laid out in layers, and no edge runs through a variable that it does not touch."""

import networkx as nx
import numpy as np
import pytest

import causalaudit as ca
from causalaudit.scm.layout import layered


def random_diagram(seed, size=9):
    rng = np.random.default_rng(seed)
    names = [f"v{number}" for number in range(size)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    diagram = nx.DiGraph()
    diagram.add_nodes_from(names)
    diagram.add_edges_from(pair for pair in pairs if rng.random() < 0.5)
    return diagram


def extent(node):
    return 1.0 + len(str(node)) / 10


@pytest.mark.parametrize("seed", range(20))
def test_edges_go_around_variables(seed):
    diagram = random_diagram(seed)
    found = layered(diagram, extent, 0.5)
    assert set(found.places) == set(diagram)
    for (cause, effect), bends in found.bends.items():
        layers = list(range(found.places[cause][0] + 1, found.places[effect][0]))
        assert [layer for layer, _ in bends] == layers
        for layer, place in bends:
            beside = [node for node, (other, _) in found.places.items() if other == layer]
            assert all(abs(found.places[node][1] - place) >= extent(node) / 2 + 0.5 - 1e-9 for node in beside)
    for one, (layer, place) in found.places.items():
        for other, (its_layer, its_place) in found.places.items():
            if one != other and layer == its_layer:
                assert abs(place - its_place) >= (extent(one) + extent(other)) / 2 + 0.5 - 1e-9
    assert all(found.places[cause][0] < found.places[effect][0] for cause, effect in diagram.edges)
    assert layered(diagram, extent, 0.5) == found


def test_two_crossed_edges_are_uncrossed():
    found = layered(nx.DiGraph([("a", "d"), ("b", "c")]), extent, 0.5).places
    assert np.sign(found["a"][1] - found["b"][1]) == np.sign(found["d"][1] - found["c"][1])


def test_a_new_figure_has_room_for_all_names():
    ax = ca.plots.plot_diagram(ca.models.adult.census().graph)
    ax.figure.canvas.draw()
    edges = ax.figure.bbox
    for text in ax.texts:
        if text.get_text():
            box = text.get_bbox_patch().get_window_extent()
            assert edges.x0 <= box.x0
            assert box.x1 <= edges.x1
            assert edges.y0 <= box.y0
            assert box.y1 <= edges.y1


def test_nothing_is_drawn_of_nothing():
    assert not ca.plots.plot_diagram(nx.DiGraph()).texts


def test_a_dollar_in_a_name_is_no_formula():
    ax = ca.plots.plot_diagram(nx.DiGraph([("income in $", "loan in $")]))
    ax.figure.canvas.draw()
    assert {text.get_text() for text in ax.texts} >= {r"income in \$", r"loan in \$"}
