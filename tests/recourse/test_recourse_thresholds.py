"""Subgroups on one side of a threshold, and actions across it, against loops over people."""

from itertools import product

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from finite_population import LEVELS, ORDERS, FinitePopulation, company, inside_of

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.recourse import AtLeast, AtMost
from causalaudit.recourse.evidence.itemsets import estimated_number, frequent_itemsets
from causalaudit.recourse.question.items import ranges_of

SUPPORT = 0.05
WEIGHTS = {"skill": 2.0, "team": 1.5}


@pytest.fixture(scope="module")
def people():
    return FinitePopulation(4).sample(np.random.default_rng(5), 500)


def audit(people, thresholds=("skill", "hours"), **said):
    said = {"ordinal": ["skill", "hours"], "orders": ORDERS, "weights": WEIGHTS} | said
    return ca.audit_recourse(
        people, company, "sex", list(LEVELS), actions=ca.Actions(**said), thresholds=thresholds, support=SUPPORT,
        phi=[0.4], budgets=[2.0], progress=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def result(people):
    return audit(people)


def all_items(name):
    inner = LEVELS[name][1:-1] if name in ("skill", "hours") else []
    return [None, *LEVELS[name], *map(AtLeast, inner), *map(AtMost, inner)]


def all_predicates():
    for values in product(*map(all_items, LEVELS)):
        predicate = {name: value for name, value in zip(LEVELS, values, strict=True) if value is not None}
        if predicate:
            yield predicate


def values_in(name, item):
    place = LEVELS[name].index(item.value if isinstance(item, AtLeast | AtMost) else item)
    return LEVELS[name][0 if isinstance(item, AtMost) else place : None if isinstance(item, AtLeast) else place + 1]


class Counted:
    """People as numbers of every kind, so that subgroups are counted fast."""

    def __init__(self, people, world):
        self.world, self.good = world, world.good.ravel()
        self.number = people.value_counts(world.kinds.columns.tolist()).reindex(
            pd.MultiIndex.from_frame(world.kinds), fill_value=0
        )
        self.number = self.number.to_numpy()
        self.masks = {
            (name, str(item)): inside_of({name: item}, world.kinds) for name in LEVELS for item in all_items(name)[1:]
        }

    def inside(self, predicate):
        return np.all([self.masks[name, str(item)] for name, item in predicate.items()], axis=0)

    def valid_actions(self, predicate, frequent):
        """Each feature is left as it is, or led to a value that nobody in the subgroup has."""
        options = [
            [item, *(value for value in LEVELS[name] if value not in values_in(name, item))]
            for name, item in predicate.items()
        ]
        hired = self.number * self.good
        for values in product(*options):
            action = dict(zip(predicate, values, strict=True))
            if action != predicate and hired[self.inside(action)].sum() >= frequent:
                yield {name: value for name, value in action.items() if value is not predicate[name]}


def cost(predicate, change):
    """What the change costs whom it costs most."""
    total = 0.0
    for name, value in change.items():
        place, weight = LEVELS[name].index, WEIGHTS.get(name, 1.0)
        steps = [abs(place(value) - place(old)) if name in ("skill", "hours") else 1
                 for old in values_in(name, predicate[name])]  # fmt: skip
        total += weight * max(steps)
    return total


def test_subgroups_actions_costs_and_counts(people, result):
    everyone = Counted(people, FinitePopulation(4))
    denied = everyone.number * ~everyone.good
    groups = [denied * (everyone.world.kinds["sex"] == level).to_numpy() for level in result.groups]
    expected, sided = set(), 0
    for predicate in all_predicates():
        inside = [group * everyone.inside(predicate) for group in groups]
        if any(own.sum() < SUPPORT * group.sum() for own, group in zip(inside, groups, strict=True)):
            continue
        frequent = SUPPORT * (everyone.number * everyone.good).sum()
        changes = {str(change) for change in everyone.valid_actions(predicate, frequent)}
        if not changes:
            continue
        expected.add(str(predicate))
        sided += any(isinstance(value, AtLeast | AtMost) for value in predicate.values())
        actions = result.actions(predicate)
        assert sorted(map(str, actions["action"])) == sorted(changes)
        assert actions["cost"].tolist() == [cost(predicate, change) for change in actions["action"]]
        helped = np.stack([everyone.world.after(change) for change in actions["action"]])
        together = np.maximum.accumulate(helped, axis=0)
        for group, own in enumerate(inside):
            np.testing.assert_array_equal(actions[f"flipped{group}"], helped @ own)
            np.testing.assert_array_equal(actions[f"together{group}"], together @ own / own.sum())
    assert {str(predicate) for predicate in result.table["subgroup"]} == expected
    assert sided > 50


def test_values_alone_are_as_without_thresholds(people, result):
    plain = audit(people, thresholds=()).table
    sided = [any(isinstance(value, AtLeast | AtMost) for value in item.values()) for item in result.table["subgroup"]]
    values = result.table[~np.array(sided)].reset_index(drop=True)
    same = ["subgroup", "metric", "parameter", "viewpoint", "score", "bias_against", "n0", "n1"]
    pd.testing.assert_frame_equal(values[same], plain[same])


def test_what_may_not_go_down_is_left_or_raised(people):
    result = audit(people, increasing=["skill"], immutable=["hours"])
    for place, predicate in enumerate(result.table["subgroup"].iloc[: len(result.candidates)]):
        pairs = result.candidates.pairs(place)
        assert pairs.stop > pairs.start
        for change in result.actions(predicate)["action"]:
            assert "hours" not in change
            if "skill" in change:
                assert change["skill"] > max(values_in("skill", predicate["skill"]))


def test_some_of_the_features(people):
    """With `subsets` what an action leaves as it is need not be frequent with the rest."""
    exact, more = audit(people), audit(people, subsets=True)
    for predicate in exact.table["subgroup"].iloc[: len(exact.candidates)]:
        few, many = ({str(change) for change in one.actions(predicate)["action"]} for one in (exact, more))
        assert few <= many
    assert len(more.candidates.costs) > len(exact.candidates.costs)


def test_words_and_files(result, tmp_path):
    predicate = next(item for item in result.table["subgroup"] if isinstance(item.get("skill"), AtMost))
    assert f"skill ≤ {predicate['skill'].value}" in str(result.explain(predicate))
    assert any("≥" in label for label in result.labels)
    result.save(tmp_path / "recourse")
    again = ca.load(tmp_path / "recourse")
    assert again.table["subgroup"].tolist() == result.table["subgroup"].tolist()
    assert again.actions(predicate).equals(result.actions(predicate))
    with pytest.raises(DataError, match="Nobody has 'team' = AtLeast"):
        result.explain({"team": AtLeast("b")})


def test_a_function_of_the_old_and_the_new_value(people):
    result = audit(people, weights={"skill": lambda old, new: (new - old) ** 2})
    place = result.place({"skill": AtMost(2)})
    assert result.actions({"skill": AtMost(2)})["cost"].tolist() == [9.0]
    assert result.candidates.sizes[:, place].sum() == ((people["skill"] <= 2) & (company(people) == 0)).sum()


def test_the_number_of_itemsets_is_foreseen():
    rows = np.random.default_rng(0).integers(0, 4, (400, 5))
    ranges = [ranges_of(4, thresholds=place < 3) for place in range(5)]
    exact = len(frequent_itemsets([rows], 0.02, ranges))
    assert 0.8 < estimated_number([rows], [8], ranges=ranges) / exact < 1.25


def test_with_a_posterior_that_changes_nothing_else(people):
    """Where no feature causes another, causal recourse is that of the paper, for thresholds too."""

    def program(n):
        with pyro.plate("individuals", n):
            pyro.sample("skill", dist.Categorical(torch.ones(4)))

    posterior = ca.fit(ca.SCM(program), people, draws=2, chains=1, progress=False)
    said = ca.Actions(ordinal=["skill", "hours"], orders=ORDERS, weights=WEIGHTS)
    arguments = {"actions": said, "thresholds": ["skill", "hours"], "support": SUPPORT, "progress": False}
    plain, causal = (
        ca.audit_recourse(people, company, "sex", list(LEVELS), posterior=one, **arguments) for one in (None, posterior)
    )
    same = [name for name in plain.table if not name.startswith("credible")]
    pd.testing.assert_frame_equal(plain.table[same], causal.table[same])


def test_twins_beyond_the_values_of_all_people(people):
    """It is not known whether they are beyond a threshold."""

    def program(n):
        with pyro.plate("individuals", n):
            sex = pyro.sample("sex", dist.Bernoulli(0.5))
            pyro.sample("skill", dist.Normal(sex * 0.5, 1.0))

    posterior = ca.fit(ca.SCM(program, levels={"sex": ["m", "f"]}), people, draws=2, chains=1, progress=False)
    arguments = {"posterior": posterior, "thresholds": ["skill"], "support": SUPPORT, "progress": False}
    result = ca.audit_recourse(people, company, "sex", list(LEVELS), **arguments)
    with pytest.raises(DataError, match=r"Twins have values of 'skill' that nobody has.*on which side"):
        result.individuals()


def test_refused(people):
    with pytest.raises(DataError, match=r"thresholds is the text 'skill', but must be a list"):
        audit(people, thresholds="skill")
    with pytest.raises(DataError, match=r"thresholds names 'skil', which is not a feature: did you mean 'skill'\?"):
        audit(people, thresholds=["skil"])
    with pytest.raises(DataError, match=r"thresholds names 'team', whose values have no order.*orders=\{'team'"):
        audit(people, thresholds=["team"])
    with pytest.raises(DataError, match="one function of whole actions, but with thresholds"):
        audit(people, weights=lambda before, after: 1.0)
