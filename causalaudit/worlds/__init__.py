"""Assumptions against data, and against one another."""

from causalaudit.worlds.comparison import compare_worlds
from causalaudit.worlds.prior_sensitivity import PriorSensitivity, prior_sensitivity
from causalaudit.worlds.refutation import DiagramTest, Independence, implied_independencies, test_diagram
from causalaudit.worlds.result import WorldsResult

__all__ = [
    "DiagramTest",
    "Independence",
    "PriorSensitivity",
    "WorldsResult",
    "compare_worlds",
    "implied_independencies",
    "prior_sensitivity",
    "test_diagram",
]
