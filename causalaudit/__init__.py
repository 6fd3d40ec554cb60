"""Audit automated decisions for discrimination with causal models written as probabilistic programs."""

from causalaudit.counterfactuals import CounterfactualDraws, counterfactuals
from causalaudit.inference import Posterior, fit
from causalaudit.scm import SCM, diagram

from causalaudit import datasets, models, plots  # isort: skip  (models build on the names above)

__all__ = [
    "SCM",
    "CounterfactualDraws",
    "Posterior",
    "counterfactuals",
    "datasets",
    "diagram",
    "fit",
    "models",
    "plots",
]
__version__ = "0.1.0"
