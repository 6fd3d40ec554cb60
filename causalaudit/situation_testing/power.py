"""Choice of k by power: which group sizes detect a difference of a given size, for the groups at hand."""

from collections.abc import Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import betainc
from scipy.stats import binom

from causalaudit.arguments import check_share, check_types
from causalaudit.errors import DataError
from causalaudit.intervals import wald_width
from causalaudit.situation_testing.group_comparison import difference_of_shares
from causalaudit.situation_testing.question import SituationQuestion, check_sizes
from causalaudit.situation_testing.result import SituationTestingResult

_RATES = 64  # cells of the rejection rate
_TRIED = (*range(2, 40), *range(40, 251, 5))  # unless others are asked for; 250 is the largest of the papers


class PowerOfSizes(NamedTuple):
    """What `choose_k` found.

    Attributes
    ----------
    k
        The smallest size from which on all that were tried have the power; None if there is none.
    table
        Indexed by `k`: `power`, the chance that the difference is significant (equation 10), and `type_1_error`, the
        chance that this happens where the rates differ by tau only; both averaged over the complainants.
    """

    k: int | None
    table: pd.DataFrame


def choose_k(
    result: SituationTestingResult,
    difference: float,
    power: float = 0.8,
    *,
    sizes: Sequence[int] | None = None,
    alpha: float | None = None,
) -> PowerOfSizes:
    """Say which k would detect a difference of a given size with a given power, for the groups of a test.

    Parameters
    ----------
    result
        A situation test of the people in question, with a k that gives stable shares. Its test groups say how often
        people like the (counterfactual) complainants are rejected.
    difference
        By how much the rejection rate of the control group is higher than that of the test group (lower, if the test
        is for discrimination in favour): beyond tau, at most 1.
    power
        The chance with which it is to be detected.
    sizes
        The k to try; default from 2 to 250, from 40 on every fifth, as far as there are complainants.
    alpha
        The level; default that of the test. Thousands of complainants are thousands of tests: at a smaller level (such
        as alpha times the share of true cases that one expects) the answer is about lists that are corrected.

    Returns
    -------
    PowerOfSizes

    Notes
    -----
    A group of k people has a binomial number of rejections, so that power is a sum over all pairs of counts, exact for
    the Wald test as the papers make it. The rate of each complainant's test group is taken from its counts in `result`,
    by its Beta(½, ½) posterior; rates at which the difference is not possible are left out. Mind `type_1_error`: with
    few people Wald's test rejects too often where rates are near 0 or 1. And power is not all: larger groups reach
    farther (`remoteness_test`), and then it is another difference that they detect.

    References
    ----------
    Alvarez and Ruggieri (2023), section 6: k from statistical power analysis, to make errors of the second kind less
    likely. Cohen (2013), Statistical power analysis for the behavioral sciences.

    Examples
    --------
    >>> import causalaudit as ca
    >>> from causalaudit.situation_testing import choose_k
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> result = ca.situation_testing(applicants, "approved", {"gender": "female"}, features=["salary"], k=30)
    >>> choose_k(result, 0.3).k
    17
    """
    check_types(choose_k, locals())
    question = result.question
    check_share("power", power)
    level = question.alpha if alpha is None else check_share("alpha", alpha)
    away = _shift(difference, question)
    others = len(result.evidence.people) - 1
    if sizes is None:
        sizes = [size for size in _TRIED if size < len(result.evidence.rows)]
    tried = check_sizes(sizes, others, others)
    rates, weights = _rates(result, away)
    found = {size: _detected(size, rates, weights, (away, question.tau), question, level) for size in tried}
    table = pd.DataFrame.from_dict(found, orient="index", columns=["power", "type_1_error"]).rename_axis("k")
    enough = (table["power"] >= power).to_numpy()
    good = 0 if enough.all() else len(enough) - int(np.argmin(enough[::-1]))
    return PowerOfSizes(tried[good] if good < len(tried) else None, table)


def _shift(difference: float, question: SituationQuestion) -> float:
    """Return by how much the rate of the control group is higher than that of the test group."""
    number = isinstance(difference, Real) and not isinstance(difference, bool)
    least = question.tau if question.negative else -question.tau
    if not number or not max(least, 0.0) < difference <= 1:
        raise DataError(f"difference is {difference!r}, but must be a number above {max(least, 0.0):g} and at most 1.")
    return float(difference if question.negative else -difference)


def _rates(result: SituationTestingResult, away: float) -> tuple[np.ndarray, np.ndarray]:
    """Return rejection rates of test groups, and how likely each is for a complainant of whom nothing else is known."""
    counts = result.counts.loc[[result.question.sizes[-1]]]
    kinds = counts[counts["n_test"] > 0].groupby(["rejected_test", "n_test"]).size()
    if kinds.empty:
        raise DataError("No complainant has a test group: a larger max_distance is needed.")
    low, high = max(0.0, -away), min(1.0, 1.0 - away)
    edges = low + (high - low) * np.sin(np.linspace(0, np.pi / 2, _RATES + 1)) ** 2
    rejected, size = (np.asarray(kinds.index.get_level_values(place), dtype=float)[:, None] for place in (0, 1))
    masses = np.diff(betainc(rejected + 0.5, size - rejected + 0.5, edges), axis=1)
    weights = kinds.to_numpy() @ masses
    if not weights.sum() > 0:  # a difference of (nearly) 1 leaves one rate alone
        weights = np.ones(_RATES)
    return (edges[1:] + edges[:-1]) / 2, weights / weights.sum()


def _detected(
    k: int,
    rates: np.ndarray,
    weights: np.ndarray,
    shifts: tuple[float, float],
    question: SituationQuestion,
    alpha: float,
) -> list[float]:
    """Return the chance that a test with groups of k is significant, for rates that differ by each of the shifts."""
    size = k + question.centres
    counts = np.arange(size + 1.0)
    control, test, sizes = counts[:, None], counts[None], np.full((1, 1), float(size))
    delta = difference_of_shares(control, sizes, test, sizes)
    width = wald_width(control, sizes, test, sizes, alpha, question.decimals)
    found = question.beyond(delta) & question.beyond(delta - width if question.negative else delta + width)
    theirs = binom.pmf(counts, size, rates[:, None])
    chances = []
    for shift in shifts:
        ours = binom.pmf(counts, size, np.clip(rates + shift, 0, 1)[:, None])
        chances.append(float(weights @ ((ours @ found) * theirs).sum(axis=1)))
    return chances
