"""What the papers define, and what is implemented, is cited where it lives: one grep finds it, on one line."""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "causalaudit"
# By room: what of its paper is implemented there. What is proved, or illustrated, is not.
IMPLEMENTED = {
    "situation_testing": {
        "Definition": [*(f"4.{number}" for number in range(1, 8)), "B.1", "B.2", "3.1", "3.2"],
        "equation": [str(number) for number in range(3, 12)],
        "Algorithm": ["1", "2"],
        "Remark": ["4.2"],
        "Proposition": ["4.1"],
    },
    "scm": {"equation": ["1", "2"]},
    "bias_scan": {
        "Definition": ["A.1"],
        "equation": ["1", "2", "3"],
        "Algorithm": ["1", "2"],
        "Table": ["1", "2", "3", "4"],
    },
    "models": {"equation": ["4"]},
    "error_rates": {
        "Definition": ["1", "2", "3", "4", "5"],
        "Theorem": ["1", "2", "3", "7", "8"],
        "Lemma": ["6", "7"],
        "equation": [*(str(number) for number in range(1, 10)), "19", "20", "23", "33", "34"],
        "Algorithm": ["1", "2", "3"],
    },
    "recourse": {
        "step": ["(a)", "(b)", "(c)", "(b)(i)", "(b)(ii)"],
        "Equal": ["Effectiveness", "Choice for Recourse", "Cost of Effectiveness", "Mean Recourse"],
        "Fair": ["Effectiveness-Cost Trade-Off"],
    },
}
CITED = [
    (room, f"{kind} {name}") for room, kinds in IMPLEMENTED.items() for kind, names in kinds.items() for name in names
]


@pytest.mark.parametrize(("room", "cited"), CITED)
def test_it_is_cited_where_it_lives(room, cited):
    words = re.compile(rf"{re.escape(cited)}(?![\d.]*\d)", re.IGNORECASE)
    lines = [line for path in (PACKAGE / room).rglob("*.py") for line in path.read_text(encoding="utf-8").splitlines()]
    assert any(words.search(line) for line in lines)
