"""The same people, rule and diagram have the same terms, whether a fair classifier says them or an estimate."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import causalaudit as ca
from causalaudit.adjustment import DoublyRobust
from causalaudit.error_rates.learning.robust_terms import weighted_rates
from causalaudit.errors import DataError

GRAPH = ca.diagram([("C", "X"), ("C", "W"), ("C", "Y"), ("X", "W"), ("X", "Y")])
TERMS = ["total", "direct", "indirect", "spurious"]
# These people are not balanced by a logistic regression, and the estimate says so.
pytestmark = pytest.mark.filterwarnings("ignore:After weighting")


def draw_people(kind, n=4000):
    """People whose propensity rises and falls with the covariate, as no logistic regression on the number does."""
    rng = np.random.default_rng(0)
    step = rng.integers(0, 4, n)
    code = {"few values": step + 0.5, "levels": np.array(list("abcd"))[step], "continuous": step + rng.random(n)}[kind]
    people = pd.DataFrame({"C": code})
    people["X"] = (rng.random(n) < np.array([0.95, 0.2, 0.4, 0.5])[step]).astype(int)
    people["W"] = (rng.random(n) < expit(1.5 * people["X"] - 1.5 + 3.0 * (step == 1))).astype(int)
    people["Y"] = (rng.random(n) < 0.2 + 0.2 * people["X"] + 0.5 * (step == 1)).astype(int)
    return people


def both(people, **options):
    """The terms of a fair classifier in the people of its fit, and the estimate of the same rule among them."""
    fair = ca.FairClassifier(GRAPH, "X", "Y", eps_spurious=1, eps_indirect=1, features=["W"], **options)
    fair.fit(people[["X", "W", "C"]], people["Y"])
    found = ca.estimate_error_rates(
        people, GRAPH, fair.decision_proba, protected="X", outcome="Y", features=["W"], **options
    )
    return fair, found


@pytest.mark.parametrize("kind", ["few values", "levels", "continuous"])
def test_a_fair_classifier_and_an_estimate_agree(kind):
    fair, found = both(draw_people(kind))
    assert fair.explaining_set_ == found.explaining_set == {"C"}
    assert fair.covariates_ == found.settings["covariates"]
    assert (found.settings["propensity"] == "saturated") == (kind != "continuous")
    terms = found.summary()["mean"]
    assert fair.terms_[TERMS].tolist() == pytest.approx(terms[TERMS].tolist(), abs=1e-9)
    assert min(abs(terms["indirect"]), abs(terms["spurious"])) > 0.02


@pytest.mark.slow
@pytest.mark.parametrize(
    ("features", "options"), [(["X", "W"], {}), (["X", "W"], {"margin": "confidence"}), (["X", "W", "C"], {})]
)
def test_bounds_are_on_the_doubly_robust_terms(features, options):
    """Not on those of weighted people, by which the rule is found: the terms are the estimate's, and within bounds."""
    people = draw_people("continuous", 1500)
    fair = ca.FairClassifier(GRAPH, "X", "Y", eps_indirect=0.05, features=features, **options)
    fair.fit(people[["X", "W", "C"]], people["Y"])
    found = ca.estimate_error_rates(people, GRAPH, fair.decision_proba, protected="X", outcome="Y", features=features)
    terms = found.summary()["mean"]
    assert fair.terms_[TERMS].tolist() == pytest.approx(terms[TERMS].tolist(), abs=1e-9)
    assert abs(terms["indirect"]) <= 0.05 + 1e-8
    if options.get("margin"):
        assert fair.certificate_["limit"].max() <= 0.05 + 1e-8


def test_numbers_are_cells_of_their_own_as_words_would_be():
    terms = [both(draw_people(kind))[0].terms_[TERMS].tolist() for kind in ("few values", "levels")]
    assert terms[0] == pytest.approx(terms[1], abs=1e-12)


