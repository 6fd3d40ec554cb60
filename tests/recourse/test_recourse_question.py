"""The same question asked in several ways, and what must not change an audit."""

import numpy as np
import pandas as pd
import pytest
from recourse_people import ACTIONS, SETTINGS, WEIGHTS, make_people, same_tables
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import causalaudit as ca


@pytest.mark.parametrize("change", ["rows", "index", "categories", "more columns", "feature order"])
def test_what_does_not_matter(change):
    people, classify = make_people(1)
    plain = ca.audit_recourse(people, classify, **SETTINGS)
    settings = dict(SETTINGS)
    if change == "rows":
        people = people.sample(frac=1, random_state=0)
    elif change == "index":
        people.index = [f"person {number}" for number in range(len(people))]
    elif change == "categories":
        people = people.astype({"job": "category", "sex": "category"})
        people["hours"] = pd.Categorical(people["hours"], ["part", "full", "over", "nobody"], ordered=True)
        settings["actions"] = ca.Actions(**{**ACTIONS, "orders": None})
    elif change == "more columns":
        people["label"], people["note"] = np.arange(len(people)), None
    else:
        settings["features"] = settings["features"][::-1]
    same_tables(plain, ca.audit_recourse(people, classify, **settings))


def test_groups_change_places_with_the_protected_levels():
    people, classify = make_people(2)
    first = ca.audit_recourse(people, classify, **SETTINGS)
    second = ca.audit_recourse(people, classify, **SETTINGS | {"protected": {"sex": ("female", "male")}})
    assert second.groups == first.groups[::-1]
    assert (first.table["n0"] == second.table["n1"]).all()
    same = ["score", "bias_against", "rank", "simultaneous_low", "simultaneous_high"]
    pd.testing.assert_frame_equal(first.table[same], second.table[same])


def test_two_of_three_levels():
    people, classify = make_people(3)
    more = pd.concat([people, people.iloc[:30].assign(sex="unsaid", years=8)], ignore_index=True)
    chosen = ca.audit_recourse(more, classify, **SETTINGS | {"protected": {"sex": ("male", "female")}})
    same_tables(ca.audit_recourse(people, classify, **SETTINGS), chosen)


def test_text_labels_and_pipelines():
    people, _ = make_people(0, n=400)
    encoder = ColumnTransformer([("levels", OneHotEncoder(), ["job", "hours", "born", "sex"])], remainder="passthrough")
    outcome = (people["years"] > 9) ^ (people["job"] == "smith")
    named = make_pipeline(encoder, LogisticRegression()).fit(people[["years", "job", "hours", "born", "sex"]], outcome)
    plain = ca.audit_recourse(people, named, **SETTINGS, favourable=True)
    decided = ca.audit_recourse(people, lambda table: named.predict_proba(table)[:, 1] > 0.5, **SETTINGS)
    same_tables(plain, decided)
    by_text = ca.audit_recourse(
        people, lambda table: np.where(named.predict(table), "yes", "no"), **SETTINGS, favourable="yes"
    )
    same_tables(plain, by_text)


def test_costs_by_functions():
    people, classify = make_people(1)
    plain = ca.audit_recourse(people, classify, **SETTINGS)
    span = people["years"].max() - people["years"].min()
    single = WEIGHTS | {"years": lambda old, new: WEIGHTS["years"] * abs(new - old) / span}
    same_tables(
        plain,
        ca.audit_recourse(people, classify, **SETTINGS | {"actions": ca.Actions(**{**ACTIONS, "weights": single})}),
    )

    def whole(before, after):
        order = ACTIONS["orders"]["hours"]
        total = 2.0 * abs(before.get("years", 0) - after.get("years", 0)) / span
        total += 3.0 * (before.get("job") != after.get("job"))
        return total + 0.5 * abs(order.index(before.get("hours", "part")) - order.index(after.get("hours", "part")))

    same_tables(
        plain,
        ca.audit_recourse(people, classify, **SETTINGS | {"actions": ca.Actions(**{**ACTIONS, "weights": whole})}),
    )


def test_probabilities_are_refused_with_the_fix():
    """A probability above one half is not a decision: whoever asks says where it decides."""
    people, classify = make_people(1)
    with pytest.raises(ca.errors.DataError, match=r"probabilities, for example 0\.25, .*labels are needed.* > 0\.5"):
        ca.audit_recourse(people, lambda table: np.where(classify(table) == 1, 0.75, 0.25), "sex", SETTINGS["features"])


def test_a_level_against_everyone_else():
    """The others are one group, but the classifier sees the level that each of them has."""
    people, _ = make_people(3, n=600)
    people["race"] = np.random.default_rng(0).choice(["x", "y", "z"], len(people))
    seen = set()

    def rule(table):
        seen.update(table["race"])
        return ((table["hours"] == "over") & ((table["race"] != "y") | (table["job"] == "smith"))).astype(int)

    result = ca.audit_recourse(people, rule, **SETTINGS | {"protected": {"race": "x"}})
    assert result.groups == ("everyone else", "x")
    assert seen == {"x", "y", "z"}
    assert set(result.table["bias_against"]) <= {"everyone else", "x", None}
    assert result.title.startswith("Recourse of race = x against everyone else, ")
    affected = people[rule(people) == 0]
    for place in range(0, len(result.candidates), 5):
        before = result.vocabulary.predicate(result.candidates.subgroups[place])
        own = affected[np.all([affected[name] == value for name, value in before.items()], axis=0)]
        for group, part in enumerate((own[own["race"] != "x"], own[own["race"] == "x"])):
            assert result.candidates.sizes[group, place] == len(part)
            for row in result.actions(before).to_dict("records"):
                assert row[f"flipped{group}"] == rule(part.assign(**row["action"])).sum()


def test_one_other_level_is_named():
    people, classify = make_people(2)
    alone = ca.audit_recourse(people, classify, **SETTINGS | {"protected": {"sex": "male"}})
    assert alone.groups == ("female", "male")
    same_tables(alone, ca.audit_recourse(people, classify, **SETTINGS))


def test_features_by_position_and_the_rest_by_keyword():
    people, classify = make_people(1)
    arguments = {name: value for name, value in SETTINGS.items() if name not in ("protected", "features")}
    by_place = ca.audit_recourse(people, classify, "sex", SETTINGS["features"], **arguments)
    same_tables(by_place, ca.audit_recourse(people, classify, **SETTINGS))
    with pytest.raises(TypeError, match="positional"):
        ca.audit_recourse(people, classify, "sex", SETTINGS["features"], SETTINGS["actions"])


def test_actions_are_checked_once_and_kept():
    weights = {"job": 2}
    actions = ca.Actions(weights=weights, immutable=["born"])
    weights["job"] = 3
    assert actions.weight("job") == 2
    assert actions.immutable == ("born",)
    with pytest.raises(AttributeError):
        actions.immutable = ()
    with pytest.raises(TypeError, match="positional"):
        ca.Actions(["years"])
