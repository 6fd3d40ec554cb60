"""A logistic regression on counted people, and how far its estimates vary, whatever the law of the events."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from causalaudit.adjustment import fit_logistic, with_intercept

_FREE = 1e-9  # in place of a penalty of the intercept


@dataclass(frozen=True, eq=False)
class Sums:
    """Of each row of a design: how many people, the sum of their events, and of the squares of these."""

    size: np.ndarray
    events: np.ndarray
    squares: np.ndarray


@dataclass(frozen=True, eq=False)
class RobustFit:
    """A weighted logistic regression with an L2 penalty, of events or of predictions.

    Attributes
    ----------
    coefficients : numpy.ndarray
        The intercept and the coefficients.
    curvature : numpy.ndarray
        H, minus the second derivative of the penalised log-likelihood.
    scores : numpy.ndarray
        (1 + columns) × rows: a square root of J, the sum of squared scores of the people.
    loss : float
        Minus the log-likelihood, without the penalty.
    """

    coefficients: np.ndarray
    curvature: np.ndarray
    scores: np.ndarray
    loss: float


def robust_fit(rows: np.ndarray, sums: Sums, weight: np.ndarray, penalty: np.ndarray) -> RobustFit:
    """Fit a regression of weighted people.

    Parameters
    ----------
    rows
        Rows × columns, without the intercept.
    sums, weight
        The people of each row, and what each of them weighs.
    penalty
        1 × columns.
    """
    events, size = sums.events * weight, sums.size * weight
    centre = fit_logistic(rows, events[None], size[None], penalty)[0]
    design = with_intercept(rows)
    eta = design @ centre
    chance = expit(eta)
    curvature = (design * (size * chance * (1 - chance))[:, None]).T @ design + np.diag(np.append(_FREE, penalty[0]))
    rest = np.maximum(sums.squares - 2 * chance * sums.events + chance**2 * sums.size, 0)
    scores = (design * (weight * np.sqrt(rest))[:, None]).T
    return RobustFit(centre, curvature, scores, float(size @ np.logaddexp(0, eta) - events @ eta))


def expected_loss(rows: np.ndarray, sums: Sums, weight: np.ndarray, penalty: np.ndarray) -> float:
    """Return the log loss to be expected of a regression for as many other people: its own, and the trace of H⁻¹J.

    References
    ----------
    Takeuchi (1976); Stone (1977), An asymptotic equivalence of choice of model by cross-validation and Akaike's
    criterion.

    Examples
    --------
    >>> import numpy as np
    >>> sums = Sums(np.array([50.0, 50.0]), np.array([20.0, 30.0]), np.array([20.0, 30.0]))
    >>> one, none = np.array([[0.0], [1.0]]), np.zeros((2, 0))
    >>> bool(expected_loss(one, sums, np.ones(2), np.full((1, 1), 1e-6)) < expected_loss(none, sums, np.ones(2),
    ...                                                                             np.zeros((1, 0))))
    True
    """
    fit = robust_fit(rows, sums, weight, penalty)
    return fit.loss + float(np.einsum("cr,cr->", fit.scores, np.linalg.solve(fit.curvature, fit.scores)))
