"""Subgroups and actions that are mined among some people and measured on the others."""

import courses
import numpy as np
import pytest
from finite_population import LEVELS, ORDERS, FinitePopulation, changes_of, company, inside_of
from interval_truth import all_held

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.recourse.question.coding import code_people
from causalaudit.recourse.question.splitting import split_people

ARGUMENTS = {
    "protected": "sex",
    "features": list(LEVELS),
    "actions": ca.Actions(numeric=["skill"], ordinal=["hours"], orders=ORDERS),
    "no_recourse_cost": 6.0,
    "progress": False,
}
LEAST = 0.92  # of intervals of 95 %


def audit(people, **more):
    return ca.audit_recourse(people, company, **{**ARGUMENTS, "support": 0.05, **more})


@pytest.fixture(scope="module")
def people():
    return FinitePopulation().sample(np.random.default_rng(12), 800)


@pytest.fixture(scope="module")
def parts(people):
    affected = company(people).to_numpy() == 0
    return split_people(code_people(people, "sex", list(LEVELS), ORDERS), affected, 0.4, 3)


def test_what_is_mined_among_those_searched_is_counted_among_the_others(people, parts):
    searched, measured = (people[part] for part in parts)
    result, mined = audit(people, split=0.4, seed=3), audit(searched)
    others = measured[company(measured) == 0]
    assert result.settings["budgets"] == mined.settings["budgets"]
    assert result.settings["unmeasured"] == len(mined.candidates) - len(result.candidates)
    assert result.affected == tuple((others["sex"] == level).sum() for level in result.groups)
    for place, subgroup in enumerate(result.table["subgroup"].iloc[: len(result.candidates)]):
        inside = others[inside_of(subgroup, others)]
        actions, pairs = mined.actions(subgroup), result.candidates.pairs(place)
        assert result.actions(subgroup)["action"].tolist() == actions["action"].tolist()
        np.testing.assert_array_equal(result.actions(subgroup)["cost"], actions["cost"])
        helped = np.stack([company(inside.assign(**change)) for change in changes_of(result, place)])
        for group, level in enumerate(result.groups):
            own = (inside["sex"] == level).to_numpy()
            assert result.candidates.sizes[group, place] == own.sum() > 0
            together = np.maximum.accumulate(helped[:, own], axis=0).sum(axis=1)
            np.testing.assert_array_equal(result.candidates.flipped[group, pairs], helped[:, own].sum(axis=1))
            np.testing.assert_array_equal(result.candidates.reached[group, pairs], together)


def test_the_parts_are_alike(people, parts):
    searched, measured = parts
    assert (searched ^ measured).all()
    for group in ("m", "f"):
        for good in (0, 1):
            own = (people["sex"] == group) & (company(people) == good)
            assert searched[own].sum() == round(0.4 * own.sum())


def test_the_label_says_which(people):
    label = lambda result: result.intervals.set_index("kind").loc["simultaneous", "about"]  # noqa: E731
    assert label(audit(people)).endswith("subgroups and actions held fixed, mined from the same people")
    assert label(audit(people, split=0.5)).endswith("valid after the search, on people who were not searched")


def test_same_seed_same_parts(people):
    first, second, other = (audit(people, split=0.5, seed=seed).table for seed in (1, 1, 2))
    assert first.equals(second)
    assert not first.equals(other)


def test_subgroups_without_people_to_measure_are_left_out(people):
    result = audit(people, split=0.9, support=0.01)
    assert result.settings["unmeasured"] > 0
    assert (result.table[["n0", "n1"]] > 0).all(axis=None)
    assert result.settings["searched"] == len(result.candidates)


def test_refused(people):
    with pytest.raises(DataError, match="split is 1, but must be a number between 0 and 1"):
        audit(people, split=1)
    with pytest.raises(DataError, match=r"split is 0\.01, which leaves 0 people to search and 39 others, but nobody"):
        audit(people.iloc[:39], split=0.01)
    rule = lambda table: (table["skill"] == 3) & (table["hours"] == "over") & (table["team"] == "b")  # noqa: E731
    with pytest.raises(DataError, match="leaves nobody with the favourable prediction to learn actions from"):
        ca.audit_recourse(people, rule, **ARGUMENTS, split=0.01)


@pytest.mark.filterwarnings("ignore:The .* draws of the posterior differ")
def test_a_posterior_measures_the_others():
    people = courses.UNFAIR.sample(np.random.default_rng(5), 600)
    posterior = ca.fit(courses.scm(), people, draws=5, chains=2, seed=0, progress=False)
    more = {**courses.ARGUMENTS, "support": 0.005, "budgets": None}
    result = ca.audit_recourse(people, courses.bank, posterior=posterior, split=0.5, **more)
    affected = (courses.bank(people) == 0).to_numpy()
    _, measured = split_people(code_people(people, "sex", more["features"]), affected, 0.5, 0)
    assert sum(result.affected) == (affected & measured).sum()
    assert set(result.individuals().index) <= set(people.index[affected & measured])
    known = result.intervals.set_index("kind").loc["simultaneous", "known"]
    assert "they are those of the posterior's people, of both parts" in known


@pytest.mark.slow
@pytest.mark.parametrize("split", [0.5, None], ids=["split", "mined from the same people"])
def test_coverage_of_what_was_mined(split):
    """Subgroups, actions and budgets are those of each data set; the truth is what the population says of them."""
    world, held, flagged = FinitePopulation(1), [], []
    for number in range(100):
        people = world.sample(np.random.default_rng([12, number]), 600)
        result = audit(people, split=split, seed=number)
        labels = [f"{notion.metric} {notion.viewpoint}" for notion in result.notions]
        flagged.append(result.verdicts["flagged"].any())
        held.append(dict.fromkeys(labels, True))
        for label, one in zip(labels, all_held(result, world.population(result)), strict=True):
            held[-1][label] &= one  # whichever budgets a data set has
    for label in held[0]:
        share = np.mean([one[label] for one in held])
        print(f"{label}: {share:.2f}")
        assert share >= LEAST, label
    assert np.mean(flagged) >= 0.5  # not by being useless: the company is unfair


@pytest.mark.slow
def test_coverage_of_what_was_mined_with_a_posterior():
    """The posterior is of everybody; an action that 3 % took."""
    held = []
    for number in range(50):
        people = courses.FAIR.sample(np.random.default_rng([13, number]), 2000)
        posterior = ca.fit(courses.scm(), people, draws=100, chains=4, seed=number, progress=False)
        result = ca.audit_recourse(
            people, courses.bank, posterior=posterior, split=0.5, seed=number, **courses.ARGUMENTS
        )
        held.append(all_held(result, courses.FAIR.population(result)))
    shares = np.mean(held, axis=0)
    print(shares.round(2))
    assert (shares >= LEAST).all()
