"""Intervals of the notions of recourse: exact limits, exact coverage by enumeration, and laws."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recourse_populations import NOTIONS, Population, all_intervals, counted, inside, observed
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from causalaudit.intervals import newcombe
from causalaudit.recourse.intervals import by_notion
from causalaudit.recourse.intervals.limits import lower_limit, upper_limit
from causalaudit.recourse.intervals.mean_limits import Payments
from causalaudit.recourse.intervals.scores import towards


def alone(reached, sizes, cost=(1.0,)):
    """Counts of one subgroup, whose actions help nested sets of people."""
    return counted(reached, reached, sizes, cost)


@pytest.mark.parametrize("level", [0.025, 1e-6])
def test_limits_are_clopper_and_pearsons(level):
    counts, sizes = np.array([0, 1, 7, 20, 300]), np.array([12, 12, 12, 20, 3000])
    low, high = proportion_confint(counts, sizes, alpha=2 * level, method="beta")
    np.testing.assert_allclose(lower_limit(counts, sizes, level), low, rtol=1e-7)
    np.testing.assert_allclose(upper_limit(counts, sizes, level), high, rtol=1e-7)


def paid(cost, people, least, largest):
    return Payments(np.array([0]), np.asarray(cost), np.array([people, people]), np.array([least]), np.array([largest]))


@pytest.mark.parametrize("level", [0.05, 1e-3, 1e-8])
@pytest.mark.parametrize(("count", "size"), [(0, 40), (1, 40), (5, 40), (3, 10), (5, 5), (2, 3000)])
def test_limits_of_a_mean_of_two_costs_are_those_of_a_proportion(count, size, level):
    low, high = paid([2.0, 5.0], [size - count, count], 2.0, 5.0).mean_limits(np.array([level]))
    exact = [limit(np.array(count), np.array(size), level) for limit in (lower_limit, upper_limit)]
    # The saddlepoint errs by a few per cent of a limit, to the safe side.
    assert 0.9 * exact[0] - 1e-9 <= (low[0, 0, 0] - 2) / 3 <= exact[0] + 1e-12
    assert 0.9 * (1 - exact[1]) - 1e-9 <= 1 - (high[0, 0, 0] - 2) / 3 <= 1 - exact[1] + 1e-12


def test_limits_of_a_mean_are_quantiles_of_the_bayesian_bootstrap_with_one_more_person():
    cost, people = np.array([1.0, 2.0, 3.0, 30.0]), np.array([10, 5, 3, 2])
    low, high = paid(cost, people, 1.0, 30.0).mean_limits(np.array([0.01]))
    weights = np.random.default_rng(0).dirichlet(np.append(people, 1), 200_000)
    assert high[0, 0, 0] == pytest.approx(np.quantile(weights @ np.append(cost, 30.0), 0.99), rel=0.01)
    assert low[0, 0, 0] == pytest.approx(np.quantile(weights @ np.append(cost, 1.0), 0.01), rel=0.01)


def test_micro_effectiveness_is_near_newcombes_interval_in_large_groups():
    found = by_notion.micro_effectiveness(alone([[1200], [2500]], (4000, 5000)), 0.05).ravel()
    np.testing.assert_allclose(found, newcombe(1200, 4000, 2500, 5000, 0.05), atol=5e-4)


@pytest.mark.parametrize("sizes", [(8, 5), (40, 300)])
@pytest.mark.parametrize("alpha", [0.1, 1e-4])
def test_exact_coverage_with_one_action(sizes, alpha):
    """All samples there can be, weighed by their probability, for a grid of effectivenesses."""
    counts = np.stack(np.meshgrid(*(np.arange(size + 1) for size in sizes), indexing="ij")).reshape(2, -1)
    found = all_intervals(counted(counts, counts, sizes, np.ones(1)), np.ones(1), alpha)
    grid = np.array([0.001, 0.03, 0.1, 0.3, 0.499, 0.5, 0.7, 0.97, 0.999])
    chances = [binom.pmf(counts[group][:, None], sizes[group], grid) for group in (0, 1)]
    for place, first in enumerate(grid):
        for other, second in enumerate(grid):
            truth = Population(np.array([first]), np.array([second]), np.ones(1), sizes).differences()
            chance = chances[0][:, place] * chances[1][:, other]
            for name in NOTIONS:
                assert chance @ inside(found[name], truth[name]) >= 1 - alpha, (name, first, second)


@st.composite
def samples(draw):
    """A few subgroups with the same costs, some tied, of groups of any size."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    actions, sizes = draw(st.integers(1, 6)), (draw(st.integers(1, 30)), draw(st.integers(1, 300)))
    cost = np.sort(rng.choice([0.5, 1.0, 2.0, 7.0], actions))
    shares = rng.beta(0.5, 0.5, (2, 3, 1, actions))
    helped = [rng.random((3, size, actions)) < group for group, size in zip(shares, sizes, strict=True)]
    flipped = np.stack([each.sum(1).ravel() for each in helped])
    reached = np.stack([np.logical_or.accumulate(each, axis=2).sum(1).ravel() for each in helped])
    return counted(flipped, reached, sizes, cost), cost


