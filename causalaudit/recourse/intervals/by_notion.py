"""Intervals of the notions for the population that the people are a sample of, subgroups and actions held fixed.

All are about the difference between the two protected groups, the value of the first less that of the second, and have
the lower and the upper end along a first axis of length two. They are for one subgroup: for all subgroups of a search
at once, the one that comes out on top included, give them `alpha` divided by the number of subgroups searched.

Group sizes are taken as given. Limits of proportions are Clopper and Pearson's, which are exact: Wilson's are far from
it at the levels to which a search over thousands of subgroups leads.
"""

from dataclasses import dataclass

import numpy as np

from causalaudit.people import distinct_rows
from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.intervals.limits import added_in_squares, apart, lower_limit, upper_limit
from causalaudit.recourse.intervals.mean_limits import Payments
from causalaudit.recourse.notions.measures import last_of_cost, running_maximum, steps


@dataclass(frozen=True)
class EffectivenessLimits:
    """Limits of the effectiveness of every action, in both groups: 2 × pairs.

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


def effectiveness_limits(candidates: Candidates, alpha: float = 0.05) -> EffectivenessLimits:
    """Return the limits that the intervals of the macro viewpoint are images of.

    Four events may go wrong (two groups, two sides), each with probability `alpha` / 4, which is divided among the
    actions of the subgroup where it must hold for all of them.
    """
    cells = np.broadcast_arrays(
        candidates.flipped,
        candidates.sizes[:, candidates.subgroup],
        np.diff(candidates.start)[candidates.subgroup],
    )
    (count, size, actions), place = _distinct(*cells)
    level = alpha / 4
    limits = (
        lower_limit(count, size, level / actions),
        upper_limit(count, size, level / actions),
        upper_limit(count, size, level),
    )
    return EffectivenessLimits(*(limit[place] for limit in limits))


def _distinct(*cells: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the distinct combinations of numbers, and where each cell's is among them."""
    distinct = distinct_rows([cell.ravel() for cell in cells])
    return [cell.ravel()[distinct.first] for cell in cells], distinct.inverse.reshape(cells[0].shape)


def macro_effectiveness(candidates: Candidates, limits: EffectivenessLimits, budget: float = np.inf) -> np.ndarray:
    """Return the intervals of equal effectiveness (within a budget), macro viewpoint.

    The largest effectiveness lies between the largest limits. Where no action is within the budget both are 0.
    """
    allowed = candidates.costs <= budget
    ends = (np.where(allowed, limit, 0.0) for limit in (limits.low, limits.each_high))
    return apart(*(np.maximum.reduceat(limit, candidates.start[:-1], axis=-1) for limit in ends))


def macro_choice(candidates: Candidates, limits: EffectivenessLimits, phi: float) -> np.ndarray:
    """Return the intervals of equal choice: of the difference in the number of actions that work for a share `phi`."""
    works = (limit >= phi for limit in (limits.low, limits.high))
    return apart(*(np.add.reduceat(each, candidates.start[:-1], axis=-1, dtype=float) for each in works))


def macro_cost(candidates: Candidates, limits: EffectivenessLimits, phi: float) -> np.ndarray:
    """Return the intervals of equal cost of effectiveness, macro viewpoint; costs may be infinite.

    The cheapest action that works for a share `phi` costs at least as much as the cheapest that may, by its upper
    limit, and at most as much as the cheapest that must, by its lower limit.
    """
    works = (limit >= phi for limit in (limits.each_high, limits.low))
    return apart(*(_cheapest(candidates, candidates.costs, each) for each in works))


def _cheapest(candidates: Candidates, costs: np.ndarray, works: np.ndarray) -> np.ndarray:
    return np.minimum.reduceat(np.where(works, costs, np.inf), candidates.start[:-1], axis=-1)


def macro_tradeoff(candidates: Candidates, limits: EffectivenessLimits) -> np.ndarray:
    """Return the intervals of the effectiveness-cost trade-off, macro viewpoint: of the largest distance, unsigned."""
    low, high = (running_maximum(limit, candidates.start) for limit in (limits.low, limits.high))
    return largest_distance(candidates, apart(low, high))


def largest_distance(candidates: Candidates, gaps: np.ndarray) -> np.ndarray:
    """Return the intervals of the largest distance of two curves, from those of their difference at each pair."""
    low, high = gaps
    distances = np.stack([np.maximum(low, -high), np.maximum(high, -low)])
    distances = np.where(last_of_cost(candidates), np.maximum(distances, 0.0), 0.0)
    return np.maximum.reduceat(distances, candidates.start[:-1], axis=-1)


