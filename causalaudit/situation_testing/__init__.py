"""Situation testing: how people like the complainant fare, against people like her counterfactual."""

from causalaudit.situation_testing.gower import Gower
from causalaudit.situation_testing.multidimensional import (
    MultipleDiscriminationResult,
    intersection,
    multiple_discrimination,
)
from causalaudit.situation_testing.result import SituationTestingResult
from causalaudit.situation_testing.test import situation_testing

__all__ = [
    "Gower",
    "MultipleDiscriminationResult",
    "SituationTestingResult",
    "intersection",
    "multiple_discrimination",
    "situation_testing",
]
