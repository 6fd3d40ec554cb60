"""Logistic regressions with an L2 penalty, many at once on the same rows, to full convergence by Newton's method."""

import numpy as np
from scipy.special import expit

# Per person: keeps a regression that is meant to have no penalty finite where people are separated by their covariates.
RIDGE = 1e-8
_STEPS = 200
_TOLERANCE = 1e-11  # of a step, relative to the coefficients
_OUTER = 4_000_000  # numbers in the table of products of columns, up to which it is kept
_MANY = 4  # fits from which on that table, and a first fit to all together, pay
_SMALLEST_SHARE = 1e-6  # at which a regression of nothing but events begins


def fit_logistic(
    design: np.ndarray,
    successes: np.ndarray,
    weights: np.ndarray,
    penalty: np.ndarray | float = 1.0,
    *,
    intercept: np.ndarray | float = 0.0,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Fit weighted logistic regressions, one for each row of `weights`.

    It maximises Σ successes·η − weights·log(1 + e^η) − ½ Σ penalty·β², which is scikit-learn's objective with C = 1 if
    the penalty is one. A penalty of the variance of a column is what standardising it would give. Where the intercept
    is free and no weighted event happened, or nothing else, half an event and half a non-event are added, spread over
    the rows.

    Parameters
    ----------
    design
        Rows × columns, without the intercept.
    successes, weights
        Fits × rows: the weighted events, and all weights.
    penalty
        Of the coefficients: a number, or fits × columns.
    intercept
        The penalty of the intercept: a number, or one for each fit.
    start
        Coefficients from which to search, near the solution: of all fits, or fits × (1 + columns).

    Returns
    -------
    numpy.ndarray
        Fits × (1 + columns): the intercept and the coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> fit_logistic(np.zeros((1, 0)), np.array([[3.0]]), np.array([[4.0]])).round(4)
    array([[1.0986]])
    """
    rows = with_intercept(design)
    successes, weights = np.asarray(successes, float), np.asarray(weights, float)
    penalties = np.zeros((len(weights), rows.shape[1]))
    penalties[:, 0], penalties[:, 1:] = intercept, penalty
    if not penalties[:, 0].all():
        successes, weights = _not_one_sided(successes, weights)
    found = np.zeros_like(penalties)
    if start is not None:
        found[:] = start
    elif len(weights) < _MANY:
        found[:, 0] = _log_odds_of_all(successes, weights, penalties[:, 0])
    else:
        mean = [part.mean(axis=0)[None] for part in (successes, weights, penalties)]
        found[:] = fit_logistic(design, mean[0], mean[1], mean[2][:, 1:], intercept=mean[2][:, 0])
    active = np.arange(len(weights))
    height = _objective(rows, successes, weights, penalties, found)
    products = _products(rows) if len(weights) >= _MANY else None
    for _ in range(_STEPS):
        part = successes[active], weights[active], penalties[active]
        step = _newton(rows, products, *part, found[active])
        moved, height[active] = _uphill(rows, *part, found[active], step, height[active])
        small = np.abs(moved - found[active]).max(axis=1) <= _TOLERANCE * (1 + np.abs(moved).max(axis=1))
        found[active] = moved
        active = active[~small]
        if not len(active):
            break
    return found


def regress(
    design: np.ndarray, target: np.ndarray, weights: np.ndarray | None = None, start: np.ndarray | None = None
) -> np.ndarray:
    """Fit logistic regressions of events or probabilities, with no more penalty than keeps them finite.

    Parameters
    ----------
    design
        People × columns, without the intercept, in units of their spread.
    target
        Of each person: an event (0 or 1), or a probability.
    weights
        Sets of weights × people; default everybody alike. How large they are in all does not matter.
    start
        As for `fit_logistic`.

    Returns
    -------
    numpy.ndarray
        Sets of weights × (1 + columns): the intercept and the coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> fitted = regress(np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([0.2, 0.4, 0.5, 0.7]))
    >>> predict_logistic(np.array([[-1.0], [1.0]]), fitted).round(4)
    array([[0.3, 0.6]])
    """
    weights = np.ones((1, len(target))) if weights is None else np.asarray(weights, float)
    weights = weights * (len(target) / weights.sum(axis=1, keepdims=True))
    ridge = RIDGE * len(target)
    return fit_logistic(design, weights * target, weights, ridge, intercept=ridge, start=start)


def predict_logistic(design: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """Return the probabilities of fits (rows) at rows of a design (columns)."""
    chance: np.ndarray = expit(coefficients[:, 1:] @ design.T + coefficients[:, :1])
    return chance


def coefficient_influence(design: np.ndarray, residual: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Return the influence of each person (rows) on the intercept and the coefficients of `regress`.

    Parameters
    ----------
    design
        People × columns, without the intercept.
    residual
        Of each person: the target minus its expectation, times the weight.
    curvature
        Of each person: p (1 − p), times the weight.
    """
    rows = with_intercept(design)
    information = (rows * curvature[:, None]).T @ rows / len(rows) + RIDGE * np.eye(rows.shape[1])
    return np.asarray(np.linalg.solve(information, (rows * residual[:, None]).T).T)


def with_intercept(design: np.ndarray) -> np.ndarray:
    """Return a design with a first column of ones."""
    return np.column_stack([np.ones(len(design)), design])


def one_sided(successes: np.ndarray, weights: np.ndarray) -> bool:
    """Return whether nothing but events, or no events, have a weight."""
    total = weights.sum()
    return bool(successes.sum() <= 0 or successes.sum() >= total)


def _not_one_sided(successes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = weights.sum(axis=1, keepdims=True)
    events = successes.sum(axis=1, keepdims=True)
    bad = (events <= 0) | (events >= total)
    if not bad.any():
        return successes, weights
    spread = np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / weights.shape[1])
    return np.where(bad, successes + spread / 2, successes), np.where(bad, weights + spread, weights)


def _log_odds_of_all(successes: np.ndarray, weights: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    """Return the intercept that explains the share of events."""
    total = weights.sum(axis=1)
    share = np.where(total > 0, successes.sum(axis=1) / np.where(total > 0, total, 1), 0.5)
    share = np.where(intercept > 0, np.clip(share, _SMALLEST_SHARE, 1 - _SMALLEST_SHARE), share)
    with np.errstate(divide="ignore"):
        return np.log(share) - np.log1p(-share)


def _objective(
    rows: np.ndarray, successes: np.ndarray, weights: np.ndarray, penalties: np.ndarray, at: np.ndarray
) -> np.ndarray:
    eta = at @ rows.T
    value: np.ndarray = (successes * eta - weights * np.logaddexp(0, eta)).sum(axis=1) - (penalties * at**2).sum(1) / 2
    return value


def _newton(
    rows: np.ndarray,
    products: np.ndarray | None,
    successes: np.ndarray,
    weights: np.ndarray,
    penalties: np.ndarray,
    at: np.ndarray,
) -> np.ndarray:
    chance = expit(at @ rows.T)
    gradient = (successes - weights * chance) @ rows - penalties * at
    hessian = _hessians(rows, products, weights * chance * (1 - chance))
    columns = np.arange(rows.shape[1])
    hessian[:, columns, columns] += penalties + 1e-12
    return np.linalg.solve(hessian, gradient[..., None])[..., 0]


def _products(rows: np.ndarray) -> np.ndarray | None:
    """Return the products of all pairs of columns (rows × pairs), from which many Hessians are sums; None if large."""
    one, other = np.triu_indices(rows.shape[1])
    return rows[:, one] * rows[:, other] if len(rows) * len(one) <= _OUTER else None


def _hessians(rows: np.ndarray, products: np.ndarray | None, curvature: np.ndarray) -> np.ndarray:
    columns = rows.shape[1]
    if products is None:
        return np.stack([(rows * one[:, None]).T @ rows for one in curvature])
    one, other = np.triu_indices(columns)
    hessians = np.empty((len(curvature), columns, columns))
    hessians[:, one, other] = hessians[:, other, one] = curvature @ products
    return hessians


def _uphill(
    rows: np.ndarray,
    successes: np.ndarray,
    weights: np.ndarray,
    penalties: np.ndarray,
    at: np.ndarray,
    step: np.ndarray,
    height: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return where the steps lead, halved until they do not go down, and how high that is."""
    scale = np.ones((len(at), 1))
    for _ in range(40):
        moved = at + scale * step
        reached = _objective(rows, successes, weights, penalties, moved)
        down = reached < height - 1e-12 * (1 + np.abs(height))
        if not down.any():
            break
        scale[down] /= 2
    return moved, np.maximum(reached, height)
