"""The posterior: draws beside the program and the data they belong to, whether to trust them, and files."""

from causalaudit.inference.posterior.diagnostics import Diagnostics
from causalaudit.inference.posterior.posterior import LogEvidence, Posterior

__all__ = ["Diagnostics", "LogEvidence", "Posterior"]
