"""Intervals against formulas and other packages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from causalaudit.intervals import beta_rates, hdi, newcombe, shortest_run, wald_width


def test_intervals_against_formulas():
    share, z = 6 / 15, stats.norm.ppf(0.95)
    assert wald_width(6, 15, 0, 15, 0.05) == pytest.approx(z * np.sqrt(share * (1 - share) / 15), abs=1e-12)
    assert wald_width(15, 15, 0, 15) == 0


def test_newcombe_against_statsmodels():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    counts = np.array([0, 3, 15, 7, 15, 0]), np.array([15, 0, 0, 7, 15, 0])
    sizes = np.array([15, 15, 15, 16, 15, 15])
    found = newcombe(counts[0], sizes, counts[1], sizes, 0.1)
    expected = proportion.confint_proportions_2indep(
        counts[0], sizes, counts[1], sizes, method="newcomb", compare="diff", alpha=0.1
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_hdi_against_arviz():
    az = pytest.importorskip("arviz")
    draws = np.random.default_rng(0).gamma(2.0, size=(501, 4))
    expected = np.stack([az.hdi(draws[:, column], hdi_prob=0.9) for column in range(4)], axis=1)
    np.testing.assert_array_equal(hdi(draws, 0.9), expected)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=40), st.floats(0.05, 0.99))
def test_the_shortest_run_is_the_shortest(values, prob):
    values = np.array(values)
    low, high = shortest_run(values, prob)
    runs = [(a, b) for a in range(-4, 5) for b in range(a, 5) if ((values >= a) & (values <= b)).mean() >= prob - 1e-9]
    shortest = min(b - a for a, b in runs)
    most = max(((values >= a) & (values <= b)).sum() for a, b in runs if b - a == shortest)
    assert high - low == shortest
    assert ((values >= low) & (values <= high)).sum() == most


def test_rates_are_draws_of_the_beta_posterior():
    rates = beta_rates(np.array([[0, 3], [0, 3]]).repeat(5000, axis=0), np.array([15, 15]), 10_000, 0, "test")
    for column, count in enumerate((0, 3)):
        assert stats.kstest(rates[:, column], stats.beta(count + 0.5, 15.5 - count).cdf).pvalue > 0.001
