"""Intervals, each with its probability and its kind said."""

import numpy as np
from scipy.stats import norm

from causalaudit.randomness import generator

# Differences of widths below this are noise of the arithmetic.
_SAME_WIDTH = 1e-12


def hdi(draws: np.ndarray, prob: float = 0.9) -> np.ndarray:
    """Return the shortest interval that holds a share `prob` of the draws.

    Parameters
    ----------
    draws
        Draws along the first axis.
    prob
        The probability of the interval.

    Returns
    -------
    numpy.ndarray
        The lower and the upper ends, along a first axis of length two.

    Examples
    --------
    >>> import numpy as np
    >>> hdi(np.arange(101.0), prob=0.5)
    array([ 0., 50.])
    """
    ordered = np.sort(np.asarray(draws, dtype=float), axis=0)
    inside = int(np.floor(prob * len(ordered)))
    lows, highs = ordered[: len(ordered) - inside], ordered[inside:]
    shortest = np.argmin(highs - lows, axis=0)[None]
    return np.concatenate([np.take_along_axis(ends, shortest, axis=0) for ends in (lows, highs)])


def shortest_run(draws: np.ndarray, prob: float = 0.9) -> np.ndarray:
    """Return the shortest closed interval that holds at least a share `prob` of draws on a lattice.

    Among runs of the same length it is the one that holds most draws, and then the lowest.

    Parameters
    ----------
    draws
        Draws along the first axis: counts, or other numbers of which many are equal.
    prob
        The probability that the interval holds, at least.

    Returns
    -------
    numpy.ndarray
        The lower and the upper ends, along a first axis of length two; NaN where a draw is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> shortest_run(np.array([0, 1, 1, 1, 1, 1, 1, 2, 2, 9]), prob=0.9)
    array([0., 2.])
    """
    ordered = np.sort(np.asarray(draws, dtype=float), axis=0)
    number = len(ordered)
    reach = int(np.ceil(prob * number - 1e-9)) - 1
    places = np.arange(number).reshape(-1, *[1] * (ordered.ndim - 1))
    steps = np.diff(ordered, axis=0) > 0
    edge = np.ones((1, *ordered.shape[1:]), dtype=bool)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, steps]), places, 0), axis=0)
    last = np.minimum.accumulate(np.where(np.concatenate([steps, edge]), places, number)[::-1], axis=0)[::-1]
    widths = ordered[reach:] - ordered[: number - reach]
    held = last[reach:] - first[: number - reach]
    short = widths <= widths.min(axis=0) + _SAME_WIDTH
    best = np.argmax(np.where(short, held, -1), axis=0)[None]
    ends = [np.take_along_axis(ordered, best + step, axis=0) for step in (0, reach)]
    return np.where(np.isnan(ordered).any(axis=0), np.nan, np.concatenate(ends))


def wald_width(
    count1: np.ndarray,
    size1: np.ndarray,
    count2: np.ndarray,
    size2: np.ndarray,
    alpha: float = 0.05,
    decimals: int | None = None,
) -> np.ndarray:
    """Return by how much a one-sided Wald bound lies below (or above) a difference of two proportions.

    It is zero where both proportions are 0 or 1: see `newcombe`. The two-sided interval has this width at `alpha` / 2
    on either side.

    Parameters
    ----------
    count1, size1, count2, size2
        Counts and sizes of the two samples.
    alpha
        The level.
    decimals
        Round the normal quantile, as tables do.

    References
    ----------
    Alvarez and Ruggieri (2025), equations 10 and 11.

    Examples
    --------
    >>> float(round(0.4 - wald_width(6, 15, 0, 15), 6))
    0.191941
    """
    quantile = float(norm.ppf(1 - alpha))
    share1, share2 = count1 / size1, count2 / size2
    spread = np.sqrt(share1 * (1 - share1) / size1 + share2 * (1 - share2) / size2)
    return spread * (quantile if decimals is None else round(quantile, decimals))


def newcombe(
    count1: np.ndarray, size1: np.ndarray, count2: np.ndarray, size2: np.ndarray, alpha: float = 0.05
) -> np.ndarray:
    """Return Newcombe's two-sided interval of a difference of two proportions, from the two Wilson intervals.

    Unlike Wald's it has a width at 0 and 1.

    Returns
    -------
    numpy.ndarray
        The lower and the upper ends, along a first axis of length two.

    References
    ----------
    Newcombe (1998), Interval estimation for the difference between independent proportions, method 10.

    Examples
    --------
    >>> newcombe(15, 15, 0, 15).round(3)
    array([0.712, 1.   ])
    """
    share1, share2 = count1 / size1, count2 / size2
    (low1, high1), (low2, high2) = _wilson(share1, size1, alpha), _wilson(share2, size2, alpha)
    difference = share1 - share2
    low = difference - np.sqrt((share1 - low1) ** 2 + (high2 - share2) ** 2)
    high = difference + np.sqrt((high1 - share1) ** 2 + (share2 - low2) ** 2)
    return np.stack([low, high])


def _wilson(share: np.ndarray, size: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    z = float(norm.ppf(1 - alpha / 2))
    scale = 1 + z**2 / size
    middle = (share + z**2 / (2 * size)) / scale
    half = z * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2)) / scale
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)


def beta_rates(counts: np.ndarray, sizes: np.ndarray, draws: int, seed: int, stream: str) -> np.ndarray:
    """Draw the rate behind each count, from its posterior under the prior Beta(½, ½).

    Equal counts of equal sizes get equal draws, so that a person's interval does not depend on who else is asked about.

    Parameters
    ----------
    counts, sizes
        Counts and sizes: for each person, or for each draw (rows) and person (columns).
    draws
        Number of draws; where the counts have rows, row d is used for draw d.
    seed, stream
        The seed, and the name of the random stream.

    Returns
    -------
    numpy.ndarray
        Draws × people.

    Examples
    --------
    >>> import numpy as np
    >>> beta_rates(np.array([0, 15]), np.array([15, 15]), 1000, 0, "example").mean(axis=0).round(2)
    array([0.03, 0.97])
    """
    sizes = np.broadcast_to(sizes, counts.shape).astype(np.int64)
    base = int(sizes.max()) + 1
    pairs, place = np.unique(sizes * base + counts, return_inverse=True)
    table = np.stack([_rates(pair % base, pair // base, draws, seed, stream) for pair in pairs.tolist()])
    place = np.broadcast_to(place.reshape(counts.shape), (draws, counts.shape[-1]))
    return table[place, np.arange(draws)[:, None]]


def _rates(count: int, size: int, draws: int, seed: int, stream: str) -> np.ndarray:
    return generator(seed, stream, size, count).beta(count + 0.5, size - count + 0.5, draws)
