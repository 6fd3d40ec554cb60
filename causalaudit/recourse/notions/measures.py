"""What the notions of fair recourse compare, as functions of costs and counts over all subgroups at once.

The symbols are those of Kavouras et al. (2023), section 2: eff (effectiveness), aeff (aggregate effectiveness), ecd
(effectiveness–cost distribution), rc (recourse cost).

Counts may have a leading axis of draws, and may be expected numbers: a count is compared with a share of people, never
taken as an index. Values are returned as (draws ×) 2 × subgroups, for the protected groups 0 and 1.
"""

from fractions import Fraction

import numpy as np

from causalaudit.recourse.evidence.candidates import Candidates

MICRO, MACRO = "micro", "macro"

# Costs that agree to these decimals are one step of an effectiveness–cost distribution.
COST_DECIMALS = 9


def effectiveness(candidates: Candidates, viewpoint: str) -> np.ndarray:
    """Return the aggregate effectiveness: by any action (aeff_μ, micro), or by the best single one (aeff_M, macro).

    Section 2.2 of the paper; compared by Equal Effectiveness (section 2.3).
    """
    return within_budget(candidates, np.inf, viewpoint)


def within_budget(candidates: Candidates, budget: float, viewpoint: str) -> np.ndarray:
    """Return the effectiveness–cost distribution at a budget, ecd(c): the effectiveness of actions that cost no more.

    Section 2.2 of the paper; compared by Equal Effectiveness within Budget (section 2.3). It is 0 where no action is
    within the budget.
    """
    counts = np.where(candidates.costs <= budget, _counts(candidates, viewpoint), 0)
    return np.maximum.reduceat(counts, candidates.start[:-1], axis=-1) / candidates.sizes


def choices(candidates: Candidates, phi: float) -> np.ndarray:
    """Return the number of actions with eff ≥ φ: Equal Choice for Recourse (section 2.3 of the paper)."""
    enough = _enough(candidates, candidates.flipped, phi)
    return np.add.reduceat(enough, candidates.start[:-1], axis=-1, dtype=float)


def cost_of_effectiveness(candidates: Candidates, phi: float, viewpoint: str) -> np.ndarray:
    """Return the least cost of an effectiveness of phi: the inverse distribution ecd⁻¹(φ); may be infinite.

    Section 2.2 of the paper; compared by Equal Cost of Effectiveness (section 2.3). In the micro viewpoint it is a step
    of the distribution.
    """
    costs = least_cost(candidates, phi, viewpoint)
    return costs.round(COST_DECIMALS) if viewpoint == MICRO else costs


def least_cost(candidates: Candidates, phi: float, viewpoint: str) -> np.ndarray:
    """Return the cost of the cheapest action by which a share phi has recourse; infinite if there is none."""
    enough = _enough(candidates, _counts(candidates, viewpoint), phi)
    return np.minimum.reduceat(np.where(enough, candidates.costs, np.inf), candidates.start[:-1], axis=-1)


def tradeoff(candidates: Candidates, viewpoint: str) -> tuple[np.ndarray, np.ndarray]:
    """Return both effectiveness–cost distributions where they differ most (the cheapest such cost), and that cost.

    Their difference is the two-sample Kolmogorov–Smirnov statistic, over the distinct costs: Fair Effectiveness-Cost
    Trade-Off (section 2.3 of the paper).
    """
    curves = distribution(candidates, viewpoint)
    gaps = np.where(last_of_cost(candidates), np.abs(curves[..., 1, :] - curves[..., 0, :]).round(12), -1.0)
    largest = np.maximum.reduceat(gaps, candidates.start[:-1], axis=-1)
    number = len(candidates.costs)
    where = np.where(gaps == largest[..., candidates.subgroup], np.arange(number), number)
    at = np.minimum.reduceat(where, candidates.start[:-1], axis=-1)
    return np.take_along_axis(curves, at[..., None, :], axis=-1), steps(candidates)[at]


def distribution(candidates: Candidates, viewpoint: str) -> np.ndarray:
    """Return the effectiveness–cost distribution at each pair, right where the pair is the last of its cost."""
    counts = candidates.reached if viewpoint == MICRO else running_maximum(candidates.flipped, candidates.start)
    return counts / candidates.sizes[:, candidates.subgroup]


def steps(candidates: Candidates) -> np.ndarray:
    """Return the costs at which effectiveness–cost distributions step."""
    return np.round(candidates.costs, COST_DECIMALS)


def last_of_cost(candidates: Candidates) -> np.ndarray:
    """Return which pairs are the last of their cost in their subgroup."""
    costs, last = steps(candidates), np.ones(len(candidates.costs), dtype=bool)
    last[:-1] = costs[1:] != costs[:-1]
    last[candidates.start[1:] - 1] = True
    return last


def conditional_mean(candidates: Candidates) -> np.ndarray:
    """Return the mean recourse cost of those who have recourse, rc*; infinite if nobody has.

    Equal Conditional Mean Recourse (section 2.3 of the paper).
    """
    total, number = _recourse_cost(candidates)
    return np.divide(total, number, out=np.full(total.shape, np.inf), where=number > 0)


def mean(candidates: Candidates, no_recourse_cost: float) -> np.ndarray:
    """Return the mean recourse cost, `no_recourse_cost` (c∞) for those without recourse: burden, if everyone has it.

    Equal Mean Recourse (section 2.3 of the paper).
    """
    total, number = _recourse_cost(candidates)
    return (total + no_recourse_cost * (candidates.sizes - number)) / candidates.sizes


def _recourse_cost(candidates: Candidates) -> tuple[np.ndarray, np.ndarray]:
    """Return the summed costs of those who have recourse, each by their cheapest action, and their number.

    The recourse cost rc(A, x) of section 2.1 of the paper.
    """
    reached, first = candidates.reached, candidates.start[:-1]
    new = np.diff(reached, axis=-1, prepend=0)
    new[..., first] = reached[..., first]
    total = np.add.reduceat(new * candidates.costs, first, axis=-1)
    return total, reached[..., candidates.start[1:] - 1]


def _counts(candidates: Candidates, viewpoint: str) -> np.ndarray:
    return candidates.reached if viewpoint == MICRO else candidates.flipped


def _enough(candidates: Candidates, counts: np.ndarray, phi: float) -> np.ndarray:
    """Return where counts are at least a share phi of the group; counts of people are compared exactly."""
    exact = Fraction(str(phi))
    needed = candidates.sizes * exact.numerator / exact.denominator
    return np.asarray(counts >= needed[:, candidates.subgroup])


def running_maximum(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the running maximum along the pairs (last axis) within each subgroup, by doubling steps.

    Examples
    --------
    >>> import numpy as np
    >>> running_maximum(np.array([3, 1, 0, 5]), np.array([0, 2, 4]))
    array([3, 3, 0, 5])
    """
    best = values.copy()
    place = np.arange(values.shape[-1]) - np.repeat(start[:-1], np.diff(start))
    step = 1
    while step <= place.max(initial=0):
        far = np.flatnonzero(place >= step)
        best[..., far] = np.maximum(best[..., far], best[..., far - step])
        step *= 2
    return best
