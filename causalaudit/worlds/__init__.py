"""Assumptions against data, and against one another."""

from causalaudit.worlds.comparison import compare_worlds
from causalaudit.worlds.refutation import DiagramTest, Independence, implied_independencies, test_diagram
from causalaudit.worlds.result import WorldsResult

__all__ = [
    "DiagramTest",
    "Independence",
    "WorldsResult",
    "compare_worlds",
    "implied_independencies",
    "test_diagram",
]
