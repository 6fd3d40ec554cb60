"""Error rates: why they are unequal, and classifiers whose inequalities are bounded."""

from causalaudit.error_rates.criterion import find_explaining_set
from causalaudit.error_rates.fair_classifier import FairClassifier
from causalaudit.error_rates.selection import select_explainable_features
from causalaudit.error_rates.table_rule import InfeasibleError

__all__ = ["FairClassifier", "InfeasibleError", "find_explaining_set", "select_explainable_features"]
