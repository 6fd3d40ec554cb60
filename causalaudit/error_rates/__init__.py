"""Error rates: why they are unequal, and classifiers whose inequalities are bounded."""

from causalaudit.error_rates.criterion import find_explaining_set

__all__ = ["find_explaining_set"]
