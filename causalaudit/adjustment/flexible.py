"""Models that bend where the data do: gradient boosting, and a logistic regression on splines."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import SplineTransformer

_KNOTS = 7
_FEWEST_KNOTS = 3  # a column with fewer different quantiles stays as it is
_PENALTY = 0.1  # of the spline coefficients, whose columns lie between 0 and 1


class SplineBasis(TransformerMixin, BaseEstimator):
    """Cubic splines of each column with knots at its quantiles, straight lines beyond; few values stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.column_stack([np.linspace(0, 1, 50), np.arange(50) % 2])
    >>> SplineBasis().fit_transform(rows).shape
    (50, 12)
    """

    def fit(self, X: np.ndarray, y: Any = None) -> "SplineBasis":
        """Place the knots of each column."""
        self.splines_ = [_splines(column) for column in np.asarray(X, dtype=float).T]
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the columns of the basis."""
        columns = np.asarray(X, dtype=float).T[:, :, None]
        parts = [
            column if spline is None else spline.transform(column)
            for column, spline in zip(columns, self.splines_, strict=True)
        ]
        return np.column_stack([np.zeros((len(X), 0)), *parts])


def _splines(column: np.ndarray) -> SplineTransformer | None:
    knots = np.unique(np.quantile(column, np.linspace(0, 1, _KNOTS)))
    if len(knots) < _FEWEST_KNOTS:
        return None
    return SplineTransformer(knots=knots[:, None], include_bias=False, extrapolation="linear").fit(column[:, None])


def flexible_models() -> dict[str, Any]:
    """Return the default candidates of `crossfit`, by name: what one misses the other tends to find.

    Boosted trees see steps and interactions; splines see what is smooth, from fewer people.
    """
    return {
        "gradient boosting": HistGradientBoostingClassifier(
            max_iter=30, learning_rate=0.2, max_leaf_nodes=8, early_stopping=False, random_state=0
        ),
        "logistic regression on splines": Pipeline(
            [
                ("splines", SplineBasis()),
                ("regression", LogisticRegression(C=1 / _PENALTY, solver="newton-cholesky", max_iter=200)),
            ]
        ),
    }