def test_what_is_declared_to_be_discrete_is():
    people = draw_people("continuous")
    people["C"] = (3 * people["C"]).round() / 3  # thirteen different numbers
    fair, found = both(people, discrete=["C"])
    assert fair.covariates_ == found.settings["covariates"] == {"C": "discrete (declared)"}
    assert found.settings["propensity"] == "saturated"
    assert fair.terms_[TERMS].tolist() == pytest.approx(found.summary()["mean"][TERMS].tolist(), abs=1e-9)


def test_weights_are_people_counted_several_times():
    people = draw_people("few values", 1500)
    counts = np.random.default_rng(1).integers(0, 3, len(people))
    options = {"eps_spurious": 1, "eps_indirect": 1, "features": ["W"]}
    weighted = ca.FairClassifier(GRAPH, "X", "Y", **options)
    weighted.fit(people[["X", "W", "C"]], people["Y"], sample_weight=counts)
    repeated = people.loc[people.index.repeat(counts)].reset_index(drop=True)
    found = ca.estimate_error_rates(
        repeated, GRAPH, weighted.decision_proba, protected="X", outcome="Y", features=["W"]
    )
    assert weighted.terms_[TERMS].tolist() == pytest.approx(found.summary()["mean"][TERMS].tolist(), abs=1e-9)


def test_weights_of_doubly_robust_rates_are_people_counted_several_times():
    """With the models as they are: folds of repeated people would be others."""
    rng = np.random.default_rng(0)
    counts, group = rng.integers(1, 4, 60), np.arange(60) % 2
    robust = DoublyRobust(rng.random((2, 60)), group, rng.uniform(0.2, 0.8, 60), rng.random((2, 2, 60)), {})
    many = np.repeat(np.arange(60), counts)
    repeated = DoublyRobust(robust.values[:, many], group[many], robust.chance[many], robust.expected[:, :, many], {})
    rates, moved = weighted_rates(robust, counts / counts.sum())
    expected, each = weighted_rates(repeated, np.full(len(many), 1 / len(many)))
    assert rates == pytest.approx(expected, abs=1e-12)
    assert rates[:, :, :2] == pytest.approx(repeated.rates, abs=1e-12)
    assert each[:, :, :2] == pytest.approx(np.moveaxis(repeated.influence, 0, -1) / len(many), abs=1e-12)
    copies = np.stack([np.bincount(many, one, 60) for one in each.reshape(12, -1)])
    assert moved.reshape(12, -1) == pytest.approx(copies, abs=1e-12)


def test_a_constant_classifier_has_no_terms():
    """Inverse propensity weights are scaled: what is decided alike for everybody differs by nothing."""
    people = draw_people("continuous")
    found = ca.estimate_error_rates(
        people, GRAPH, lambda rows: np.full(len(rows), 0.7), protected="X", outcome="Y", features=["W"]
    )
    assert found.table["mean"].abs().max() < 1e-12


def test_a_column_named_self():
    people = draw_people("few values").rename(columns={"X": "self", "Y": "data"})
    graph = ca.diagram([("C", "self"), ("C", "W"), ("C", "data"), ("self", "W"), ("self", "data")])
    options = {"protected": "self", "outcome": "data", "features": ["self", "W"]}
    fair = ca.FairClassifier(graph, eps_spurious=1, **options).fit(people[["self", "W", "C"]], people["data"])
    found = ca.estimate_error_rates(people, graph, fair.decision_proba, **options)
    assert fair.terms_[TERMS].tolist() == pytest.approx(found.summary()["mean"][TERMS].tolist(), abs=1e-9)


def test_bad_declarations():
    people = draw_people("few values", 200)
    for wrong, words in (("C", "discrete is the text 'C'"), (["D"], "discrete names 'D', which is no column")):
        with pytest.raises(DataError, match=words):
            both(people, discrete=wrong)
        with pytest.raises(DataError, match=words):
            ca.estimate_error_rates(
                people, GRAPH, lambda rows: rows["W"], protected="X", outcome="Y", features=["W"], discrete=wrong
            )
