"""Bounds on other terms than those of one outcome: equalized odds, natural effects, effects on the treated."""

import itertools

import numpy as np
import pandas as pd
import pytest
from fair_people import EXPLAINABLE, EXPLAINABLE_GRAPH, SCM_B, draw_people, population, true_terms

import causalaudit as ca
from causalaudit.errors import DataError

FEATURES = ["X", "W", "Z", "D"]


def learn(people, features=FEATURES, graph=EXPLAINABLE_GRAPH, **settings):
    fair = ca.FairClassifier(graph, "X", "Y", **settings)
    return fair.fit(people[features], people["Y"], sample_weight=people["share"])


def natural_effects(scm, rule):
    """NDE and NIE of equations 33 and 34 from x0 = 0 to x1 = 1, by summing over the noise of every variable."""
    ends = sorted({0.0, 1.0} | {1 - law(dict(zip(scm, v, strict=True))) for law in scm.values() for v in states(scm)})
    cuts = [((low + high) / 2, high - low) for low, high in itertools.pairwise(ends)]
    rates = dict.fromkeys([(0, 0), (1, 0), (0, 1)], 0.0)
    for noise in itertools.product(cuts, repeat=len(scm) - 1):
        for read, made_by in rates:
            values = {}
            for (name, law), (u, _) in zip([(n, law) for n, law in scm.items() if n != "X"], noise, strict=True):
                if name == "W":
                    values["X"] = made_by
                values[name] = int(u > 1 - law(values))
            share = np.prod([size for _, size in noise])
            rates[read, made_by] += share * rule(pd.DataFrame([{**values, "X": read}]))[0]
    return {"nde": rates[1, 0] - rates[0, 0], "nie": rates[0, 1] - rates[0, 0]}


def states(scm):
    return itertools.product((0, 1), repeat=len(scm))


def test_equalized_odds_bounds_both_outcomes_at_once():
    people = population(EXPLAINABLE)
    bounds = {"eps_direct": 0.03, "eps_spurious": 0.04}
    both = learn(people, y=[0, 1], **bounds)
    for y in (0, 1):
        truth = true_terms("explainable", both.decision_proba, y)
        assert both.terms_[y].to_dict() == pytest.approx(truth, abs=1e-9)
        assert abs(truth["direct"]) <= 0.03 + 1e-8
        assert abs(truth["spurious"]) <= 0.04 + 1e-8
        assert both.accuracy_ <= learn(people, y=y, **bounds).accuracy_ + 1e-9
    one, both = (learn(people, y=y, eps_total=0.02) for y in (0, [0, 1]))
    totals = [true_terms("explainable", fair.decision_proba, 1)["total"] for fair in (one, both)]
    assert abs(totals[0]) > 0.03
    assert abs(totals[1]) <= 0.02 + 1e-8
    with pytest.raises(DataError, match=r"y is \[0, 2\], but the labels are 0, 1"):
        learn(people, y=[0, 2], **bounds)


def test_the_effect_on_the_treated_is_direct_plus_indirect():
    people = population(EXPLAINABLE)
    fair = learn(people, eps_ett=0.02)
    truth = true_terms("explainable", fair.decision_proba, 0)
    assert fair.terms_["ett"] == pytest.approx(truth["direct"] + truth["indirect"], abs=1e-9)
    assert abs(fair.terms_["ett"]) <= 0.02 + 1e-8
    assert abs(learn(people, eps_direct=1).terms_[["direct", "indirect"]].sum()) > 0.1


@pytest.mark.parametrize("name", ["explainable", "scm_b"])
def test_natural_effects_are_those_of_the_scm(name, scm_b):
    """From data and diagram, where W affects Y too: given the outcome, nothing would explain a rule that reads W."""
    scm = {"explainable": EXPLAINABLE, "scm_b": SCM_B}[name]
    people = population(scm)
    graph = EXPLAINABLE_GRAPH if name == "explainable" else ca.models.standard_prediction.scm_b().graph
    bounds = {"eps_nde": 0.05, "eps_nie": 0.02}
    fair = learn(people, ["X", "W", "Z"], graph, **bounds)
    truth = natural_effects({key: law for key, law in scm.items() if key in "ZXW"}, fair.decision_proba)
    assert fair.natural_set_ == {"Z"}
    assert fair.terms_[["nde", "nie"]].to_dict() == pytest.approx(truth, abs=1e-9)
    assert abs(truth["nde"]) <= 0.05 + 1e-8
    assert abs(truth["nie"]) <= 0.02 + 1e-8
    if name == "scm_b":  # by enumeration of a posterior, and by Theorem 9
        exact = ca.FairClassifier(**scm_b[1], protected="X", outcome="Y", features=["X", "W", "Z"], **bounds)
        exact.fit(people[FEATURES], people["Y"], sample_weight=people["share"])
        assert exact.terms_[["nde", "nie"]].to_dict() == pytest.approx(
            natural_effects({key: SCM_B[key] for key in "ZXW"}, exact.decision_proba), abs=1e-9
        )
        assert exact.accuracy_ == pytest.approx(fair.accuracy_, abs=1e-9)


def test_natural_effects_that_are_not_identified():
    people = draw_people(300, 0)
    graph = ca.diagram([("X", "W"), ("W", "Y"), ("Z", "Y")], bidirected=[("X", "W")])
    fair = ca.FairClassifier(graph, "X", "Y", eps_nie=0.1)
    with pytest.raises(DataError, match="Natural effects on a classifier that reads X, W are not identified"):
        fair.fit(people[["X", "W"]], people["Y"])


@pytest.mark.slow
def test_errors_of_natural_effects_are_the_spread_of_samples():
    """Standard errors by influence against the spread over 200 samples, in cells of the covariate."""
    found = []
    for seed in range(200):
        people = draw_people(600, seed)
        fair = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_nde=1, eps_nie=1, features=["X", "W", "Z"])
        terms = fair._problem(people[FEATURES], people["Y"], None, ("nde", "nie"), reset=True).terms
        decided = (terms.rows.to_numpy() @ [0.2, 0.5, 0.3]).astype(float)
        values = terms.values(decided, ["nde", "nie"])
        found.append([*values, *terms.errors(terms.influences(decided), ["nde", "nie"])])
    values, errors = np.split(np.array(found), 2, axis=1)
    # The direct effect of this rule is the same in everybody, and known without error.
    assert values[:, 0] == pytest.approx(0.2, abs=1e-12)
    assert errors[:, 0].max() < 1e-12
    assert errors[:, 1].mean() == pytest.approx(values[:, 1].std(), rel=0.15)
