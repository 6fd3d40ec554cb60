"""How far the two groups of a complainant are, and what the counterfactuals do not model."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
from situations import bank

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, DataError
from causalaudit.situation_testing.match_quality import typical_distance

FEATURES = ["salary", "balance"]


def test_remoteness_is_the_mean_distance_in_units_of_that_of_two_people(result, applicants):
    apart = ca.Gower().matrix(applicants[FEATURES])
    typical = apart[~np.eye(len(apart), dtype=bool)].mean()
    assert result.settings["typical_distance"] == pytest.approx(typical, rel=1e-12)
    for who in result.at().index[[0, 7]]:
        shown = result.explain(who, 10)
        for side in ("control", "test"):
            mean = shown[side, "distance"].iloc[1:].mean()
            assert result.at(10).loc[who, f"remoteness_{side}"] == pytest.approx(mean / typical)


def test_the_typical_distance_counts_levels_and_any_metric():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"x": rng.random(60), "c": rng.choice(list("abc"), 60)})
    gower = ca.Gower(weights={"x": 2.0})
    apart = gower.matrix(people)
    expected = apart[~np.eye(60, dtype=bool)].mean()
    assert typical_distance(gower.geometry(people), people) == pytest.approx(expected, rel=1e-12)
    asked = {"features": ["x", "c"], "k": 3, "distance": lambda some, others: 7 * gower.matrix(some, others)}
    people = people.assign(sex=["F", "M"] * 30, y=rng.integers(0, 2, 60))
    assert ca.situation_testing(people, "y", {"sex": "F"}, **asked).settings["typical_distance"] > 0


def far_away():
    """A woman whom only men are like: her control group is far away, her test group is not."""
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"sex": ["F"] * 60 + ["M"] * 60, "x": np.r_[rng.uniform(0, 0.2, 60), rng.uniform(0, 1, 60)]})
    people.loc[0, "x"] = 0.95
    people["hired"] = (people.x > 0.4).astype(int)
    return people


def test_a_case_that_rests_on_a_poor_match_warns():
    people = far_away()
    with pytest.warns(
        CausalAuditWarning, match=r"1 of \d+ cases at k = 5 rest on a poor match: .* that of 0, 2\.\d times"
    ):
        result = ca.situation_testing(people, "hired", {"sex": "F"}, features=["x"], k=5)
    row = result.at().loc[0]
    assert row.remoteness_control > 2
    assert row.remoteness_test < 0.3
    assert (result.at().remoteness_control.iloc[1:] < 0.3).all()


def test_controls_at_a_fifth_of_the_range_are_far():
    """One complainant's controls are at .15 to .23, his test group is at .03 to .05, as in the data of a bank."""
    rng = np.random.default_rng(2)
    people = pd.DataFrame({"race": ["Black"] * 40 + ["White"] * 160, "income": rng.random(200)})
    people.loc[0, "income"] = 0.5
    people.loc[1:5, "income"] = 0.5 - np.linspace(0.15, 0.23, 5)
    people.loc[6:39, "income"] = rng.uniform(0.8, 1.0, 34)
    near = np.abs(people.income - 0.5) < 0.03
    people = people[~(near & (people.race == "White"))].reset_index(drop=True)
    people["approved"] = (people.income > 0.4).astype(int)
    with pytest.warns(CausalAuditWarning, match=r"1 of \d+ cases at k = 5 rest on a poor match: .* that of 0, 0\.[56]"):
        result = ca.situation_testing(people, "approved", {"race": "Black"}, features=["income"], k=5)
    shown = result.explain(0)
    assert shown["control", "distance"].iloc[1:].between(0.15, 0.24).all()
    assert shown["test", "distance"].iloc[1:].between(0.03, 0.06).all()
    assert result.at().loc[0, "remoteness_control"] > 3 * result.at().loc[0, "remoteness_test"]


def test_close_matches_do_not_warn():
    result = ca.situation_testing(far_away().drop(index=0), "hired", {"sex": "F"}, features=["x"], k=5)
    assert (result.at()[["remoteness_control", "remoteness_test"]] < 1).all(axis=None)


def without_balance(n):
    base = pyro.sample("base", dist.Normal(100_000.0, 50_000.0))
    penalty = pyro.sample("penalty", dist.Normal(0.0, 25_000.0))
    with pyro.plate("individuals", n):
        gender = pyro.sample("gender", dist.Bernoulli(0.35))
        pyro.sample("salary", dist.Normal(base + penalty * gender, 30_000.0))


def test_a_feature_that_the_program_lacks_is_named(applicants):
    scm = ca.SCM(without_balance, levels={"gender": ["male", "female"]})
    women = applicants.gender == "female"
    worlds = ca.counterfactuals(ca.fit(scm, applicants, draws=50), {"gender": "male"}, rows=women, draws=20)
    with pytest.warns(CausalAuditWarning, match="do not model 'balance': it keeps its factual value"):
        ca.situation_testing(applicants, bank, {"gender": "female"}, features=FEATURES, counterfactuals=worlds, k=5)
    ca.situation_testing(applicants, bank, {"gender": "female"}, features=["salary"], counterfactuals=worlds, k=5)


def test_missing_values_are_refused_as_everywhere(applicants):
    people = applicants.assign(salary=applicants.salary.where(applicants.index > 2))
    with pytest.raises(DataError, match=r"The feature 'salary' is missing for 3 of 400 people\. Drop or impute"):
        ca.situation_testing(people, "approved", {"gender": "female"}, features=FEATURES, k=5)
