"""What an audit of recourse refuses, and how it says so."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.recourse.evidence import evaluation, itemsets


@pytest.fixture
def people():
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "skill": random.integers(0, 3, 90),
            "team": random.choice(["a", "b", "c"], 90),
            "sex": random.choice(["f", "m"], 90),
            "race": random.choice(["x", "y", "z"], 90),
        }
    )


ACTIONS = [field.name for field in dataclasses.fields(ca.Actions)]


def company(table):
    return (table["skill"] > 1).astype(int)


def audit(people, classifier=company, protected="sex", features=("skill", "team"), **more):
    given = {name: more.pop(name) for name in ACTIONS if name in more}
    return ca.audit_recourse(
        people, classifier, protected, list(features), actions=ca.Actions(**given), progress=False, **more
    )


def test_nobody_or_everybody_affected(people):
    with pytest.raises(DataError, match="Nobody is affected: the prediction is 1 for all 90 people"):
        audit(people, lambda table: np.ones(len(table)))
    with pytest.raises(DataError, match=r"Everybody is affected: .* 1 for none of 90 people.*favourable label\?"):
        audit(people, lambda table: np.zeros(len(table)))
    with pytest.raises(DataError, match=r"Everybody is affected.*'yes'"):
        audit(people, favourable="yes")
    with pytest.raises(DataError, match="Nobody with 'sex' = 'm' is affected"):
        audit(people, lambda table: ((table["sex"] == "m") | (table["skill"] > 1)).astype(int))


def test_protected_levels(people):
    with pytest.raises(DataError, match=r"'race' has 3 levels \('x', 'y', 'z'\).*protected=\{'race': \('z', 'x'\)\}"):
        audit(people, protected="race")
    with pytest.raises(DataError, match="Nobody in data has 'race' equal to 'w'"):
        audit(people, protected={"race": ("x", "w")})
    with pytest.raises(DataError, match="must name one level, or it and one other"):
        audit(people, protected={"race": ("x", "x")})
    with pytest.raises(DataError, match=r"must be \{column: level\} or"):
        audit(people, protected={"race": ("x", "y"), "sex": ("f", "m")})
    with pytest.raises(DataError, match=r"'sexx' is not in data: did you mean 'sex'\?"):
        audit(people, protected="sexx")
    with pytest.raises(DataError, match="has 1 levels"):
        audit(people.assign(sex="f"))


def test_support_so_low_that_mining_would_explode(people, monkeypatch):
    with pytest.raises(DataError, match="support is 0, but must be a number between 0 and 1"):
        audit(people, support=0)
    random = np.random.default_rng(0)
    same = random.integers(0, 2, (400, 1))
    wide = pd.DataFrame(np.repeat(same, 30, axis=1), columns=[f"f{place}" for place in range(30)])
    wide["sex"], wide["good"] = random.choice(["f", "m"], 400), random.integers(0, 2, 400)
    features = [name for name in wide if name != "sex"]
    with pytest.raises(
        DataError, match=r"support=0\.01 there would be about [\d,]{9,} frequent itemsets.*raise the support"
    ):
        audit(wide, lambda table: table["good"], features=features)
    monkeypatch.setattr(itemsets, "MOST_ITEMSETS", 5)
    monkeypatch.setattr(itemsets, "estimated_number", lambda *_, **__: 1.0)
    with pytest.raises(DataError, match="more than"):
        audit(people)
    monkeypatch.undo()
    monkeypatch.setattr(evaluation, "MOST_PAIRS", 5)
    with pytest.raises(DataError, match="pairs of a subgroup and an action, but at most 5"):
        audit(people)


def test_orders(people):
    with pytest.raises(DataError, match=r"'team' is ordinal, but its values have no order.*orders=\{'team': \['a'"):
        audit(people, ordinal=["team"])
    with pytest.raises(DataError, match="'team' is increasing, but its values have no order"):
        audit(people, increasing=["team"])
    with pytest.raises(DataError, match=r"'team' has the value 'c', which its order \['a', 'b'\] lacks"):
        audit(people, orders={"team": ["a", "b"]})
    with pytest.raises(DataError, match=r"orders names 'tem', which is not a feature: did you mean 'team'\?"):
        audit(people, orders={"tem": ["a"]})
    with pytest.raises(DataError, match="must be a list of different values"):
        audit(people, orders={"team": ["a", "a", "b", "c"]})


def test_weights_and_costs(people):
    with pytest.raises(DataError, match=r"weights names 'skil', which is not a feature: did you mean 'skill'\?"):
        audit(people, weights={"skil": 2})
    with pytest.raises(DataError, match="The weight of 'skill' is -1"):
        audit(people, weights={"skill": -1})
    with pytest.raises(DataError, match="cost function returned -3"):
        audit(people, weights={"skill": lambda old, new: -3})
    with pytest.raises(DataError, match="cost function returned 'dear'"):
        audit(people, weights=lambda before, after: "dear")
    with pytest.raises(DataError, match="no_recourse_cost is -1"):
        audit(people, no_recourse_cost=-1)
    with pytest.raises(DataError, match=r"A budget is -2\.0"):
        audit(people, budgets=[-2])
    with pytest.raises(DataError, match="'team' is in numeric, but holds"):
        audit(people, numeric=["team"])
    with pytest.raises(DataError, match="weights is 3, but must map a feature"):
        audit(people, weights=3)
    with pytest.raises(DataError, match="orders is 3, but must map a feature"):
        audit(people, orders=3)
    with pytest.raises(DataError, match="values is 3, but must map a feature"):
        audit(people, values=3)
    with pytest.raises(DataError, match="'skill' is in numeric and in ordinal"):
        audit(people, numeric=["skill"], ordinal=["skill"])


@pytest.mark.parametrize("argument", ["numeric", "ordinal", "immutable", "increasing"])
def test_names_of_features(people, argument):
    with pytest.raises(DataError, match=rf"{argument} names 'skil', which is not a feature: did you mean 'skill'\?"):
        audit(people, **{argument: ["skil"]})
    with pytest.raises(DataError, match=rf"{argument} is the text 'skill', but must be a list"):
        audit(people, **{argument: "skill"})


def test_classifiers(people):
    with pytest.raises(DataError, match=r"returned shape \(3,\) for 90 people; expected \(90,\)"):
        audit(people, lambda table: np.ones(3))
    with pytest.raises(DataError, match=r"returned shape \(\d+, 2\)"):
        audit(people, lambda table: np.ones((len(table), 2)))
    with pytest.raises(DataError, match="missing for 90 of 90"):
        audit(people, lambda table: np.full(len(table), np.nan))
    with pytest.raises(DataError, match=r"failed with KeyError: 'race'.*add what it reads to features"):
        audit(people, lambda table: (table["race"] == "x").astype(int))
    fitted = LogisticRegression().fit(people.assign(more=1)[["skill", "more"]], people["skill"] > 1)
    with pytest.raises(DataError, match="fitted on 'more', which is not a feature"):
        audit(people, fitted)
    with pytest.raises(DataError, match=r"returned 1\.5, which is neither a label nor a probability"):
        audit(people, lambda table: table["skill"] - 0.5)
    with pytest.raises(DataError, match="is the column 'race'"):
        audit(people, "race")


def test_a_classifier_that_returns_the_wrong_length_only_later(people):
    for cut, message in (
        (lambda answer: answer.to_numpy()[:-1], r"returned shape \(\d+,\) for \d+ people"),
        (lambda answer: answer[:-1], r"returned a Series whose index lacks 1 of \d+ people"),
    ):
        with pytest.raises(DataError, match=message):
            audit(people, lambda table, cut=cut: company(table) if len(table) == 90 else cut(company(table)))


def test_other_numbers(people):
    for name, value, message in (
        ("draws", 0, "draws is 0, but must be a whole number of at least 1"),
        ("seed", -1, "seed is -1, but must be a whole number of at least 0"),
        ("budgets", [np.inf], "A budget is inf, but must be a finite number"),
        ("budgets", "much", "budgets is 'much', but must be a list of numbers"),
        ("phi", [[0.3]], "must be a list of numbers"),
    ):
        with pytest.raises(DataError, match=message):
            audit(people, **{name: value})
    with pytest.raises(DataError, match=r"actions is \{\}, but must be Actions"):
        ca.audit_recourse(people, company, "sex", ["skill"], actions={})


def test_tables(people):
    with pytest.raises(DataError, match="must be a pandas DataFrame"):
        audit({"skill": [1]})
    with pytest.raises(DataError, match="not unique"):
        audit(pd.concat([people, people]))
    with pytest.raises(DataError, match="'team' is in data twice"):
        audit(pd.concat([people, people[["team"]]], axis=1))
    people.loc[[3, 5], "team"] = None
    with pytest.raises(DataError, match="The feature 'team' is missing for 2 of 90 people"):
        audit(people)
    people["team"], people.loc[7, "sex"] = "a", None
    with pytest.raises(DataError, match="The protected column 'sex' is missing for 1 of 90 people"):
        audit(people)


def test_features(people):
    for features, message in (
        ([], "features is empty"),
        (["skill", "skill"], "given twice"),
        (["skil"], r"not in data: did you mean 'skill'\?"),
        (["skill", "sex"], "'sex' is the protected column, so it cannot be a feature too"),
    ):
        with pytest.raises(DataError, match=message):
            audit(people, features=features)
    with pytest.raises(DataError, match="must be a list of columns"):
        ca.audit_recourse(people, company, "sex", "skill")
    with pytest.raises(DataError, match="never is the text 'Unknown', but must be a list"):
        audit(people, never="Unknown")
    with pytest.raises(DataError, match=r"None of the \d+ subgroups has a valid action"):
        audit(people, immutable=["skill", "team"])


@pytest.mark.parametrize(("name", "value"), [("alpha", 1.0), ("prob", 0.0), ("support", 1.5), ("phi", [0.3, 1.2])])
def test_shares(people, name, value):
    with pytest.raises(DataError, match=f"{name} is .*but must be a number (between 0 and 1|above 0 and at most 1)"):
        audit(people, **{name: value})
