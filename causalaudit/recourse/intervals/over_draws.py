"""Simultaneous intervals that join both uncertainties: who was sampled, and how they would respond.

Given the parameters of a causal model, the counts of a draw are those of a sample of people, and the intervals of
`scores` hold. The parameters are in a region of the posterior. The union of the intervals over the draws of that region
holds if the region holds the parameters and the interval of these holds the truth: each may fail with probability α/2.
"""

from dataclasses import replace

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from causalaudit.recourse.evidence.candidates import Candidates, runs
from causalaudit.recourse.intervals import by_notion
from causalaudit.recourse.intervals.limits import apart
from causalaudit.recourse.intervals.scores import curve_bands, difference_intervals, towards
from causalaudit.recourse.notions.measures import distribution, last_of_cost
from causalaudit.recourse.notions.notion import Notion, less_the_other

# Cells (pairs × draws) that are looked at in one pass; the draws on either side that are tried for a mean cost, whose
# limits are dear.
_CELLS = 2**20
_TRIED = 12
_DECIMALS = 12


def level_shares(alpha: float, draws: int) -> tuple[float, float]:
    """Return what of the level is spent on the people, and on the parameters: one half each, if there are enough draws.

    The truth lies outside of the range of m draws of a number like it with probability 2 / (m + 1): fewer draws spend
    more. Where they spend all, nothing is left for the people.

    Examples
    --------
    >>> level_shares(0.05, 400), [round(share, 3) for share in level_shares(0.05, 49)], draws_needed(0.05)
    ((0.025, 0.025), [0.01, 0.04], 40)
    """
    spent = max(alpha / 2, 2 / (draws + 1))
    return alpha - spent, spent


def draws_needed(alpha: float) -> int:
    """Return how many draws leave something of the level for the people."""
    return int(np.floor(round(2 / alpha, 9)))


