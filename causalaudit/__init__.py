"""Audit automated decisions for discrimination with causal models written as probabilistic programs."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from causalaudit import datasets as datasets
    from causalaudit import models as models
    from causalaudit import plots as plots
    from causalaudit.association import impact_ratios as impact_ratios
    from causalaudit.bias_scan import scan_bias as scan_bias
    from causalaudit.counterfactuals import CounterfactualDraws as CounterfactualDraws
    from causalaudit.counterfactuals import counterfactuals as counterfactuals
    from causalaudit.error_rates import FairClassifier as FairClassifier
    from causalaudit.error_rates import decompose_error_rates as decompose_error_rates
    from causalaudit.error_rates import estimate_error_rates as estimate_error_rates
    from causalaudit.error_rates import find_explaining_set as find_explaining_set
    from causalaudit.error_rates import select_explainable_features as select_explainable_features
    from causalaudit.inference import Posterior as Posterior
    from causalaudit.inference.fit import fit as fit
    from causalaudit.loading import load as load
    from causalaudit.recourse import Actions as Actions
    from causalaudit.recourse import audit_recourse as audit_recourse
    from causalaudit.report import write_report as write_report
    from causalaudit.scm import SCM as SCM
    from causalaudit.scm import Given as Given
    from causalaudit.scm import diagram as diagram
    from causalaudit.scm import distributions as distributions
    from causalaudit.situation_testing import Gower as Gower
    from causalaudit.situation_testing import intersection as intersection
    from causalaudit.situation_testing import multiple_discrimination as multiple_discrimination
    from causalaudit.situation_testing import situation_testing as situation_testing
    from causalaudit.worlds import compare_edges as compare_edges
    from causalaudit.worlds import compare_worlds as compare_worlds
    from causalaudit.worlds import confounding_sensitivity as confounding_sensitivity
    from causalaudit.worlds import coupling_sensitivity as coupling_sensitivity
    from causalaudit.worlds import prior_sensitivity as prior_sensitivity
    from causalaudit.worlds import test_diagram as test_diagram

__version__ = "0.1.0"

# The room of each public name. It is imported when the name is first asked for: torch, Pyro and ArviZ take seconds.
_ROOMS = {
    "association": ["impact_ratios"],
    "bias_scan": ["scan_bias"],
    "counterfactuals": ["CounterfactualDraws", "counterfactuals"],
    "error_rates": [
        "FairClassifier",
        "decompose_error_rates",
        "estimate_error_rates",
        "find_explaining_set",
        "select_explainable_features",
    ],
    "inference": ["Posterior", "fit"],
    "loading": ["load"],
    "recourse": ["Actions", "audit_recourse"],
    "report": ["write_report"],
    "scm": ["SCM", "Given", "diagram", "distributions"],
    "situation_testing": ["Gower", "intersection", "multiple_discrimination", "situation_testing"],
    "worlds": [
        "compare_edges",
        "compare_worlds",
        "confounding_sensitivity",
        "coupling_sensitivity",
        "prior_sensitivity",
        "test_diagram",
    ],
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = sorted([*_HOMES, "datasets", "models", "plots"])


if not TYPE_CHECKING:  # type checkers know the names above, and no others

    def __getattr__(name: str) -> Any:
        """Import a public name, or a room of the package, when it is first asked for."""
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        room = f"{__name__}.{_HOMES.get(name, name)}"
        try:
            module = import_module(room)
        except ModuleNotFoundError as error:
            if error.name != room:
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        globals()[name] = getattr(module, name) if name in _HOMES else module
        return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Two rooms have the name of the function in them: as an attribute of the package it is the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        # Having imported a room, Python sets it as an attribute of the package.
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
