"""The simultaneous interval of every score, by the method that holds for its notion."""

import numpy as np

from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.intervals import by_notion
from causalaudit.recourse.notions.measures import MICRO, distribution, running_maximum
from causalaudit.recourse.notions.notion import Notion, less_the_other


def score_intervals(
    notions: tuple[Notion, ...], candidates: Candidates, values: list[np.ndarray], alpha: float
) -> list[np.ndarray]:
    """Return the lower and upper ends for each notion, 2 × subgroups, for all subgroups at once at the level alpha.

    They are turned towards the group that is worse off, so that they hold the score.
    """
    each = alpha / len(candidates)  # Bonferroni
    limits = by_notion.effectiveness_limits(candidates, each)
    found = []
    for notion, own in zip(notions, values, strict=True):
        signed = less_the_other(own)
        if not notion.is_distance:
            found.append(towards(difference_intervals(notion, candidates, limits, each), signed))
        elif notion.viewpoint == MICRO:
            found.append(by_notion.micro_tradeoff(np.abs(signed), candidates.sizes, each))
        else:
            found.append(by_notion.macro_tradeoff(candidates, limits))
    return found


def difference_intervals(
    notion: Notion, candidates: Candidates, limits: by_notion.EffectivenessLimits, alpha: float
) -> np.ndarray:
    """Return the intervals of the first value less the second, each at the level alpha: 2 × subgroups.

    `limits` are at that level. A distance has no such difference.
    """
    micro = notion.viewpoint == MICRO
    match notion.metric:
        case "equal_choice":
            return by_notion.macro_choice(candidates, limits, notion.parameter)
        case "cost_of_effectiveness" if micro:
            return by_notion.micro_cost(candidates, notion.parameter, alpha)
        case "cost_of_effectiveness":
            return by_notion.macro_cost(candidates, limits, notion.parameter)
        case "conditional_mean_recourse" | "mean_recourse":
            return by_notion.mean_cost(candidates, alpha, notion.no_recourse_cost)
        case _:
            budget = np.inf if np.isnan(notion.parameter) else notion.parameter
            if micro:
                return by_notion.micro_effectiveness(candidates, alpha, budget)
            return by_notion.macro_effectiveness(candidates, limits, budget)


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
    return np.stack([least, most]) + 0.0


def curve_bands(
    candidates: Candidates, viewpoint: str, alpha: float, limits: by_notion.EffectivenessLimits | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper ends of bands around both effectiveness–cost distributions: 2 × pairs each.

    Both curves of the population lie inside, save with probability alpha, in one subgroup: by Dvoretzky, Kiefer,
    Wolfowitz and Massart (micro), or between the running maxima of the limits of all actions (macro), which may be
    given if they are known.
    """
    if viewpoint == MICRO:
        reach = np.sqrt(np.log(4 / alpha) / (2 * candidates.sizes))[:, candidates.subgroup]
        curves = distribution(candidates, MICRO)
        return np.clip(curves - reach, 0, 1), np.clip(curves + reach, 0, 1)
    limits = by_notion.effectiveness_limits(candidates, alpha) if limits is None else limits
    return running_maximum(limits.low, candidates.start), running_maximum(limits.high, candidates.start)
