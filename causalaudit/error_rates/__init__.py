"""Error rates: why they are unequal, and classifiers whose inequalities are bounded."""

from causalaudit.error_rates.criterion import find_explaining_set
from causalaudit.error_rates.decompose import decompose_error_rates
from causalaudit.error_rates.estimate import estimate_error_rates
from causalaudit.error_rates.result import ErrorRateEstimate, ErrorRateResult

__all__ = [
    "ErrorRateEstimate",
    "ErrorRateResult",
    "decompose_error_rates",
    "estimate_error_rates",
    "find_explaining_set",
]
