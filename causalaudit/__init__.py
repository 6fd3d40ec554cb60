"""Audit automated decisions for discrimination with causal models written as probabilistic programs."""

from causalaudit.bias_scan import scan_bias
from causalaudit.counterfactuals import CounterfactualDraws, counterfactuals
from causalaudit.error_rates import (
    FairClassifier,
    decompose_error_rates,
    estimate_error_rates,
    find_explaining_set,
    select_explainable_features,
)
from causalaudit.inference import Posterior, fit
from causalaudit.recourse import audit_recourse
from causalaudit.scm import SCM, diagram
from causalaudit.situation_testing import Gower, intersection, multiple_discrimination, situation_testing

from causalaudit import datasets, models, plots  # isort: skip  (models build on the names above)

__all__ = [
    "SCM",
    "CounterfactualDraws",
    "FairClassifier",
    "Gower",
    "Posterior",
    "audit_recourse",
    "counterfactuals",
    "datasets",
    "decompose_error_rates",
    "diagram",
    "estimate_error_rates",
    "find_explaining_set",
    "fit",
    "intersection",
    "models",
    "multiple_discrimination",
    "plots",
    "scan_bias",
    "select_explainable_features",
    "situation_testing",
]
__version__ = "0.1.0"
