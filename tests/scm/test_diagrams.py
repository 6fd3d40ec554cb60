"""Diagrams by hand, and how they look in a notebook."""

from xml.etree import ElementTree

import networkx as nx
import pytest

import causalaudit as ca
from causalaudit.scm.svg import svg

SVG = "{http://www.w3.org/2000/svg}"


def picture(graph):
    return ElementTree.fromstring(svg(graph))


def texts(root):
    return [element.text for element in root.iter(f"{SVG}text")]


def dashed(root, kind):
    return [element for element in root.iter(SVG + kind) if element.get("stroke-dasharray")]


def test_a_picture_has_all_variables_and_arrows():
    root = picture(ca.diagram([("X", "W"), ("W", "Y"), ("X", "Y")]))
    assert sorted(texts(root)) == ["W", "X", "Y"]
    assert len(list(root.iter(f"{SVG}path"))) == len(list(root.iter(f"{SVG}polygon"))) == 3
    assert not dashed(root, "path")


def test_causes_are_above_their_effects():
    graph = ca.diagram([("X", "W"), ("W", "Y"), ("X", "Y"), ("Z", "Y")])
    heights = {element.text: float(element.get("y")) for element in picture(graph).iter(f"{SVG}text")}
    assert all(heights[cause] < heights[effect] for cause, effect in graph.edges)


def test_a_bidirected_edge_is_a_dashed_arc():
    root = picture(ca.diagram([("X", "Y")], bidirected=[("Y", "X")]))
    assert sorted(texts(root)) == ["X", "Y"]
    assert len(dashed(root, "path")) == 1


def test_a_latent_variable_is_dashed():
    scm = ca.models.law_school.level_2()
    root = picture(scm.graph)
    assert set(texts(root)) == set(scm.variables)
    assert len(dashed(root, "rect")) == len(scm.latents) == 1


def test_names_are_escaped():
    root = picture(ca.diagram([("<b>a & b</b>", '"c"')]))
    assert set(texts(root)) == {"<b>a & b</b>", '"c"'}


@pytest.mark.parametrize(
    "graph", [ca.diagram([]), ca.diagram([("X", "Y")]).subgraph(["X"]), ca.diagram([("X", "Y")]).copy()]
)
def test_small_graphs_and_copies_are_pictures_too(graph):
    assert len(texts(picture(graph))) == len(graph)


def test_everything_is_inside_the_picture():
    for scm in (ca.models.adult.census(), ca.models.compas.figure_1(), ca.models.law_school.level_2()):
        root = picture(scm.graph)
        width, height = float(root.get("width")), float(root.get("height"))
        for box in root.iter(f"{SVG}rect"):
            left, top, wide, high = (float(box.get(key)) for key in ("x", "y", "width", "height"))
            assert 0 <= left <= left + wide <= width
            assert 0 <= top <= top + high <= height


def test_a_diagram_is_a_graph_of_networkx():
    graph = ca.diagram([("X", "Y")])
    assert isinstance(graph, nx.DiGraph)
    assert nx.utils.graphs_equal(graph, nx.DiGraph(graph))


def test_a_program_shows_diagram_parameters_and_couplings():
    html = ca.models.loan.linear()._repr_html_()
    for part in ("<svg", "penalty", "Bernoulli", "monotone", "male, female"):
        assert part in html
