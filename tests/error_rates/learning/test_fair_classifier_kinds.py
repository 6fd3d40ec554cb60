"""What rules are: random or not, tables that nobody fills, levels never seen, basis functions."""

import numpy as np
import pandas as pd
import pytest
from fair_people import EXPLAINABLE_GRAPH, draw_people
from sklearn.preprocessing import PolynomialFeatures

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, DataError

FEATURES = ["X", "W", "Z", "D"]
BOUNDS = {"eps_direct": 0.01, "eps_indirect": 0.01, "eps_spurious": 0.01}
NAMES = ["direct", "indirect", "spurious"]


def learn(people, features=FEATURES, **settings):
    return ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", **settings).fit(people[features], people["Y"])


# Decisions at random


def test_drawn_decisions_keep_bounds_in_expectation_only():
    people = draw_people(1500, 0)
    fair = learn(people, **BOUNDS)
    seeds = [
        fair.set_params(seed=seed).error_rate_terms(people[FEATURES], people["Y"], realised=True) for seed in range(40)
    ]
    drawn = pd.DataFrame(seeds)
    assert (drawn[NAMES].abs() > 0.01).any(axis=None)
    errors = drawn.std() / np.sqrt(len(drawn))
    assert ((drawn.mean() - fair.terms_).abs() <= 4 * errors + 1e-12).all()
    # They are those of `predict`: the total by hand.
    fair.set_params(seed=0)
    mine, decided = people["Y"] == 0, fair.predict(people[FEATURES])
    by_hand = decided[mine & (people["X"] == 1)].mean() - decided[mine & (people["X"] == 0)].mean()
    assert drawn["total"].iloc[0] == pytest.approx(by_hand, abs=1e-12)


def test_decisions_that_are_not_random_keep_the_bounds_themselves():
    people = draw_people(1500, 0)
    drawn, fixed = learn(people, **BOUNDS), learn(people, **BOUNDS, randomised=False)
    assert set(fixed.rule_.probability) <= {0.0, 1.0}
    assert (fixed.terms_[NAMES].abs() <= 0.01 + 1e-8).all()
    realised = fixed.error_rate_terms(people[FEATURES], people["Y"], realised=True)
    assert realised.to_dict() == pytest.approx(fixed.terms_.to_dict(), abs=1e-12)
    assert fixed.accuracy_ <= drawn.accuracy_ + 1e-9


def test_no_table_of_zeros_and_ones_is_better():
    """All 256 rules over three features, by brute force."""
    people = draw_people(500, 1)
    fair = learn(people, ["X", "W", "Z"], eps_total=0.03, randomised=False)
    codes = people[["X", "W", "Z"]].to_numpy() @ [4, 2, 1]
    rules = (np.arange(256)[:, None] >> np.arange(8)) & 1
    decided = rules[:, codes]
    false = (people["Y"] == 0).to_numpy()
    rates = [decided[:, false & (people["X"] == x).to_numpy()].mean(axis=1) for x in (0, 1)]
    within = np.abs(rates[1] - rates[0]) <= 0.03
    best = (decided == people["Y"].to_numpy()).mean(axis=1)[within].max()
    assert fair.accuracy_ == pytest.approx(best, abs=1e-12)


# Tables that nobody fills


def test_a_text_of_many_levels_is_no_table():
    people = draw_people(1500, 2)
    people["town"] = np.random.default_rng(0).integers(0, 200, 1500).astype(str)
    columns = [*FEATURES, "town"]
    train, test = people[:1000], people[1000:]
    with pytest.warns(CausalAuditWarning, match=r"combinations of values for 1,000 people, .*'town' alone has"):
        fair = learn(train, columns)
    assert isinstance(fair.rule_, ca.error_rates.learning.logistic_rule.LogisticRule)
    with pytest.warns(CausalAuditWarning, match="A table learns their labels by heart"):
        table = learn(train, columns, method="table")
    known = test[test["town"].isin(train["town"])]
    scores = [one.score(known[columns], known["Y"]) for one in (fair, table)]
    assert table.accuracy_ - scores[1] > 0.15
    assert scores[0] > scores[1] + 0.02
    assert learn(train).score(test[FEATURES], test["Y"]) > 0.6  # without towns: a table, and no warning


# Levels never seen


@pytest.mark.parametrize("method", ["table", "logistic"])
def test_a_level_never_seen_is_decided_as_most_people_are(method):
    people = draw_people(600, 3)
    people["Z"] = people["Z"].map({0: "young", 1: "old"})
    fair = learn(people, method=method)
    new = people[FEATURES].copy()
    new.loc[new.index[:5], "Z"] = "ageless"
    most = float(people["Y"].mean() > 0.5)
    with pytest.warns(CausalAuditWarning, match="5 of 600 people have a level of 'Z' that nobody had .* 'ageless'"):
        decided = fair.decision_proba(new)
    assert (decided[:5] == most).all()
    assert (decided[5:] == fair.decision_proba(people[FEATURES])[5:]).all()
    with pytest.warns(CausalAuditWarning, match="ageless"):
        assert np.isfinite(fair.predict_proba(new)).all()


# Basis functions


def test_basis_functions_bend_the_score():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"X": rng.integers(0, 2, 1500), "Z": rng.normal(size=1500)})
    labels = (rng.random(1500) < np.where(np.abs(people["Z"]) < 1, 0.9, 0.1)).astype(int)
    graph = ca.diagram([("X", "Y"), ("Z", "Y")])
    fits = {
        basis: ca.FairClassifier(graph, "X", "Y", eps_direct=0.02, basis=basis).fit(people, labels)
        for basis in (None, "splines", PolynomialFeatures(2, include_bias=False))
    }
    straight, *bent = (fair.accuracy_ for fair in fits.values())
    assert straight < 0.75
    assert min(bent) > 0.85
    assert all(abs(fair.terms_["direct"]) <= 0.02 for fair in fits.values())
    with pytest.raises(DataError, match="basis is 'cubes', but must be 'splines', a transformer"):
        ca.FairClassifier(graph, "X", "Y", basis="cubes").fit(people, labels)
