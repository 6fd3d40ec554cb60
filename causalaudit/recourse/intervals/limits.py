"""Exact limits of proportions, and how limits of two groups make an interval of their difference."""

from collections.abc import Callable

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtr, ndtri

Limits = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

_ANGLES = np.linspace(0, np.pi / 2, 9)  # directions in which the errors of two groups are added


def lower_limit(count: np.ndarray, size: np.ndarray, level: np.ndarray | float) -> np.ndarray:
    """Return Clopper and Pearson's lower limit of a proportion, which lies above it with probability `level` at most.

    Examples
    --------
    >>> lower_limit(np.array([0, 5, 10]), np.array([10, 10, 10]), 0.025).round(3)
    array([0.   , 0.187, 0.692])
    """
    found = betaincinv(np.where(count == 0, 1, count), size - count + 1, level)
    return np.where(count == 0, 0.0, found)


def upper_limit(count: np.ndarray, size: np.ndarray, level: np.ndarray | float) -> np.ndarray:
    """Return Clopper and Pearson's upper limit of a proportion.

    Examples
    --------
    >>> upper_limit(np.array([0, 5, 10]), np.array([10, 10, 10]), 0.025).round(3)
    array([0.308, 0.813, 1.   ])
    """
    found = betainccinv(count + 1, np.where(count == size, 1, size - count), level)
    return np.where(count == size, 1.0, found)


def apart(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the interval of the first value less the second, from limits of both (2 × subgroups).

    Infinity less infinity is 0: nobody is worse off.

    Examples
    --------
    >>> apart(np.array([[1.0], [np.inf]]), np.array([[3.0], [np.inf]])).ravel()
    array([-inf, -inf])
    """
    return np.stack([_less(low[0], high[1]), _less(high[0], low[1])])


def _less(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    same = np.isinf(first) & np.isinf(second)
    return np.where(same, 0.0, first - np.where(same, 0.0, second))


def added_in_squares(limits: Limits, alpha: float) -> np.ndarray:
    """Return the interval of the first value less the second, as Newcombe combines the limits of two groups.

    Newcombe adds the distances from the estimates to their limits in squares: the groups are independent, and both are
    not at their limits at once. Here the levels go round the circle, z₀² + z₁² = z², and the farthest difference is the
    end of the interval. For limits that are linear in z this is Newcombe's formula; unlike that, it holds for exact
    limits of small groups at small levels too.

    Parameters
    ----------
    limits
        Gives, for an array of levels, the lower and the upper limits of both groups: two arrays of levels × 2 ×
        subgroups.
    alpha
        The level of the interval.

    References
    ----------
    Newcombe (1998), Interval estimation for the difference between independent proportions, method 10.

    Examples
    --------
    >>> count, size = np.array([[9], [120]]), np.array([[40], [300]])
    >>> exact = lambda levels: [limit(count, size, levels[:, None, None]) for limit in (lower_limit, upper_limit)]
    >>> added_in_squares(exact, 0.1).round(2).ravel()
    array([-0.29, -0.03])
    """
    low, high = limits(ndtr(ndtri(alpha / 2) * np.sin(_ANGLES)))
    least, most = low[:, 0] - high[::-1, 1], high[:, 0] - low[::-1, 1]
    return np.stack([least.min(axis=0), most.max(axis=0)])
