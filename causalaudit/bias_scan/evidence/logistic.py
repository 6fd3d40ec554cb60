"""Logistic regressions with an L2 penalty, many at once on the same rows, to full convergence by Newton's method."""

import numpy as np
from scipy.special import expit

_STEPS = 200
_TOLERANCE = 1e-11  # of a step, relative to the coefficients
_OUTER = 4_000_000  # numbers in the table of products of columns, up to which it is kept


def fit_logistic(
    design: np.ndarray, successes: np.ndarray, weights: np.ndarray, penalty: np.ndarray | float = 1.0
) -> np.ndarray:
    """Fit weighted logistic regressions with a free intercept, one for each row of `weights`.

    It maximises Σ successes·η − weights·log(1 + e^η) − ½ Σ penalty·β², which is scikit-learn's objective with C = 1 if
    the penalty is one. A penalty of the variance of a column is what standardising it would give. Where no weighted
    event happened, or nothing else, half an event and half a non-event are added, spread over the rows.

    Parameters
    ----------
    design
        Rows × columns, without the intercept.
    successes, weights
        Fits × rows: the weighted events, and all weights.
    penalty
        Of the coefficients: a number, or fits × columns.

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
    rows = np.column_stack([np.ones(len(design)), design])
    successes, weights = _not_one_sided(np.asarray(successes, float), np.asarray(weights, float))
    penalties = np.zeros((len(weights), rows.shape[1]))
    penalties[:, 1:] = penalty
    found = np.zeros_like(penalties)
    active = np.arange(len(weights))
    with np.errstate(divide="ignore"):
        total = weights.sum(axis=1)
        share = np.where(total > 0, successes.sum(axis=1) / np.where(total > 0, total, 1), 0.5)
        found[:, 0] = np.log(share) - np.log1p(-share)
    height = _objective(rows, successes, weights, penalties, found)
    for _ in range(_STEPS):
        part = successes[active], weights[active], penalties[active]
        step = _newton(rows, *part, found[active])
        moved, height[active] = _uphill(rows, *part, found[active], step, height[active])
        small = np.abs(moved - found[active]).max(axis=1) <= _TOLERANCE * (1 + np.abs(moved).max(axis=1))
        found[active] = moved
        active = active[~small]
        if not len(active):
            break
    return found


def _not_one_sided(successes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    total = weights.sum(axis=1, keepdims=True)
    events = successes.sum(axis=1, keepdims=True)
    bad = (events <= 0) | (events >= total)
    if not bad.any():
        return successes, weights
    spread = np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / weights.shape[1])
    return np.where(bad, successes + spread / 2, successes), np.where(bad, weights + spread, weights)


def one_sided(successes: np.ndarray, weights: np.ndarray) -> bool:
    """Return whether nothing but events, or no events, have a weight."""
    total = weights.sum()
    return bool(successes.sum() <= 0 or successes.sum() >= total)


def _objective(
    rows: np.ndarray, successes: np.ndarray, weights: np.ndarray, penalties: np.ndarray, at: np.ndarray
) -> np.ndarray:
    eta = at @ rows.T
    value: np.ndarray = (successes * eta - weights * np.logaddexp(0, eta)).sum(axis=1) - (penalties * at**2).sum(1) / 2
    return value


def _newton(
    rows: np.ndarray, successes: np.ndarray, weights: np.ndarray, penalties: np.ndarray, at: np.ndarray
) -> np.ndarray:
    chance = expit(at @ rows.T)
    gradient = (successes - weights * chance) @ rows - penalties * at
    hessian = _hessians(rows, weights * chance * (1 - chance))
    columns = np.arange(rows.shape[1])
    hessian[:, columns, columns] += penalties + 1e-12
    return np.linalg.solve(hessian, gradient[..., None])[..., 0]


def _hessians(rows: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    columns = rows.shape[1]
    if rows.size * columns <= _OUTER:
        products = (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
        return (curvature @ products).reshape(-1, columns, columns)
    return np.stack([(rows * one[:, None]).T @ rows for one in curvature])


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
