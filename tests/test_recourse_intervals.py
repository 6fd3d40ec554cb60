"""Intervals of the notions of recourse: exact limits, exact coverage by enumeration, and laws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recourse_populations import NOTIONS, Population, all_intervals, inside, observed
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from causalaudit.recourse import intervals
from causalaudit.recourse.mean_limits import mean_limits
from causalaudit.recourse.tallies import Tallies


def alone(reached, sizes, cost=(1.0,)):
    """Tallies of one subgroup, whose actions help nested sets of people."""
    reached = np.asarray(reached)
    return Tallies(np.array([0]), np.asarray(cost), np.asarray(sizes)[:, None], reached, reached)


@pytest.mark.parametrize("level", [0.025, 1e-6])
def test_limits_are_clopper_and_pearsons(level):
    counts, sizes = np.array([0, 1, 7, 20, 300]), np.array([12, 12, 12, 20, 3000])
    low, high = proportion_confint(counts, sizes, alpha=2 * level, method="beta")
    np.testing.assert_allclose(intervals.lower_limit(counts, sizes, level), low, rtol=1e-7)
    np.testing.assert_allclose(intervals.upper_limit(counts, sizes, level), high, rtol=1e-7)


@pytest.mark.parametrize("level", [0.05, 1e-3, 1e-8])
@pytest.mark.parametrize(("count", "size"), [(0, 40), (1, 40), (5, 40), (3, 10), (5, 5), (2, 3000)])
def test_limits_of_a_mean_of_two_costs_are_those_of_a_proportion(count, size, level):
    tallies = alone(np.zeros((2, 2)), (size, size), (2.0, 5.0))
    people = np.array([[size - count, count]] * 2)
    low, high = mean_limits(tallies, people, np.array([[2.0], [5.0]]), level)
    exact = [limit(np.array(count), np.array(size), level) for limit in (intervals.lower_limit, intervals.upper_limit)]
    # The saddlepoint errs by a few per cent of a limit, to the safe side.
    assert 0.9 * exact[0] <= (low[0, 0] - 2) / 3 <= exact[0] + 1e-12
    assert 0.9 * (1 - exact[1]) <= 1 - (high[0, 0] - 2) / 3 <= 1 - exact[1] + 1e-12


def test_limits_of_a_mean_are_quantiles_of_the_bayesian_bootstrap_with_one_more_person():
    cost, people = np.array([1.0, 2.0, 3.0, 30.0]), np.array([10, 5, 3, 2])
    tallies = alone(np.zeros((2, 4)), (20, 20), cost)
    low, high = mean_limits(tallies, np.stack([people, people]), np.array([[1.0], [30.0]]), 0.01)
    weights = np.random.default_rng(0).dirichlet(np.append(people, 1), 200_000)
    assert high[0, 0] == pytest.approx(np.quantile(weights @ np.append(cost, 30.0), 0.99), rel=0.01)
    assert low[0, 0] == pytest.approx(np.quantile(weights @ np.append(cost, 1.0), 0.01), rel=0.01)


@pytest.mark.parametrize("sizes", [(8, 5), (40, 300)])
@pytest.mark.parametrize("alpha", [0.1, 1e-4])
def test_exact_coverage_with_one_action(sizes, alpha):
    """All samples there can be, weighed by their probability, for a grid of effectivenesses."""
    counts = np.stack(np.meshgrid(*(np.arange(size + 1) for size in sizes), indexing="ij")).reshape(2, -1)
    number = counts.shape[1]
    size = np.repeat(np.array(sizes)[:, None], number, axis=1)
    tallies = Tallies(np.arange(number), np.ones(number), size, counts, counts)
    found = all_intervals(tallies, np.ones(1), alpha)
    grid = np.array([0.003, 0.03, 0.1, 0.3, 0.499, 0.5, 0.7, 0.97, 0.998])
    for first in grid:
        for second in grid:
            truth = Population(np.array([first]), np.array([second]), np.ones(1), sizes).differences()
            chance = binom.pmf(counts[0], sizes[0], first) * binom.pmf(counts[1], sizes[1], second)
            for name in NOTIONS:
                assert chance @ inside(found[name], truth[name]) >= 1 - alpha, (name, first, second)


@st.composite
def some_tallies(draw):
    """A few subgroups with the same costs, some tied, of groups of any size."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    actions, sizes = draw(st.integers(1, 6)), (draw(st.integers(1, 30)), draw(st.integers(1, 300)))
    cost = np.sort(rng.choice([0.5, 1.0, 2.0, 7.0], actions))
    shares = rng.beta(0.5, 0.5, (2, 3, actions))
    population = Population(shares[0], shares[1], cost, sizes, nested=False)
    helped = [rng.random((3, size, actions)) < group[:, None] for group, size in population.groups()]
    flipped = np.stack([each.sum(1).ravel() for each in helped])
    reached = np.stack([np.logical_or.accumulate(each, axis=2).sum(1).ravel() for each in helped])
    size = np.repeat(np.array(sizes)[:, None], 3, axis=1)
    return Tallies(np.arange(3) * actions, np.tile(cost, 3), size, flipped, reached), cost


