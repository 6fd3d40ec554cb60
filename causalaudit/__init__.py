"""Audit automated decisions for discrimination with causal models written as probabilistic programs."""

from causalaudit.counterfactuals import CounterfactualDraws, counterfactuals
from causalaudit.inference import Posterior, fit
from causalaudit.recourse import audit_recourse
from causalaudit.scm import SCM, diagram
from causalaudit.situation_testing import Gower, intersection, multiple_discrimination, situation_testing

from causalaudit import datasets, models, plots  # isort: skip  (models build on the names above)

__all__ = [
    "SCM",
    "CounterfactualDraws",
    "Gower",
    "Posterior",
    "audit_recourse",
    "counterfactuals",
    "datasets",
    "diagram",
    "fit",
    "intersection",
    "models",
    "multiple_discrimination",
    "plots",
    "situation_testing",
]
__version__ = "0.1.0"
