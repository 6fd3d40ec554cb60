"""What notebooks show: one style, and names that are text."""

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from causalaudit.markup import STYLE, piece, plain_text, table
from causalaudit.worlds import DiagramTest, EdgesResult, PriorSensitivity, SweepResult, WorldsResult

NAME = "<script>alert(1)</script>"
LOO = pd.DataFrame({"elpd": [-1.0], "difference": [0.0], "difference_se": [0.0]}, index=pd.Index([NAME], name="world"))
HEADLINE = pd.DataFrame(
    {"weight": [1.0], "value": [2.0], "credible_low": [1.0], "credible_high": [3.0], "draws": [9]}, index=LOO.index
)
UNITS = pd.DataFrame({"worlds_flagged": [1], "worlds_cases": [1], "worlds_examined": [1]})
TIPS = pd.DataFrame([{"unit": "a", "words": NAME, "was": 1, "below": None, "above": None}])
SENSITIVE = pd.DataFrame({"quantity": [NAME], "prior": [0.1], "by_chance": [0.1], "flagged": [False]})
INDEPENDENCE = pd.DataFrame({"independence": [NAME], "p_value": [0.5], "refuted": [False]})
SHOWN = {
    "worlds": WorldsResult(LOO, UNITS, HEADLINE, pd.DataFrame(), {}, {"headline": NAME, "weights": "equal"}),
    "sweep": SweepResult(
        pd.DataFrame({"r": [0.0], "value": [1.0]}), TIPS, UNITS,
        {"parameter": "r", "about": NAME, "headline": NAME, "reference": 0.0},
    ),
    "edges": EdgesResult(pd.DataFrame({"cause": [NAME]}), pd.DataFrame(), None, {"scm": NAME}),
    "prior": PriorSensitivity(SENSITIVE, {}),
    "diagram test": DiagramTest(INDEPENDENCE, 0.05),
    "diagram": ca.diagram([(NAME, "y")]),
}  # fmt: skip


@pytest.mark.parametrize("kind", SHOWN)
def test_names_are_text_in_the_style_of_the_house(kind):
    html = SHOWN[kind]._repr_html_()
    assert html.startswith('<div class="causalaudit"><style>')
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_the_style_holds_inside_of_a_piece_alone():
    outside = [
        line for line in STYLE.splitlines() if "{" in line and not line.strip().startswith((".causalaudit", "@media"))
    ]
    assert outside == []
    assert piece().count("<style>") == 1


def test_an_index_of_several_levels_has_a_column_for_each():
    index = pd.MultiIndex.from_tuples([(5, "ada"), (5, "bea")], names=["k", "complainant"])
    html = table(pd.DataFrame({"delta": [0.25, np.nan]}, index=index), rows=1, where="the file")
    assert html.count('<th scope="col">') == 3
    assert '<th scope="row">ada</th><td class="n">0.25</td>' in html
    assert "1 more rows are in the file." in html


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (pd.NA, "–"),
        (np.inf, "∞"),
        (-np.inf, "−∞"),
        (np.int64(4), "4"),
        (np.bool_(False), "no"),
        (1e-9, "1e-09"),
        ({"a": {"b"}}, "a {'b'}"),
        (frozenset({"b", "a"}), "a, b"),
    ],
)
def test_values_in_words(value, text):
    assert plain_text(value) == text
