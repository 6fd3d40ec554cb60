"""Bounds of a ratio of two rates: against integration, and their coverage, counted exactly and simulated."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta, binom

from causalaudit.association.ratio_bounds import clopper_pearson, lower_bound, ratio_to_greatest, upper_bound

RATES = np.array([0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99])


@pytest.mark.parametrize("counts", [(3, 10, 8, 10), (1, 200, 5, 9), (40, 2000, 900, 1000), (7, 9, 60_000, 100_000)])
def test_the_bound_is_the_quantile_of_a_ratio_of_betas(counts):
    x1, n1, x2, n2 = counts
    low = float(lower_bound(*(np.array([one]) for one in counts), 0.025)[0])
    above, below = beta(x1, n1 - x1 + 1), beta(x2 + 1, n2 - x2)
    span = below.ppf([1e-12, 1 - 1e-12])
    share, _ = quad(lambda rate: above.cdf(low * rate) * below.pdf(rate), *span, limit=500, points=[below.mean()])
    assert share == pytest.approx(0.025, rel=1e-4)


def test_upper_bounds_are_lower_bounds_of_the_inverse():
    counts = (np.array([4]), np.array([12]), np.array([9]), np.array([30]))
    assert upper_bound(*counts, 0.05) == pytest.approx(1 / lower_bound(*counts[2:], *counts[:2], 0.05))


def test_nobody_and_everybody():
    assert lower_bound(np.array([0]), np.array([5]), np.array([5]), np.array([5]), 0.05) == 0
    assert upper_bound(np.array([3]), np.array([5]), np.array([0]), np.array([5]), 0.05) == np.inf
    everybody = np.array([5]), np.array([5])
    # one is at least the fifth root of .05 (Clopper and Pearson), the other at most 1
    assert lower_bound(*everybody, *everybody, 0.05) == pytest.approx(0.05 ** (1 / 5), rel=1e-6)


@pytest.mark.parametrize(("count", "size"), [(0, 7), (3, 7), (7, 7), (40, 100)])
def test_rates_have_the_intervals_of_clopper_and_pearson(count, size):
    low, high = clopper_pearson(np.array([count]), np.array([size]), 0.1)[:, 0]
    assert low == (0 if count == 0 else pytest.approx(beta.ppf(0.05, count, size - count + 1)))
    assert high == (1 if count == size else pytest.approx(beta.ppf(0.95, count + 1, size - count)))


@pytest.mark.parametrize("sizes", [(5, 5), (5, 40), (40, 5), (20, 20)])
def test_no_bound_errs_more_often_than_it_says(sizes):
    """Every pair of counts, weighed by its probability: no simulation."""
    first, second = (one.ravel() for one in np.meshgrid(*(np.arange(size + 1) for size in sizes), indexing="ij"))
    low = lower_bound(first, np.array(sizes[0]), second, np.array(sizes[1]), 0.025)
    for one in RATES:
        for other in RATES:
            chance = binom.pmf(first, sizes[0], one) * binom.pmf(second, sizes[1], other)
            assert chance[low > one / other * (1 + 1e-9)].sum() <= 0.025, (one, other)


def test_the_greatest_is_below_its_bound_though_which_it_is_was_seen_only():
    counts, sizes = np.array([16, 10, 0]), np.array([20, 20, 1])
    low, high = ratio_to_greatest(counts, sizes, np.array([True, True, False]), 0.05)
    assert high[0] == 1
    assert 0 < low[1] < 10 / 16 < high[1]
    assert low[2] == 0
    assert high[2] > 1  # who is no reference may have a greater rate than all that are
    assert np.isnan(ratio_to_greatest(counts, sizes, np.zeros(3, dtype=bool), 0.05)).all()


DESIGNS = {
    "two alike": ([30, 30], [0.5, 0.5]),
    "two, far apart": ([15, 60], [0.05, 0.6]),
    "near nobody": ([10, 40, 80], [0.02, 0.03, 0.05]),
    "near everybody": ([10, 40, 80], [0.98, 0.95, 0.9]),
    "seven alike": ([8, 8, 12, 12, 25, 25, 40], [0.4] * 7),
    "one best of seven": ([8, 8, 12, 12, 25, 25, 40], [0.8, 0.2, 0.3, 0.4, 0.4, 0.5, 0.5]),
    "a tiny one, too small": ([2, 60, 80], [0.9, 0.4, 0.5]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_coverage_of_the_ratio_to_the_greatest(name):
    """Intervals of every category hold the truth at least as often as they say, whichever category comes out first."""
    repetitions = 1000
    sizes, rates = (np.array(one) for one in DESIGNS[name])
    eligible = sizes / sizes.sum() >= 0.02
    truth = rates / rates[eligible].max()
    counts = np.random.default_rng(0).binomial(sizes, rates, (repetitions, len(sizes)))
    low, high = ratio_to_greatest(counts, sizes, eligible, 0.05)
    covered = ((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean(axis=0)
    assert (covered >= binom.ppf(0.005, repetitions, 0.95) / repetitions).all(), covered


@pytest.mark.slow
@pytest.mark.parametrize(("sizes", "shifts"), [((25, 60), (-0.6, 0.0)), ((12, 30, 60), (0.0, 0.5, -1.2))])
def test_coverage_of_scoring_rates_whose_median_is_estimated(sizes, shifts):
    """Scores are normal; the median is that of the sample, the truth is about that of the population."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    repetitions, sizes, shifts = 1000, np.array(sizes), np.array(shifts)
    shares = sizes / sizes.sum()
    median = brentq(lambda at: (shares * norm.cdf(at - shifts)).sum() - 0.5, -5, 5)
    rates = norm.sf(median - shifts)
    truth = rates / rates.max()
    group = np.repeat(np.arange(len(sizes)), sizes)
    scores = np.random.default_rng(1).normal(size=(repetitions, len(group))) + shifts[group]
    chosen = scores > np.median(scores, axis=1, keepdims=True)
    counts = np.stack([chosen[:, group == one].sum(axis=1) for one in range(len(sizes))], axis=1)
    low, high = ratio_to_greatest(counts, sizes, np.ones(len(sizes), dtype=bool), 0.05)
    covered = ((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean(axis=0)
    assert (covered >= binom.ppf(0.005, repetitions, 0.95) / repetitions).all(), covered
