"""Assumptions against data, and against one another."""

from causalaudit.worlds.comparison import compare_worlds
from causalaudit.worlds.confounding_sensitivity import confounding_sensitivity
from causalaudit.worlds.coupling_sensitivity import coupling_sensitivity
from causalaudit.worlds.edges import EdgesResult, compare_edges
from causalaudit.worlds.prior_sensitivity import PriorSensitivity, prior_sensitivity
from causalaudit.worlds.refutation import DiagramTest, Independence, implied_independencies, test_diagram
from causalaudit.worlds.result import WorldsResult
from causalaudit.worlds.sweep_result import SweepResult

__all__ = [
    "DiagramTest",
    "EdgesResult",
    "Independence",
    "PriorSensitivity",
    "SweepResult",
    "WorldsResult",
    "compare_edges",
    "compare_worlds",
    "confounding_sensitivity",
    "coupling_sensitivity",
    "implied_independencies",
    "prior_sensitivity",
    "test_diagram",
]