@given(some_tallies(), st.sampled_from([0.05, 1e-5]))
def test_an_interval_holds_what_was_observed_and_does_not_depend_on_the_order_of_the_groups(drawn, alpha):
    tallies, cost = drawn
    swapped = Tallies(tallies.start, tallies.cost, tallies.size[::-1], tallies.flipped[::-1], tallies.reached[::-1])
    seen, found, mirrored = observed(tallies, cost), *(all_intervals(each, cost, alpha) for each in (tallies, swapped))
    for name in NOTIONS:
        assert not np.isnan(found[name]).any(), name
        assert inside(found[name], seen[name]).all(), name
        back = mirrored[name] if name.startswith("trade-off") else -mirrored[name][::-1]
        np.testing.assert_allclose(found[name], back, atol=1e-9, err_msg=name)
        turned = intervals.towards(found[name], seen[name])
        assert inside(turned, np.abs(seen[name])).all(), name


@given(some_tallies())
def test_intervals_of_smaller_levels_are_wider(drawn):
    tallies, cost = drawn
    wide, narrow = all_intervals(tallies, cost, 0.001), all_intervals(tallies, cost, 0.2)
    for name in NOTIONS:
        assert (wide[name][0] <= narrow[name][0] + 1e-9).all(), name
        assert (wide[name][1] >= narrow[name][1] - 1e-9).all(), name


@given(some_tallies())
def test_each_subgroup_has_the_interval_it_has_alone(drawn):
    tallies, cost = drawn
    found = all_intervals(tallies, cost, 0.05)
    for number in range(3):
        part = slice(number * len(cost), (number + 1) * len(cost))
        one = Tallies(
            np.array([0]), cost, tallies.size[:, [number]], tallies.flipped[:, part], tallies.reached[:, part]
        )
        for name, ends in all_intervals(one, cost, 0.05).items():
            np.testing.assert_allclose(ends[:, 0], found[name][:, number], atol=1e-9, err_msg=name)


def test_infinite_costs():
    """Nobody of the first group, everybody of the second is helped, and there are enough of them to be sure."""
    tallies = alone([[0], [500]], (500, 500))
    limits = intervals.band(tallies)
    for found in (intervals.macro_cost(tallies, limits, 0.5), intervals.micro_cost(tallies, 0.5)):
        np.testing.assert_array_equal(found.ravel(), [np.inf, np.inf])
    np.testing.assert_array_equal(intervals.mean_cost(tallies).ravel(), [0.0, np.inf])
    few = alone([[0], [5]], (5, 5))
    np.testing.assert_array_equal(intervals.micro_cost(few, 0.5).ravel(), [0.0, np.inf])
    nobody = alone([[0], [0]], (500, 500))
    np.testing.assert_array_equal(intervals.micro_cost(nobody, 0.5).ravel(), [0.0, 0.0])


def test_nothing_within_the_budget_is_no_difference():
    tallies = alone([[3], [9]], (10, 10), (7.0,))
    np.testing.assert_array_equal(intervals.micro_effectiveness(tallies, budget=6.0).ravel(), [0.0, 0.0])
    np.testing.assert_array_equal(
        intervals.macro_effectiveness(tallies, intervals.band(tallies), 6.0).ravel(), [0.0, 0.0]
    )


def test_the_mean_of_all_with_one_cost_is_an_effectiveness():
    tallies = alone([[3], [90]], (40, 300), (2.0,))
    expected = intervals.micro_effectiveness(tallies, 0.1) * (2.0 - 30.0)
    np.testing.assert_allclose(intervals.mean_cost(tallies, 0.1, 30.0), expected[::-1], rtol=0.02)
