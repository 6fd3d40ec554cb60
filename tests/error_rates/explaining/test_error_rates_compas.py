"""COMPAS, the real file: the direct term that is always identified, weights, and the fitted SCM beside them."""

import json

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning

FULL, SMALL = ["race", "age", "sex", "priors_count"], ["race", "age", "sex"]
LEVELS = {"race": ["Caucasian", "African-American"], "sex": ["Female", "Male"]}
QUESTION = {"protected": "race", "baseline": "Caucasian", "contrast": "African-American", "outcome": "two_year_recid"}


@pytest.fixture(scope="module")
def people(data_folder):
    return ca.models.compas.prepare(ca.datasets.load_compas(data_folder))


@pytest.fixture(scope="module")
def reference(reference_folder):
    return json.loads((reference_folder / "error_rates.json").read_text())["compas"]


def learn(people, features):
    text = [name for name in features if name in LEVELS]
    codes = OneHotEncoder(drop="first", categories=[LEVELS[name] for name in text])
    encode = make_column_transformer((codes, text), (StandardScaler(), [n for n in features if n not in LEVELS]))
    return make_pipeline(encode, LogisticRegression(C=np.inf, tol=1e-8)).fit(people[features], people["two_year_recid"])


def test_the_direct_term_of_the_classifier_that_nothing_explains(people, reference):
    graph = ca.models.compas.figure_1().graph
    with pytest.warns(CausalAuditWarning, match="two_year_recid <- priors_count"):
        found = ca.estimate_error_rates(people, graph, learn(people, FULL), features=FULL, **QUESTION).summary()
    known = reference["direct_term_XZW"]["two_years_propublica|f_opt"]
    assert found.loc["total", "mean"] == pytest.approx(known["ER"], abs=1e-12)
    assert found.loc["direct", "mean"] == pytest.approx(known["ERd_direct"], abs=1e-12)
    assert found.loc["direct", "sd"] == pytest.approx(known["se"], abs=1e-5)
    assert found.loc[["indirect", "spurious"], "mean"].isna().all()


def test_the_classifier_without_criminal_history_is_explained_by_age_and_sex(people, reference):
    graph = ca.models.compas.figure_1().graph
    found = ca.estimate_error_rates(people, graph, learn(people, SMALL), features=SMALL, **QUESTION)
    known = reference["exp2"]["two_years_propublica"]["logistic"]["f_opt-"]
    assert found.explaining_set == {"age", "sex"}
    assert found.summary().loc["total", "mean"] == pytest.approx(known["ER"], abs=1e-12)
    assert found.summary().loc["direct", "mean"] == pytest.approx(known["ERd_C_Z"], abs=1e-12)
    indirect = found.summary().loc["indirect", ["mean", "sd", "wald_low", "wald_high"]]
    assert (indirect == 0).all()  # race changes no feature of this classifier; a model of race gave .0166
    assert found.settings["propensity"] is None
    assert found.weights.empty


@pytest.mark.slow
def test_the_fitted_scm_and_the_data_beside_one_another(people):
    scm = ca.models.compas.figure_1()
    posterior = ca.fit(scm, people, draws=100, chains=1, seed=0, progress=False)
    model = ca.decompose_error_rates(
        posterior, learn(people, FULL), population="simulate", draws=50, progress=False, **QUESTION
    )
    with pytest.warns(CausalAuditWarning, match="stays open"):
        data = ca.estimate_error_rates(people, scm.graph, learn(people, FULL), features=FULL, **QUESTION)
    both = model.beside(data).query("decomposition == 1").set_index("term")
    assert (
        both.loc["total", "low_doubly_robust"]
        < both.loc["total", "mean_simulate"]
        < both.loc["total", "high_doubly_robust"]
    )
    assert (
        both.loc["direct", "low_doubly_robust"]
        < both.loc["direct", "mean_simulate"]
        < both.loc["direct", "high_doubly_robust"]
    )
    assert both.loc["indirect", "low_simulate"] > 0.05
    assert (model.table["prob_positive"] == 1).all()
    weighted = ca.decompose_error_rates(
        posterior, learn(people, FULL), population="bootstrap", draws=50, progress=False, **QUESTION
    )
    assert (weighted.summary()["mean"] - model.summary()["mean"]).abs().max() < 0.03
