"""Classifiers whose inequalities of error rates are bounded."""
