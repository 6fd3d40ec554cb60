"""Intervals of the notions for the population that the people are a sample of, subgroups and actions held fixed.

All are about the difference between the two protected groups, the value of the first less that of the second, and have
the lower and the upper end along a first axis of length two. They are for one subgroup: for all subgroups of a search
at once, the one that comes out on top included, give them `alpha` divided by the number of subgroups searched.

Group sizes are taken as given. The limits that make up a band are Clopper and Pearson's, which are exact: Wilson's are
far from it at the levels to which a search over thousands of subgroups leads.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betainccinv, betaincinv

from causalaudit.recourse.mean_limits import mean_limits
from causalaudit.recourse.tallies import Tallies


def lower_limit(count: np.ndarray, size: np.ndarray, level: np.ndarray | float) -> np.ndarray:
    """Return Clopper and Pearson's lower limit of a proportion, which lies above it with probability `level` at most.

    Examples
    --------
    >>> lower_limit(np.array([0, 5, 10]), np.array([10, 10, 10]), 0.025).round(3)
    array([0.   , 0.187, 0.692])
    """
    found = betaincinv(np.maximum(count, 1), size - count + 1, level)
    return np.where(count == 0, 0.0, found)


def upper_limit(count: np.ndarray, size: np.ndarray, level: np.ndarray | float) -> np.ndarray:
    """Return Clopper and Pearson's upper limit of a proportion.

    Examples
    --------
    >>> upper_limit(np.array([0, 5, 10]), np.array([10, 10, 10]), 0.025).round(3)
    array([0.308, 0.813, 1.   ])
    """
    found = betainccinv(count + 1, np.maximum(size - count, 1), level)
    return np.where(count == size, 1.0, found)


@dataclass(frozen=True)
class Band:
    """Limits of the effectiveness of every action, in both groups: 2 × actions.

    Attributes
    ----------
    low, high
        Simultaneous over the actions of a subgroup: all effectivenesses of both groups lie between them, save with
        probability `alpha`.
    each_high
        Upper limits of each action alone, at the level that `high` has for a single action. They are enough where one
        action, fixed by the population, decides: the largest effectiveness lies above the largest limit only if that
        of the best action lies above its own.
    """

    low: np.ndarray
    high: np.ndarray
    each_high: np.ndarray


def band(tallies: Tallies, alpha: float = 0.05) -> Band:
    """Return the limits that the intervals of the macro viewpoint are images of.

    Four events may go wrong (two groups, two sides), each with probability `alpha` / 4, which is divided among the
    actions of the subgroup where it must hold for all of them.

    Examples
    --------
    >>> import numpy as np
    >>> two = np.array([[4, 9], [90, 60]])
    >>> tallies = Tallies(np.array([0]), np.array([1.0, 2.0]), np.array([[40], [300]]), two, two)
    >>> band(tallies, alpha=0.1).high.round(2)
    array([[0.26, 0.41],
           [0.36, 0.26]])
    """
    size, actions = tallies.spread(tallies.size), tallies.spread(tallies.actions)[None]
    cells = np.broadcast_arrays(tallies.flipped, size, actions)
    (count, size, actions), place = _distinct(*cells)
    level = alpha / 4
    limits = (
        lower_limit(count, size, level / actions),
        upper_limit(count, size, level / actions),
        upper_limit(count, size, level),
    )
    return Band(*(limit[place] for limit in limits))


def _distinct(*cells: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the distinct combinations of whole numbers, and where each cell's is among them."""
    shape = tuple(int(cell.max()) + 1 for cell in cells)
    keys, place = np.unique(np.ravel_multi_index(cells, shape), return_inverse=True)
    return list(np.unravel_index(keys, shape)), place.reshape(cells[0].shape)


