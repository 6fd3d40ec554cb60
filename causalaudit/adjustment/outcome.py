"""Outcome models: the expectation of an event or a rate given covariates, among the people of a group."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

from causalaudit.adjustment.logistic import predict_logistic, regress
from causalaudit.arguments import shown
from causalaudit.errors import DataError


@dataclass(frozen=True, eq=False)
class OutcomeRegression:
    """A logistic regression of events or probabilities on covariates, among the people of a group.

    Attributes
    ----------
    design : numpy.ndarray
        Of everybody, without an intercept: see `Covariates.design`.
    target : numpy.ndarray
        Of everybody, between 0 and 1.
    group : numpy.ndarray
        Who is in the group that it is fitted to: 1 or 0.
    weights : numpy.ndarray or None
        Survey weights of everybody.

    Examples
    --------
    >>> import numpy as np
    >>> design, group = np.array([[-1.0], [1.0], [-1.0], [1.0]]), np.array([1.0, 1.0, 0.0, 0.0])
    >>> OutcomeRegression(design, np.array([0.2, 0.6, 0.9, 0.9]), group).expected.round(4)
    array([0.2, 0.6, 0.2, 0.6])
    """

    design: np.ndarray
    target: np.ndarray
    group: np.ndarray
    weights: np.ndarray | None = None

    @cached_property
    def coefficients(self) -> np.ndarray:
        """The intercept and the coefficients, under the weights; by default all people of the group weigh alike."""
        weights = self.group if self.weights is None else self.group * self.weights
        return regress(self.design, self.target, weights[None])[0]

    @cached_property
    def expected(self) -> np.ndarray:
        """The expectation of everybody's target, if they were in the group."""
        return predict_logistic(self.design, self.coefficients[None])[0]

    def expectations(self, weights: np.ndarray) -> np.ndarray:
        """Return the expectations of everybody (columns), fitted under sets of weights of the people (rows)."""
        fitted = regress(self.design, self.target, weights * self.group, start=self.coefficients)
        return predict_logistic(self.design, fitted)


def fit_estimator(
    model: Any, rows: np.ndarray, event: np.ndarray, weight: np.ndarray | None, at: np.ndarray
) -> np.ndarray:
    """Fit a model of scikit-learn to events, which may be probabilities, and return what it expects.

    Parameters
    ----------
    model
        A classifier or a regressor, which is cloned, or a pipeline that ends in one; None: logistic regression with
        C = 1. What a regressor predicts is kept between 0 and 1.
    rows, event, weight
        Of the people; without weights all weigh alike.
    at
        The rows at which it predicts.

    Raises
    ------
    DataError
        If it predicts missing values.
    """
    rows, event, at = rows.copy(), event.copy(), at.copy()  # a step of a pipeline may work in place
    expected = _expected_by(model, rows, event, None if weight is None else weight.copy(), at)
    missing = int(np.isnan(expected).sum())
    if missing:
        raise DataError(
            f"The model {type(model).__name__} predicts a missing value for {missing} of {len(expected)} rows, "
            "but expectations must be numbers: fit it so that it predicts for everybody."
        )
    return expected


def _expected_by(
    model: Any, rows: np.ndarray, event: np.ndarray, weight: np.ndarray | None, at: np.ndarray
) -> np.ndarray:
    logistic = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
    estimator = logistic if model is None else clone(check_estimator("the model", model))
    if is_regressor(estimator):
        estimator.fit(rows, event, **_weighing(estimator, weight))
        return np.clip(np.asarray(estimator.predict(at), dtype=float), 0, 1)
    if not np.isin(event, (0, 1)).all():
        # Two records for each person: an event with weight wP, and none with weight w(1 − P).
        weight = np.ones(len(event)) if weight is None else weight
        rows, weight = np.concatenate([rows, rows]), np.concatenate([weight * event, weight * (1 - event)])
        event = np.repeat([1, 0], len(event))
        rows, weight, event = rows[weight > 0], weight[weight > 0], event[weight > 0]
    if len(np.unique(event)) < 2:
        return np.full(len(at), (event.sum() + 0.5) / (len(event) + 1))
    estimator.fit(rows, event.astype(int), **_weighing(estimator, weight))
    return np.asarray(estimator.predict_proba(at))[:, 1]


def check_estimator(name: str, model: Any) -> Any:
    """Return an estimator of scikit-learn: something that can be cloned, fitted and asked."""
    asked = hasattr(model, "predict") or hasattr(model, "predict_proba")
    if isinstance(model, type) or not asked or not all(hasattr(model, part) for part in ("get_params", "fit")):
        raise DataError(f"{name} is {shown(model)}, but must be an estimator of scikit-learn, not yet fitted.")
    return model


def _weighing(estimator: Any, weight: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return the argument by which an estimator takes weights: a pipeline hands it to its last step."""
    if weight is None:
        return {}
    last = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    return {f"{last}sample_weight": weight}
