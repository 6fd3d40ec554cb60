"""Simultaneous intervals with a posterior: who was sampled, and how they respond, against a loop over draws."""

from dataclasses import replace

import courses
import numpy as np
import pytest

import causalaudit as ca
from causalaudit.recourse.intervals import by_notion
from causalaudit.recourse.intervals.over_draws import joined_intervals
from causalaudit.recourse.intervals.scores import curve_bands, difference_intervals, towards
from causalaudit.recourse.notions.measures import distribution, last_of_cost
from causalaudit.recourse.notions.notion import less_the_other

DRAWS = 120


@pytest.fixture(scope="module")
def result():
    people = courses.FAIR.sample(np.random.default_rng([9, 1]), 2000)
    posterior = ca.fit(courses.scm(), people, draws=DRAWS // 4, chains=4, seed=1, progress=False)
    return ca.audit_recourse(people, courses.bank, posterior=posterior, **courses.ARGUMENTS)


def gaps(notion, candidates):
    """What must be held at once: differences of subgroups, or of both curves wherever they step."""
    if notion.is_distance:
        return less_the_other(distribution(candidates, notion.viewpoint))[last_of_cost(candidates)]
    return less_the_other(notion.values(candidates))


def of_draw(result, number):
    return replace(result.candidates, flipped=result.draws.flipped[number], reached=result.draws.reached[number])


def kept_draws(notion, result, alpha):
    """The draws of Besag's envelope, straight from its definition."""
    values = [gaps(notion, of_draw(result, number)).round(12) for number in range(DRAWS)]
    depth = []
    for own in values:
        lower = np.sum([other <= own for other in values], axis=0)
        upper = np.sum([other >= own for other in values], axis=0)
        depth.append(min(lower.min(), upper.min()))
    least = sorted(depth, reverse=True)[int(np.ceil((1 - alpha / 2) * DRAWS)) - 1]
    return [number for number in range(DRAWS) if depth[number] >= least]


def test_the_interval_is_the_union_over_the_draws_of_an_envelope(result):
    alpha, point = result.settings["alpha"], result.candidates
    each = alpha / 2 / len(point)
    for notion, rows in zip(result.notions, result.by_notion(), strict=True):
        low, high = ([gaps(notion, point)] for _ in range(2))
        for number in kept_draws(notion, result, alpha):
            drawn = of_draw(result, number)
            if notion.is_distance:
                below, above = curve_bands(drawn, notion.viewpoint, each)
                last = last_of_cost(drawn)
                ends = (below[0] - above[1])[last], (above[0] - below[1])[last]
            else:
                limits = by_notion.effectiveness_limits(drawn, each)
                ends = difference_intervals(notion, drawn, limits, each)
            low.append(ends[0])
            high.append(ends[1])
        low, high = np.min(low, axis=0), np.max(high, axis=0)
        found = rows[["simultaneous_low", "simultaneous_high"]].to_numpy().T
        if notion.is_distance:
            step = np.repeat(np.arange(len(point)), np.add.reduceat(last_of_cost(point), point.start[:-1]))
            for subgroup in range(len(point)):
                own = step == subgroup
                nearest, reach = np.maximum(low, -high)[own].max(), np.maximum(high, -low)[own].max()
                np.testing.assert_allclose(found[:, subgroup], [max(nearest, 0.0), reach], atol=1e-12)
            continue
        expected = towards(np.stack([low, high]), less_the_other(notion.values(point)))
        np.testing.assert_allclose(found, expected, atol=1e-9, err_msg=notion.label)


def test_most_draws_are_inside_in_all_subgroups_at_once(result):
    """The region of the draws is one of all subgroups together."""
    for notion, rows in zip(result.notions, result.by_notion(), strict=True):
        drawn = result.draws.differences(notion)
        if notion.is_distance:
            drawn = np.abs(drawn)
        else:
            drawn = drawn * np.where(less_the_other(notion.values(result.candidates)) < 0, -1, 1)
        low, high = (rows[f"simultaneous_{end}"].to_numpy() for end in ("low", "high"))
        inside = ((low - 1e-9 <= drawn) & (drawn <= high + 1e-9)).all(axis=1)
        assert inside.mean() >= 1 - result.settings["alpha"] / 2, notion.label


def test_nothing_is_flagged_in_a_fair_world_with_a_rare_action(result):
    assert not result.verdicts["flagged"].any()
    assert (result.summary()["simultaneous_above_0"] == 0).all()
    known = result.intervals.set_index("kind").loc["simultaneous", "known"]
    assert "the parameters of the causal model are not" in known


def test_intervals_hold_the_score_and_shrink_with_the_level(result):
    draws, points = result.draws, [notion.values(result.candidates) for notion in result.notions]
    wide, narrow = (joined_intervals(result.notions, draws.candidates, draws.drawn, alpha) for alpha in (0.02, 0.2))
    for notion, values, outer, inner in zip(result.notions, points, wide, narrow, strict=True):
        score = np.abs(less_the_other(values))
        assert not np.isnan(outer).any()
        assert ((inner[0] <= score + 1e-9) & (score <= inner[1] + 1e-9)).all(), notion.label
        assert ((outer[0] <= inner[0] + 1e-9) & (inner[1] <= outer[1] + 1e-9)).all(), notion.label


def test_few_draws_spend_more_of_the_level_on_the_parameters(result):
    """All draws are kept, which may miss the truth with probability 2 / (number + 1); the rest is for the people."""
    notion, drawn = result.notions[0], result.draws.drawn
    few = replace(drawn, flipped=drawn.flipped[:60], reached=drawn.reached[:60])
    found = joined_intervals((notion,), result.candidates, few, 0.05)[0]
    each = (0.05 - 2 / 61) / len(result.candidates)
    ends = [by_notion.micro_effectiveness(of_draw(result, number), each) for number in range(60)]
    low, high = np.min([end[0] for end in ends], axis=0), np.max([end[1] for end in ends], axis=0)
    expected = towards(np.stack([low, high]), less_the_other(notion.values(result.candidates)))
    np.testing.assert_allclose(found, expected, atol=1e-12)
