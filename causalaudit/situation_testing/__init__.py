"""Situation testing: how people like the complainant fare, against people like her counterfactual."""

from causalaudit.situation_testing.aggregates import average_shares, count_two_sided, describe_groups
from causalaudit.situation_testing.audit import situation_testing
from causalaudit.situation_testing.gower import Gower
from causalaudit.situation_testing.power import PowerOfSizes, choose_k
from causalaudit.situation_testing.result import SituationTestingResult
from causalaudit.situation_testing.several_attributes import (
    MultipleDiscriminationResult,
    intersection,
    multiple_discrimination,
)
from causalaudit.situation_testing.shift import Shift

__all__ = [
    "Gower",
    "MultipleDiscriminationResult",
    "PowerOfSizes",
    "Shift",
    "SituationTestingResult",
    "average_shares",
    "choose_k",
    "count_two_sided",
    "describe_groups",
    "intersection",
    "multiple_discrimination",
    "situation_testing",
]
