"""Confidence bounds for a ratio of two rates, and for the ratio of a rate to the greatest of several.

The bounds of a ratio combine the confidence distributions of Clopper and Pearson: for the lower bound the rate above
is as small, and the rate below as large, as each can be. Unlike those of the delta method or of scores they hold with
few people and with rates near 0 and 1.
"""

import numpy as np
from scipy.special import betainc, betaincinv

_NODES, _STEPS = 128, 36
_FARTHEST = 14.0  # logarithm of the greatest ratio that is looked for
_NEVER = 1e-12  # in place of a shape parameter of 0: all of the mass is at one end


def clopper_pearson(counts: np.ndarray, sizes: np.ndarray, alpha: float) -> np.ndarray:
    """Return the two-sided interval of Clopper and Pearson for rates: lower ends, then upper ones.

    Examples
    --------
    >>> clopper_pearson(np.array([0, 5]), np.array([10, 10]), 0.05).round(3)
    array([[0.   , 0.187],
           [0.308, 0.813]])
    """
    low = betaincinv(np.maximum(counts, _NEVER), sizes - counts + 1, alpha / 2)
    high = betaincinv(counts + 1, np.maximum(sizes - counts, _NEVER), 1 - alpha / 2)
    return np.stack([np.where(counts == 0, 0.0, low), np.where(counts == sizes, 1.0, high)])


def lower_bound(
    count1: np.ndarray, size1: np.ndarray, count2: np.ndarray, size2: np.ndarray, alpha: float
) -> np.ndarray:
    """Return the one-sided lower bound of the ratio of the first rate to the second, at the confidence 1 − alpha.

    Examples
    --------
    >>> round(float(lower_bound(np.array([10]), np.array([20]), np.array([16]), np.array([20]), 0.025)[0]), 3)
    0.328
    """
    asked = np.stack(np.broadcast_arrays(count1, size1, count2, size2)).astype(float)
    different, which = np.unique(asked.reshape(4, -1), axis=1, return_inverse=True)  # equal counts are asked once
    count1, size1, count2, size2 = different
    above = np.maximum(count1, _NEVER), size1 - count1 + 1
    below = count2 + 1, np.maximum(size2 - count2, _NEVER)
    bounds = np.where(count1 == 0, 0.0, _quantile(above, below, alpha))
    return np.asarray(bounds[which.reshape(asked.shape[1:])])


def upper_bound(
    count1: np.ndarray, size1: np.ndarray, count2: np.ndarray, size2: np.ndarray, alpha: float
) -> np.ndarray:
    """Return the one-sided upper bound: infinite where nobody is counted below."""
    with np.errstate(divide="ignore"):
        return np.asarray(1 / lower_bound(count2, size2, count1, size1, alpha))


def _quantile(above: tuple[np.ndarray, np.ndarray], below: tuple[np.ndarray, np.ndarray], level: float) -> np.ndarray:
    """Return a quantile of the ratio of two independent Beta variables, by bisection of its logarithm.

    Its distribution function is an integral over the quantiles of the variable that varies less, of the distribution
    function of the other one, which is smooth there.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    shares, weights = (nodes + 1) / 2, weights / 2
    narrow = _spread(*below) <= _spread(*above)
    first = np.where(narrow, below, above)
    points = betaincinv(first[0][..., None], first[1][..., None], shares)
    low, high = np.full(narrow.shape, -_FARTHEST), np.full(narrow.shape, _FARTHEST)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        ratio = np.exp(middle)[..., None]
        at = np.clip(np.where(narrow[..., None], ratio * points, points / ratio), 0, 1)
        shape = np.where(narrow, above, below)
        reached = betainc(shape[0][..., None], shape[1][..., None], at)
        share = (weights * np.where(narrow[..., None], reached, 1 - reached)).sum(axis=-1)
        low, high = np.where(share < level, middle, low), np.where(share < level, high, middle)
    return np.exp(low)


def _spread(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the relative spread of Beta variables."""
    return np.asarray(np.sqrt(second / (first * (first + second + 1))))


def ratio_to_greatest(counts: np.ndarray, sizes: np.ndarray, eligible: np.ndarray, alpha: float) -> np.ndarray:
    """Return intervals for the ratio of each rate to the greatest of the eligible ones: lower ends, then upper ones.

    Which is the greatest is not known, only which was observed to be. The ratio to the greatest is the smallest of
    the ratios to each: the smallest lower bound is below it whichever is the greatest, and the smallest upper bound is
    above it if all are, for which their levels are divided (Bonferroni).

    Parameters
    ----------
    counts, sizes
        Of each category (last axis).
    eligible
        Which of them are compared with.
    alpha
        One minus the confidence of each interval by itself.

    References
    ----------
    Hsu (1984), Constrained simultaneous confidence intervals for multiple comparisons with the best. Annals of
    Statistics 12, for differences of means.

    Examples
    --------
    >>> import numpy as np
    >>> ratio_to_greatest(np.array([16, 10]), np.array([20, 20]), np.array([True, True]), 0.05).round(3)
    array([[0.935, 0.328],
           [1.   , 1.   ]])
    """
    if not eligible.any():
        return np.full((2, *counts.shape), np.nan)
    own, others = np.meshgrid(np.arange(counts.shape[-1]), np.flatnonzero(eligible), indexing="ij")
    pairs = counts[..., own], sizes[own], counts[..., others], sizes[others]
    rivals = max(1, int(eligible.sum()) - 1)
    ends = np.stack([lower_bound(*pairs, alpha / 2), upper_bound(*pairs, alpha / 2 / rivals)])
    return np.asarray(np.where(own == others, 1.0, ends).min(axis=-1))