def micro_effectiveness(candidates: Candidates, alpha: float = 0.05, budget: float = np.inf) -> np.ndarray:
    """Return the intervals of equal effectiveness (within a budget), micro viewpoint: Newcombe's, of two proportions.

    Newcombe's combination of limits, of exact ones instead of Wilson's. Where no action is within the budget both
    proportions are 0.
    """
    allowed, first = candidates.costs <= budget, candidates.start[:-1]
    count = np.maximum.reduceat(np.where(allowed, candidates.reached, 0), first, axis=-1)

    (number, size), place = _distinct(count, candidates.sizes)

    def limits(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        low, high = (limit(number, size, levels[:, None])[:, place] for limit in (lower_limit, upper_limit))
        return low, high

    return np.where(np.logical_or.reduceat(allowed, first), added_in_squares(limits, alpha), 0.0)


def micro_cost(candidates: Candidates, phi: float, alpha: float = 0.05) -> np.ndarray:
    """Return the intervals of equal cost of effectiveness, micro viewpoint: of a quantile of each person's cost.

    The limits of the shares who reach recourse need not be simultaneous: the shares rise with the cost, so that the
    quantile is missed on a side only if the limit at one cost, fixed by the population, is.
    """
    cells = np.broadcast_arrays(candidates.reached, candidates.sizes[:, candidates.subgroup])
    (count, size), place = _distinct(*cells)
    works = (limit(count, size, alpha / 4)[place] >= phi for limit in (upper_limit, lower_limit))
    return apart(*(_cheapest(candidates, steps(candidates), each) for each in works))


def micro_tradeoff(distance: np.ndarray, sizes: np.ndarray, alpha: float = 0.05) -> np.ndarray:
    """Return the intervals of the effectiveness-cost trade-off, micro viewpoint: of the Kolmogorov-Smirnov distance.

    Each group's distribution is nearer to its population's than Dvoretzky, Kiefer, Wolfowitz and Massart's bound at
    `alpha` / 2, so that the distance is off by no more than the sum of the two.

    Parameters
    ----------
    distance
        The distance between the two distributions, for each subgroup.
    sizes
        People of the two groups: 2 × subgroups.
    alpha
        The level.

    Examples
    --------
    >>> import numpy as np
    >>> micro_tradeoff(np.array([0.4]), np.array([[40], [300]]), alpha=0.1).round(2).ravel()
    array([0.11, 0.69])
    """
    reach = np.sqrt(np.log(4 / alpha) / (2 * sizes)).sum(axis=0)
    return np.clip(np.stack([distance - reach, distance + reach]), 0, 1)


def mean_cost(candidates: Candidates, alpha: float = 0.05, no_recourse_cost: float | None = None) -> np.ndarray:
    """Return the intervals of equal (conditional) mean recourse: of the difference of the mean costs.

    The limits of the two means are those of a bootstrap, `Payments.mean_limits`, combined as Newcombe does.

    Parameters
    ----------
    candidates
        Subgroups, actions and the people they help.
    alpha
        The level.
    no_recourse_cost
        The cost of those whom no action helps. None: they do not count (conditional mean); where nobody is left the
        mean is infinite, and its population's value anything from the least cost on.
    """
    paid = payments(candidates, no_recourse_cost)
    nobody = paid.total(paid.people) == 0

    def limits(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        low, high = paid.mean_limits(levels)
        return np.where(nobody, paid.least, low), np.where(nobody, np.inf, high)

    return added_in_squares(limits, alpha)


def payments(candidates: Candidates, no_recourse_cost: float | None = None) -> Payments:
    """Return what people pay, each for their cheapest action; costs that nobody pays are left out."""
    start, costs, reached = candidates.start, candidates.costs, candidates.reached
    first, end = start[:-1], start[1:]
    least, largest = costs[first], costs[end - 1]
    people = np.diff(reached, axis=-1, prepend=0)
    people[:, first] = reached[:, first]
    if no_recourse_cost is not None:
        people = np.insert(people, end, candidates.sizes - reached[:, end - 1], axis=1)
        costs = np.insert(costs, end, no_recourse_cost)
        first = first + np.arange(len(first))
        least, largest = np.minimum(least, no_recourse_cost), np.maximum(largest, no_recourse_cost)
    kept = np.asarray((people > 0).any(axis=0))
    kept[first] = True
    return Payments(np.cumsum(kept)[first] - 1, costs[kept], people[:, kept], least, largest)
