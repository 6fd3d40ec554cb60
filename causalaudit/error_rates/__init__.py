"""Error rates: why they are unequal, and classifiers whose inequalities are bounded."""

from causalaudit.error_rates.explaining.criterion import find_explaining_set
from causalaudit.error_rates.explaining.decompose import decompose_error_rates
from causalaudit.error_rates.explaining.estimate import estimate_error_rates
from causalaudit.error_rates.explaining.result import ErrorRateEstimate, ErrorRateResult
from causalaudit.error_rates.learning.fair_classifier import FairClassifier
from causalaudit.error_rates.learning.feature_selection import select_explainable_features
from causalaudit.error_rates.learning.table_rule import InfeasibleError

__all__ = [
    "ErrorRateEstimate",
    "ErrorRateResult",
    "FairClassifier",
    "InfeasibleError",
    "decompose_error_rates",
    "estimate_error_rates",
    "find_explaining_set",
    "select_explainable_features",
]