def joined_intervals(
    notions: tuple[Notion, ...], candidates: Candidates, draws: Candidates, alpha: float
) -> list[np.ndarray]:
    """Return the lower and upper ends for each notion, 2 × subgroups, for all subgroups at once at the level alpha.

    They are turned towards the group that is worse off by the expected counts, and hold the score.

    Parameters
    ----------
    notions
        What is compared.
    candidates
        Subgroups and actions with expected counts.
    draws
        The same with the counts of every draw.
    alpha
        The level, which is spent on the people and on the parameters: `level_shares`.
    """
    number = len(draws.flipped)
    people, parameters = level_shares(alpha, number)
    each, kept_share = people / len(candidates), 1 - parameters if parameters == alpha / 2 else 1.0
    likely = [_likely(depth, kept_share) for depth in _depths(notions, draws)]
    found: list[list[np.ndarray]] = [[] for _ in notions]
    for own in runs(candidates.start, _CELLS // number):
        part, point = draws.part(own), candidates.part(own)
        everywhere = part.flat()
        limits = by_notion.effectiveness_limits(everywhere, each)
        for ends, notion, kept in zip(found, notions, likely, strict=True):
            if notion.metric in ("conditional_mean_recourse", "mean_recourse"):
                tried = _farthest(notion, part, kept, each)
                drawn = difference_intervals(notion, tried, limits, each)
            elif notion.is_distance:
                drawn = apart(*curve_bands(everywhere, notion.viewpoint, each, limits))
            else:
                drawn = difference_intervals(notion, everywhere, limits, each)
            ends.append(_hull(notion, point, drawn, kept))
    return [np.concatenate(ends, axis=1) for ends in found]


def joined_bands(
    candidates: Candidates, draws: Candidates, viewpoint: str, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return bands around both effectiveness–cost distributions of one subgroup, as `curve_bands` does, and their hull.

    A level that is divided among many subgroups leaves no draw out: then the bands span all of them.
    """
    curves = distribution(draws, viewpoint)
    kept = _likely(_depth(curves.reshape(len(curves), -1)), 1 - alpha / 2)
    point = distribution(candidates, viewpoint)
    drawn = curve_bands(draws.flat(), viewpoint, alpha / 2)
    low, high = (np.moveaxis(ends.reshape(2, len(curves), -1), 1, 0)[kept] for ends in drawn)
    return np.minimum(low.min(axis=0), point), np.maximum(high.max(axis=0), point)


def _hull(notion: Notion, point: Candidates, drawn: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the union of the intervals of draws (2 × draws and units) and of what is expected, as that of a score."""
    expected = _differences(notion, point)
    low, high = drawn.reshape(2, -1, len(expected))
    if len(low) == len(kept):
        low, high = low[kept], high[kept]
    ends = np.stack([np.minimum(low.min(axis=0), expected), np.maximum(high.max(axis=0), expected)])
    return by_notion.largest_distance(point, ends) if notion.is_distance else towards(ends, expected)


def _differences(notion: Notion, candidates: Candidates) -> np.ndarray:
    """Return the first value less the second, (draws ×) subgroups; of curves, which a distance compares, × pairs.

    The largest distance of curves that are estimated is never near 0, though that of the true ones may be: it is an
    image of an interval of the curves.
    """
    if not notion.is_distance:
        return less_the_other(notion.values(candidates))
    gaps = less_the_other(distribution(candidates, notion.viewpoint))
    return np.where(last_of_cost(candidates), gaps, 0.0)


def _depths(notions: tuple[Notion, ...], draws: Candidates) -> np.ndarray:
    """Return how far inside the others each draw is in the unit where it is the least: notions × draws."""
    number = len(draws.flipped)
    depths = np.full((len(notions), number), number)
    for own in runs(draws.start, _CELLS // number):
        part = draws.part(own)
        for place, notion in enumerate(notions):
            depths[place] = np.minimum(depths[place], _depth(_differences(notion, part)))
    return depths


def _depth(values: np.ndarray) -> np.ndarray:
    """Return in how many draws, at least, a unit is as low, and as high, as in each draw; `values` is draws × units.

    Examples
    --------
    >>> _depth(np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 7.0], [3.0, 5.0], [4.0, 5.0]]))
    array([1, 2, 1, 2, 1])
    """
    rounded = values.round(_DECIMALS)
    below = rankdata(rounded, method="max", axis=0)
    above = len(values) + 1 - rankdata(rounded, method="min", axis=0)
    return np.minimum(below, above).min(axis=1).astype(int)


def _likely(depth: np.ndarray, prob: float) -> np.ndarray:
    """Return the draws that are deepest, a share `prob` of them at least: they span a simultaneous envelope.

    References
    ----------
    Besag, Green, Higdon and Mengersen (1995), Bayesian computation and stochastic systems, section 6.3.
    """
    number = int(np.ceil(prob * len(depth)))
    return depth >= np.sort(depth)[len(depth) - number]


def _farthest(notion: Notion, draws: Candidates, kept: np.ndarray, alpha: float) -> Candidates:
    """Return, of the draws that are kept, those in which the interval of a mean cost reaches lowest and highest.

    Of all intervals wide ones are made, by the number of people who pay and the range of costs; those whose ends are
    farthest, in each subgroup, are tried. They may be other draws in each.
    """
    part = replace(draws, flipped=draws.flipped[kept], reached=draws.reached[kept])
    if len(part.reached) <= 2 * _TRIED:
        return part.flat()
    last, first = part.start[1:] - 1, part.start[:-1]
    paying = part.reached[..., last] if notion.no_recourse_cost is None else part.sizes[None]
    largest = np.maximum(part.costs[last], notion.no_recourse_cost or 0.0)
    wide = -ndtri(alpha) * (largest - part.costs[first]) / 2
    nobody = (paying == 0).any(axis=1)
    reach = np.where(nobody, np.inf, wide * np.sqrt((1 / np.maximum(paying, 1)).sum(axis=1)))
    middle = np.where(nobody, 0.0, _differences(notion, part))
    low = np.argpartition(middle - reach, _TRIED, axis=0)[:_TRIED]
    high = np.argpartition(-middle - reach, _TRIED, axis=0)[:_TRIED]
    at = np.concatenate([low, high])[:, None, part.subgroup]
    flipped, reached = (np.take_along_axis(counts, at, axis=0) for counts in (part.flipped, part.reached))
    return replace(part, flipped=flipped, reached=reached).flat()