def difference(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the interval of the first value less the second, from limits of both (2 × subgroups).

    Infinity less infinity is 0: nobody is worse off.

    Examples
    --------
    >>> difference(np.array([[1.0], [np.inf]]), np.array([[3.0], [np.inf]])).ravel()
    array([-inf, -inf])
    """
    return np.stack([_less(low[0], high[1]), _less(high[0], low[1])])


def _less(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    same = np.isinf(first) & np.isinf(second)
    return np.where(same, 0.0, first - np.where(same, 0.0, second))


def macro_effectiveness(tallies: Tallies, limits: Band, budget: float = np.inf) -> np.ndarray:
    """Return the intervals of equal effectiveness (within a budget), macro viewpoint.

    The largest effectiveness lies between the largest limits. Where no action is within the budget both are 0.

    Examples
    --------
    >>> import numpy as np
    >>> two = np.array([[4, 9], [90, 60]])
    >>> tallies = Tallies(np.array([0]), np.array([1.0, 2.0]), np.array([[40], [300]]), two, two)
    >>> macro_effectiveness(tallies, band(tallies, alpha=0.1)).round(2).ravel()
    array([-0.26,  0.14])
    """
    allowed = tallies.cost <= budget
    return difference(
        tallies.largest(np.where(allowed, limits.low, 0.0)), tallies.largest(np.where(allowed, limits.each_high, 0.0))
    )


def macro_choice(tallies: Tallies, limits: Band, phi: float) -> np.ndarray:
    """Return the intervals of equal choice: of the difference in the number of actions that work for a share `phi`.

    Examples
    --------
    >>> import numpy as np
    >>> two = np.array([[4, 9], [90, 60]])
    >>> tallies = Tallies(np.array([0]), np.array([1.0, 2.0]), np.array([[40], [300]]), two, two)
    >>> macro_choice(tallies, band(tallies, alpha=0.1), phi=0.25).ravel()
    array([-2.,  2.])
    """
    low, high = (tallies.total((ends >= phi).astype(float)) for ends in (limits.low, limits.high))
    return difference(low, high)


def macro_cost(tallies: Tallies, limits: Band, phi: float) -> np.ndarray:
    """Return the intervals of equal cost of effectiveness, macro viewpoint; costs may be infinite.

    The cheapest action that works for a share `phi` costs at least as much as the cheapest that may, by its upper
    limit, and at most as much as the cheapest that must, by its lower limit.
    """
    return difference(
        _cheapest(tallies, limits.each_high >= phi),
        _cheapest(tallies, limits.low >= phi),
    )


def _cheapest(tallies: Tallies, works: np.ndarray) -> np.ndarray:
    return tallies.smallest(np.where(works, tallies.cost, np.inf))


def macro_tradeoff(tallies: Tallies, limits: Band) -> np.ndarray:
    """Return the intervals of the effectiveness-cost trade-off, macro viewpoint: of the largest distance, unsigned."""
    low, high = tallies.running_largest(limits.low), tallies.running_largest(limits.high)
    ends = tallies.ends_cost
    apart = np.maximum(low[0] - high[1], low[1] - high[0])
    reach = np.maximum(high[0] - low[1], high[1] - low[0])
    least, most = (tallies.largest(np.where(ends, distance, 0.0)) for distance in (apart, reach))
    return np.stack([np.maximum(least, 0.0), most])


def micro_effectiveness(tallies: Tallies, alpha: float = 0.05, budget: float = np.inf) -> np.ndarray:
    """Return the intervals of equal effectiveness (within a budget), micro viewpoint: Newcombe's, of two proportions.

    Limits of the two proportions are combined as Newcombe does, but they are exact ones instead of Wilson's.

    References
    ----------
    Newcombe (1998), Interval estimation for the difference between independent proportions, method 10.

    Examples
    --------
    >>> import numpy as np
    >>> two = np.array([[4, 9], [90, 120]])
    >>> tallies = Tallies(np.array([0]), np.array([1.0, 2.0]), np.array([[40], [300]]), two, two)
    >>> micro_effectiveness(tallies, alpha=0.1).round(2).ravel()
    array([-0.29, -0.03])
    """
    allowed = tallies.cost <= budget
    count, size = tallies.largest(np.where(allowed, tallies.reached, 0)), tallies.size
    low, high = (limit(count, size, alpha / 2) for limit in (lower_limit, upper_limit))
    return np.where(tallies.largest(allowed), _squares_added(count / size, low, high), 0.0)


def micro_cost(tallies: Tallies, phi: float, alpha: float = 0.05) -> np.ndarray:
    """Return the intervals of equal cost of effectiveness, micro viewpoint: of a quantile of each person's cost.

    The limits of the shares who reach recourse need not be simultaneous: the shares rise with the cost, so that the
    quantile is missed on a side only if the limit at one cost, fixed by the population, is.
    """
    cells = np.broadcast_arrays(tallies.reached, tallies.spread(tallies.size))
    (count, size), place = _distinct(*cells)
    high, low = (limit(count, size, alpha / 4)[place] for limit in (upper_limit, lower_limit))
    return difference(_cheapest(tallies, high >= phi), _cheapest(tallies, low >= phi))


def micro_tradeoff(distance: np.ndarray, size: np.ndarray, alpha: float = 0.05) -> np.ndarray:
    """Return the intervals of the effectiveness-cost trade-off, micro viewpoint: of the Kolmogorov-Smirnov distance.

    Each group's distribution is nearer to its population's than Dvoretzky, Kiefer, Wolfowitz and Massart's bound at
    `alpha` / 2, so that the distance is off by no more than the sum of the two.

    Parameters
    ----------
    distance
        The distance between the two distributions, for each subgroup.
    size
        People of the two groups: 2 × subgroups.
    alpha
        The level.

    Examples
    --------
    >>> import numpy as np
    >>> micro_tradeoff(np.array([0.4]), np.array([[40], [300]]), alpha=0.1).round(2).ravel()
    array([0.11, 0.69])
    """
    reach = np.sqrt(np.log(4 / alpha) / (2 * size)).sum(axis=0)
    return np.clip(np.stack([distance - reach, distance + reach]), 0, 1)


def mean_cost(tallies: Tallies, alpha: float = 0.05, no_recourse_cost: float | None = None) -> np.ndarray:
    """Return the intervals of equal (conditional) mean recourse: of the difference of the mean costs.

    The limits of the two means are those of a bootstrap, `mean_limits`; they are combined as Newcombe combines
    Wilson's.

    Parameters
    ----------
    tallies
        The people whom actions help.
    alpha
        The level.
    no_recourse_cost
        The cost of those whom no action helps. None: they do not count (conditional mean); where nobody is left the
        mean is infinite, and its population's value anything from the least cost on.

    References
    ----------
    Zou and Donner (2008), Construction of confidence limits about effect measures: a general approach.

    Examples
    --------
    >>> import numpy as np
    >>> reached = np.array([[4, 9], [90, 120]])
    >>> tallies = Tallies(np.array([0]), np.array([1.0, 2.0]), np.array([[40], [300]]), reached, reached)
    >>> mean_cost(tallies, alpha=0.1).round(2).ravel()
    array([-0.01,  0.59])
    """
    if no_recourse_cost is not None:
        tallies = tallies.all_reached(no_recourse_cost)
    people, number = tallies.new(), tallies.last(tallies.reached)
    ends = np.stack([tallies.smallest(tallies.cost), tallies.largest(tallies.cost)])
    low, high = mean_limits(tallies, people, ends, alpha / 2)
    nobody = number == 0
    mean = tallies.total(people * tallies.cost) / np.where(nobody, 1, number)
    apart = _squares_added(mean, low, high)
    unknown = difference(np.where(nobody, ends[0], low), np.where(nobody, np.inf, high))
    return np.where(nobody.any(axis=0), unknown, apart)


def _squares_added(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the interval of the first value less the second, distances from values to limits added in squares."""
    apart = values[0] - values[1]
    least = apart - np.hypot(values[0] - low[0], high[1] - values[1])
    most = apart + np.hypot(high[0] - values[0], values[1] - low[1])
    return np.stack([least, most])


def towards(ends: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """Turn intervals of the first value less the second so that they hold the score, which has no sign.

    The result is the interval of how much worse off the group named in `bias_against` is: above zero where that is
    certain, with a negative lower end where it may be the other way round. Where neither group is worse off there is
    no direction, and the interval goes both ways.

    Parameters
    ----------
    ends
        The intervals, 2 × subgroups.
    signed
        The first value less the second, as observed, for each subgroup.

    Examples
    --------
    >>> import numpy as np
    >>> towards(np.array([[-3.0, -3.0, -3.0], [2.0, 2.0, 2.0]]), np.array([-1.0, 1.0, 0.0]))
    array([[-2., -3., -3.],
           [ 3.,  2.,  3.]])
    """
    low, high = ends
    farthest = np.maximum(np.abs(low), np.abs(high))
    least = np.where(signed > 0, low, np.where(signed < 0, -high, -farthest))
    most = np.where(signed > 0, high, np.where(signed < 0, -low, farthest))
    return np.stack([least + 0.0, most + 0.0])
