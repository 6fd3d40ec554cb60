"""Experiment 2 over the table of COMPAS: the classifiers of the reference, on the real file."""

import json

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca

PAPER = ca.diagram(  # figure 1, demographics Z being age and sex
    [(z, effect) for z in ("age", "sex") for effect in ("priors", "two_year_recid")]
    + [("race", "priors"), ("race", "two_year_recid"), ("priors", "two_year_recid")],
    bidirected=[("race", "age"), ("race", "sex")],
)
SETTINGS = {"graph": PAPER, "protected": {"race": ("African-American", "Caucasian")}, "outcome": "two_year_recid"}


@pytest.fixture(scope="module", params=["two_years_propublica", "two_years_nofilter"])
def compas(request, data_folder, reference_folder):
    people = ca.models.compas.prepare(ca.datasets.load_compas(), screened=request.param == "two_years_propublica")
    expected = json.loads((reference_folder / "error_rates.json").read_text())["compas"]["exp2"][request.param]
    bins = pd.cut(people["age"], [0, 24, 45, np.inf], labels=["below 25", "25 to 45", "above 45"])
    counts = pd.cut(people["priors_count"], [-1, 0, 3, np.inf], labels=["none", "1 to 3", "more"])
    return people.assign(age=bins, priors=counts), expected["tabular"]


@pytest.mark.parametrize(
    ("name", "bounds"), [("f_opt-", {}), ("f_er-", {"eps_total": 0.01}), ("f_ctf-", {"eps_direct": 0.01})]
)
def test_without_criminal_history(compas, name, bounds):
    people, expected = compas
    rows, labels, target = people[["race", "age", "sex"]], people["two_year_recid"], expected[name]
    fair = ca.FairClassifier(**SETTINGS, **bounds).fit(rows, labels)
    values = fair.error_rate_terms(rows, labels)
    assert fair.accuracy_ == pytest.approx(target["acc"], abs=1e-6)
    assert values[["total", "direct", "spurious"]].tolist() == pytest.approx(
        [target["ER"], target["ERd"], target["neg_ERs10"]], abs=1e-6
    )
    assert abs(values["indirect"]) < 1e-9
    assert fair.explaining_set_ == (frozenset({"age", "sex"}) if bounds else None)


@pytest.mark.parametrize(("name", "bounds"), [("f_opt", {}), ("f_er", {"eps_total": 0.01})])
def test_with_criminal_history(compas, name, bounds):
    people, expected = compas
    rows, labels = people[["race", "age", "sex", "priors"]], people["two_year_recid"]
    fair = ca.FairClassifier(**SETTINGS, **bounds).fit(rows, labels)
    values = fair.error_rate_terms(rows, labels)
    assert fair.accuracy_ == pytest.approx(expected[name]["acc"], abs=1e-6)
    assert values["total"] == pytest.approx(expected[name]["ER"], abs=1e-6)
    assert values[["indirect", "spurious"]].isna().all()


def test_the_paper_s_features_are_chosen(compas):
    people, _ = compas
    candidates = ["race", "age", "sex", "priors"]
    chosen = ca.select_explainable_features(
        people, PAPER, "race", outcome="two_year_recid", candidates=candidates, scoring="neg_log_loss"
    )
    assert chosen == ["race", "age", "sex"]
