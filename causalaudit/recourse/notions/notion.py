"""The notions that are asked about, with their parameters, and who is worse off by each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.notions import measures
from causalaudit.recourse.notions.measures import MACRO, MICRO
from causalaudit.storage import storable

TITLES = {
    "equal_effectiveness": "Equal Effectiveness",
    "equal_choice": "Equal Choice for Recourse",
    "effectiveness_within_budget": "Equal Effectiveness within Budget",
    "cost_of_effectiveness": "Equal Cost of Effectiveness",
    "effectiveness_cost_tradeoff": "Fair Effectiveness-Cost Trade-Off",
    "conditional_mean_recourse": "Equal Conditional Mean Recourse",
    "mean_recourse": "Equal Mean Recourse",
}
_COSTS = ("cost_of_effectiveness", "conditional_mean_recourse", "mean_recourse")
_THRESHOLDS = ("equal_choice", "cost_of_effectiveness")
# Differences below this are noise of the arithmetic.
_NOISE = 1e-12


@storable
@dataclass(frozen=True)
class Notion:
    """A definition of section 2.3 of the paper with its parameter (NaN: none) and its viewpoint.

    `no_recourse_cost` is the recourse cost of those who have no recourse, where it is needed.
    """

    metric: str
    parameter: float
    viewpoint: str
    no_recourse_cost: float | None = None

    @property
    def is_cost(self) -> bool:
        """Whether more is worse."""
        return self.metric in _COSTS

    @property
    def is_distance(self) -> bool:
        """Whether whole distributions are compared, by a distance without direction."""
        return self.metric == "effectiveness_cost_tradeoff"

    @property
    def title(self) -> str:
        """The name that the paper gives it, with its parameter."""
        if np.isnan(self.parameter):
            return TITLES[self.metric]
        return f"{TITLES[self.metric]} ({'threshold' if self.has_threshold else 'budget'}={self.parameter:g})"

    @property
    def has_threshold(self) -> bool:
        """Whether the parameter is a share of people to be reached."""
        return self.metric in _THRESHOLDS

    @property
    def label(self) -> str:
        """A short unique name."""
        parameter = "" if np.isnan(self.parameter) else f" {self.parameter:g}"
        return f"{self.metric}{parameter} {self.viewpoint}"

    def values(self, candidates: Candidates) -> np.ndarray:
        """Return what both groups have of it, (draws ×) 2 × subgroups."""
        match self.metric:
            case "equal_effectiveness":
                return measures.effectiveness(candidates, self.viewpoint)
            case "equal_choice":
                return measures.choices(candidates, self.parameter)
            case "effectiveness_within_budget":
                return measures.within_budget(candidates, self.parameter, self.viewpoint)
            case "cost_of_effectiveness":
                return measures.cost_of_effectiveness(candidates, self.parameter, self.viewpoint)
            case "effectiveness_cost_tradeoff":
                return measures.tradeoff(candidates, self.viewpoint)[0]
            case "conditional_mean_recourse":
                return measures.conditional_mean(candidates)
            case _:
                assert self.no_recourse_cost is not None
                return measures.mean(candidates, self.no_recourse_cost)

    def disadvantage(self, values: np.ndarray) -> np.ndarray:
        """Return how much worse off group 0 is than group 1: positive is against group 0, negative against group 1.

        Infinity less infinity is 0: neither has recourse, which is fair.
        """
        return less_the_other(values) if self.is_cost else -less_the_other(values) + 0.0


def less_the_other(values: np.ndarray) -> np.ndarray:
    """Return the value of group 0 less that of group 1, for (draws ×) 2 × subgroups.

    Examples
    --------
    >>> import numpy as np
    >>> less_the_other(np.array([[1.0, np.inf, np.inf], [0.5, np.inf, 3.0]]))
    array([0.5, 0. , inf])
    """
    first, second = values[..., 0, :], values[..., 1, :]
    both = np.isinf(first) & np.isinf(second)
    apart = np.where(both, 0.0, first) - np.where(both, 0.0, second)
    return np.where(np.abs(apart) <= _NOISE, 0.0, apart)


def all_notions(
    phi: Sequence[float], budgets: Sequence[float], no_recourse_cost: float | None = None
) -> tuple[Notion, ...]:
    """Return all notions: choice is macro, the mean recourses are micro, the others both."""
    nan, both = float("nan"), (MICRO, MACRO)
    found = [Notion("equal_effectiveness", nan, view) for view in both]
    found += [Notion("equal_choice", share, MACRO) for share in phi]
    found += [Notion("effectiveness_within_budget", budget, view) for budget in budgets for view in both]
    found += [Notion("cost_of_effectiveness", share, view) for share in phi for view in both]
    found += [Notion("effectiveness_cost_tradeoff", nan, view) for view in both]
    found.append(Notion("conditional_mean_recourse", nan, MICRO))
    if no_recourse_cost is not None:
        found.append(Notion("mean_recourse", nan, MICRO, no_recourse_cost))
    return tuple(found)


def percentile_budgets(candidates: Candidates, percentiles: Sequence[float] = (30, 60, 90)) -> list[float]:
    """Return budgets by the procedure of appendix A of the paper.

    They are percentiles of the costs at which half of a protected subgroup is reached (micro viewpoint), over all
    subgroups and both groups that can be reached; equal ones are named once. Percentiles are costs that occur.
    """
    costs = measures.least_cost(candidates, 0.5, MICRO)
    finite = costs[np.isfinite(costs)]
    if not len(finite):
        return []
    return np.unique(np.percentile(finite, percentiles, method="inverted_cdf")).tolist()


def dense_ranks(scores: np.ndarray) -> np.ndarray:
    """Return ranks from 1, the largest score first; equal scores share one, and none is left out.

    Examples
    --------
    >>> import numpy as np
    >>> dense_ranks(np.array([0.0, np.inf, 2.0, 2.0]))
    array([3, 1, 2, 2])
    """
    return np.unique(-np.round(scores, 12), return_inverse=True)[1].reshape(scores.shape) + 1


def fair_below(sizes: np.ndarray, alpha: float) -> np.ndarray:
    """Return the largest distance of two distributions that is fair with confidence alpha (section 2.3 of the paper).

    Examples
    --------
    >>> import numpy as np
    >>> fair_below(np.array([[40], [300]]), alpha=0.05).round(3)
    array([0.229])
    """
    return np.sqrt(-np.log(alpha / 2) * sizes.sum(axis=0) / (2 * sizes.prod(axis=0)))
