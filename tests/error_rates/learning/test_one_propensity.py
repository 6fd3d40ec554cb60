"""The same people, rule and diagram have the same terms, whether a fair classifier says them or an estimate."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import causalaudit as ca

GRAPH = ca.diagram([("C", "X"), ("C", "W"), ("C", "Y"), ("X", "W"), ("X", "Y")])
TERMS = ["total", "direct", "indirect", "spurious"]


def draw_people(kind, n=4000):
    """People whose propensity rises and falls with the covariate, as no logistic regression on the number does."""
    rng = np.random.default_rng(0)
    step = rng.integers(0, 4, n)
    code = {"few values": step + 0.5, "levels": np.array(list("abcd"))[step], "continuous": step + rng.random(n)}[kind]
    people = pd.DataFrame({"C": code})
    people["X"] = (rng.random(n) < np.array([0.85, 0.15, 0.3, 0.7])[step]).astype(int)
    people["W"] = (rng.random(n) < expit(1.5 * people["X"] - 2.0 * (step == 1) + 1.5 * (step == 0))).astype(int)
    people["Y"] = (rng.random(n) < 0.3 + 0.2 * people["X"] + 0.1 * (step > 1)).astype(int)
    return people


def both(people, **options):
    """The terms of a fair classifier in the people of its fit, and the estimate of the same rule among them."""
    fair = ca.FairClassifier(GRAPH, "X", "Y", eps_spurious=0.2, eps_indirect=0.3, features=["X", "W"], **options)
    fair.fit(people[["X", "W", "C"]], people["Y"])
    found = ca.estimate_error_rates(
        people, GRAPH, fair.decision_proba, protected="X", outcome="Y", features=["X", "W"], **options
    )
    return fair, found


@pytest.mark.parametrize("kind", ["few values", "levels", "continuous"])
def test_a_fair_classifier_and_an_estimate_agree(kind):
    fair, found = both(draw_people(kind))
    assert fair.explaining_set_ == found.explaining_set == {"C"}
    terms = found.summary()["mean"]
    assert fair.terms_[TERMS].tolist() == pytest.approx(terms[TERMS].tolist(), abs=1e-9)
    assert min(abs(terms["indirect"]), abs(terms["spurious"])) > 0.02
