"""Several protected attributes: each by itself, and their intersection."""

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.recourse import audit_attributes

PROTECTED = {"sex": "f", "race": "x"}
SAID = ca.Actions(ordinal=["skill"], increasing=["skill"])
OPTIONS = {"support": 0.02, "progress": False}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    columns = {"sex": list("fm"), "race": list("xyz"), "team": list("ab"), "skill": [0, 1, 2]}
    return pd.DataFrame({name: rng.choice(levels, 1500) for name, levels in columns.items()})


def company(table):
    """Women of race x need more skill than others; neither women nor people of race x as such do."""
    return (table["skill"] >= 1 + ((table["sex"] == "f") & (table["race"] == "x"))).astype(int)


@pytest.fixture(scope="module")
def results(people):
    return audit_attributes(people, company, PROTECTED, ["team", "skill"], actions=SAID, **OPTIONS)


def test_each_is_the_audit_of_its_own_with_the_others_as_features(people, results):
    assert list(results) == ["sex", "race", "sex-race"]
    for column, other in (("sex", "race"), ("race", "sex")):
        said = ca.Actions(ordinal=["skill"], increasing=["skill"], immutable=[other])
        alone = ca.audit_recourse(
            people, company, {column: PROTECTED[column]}, ["team", "skill", other], actions=said, alpha=0.05 / 3,
            **OPTIONS,
        )  # fmt: skip
        pd.testing.assert_frame_equal(results[column].table, alone.table)


def test_the_intersection_is_that_of_all_auditors(people, results):
    joined = ca.intersection(people, **PROTECTED)
    said = ca.Actions(ordinal=["skill"], increasing=["skill"], immutable=["sex", "race"])
    alone = ca.audit_recourse(
        people.assign(**{joined.name: joined}), company, {joined.name: "f-x"}, ["team", "skill", "sex", "race"],
        actions=said, alpha=0.05 / 3, **OPTIONS,
    )  # fmt: skip
    pd.testing.assert_frame_equal(results["sex-race"].table, alone.table)


def test_it_finds_what_is_only_at_the_intersection(people, results):
    """Nobody of skill 0 gets there by one step if she is a woman of race x; the two attributes dilute it."""
    largest = {name: result.top("equal_choice", 1, parameter=0.7).iloc[0] for name, result in results.items()}
    assert largest["sex-race"]["bias_against"] == "f-x"
    assert largest["sex-race"]["simultaneous_low"] > 0
    everyone = {"skill": 0}
    gaps = {name: result.actions(everyone).iloc[0] for name, result in results.items()}
    shares = {name: row["effectiveness0"] - row["effectiveness1"] for name, row in gaps.items()}
    assert shares["sex-race"] == 1.0
    assert 0 < shares["sex"] < 0.6
    assert 0 < shares["race"] < 0.8


def test_no_protected_column_changes(results):
    for result in results.values():
        for predicate in result.table["subgroup"].iloc[: len(result.candidates)]:
            assert not any({"sex", "race"} & set(action) for action in result.actions(predicate)["action"])


def test_references_leave_people_out(people):
    protected = {"sex": ("f", "m"), "race": ("x", "y")}
    results = audit_attributes(people, company, protected, ["team", "skill"], actions=SAID, **OPTIONS)
    denied = people[(company(people) == 0) & (people["race"] != "z")]
    both = (denied["sex"] == "f") & (denied["race"] == "x")
    assert results["sex-race"].affected == ((~both).sum(), both.sum())
    assert results["race"].groups == ("y", "x")


def test_refused(people):
    features = ["team", "skill"]
    with pytest.raises(DataError, match=r"protected is \{'sex': 'f'\}, but must name a level of two columns"):
        audit_attributes(people, company, {"sex": "f"}, features)
    with pytest.raises(DataError, match=r"'sex', 'race'\], but must name a level of two columns"):
        audit_attributes(people, company, ["sex", "race"], features)
    with pytest.raises(DataError, match="'race' is the protected column, so it cannot be a feature too"):
        audit_attributes(people, company, PROTECTED, [*features, "race"])
    with pytest.raises(DataError, match="data has a column 'sex-race' already"):
        audit_attributes(people.assign(**{"sex-race": 1}), company, PROTECTED, features)
    apart = people[(people["sex"] == "m") | (people["race"] != "x")]
    with pytest.raises(DataError, match="Nobody in data has all of 'f-x' in 'sex-race'"):
        audit_attributes(apart, company, PROTECTED, features)
