"""A Pyro program as a structural causal model."""

from causalaudit.scm import distributions
from causalaudit.scm.given import Given
from causalaudit.scm.graph import diagram
from causalaudit.scm.program import SCM

__all__ = ["SCM", "Given", "diagram", "distributions"]