@settings(max_examples=25)
@given(samples(), st.sampled_from([0.05, 1e-5]))
def test_an_interval_holds_what_was_observed_and_does_not_depend_on_the_order_of_the_groups(drawn, alpha):
    seen, cost = drawn
    back = replace(seen, **{name: getattr(seen, name)[::-1] for name in ("sizes", "flipped", "reached")})
    observations = observed(seen, cost)
    found, mirrored = (all_intervals(each, cost, alpha) for each in (seen, back))
    for name in NOTIONS:
        assert not np.isnan(found[name]).any(), name
        assert inside(found[name], observations[name]).all(), name
        other = mirrored[name] if name.startswith("trade-off") else -mirrored[name][::-1]
        np.testing.assert_allclose(found[name], other, atol=1e-9, err_msg=name)
        assert inside(towards(found[name], observations[name]), np.abs(observations[name])).all(), name


@settings(max_examples=15)
@given(samples())
def test_intervals_of_smaller_levels_are_wider_and_each_subgroup_has_the_one_it_has_alone(drawn):
    seen, cost = drawn
    wide, narrow = all_intervals(seen, cost, 0.001), all_intervals(seen, cost, 0.2)
    part = slice(len(cost), 2 * len(cost))
    alone = all_intervals(counted(seen.flipped[:, part], seen.reached[:, part], seen.sizes[:, 1], cost), cost, 0.2)
    for name in NOTIONS:
        assert (wide[name][0] <= narrow[name][0] + 1e-9).all(), name
        assert (wide[name][1] >= narrow[name][1] - 1e-9).all(), name
        np.testing.assert_allclose(alone[name][:, 0], narrow[name][:, 1], atol=1e-9, err_msg=name)


def test_infinite_costs():
    """Nobody of the first group, everybody of the second is helped, and there are enough of them to be sure."""
    sure = alone([[0], [500]], (500, 500))
    for found in (
        by_notion.macro_cost(sure, by_notion.effectiveness_limits(sure), 0.5),
        by_notion.micro_cost(sure, 0.5),
    ):
        np.testing.assert_array_equal(found.ravel(), [np.inf, np.inf])
    np.testing.assert_array_equal(by_notion.mean_cost(sure).ravel(), [0.0, np.inf])
    unsure = alone([[0], [9]], (9, 9))
    np.testing.assert_array_equal(by_notion.micro_cost(unsure, 0.6).ravel(), [np.inf, np.inf])
    np.testing.assert_array_equal(by_notion.micro_cost(unsure, 0.7).ravel(), [0.0, np.inf])
    np.testing.assert_array_equal(by_notion.micro_cost(unsure, 0.3).ravel(), [0.0, np.inf])
    nobody = alone([[0], [0]], (500, 500))
    np.testing.assert_array_equal(by_notion.micro_cost(nobody, 0.5).ravel(), [0.0, 0.0])


def test_nothing_within_the_budget_is_no_difference():
    seen = alone([[3], [9]], (10, 10), (7.0,))
    np.testing.assert_array_equal(by_notion.micro_effectiveness(seen, budget=6.0).ravel(), [0.0, 0.0])
    np.testing.assert_array_equal(
        by_notion.macro_effectiveness(seen, by_notion.effectiveness_limits(seen), 6.0).ravel(), [0.0, 0.0]
    )


def test_the_mean_of_all_with_one_cost_is_an_effectiveness():
    seen = alone([[3], [90]], (40, 300), (2.0,))
    expected = by_notion.micro_effectiveness(seen, 0.1) * (2.0 - 30.0)
    np.testing.assert_allclose(by_notion.mean_cost(seen, 0.1, 30.0), expected[::-1], rtol=0.02)
