"""Assumptions against data, and against one another."""

from causalaudit.worlds.refutation import DiagramTest, Independence, implied_independencies, test_diagram

__all__ = ["DiagramTest", "Independence", "implied_independencies", "test_diagram"]
