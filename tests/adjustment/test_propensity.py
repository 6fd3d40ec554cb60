"""Covariates, propensities and outcome models: what is discrete, cells against regressions, overlap, weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from causalaudit.adjustment import (
    Covariates,
    NoOverlapError,
    OutcomeRegression,
    check_declared,
    check_overlap,
    fit_estimator,
    fit_propensity,
    log_odds,
    odds,
    predict_logistic,
    regress,
    weight_summary,
)
from causalaudit.errors import DataError


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "step": rng.integers(0, 4, 500) + 0.5,
            "age": rng.normal(40, 12, 500),
            "sex": rng.choice(["f", "m"], 500),
            "grade": pd.Categorical(rng.choice(["low", "mid"], 500), ["low", "mid", "high"]),
            "flag": rng.random(500) < 0.5,
        }
    )
    table["x"] = (rng.random(500) < 0.2 + 0.15 * table["step"]).astype(int)
    return table


# Covariates


def test_the_kinds_of_covariates(people):
    covariates = Covariates.of(people, ["step", "age", "sex", "grade", "flag"])
    assert covariates.kinds == {
        "step": "discrete (few values)",
        "age": "continuous",
        "sex": "discrete (levels)",
        "grade": "discrete (levels)",
        "flag": "discrete (levels)",
    }
    assert not covariates.discrete
    assert Covariates.of(people, ["age"], ["age", "step"]).kinds == {"age": "discrete (declared)"}


def test_what_is_discrete_stays_so_among_some(people):
    few = Covariates.of(people, ["age"]).only(np.arange(len(people)) < 5)
    assert few.kinds == {"age": "continuous"}
    assert len(few) == 5


def test_cells_are_the_combinations_that_occur(people):
    names = ["step", "grade", "sex"]
    cells = Covariates.of(people, names).cells
    sizes = people.groupby(names, observed=True).size()
    assert cells.number == len(sizes)
    assert cells.sums(np.ones((1, len(people))))[0].tolist() == sizes.tolist()
    assert Covariates.of(people, []).cells.number == 1


def test_the_design_has_numbers_and_indicators(people):
    design = Covariates.of(people, ["step", "age", "grade", "flag"]).design
    assert design.shape == (500, 4)
    assert design.mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-12)
    assert design.std(axis=0) == pytest.approx(np.ones(4))
    assert Covariates.of(people, ["step"], ["step"]).design.shape == (500, 3)
    assert Covariates.of(people.assign(sex="f"), ["sex", "age"]).design.shape == (500, 1)
    assert Covariates.of(people, []).design.shape == (500, 0)


def test_bad_covariates(people):
    with pytest.raises(DataError, match="The covariate 'income' is not in data"):
        Covariates.of(people, ["income"])
    with pytest.raises(DataError, match="The covariate 'age' is missing for 1 of 500 people"):
        Covariates.of(people.assign(age=people["age"].where(people.index > 0)), ["age"])
    with pytest.raises(DataError, match=r"discrete is the text 'age', but must be a list of columns: \['age'\]"):
        check_declared(people, "age")
    with pytest.raises(DataError, match="discrete names 'agee', which is no column: did you mean 'age'"):
        check_declared(people, ["agee"])
    assert check_declared(people, None) == []


# Propensities


def test_saturated_propensities_are_shares(people):
    model = fit_propensity(Covariates.of(people, ["step", "sex"]), people["x"].to_numpy())
    assert model.form == "saturated"
    assert model.chance == pytest.approx(people.groupby(["step", "sex"])["x"].transform("mean").to_numpy())
    weights = np.random.default_rng(1).integers(0, 3, (2, len(people)))
    for chance, own in zip(model.chances(weights), weights, strict=True):
        again = people.loc[people.index.repeat(own)].groupby(["step", "sex"])["x"].mean()
        assert chance == pytest.approx(again.reindex(pd.MultiIndex.from_frame(people[["step", "sex"]])).to_numpy())


def test_a_regression_on_indicators_is_the_table(people):
    group = people["x"].to_numpy()
    declared = Covariates.of(people, ["step"], ["step"])
    weights = np.random.default_rng(1).standard_exponential((3, len(people)))
    table, regression = fit_propensity(declared, group), fit_propensity(declared, group, "logistic")
    assert regression.chance == pytest.approx(table.chance, abs=1e-6)
    assert regression.chances(weights) == pytest.approx(table.chances(weights), abs=1e-6)


def test_continuous_covariates_have_a_regression(people):
    group = people["x"].to_numpy()
    model = fit_propensity(Covariates.of(people, ["age", "step"]), group)
    assert model.form == "logistic"
    known = LogisticRegression(C=np.inf, tol=1e-10).fit(model.covariates.design, group)
    assert model.chance == pytest.approx(known.predict_proba(model.covariates.design)[:, 1], abs=1e-6)


def test_people_without_weight_are_predicted_by_the_others(people):
    group = people["x"].to_numpy()
    fold = np.arange(len(people)) % 2 == 0
    for names in (["step"], ["age"]):
        model = fit_propensity(Covariates.of(people, names), group)
        turned = fit_propensity(Covariates.of(people, names), np.where(fold, group, 1 - group))
        weights = fold[None].astype(float)
        assert model.chances(weights) == pytest.approx(turned.chances(weights), abs=1e-9)


def test_no_overlap(people):
    group = np.where(people["sex"] == "f", 0, people["x"])
    covariates = Covariates.of(people, ["sex"])
    chance = fit_propensity(covariates, group).chance
    with pytest.raises(NoOverlapError, match=r"propensity of x = 1 is 0 for \d+ of 500 people, .* sex = 'f'. Merge"):
        check_overlap(chance, np.ones(500, dtype=bool), covariates, "x = 1", "Merge levels.")
    check_overlap(chance, (people["sex"] == "m").to_numpy(), covariates, "x = 1", "Merge levels.")


def test_odds_are_kept_finite():
    assert odds(np.array([0.0, 0.5, 1.0])) == pytest.approx([1e-6, 1.0, 1e6], rel=1e-5)
    assert log_odds(np.array([0.25])) == pytest.approx(np.log(1 / 3))


def test_the_summary_of_weights():
    found = weight_summary(np.array([1.0, 1.0, 2.0]), np.array([0.2, 0.4]))
    assert found == pytest.approx(
        {"people": 3, "effective_people": 16 / 6, "largest_weight": 1.5, "smallest_propensity": 0.2}
    )


# Outcome models


def test_outcomes_are_regressed_among_the_group(people):
    design = Covariates.of(people, ["age", "step"]).design
    rate, group = np.random.default_rng(3).random(500), people["x"].to_numpy().astype(float)
    model = OutcomeRegression(design, rate, group)
    own = regress(design[group == 1], rate[group == 1])
    assert model.expected == pytest.approx(predict_logistic(design, own)[0], abs=1e-7)
    weights = np.random.default_rng(4).standard_exponential((2, 500))
    assert model.expectations(np.ones((1, 500)))[0] == pytest.approx(model.expected, abs=1e-9)
    assert model.expectations(weights)[0] == pytest.approx(
        predict_logistic(design, regress(design, rate, weights[:1] * group))[0], abs=1e-9
    )


def test_any_classifier_can_be_an_outcome_model(people):
    rows, weight = people[["step", "age"]].to_numpy(), np.ones(500)
    tree = DecisionTreeClassifier(max_depth=1)
    plain = fit_estimator(tree, rows, people["x"].to_numpy(), weight, rows)
    assert plain == pytest.approx(tree.fit(rows, people["x"]).predict_proba(rows)[:, 1])
    # A probability is an event with this weight, and none with the rest.
    halves = fit_estimator(None, rows, np.full(500, 0.25), weight, rows)
    assert halves == pytest.approx(np.full(500, 0.25), abs=1e-6)
    assert fit_estimator(None, rows, np.zeros(500), weight, rows) == pytest.approx(np.full(500, 0.5 / 501))
