"""The interval of every score, by the method that holds for its notion."""

import numpy as np

from causalaudit.recourse import intervals
from causalaudit.recourse.candidates import Candidates
from causalaudit.recourse.metrics import MICRO, distribution, running_maximum
from causalaudit.recourse.notions import Notion, difference


def score_intervals(
    notions: tuple[Notion, ...], candidates: Candidates, values: list[np.ndarray], alpha: float
) -> list[np.ndarray]:
    """Return the lower and upper ends for each notion, 2 × subgroups, each at the level alpha for one subgroup.

    They are turned towards the group that is worse off, so that they hold the score.
    """
    band = intervals.band(candidates, alpha)
    return [_ends(notion, candidates, band, own, alpha) for notion, own in zip(notions, values, strict=True)]


def _ends(notion: Notion, candidates: Candidates, band: intervals.Band, values: np.ndarray, alpha: float) -> np.ndarray:
    micro = notion.viewpoint == MICRO
    apart = difference(values)
    match notion.metric:
        case "effectiveness_cost_tradeoff":
            if micro:
                return intervals.micro_tradeoff(np.abs(apart), candidates.sizes, alpha)
            return intervals.macro_tradeoff(candidates, band)
        case "equal_choice":
            ends = intervals.macro_choice(candidates, band, notion.parameter)
        case "cost_of_effectiveness" if micro:
            ends = intervals.micro_cost(candidates, notion.parameter, alpha)
        case "cost_of_effectiveness":
            ends = intervals.macro_cost(candidates, band, notion.parameter)
        case "conditional_mean_recourse" | "mean_recourse":
            ends = intervals.mean_cost(candidates, alpha, notion.no_recourse_cost)
        case _:
            budget = np.inf if np.isnan(notion.parameter) else notion.parameter
            if micro:
                ends = intervals.micro_effectiveness(candidates, alpha, budget)
            else:
                ends = intervals.macro_effectiveness(candidates, band, budget)
    return intervals.towards(ends, apart)


def curve_bands(candidates: Candidates, viewpoint: str, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper ends of bands around both effectiveness–cost distributions: 2 × pairs each.

    Both curves of the population lie inside, save with probability alpha: by Dvoretzky, Kiefer, Wolfowitz and Massart
    (micro), or between the running maxima of the limits of all actions (macro).
    """
    if viewpoint == MICRO:
        reach = np.sqrt(np.log(4 / alpha) / (2 * candidates.sizes))[:, candidates.subgroup]
        curves = distribution(candidates, MICRO)
        return np.clip(curves - reach, 0, 1), np.clip(curves + reach, 0, 1)
    band = intervals.band(candidates, alpha)
    return running_maximum(band.low, candidates.start), running_maximum(band.high, candidates.start)
