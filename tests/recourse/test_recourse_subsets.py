"""Actions on some of the features of a subgroup (step (b)(i) of FACTS), against loops over people."""

from itertools import chain, combinations, product

import numpy as np
import pytest
from finite_population import LEVELS, ORDERS, FinitePopulation, changes_of, company, inside_of

import causalaudit as ca
from causalaudit.errors import DataError

SUPPORT = 0.06


@pytest.fixture(scope="module")
def people():
    return FinitePopulation(2).sample(np.random.default_rng(3), 500)


def audit(people, **said):
    actions = ca.Actions(numeric=["skill"], ordinal=["hours"], orders=ORDERS, increasing=["skill"], **said)
    return ca.audit_recourse(
        people, company, "sex", list(LEVELS), actions=actions, support=SUPPORT, phi=[0.4], progress=False
    )


def expected_changes(people, predicate):
    """Every change of some features of a predicate to other values that are frequent among the hired together."""
    hired = people[company(people) == 1]
    parts = chain.from_iterable(combinations(predicate, size) for size in range(1, len(predicate) + 1))
    for names in parts:
        for values in product(*(LEVELS[name] for name in names)):
            change = dict(zip(names, values, strict=True))
            moved = all(predicate[name] != value for name, value in change.items())
            up = change.get("skill", predicate.get("skill")) == predicate.get("skill") or (
                change["skill"] > predicate["skill"]
            )
            if moved and up and inside_of(change, hired).sum() >= SUPPORT * len(hired):
                yield change


def test_valid_actions_are_all_frequent_changes_of_some_features(people):
    result = audit(people, subsets=True)
    larger = 0
    for place, predicate in enumerate(result.table["subgroup"].iloc[: len(result.candidates)]):
        found = [tuple(sorted(change.items())) for change in changes_of(result, place)]
        assert len(set(found)) == len(found)
        expected = {tuple(sorted(change.items())) for change in expected_changes(people, predicate)}
        assert set(found) == expected
        larger += len(predicate) > 1
    assert larger > 20


def test_exact_actions_are_among_them_with_the_same_costs_and_counts(people):
    exact, more = audit(people), audit(people, subsets=True)
    assert len(more.candidates) >= len(exact.candidates)
    added = 0
    for predicate in exact.table["subgroup"].iloc[: len(exact.candidates)]:
        few, many = (
            {str(row["action"]): row for _, row in result.actions(predicate).iterrows()} for result in (exact, more)
        )
        for action, row in few.items():
            assert row["cost"] == many[action]["cost"]
            assert row["flipped0"] == many[action]["flipped0"]
            assert row["flipped1"] == many[action]["flipped1"]
        added += len(many) - len(few)
    assert added > 0


def test_a_cost_of_whole_actions_sees_all_features(people):
    seen = set()

    def cost(before, after):
        seen.add((tuple(before), tuple(after)))
        return float(sum(before[name] != after[name] for name in before))

    result = audit(people, subsets=True, weights=cost)
    assert all(before == after for before, after in seen)
    for predicate in result.table["subgroup"].iloc[:20]:
        actions = result.actions(predicate)
        assert actions["cost"].tolist() == [len(action) for action in actions["action"]]


def test_neither_yes_nor_no():
    with pytest.raises(DataError, match="subsets is 'all', but must be True or False"):
        ca.Actions(subsets="all")
