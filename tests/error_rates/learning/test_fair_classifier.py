"""Fair classifiers: exact populations, the reference, bounds on decisions, and what they cost."""

import json
import pickle
import random

import numpy as np
import pandas as pd
import pytest
import torch
from fair_people import EXPLAINABLE, EXPLAINABLE_GRAPH, SCM_B, draw_people, explainable_program, population, true_terms
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import causalaudit as ca

FEATURES = ["X", "W", "Z", "D"]
EPS = ("eps_direct", "eps_indirect", "eps_spurious")
CENT, TWO_CENTS = dict.fromkeys(EPS, 0.01), dict.fromkeys(EPS, 0.02)


def learn(people, y=0, features=FEATURES, **settings):
    settings = {"graph": EXPLAINABLE_GRAPH, "protected": "X", "outcome": "Y", "y": y, **settings}
    return ca.FairClassifier(**settings).fit(people[features], people["Y"], sample_weight=people["share"])


def halves(values):
    """Bounds at half of each term."""
    return {f"eps_{name}": abs(values[name]) / 2 for name in ("direct", "indirect", "spurious")}


@pytest.mark.parametrize("y", [0, 1])
def test_scm_b_is_the_reference(scm_b, reference_folder, y):
    people, by = scm_b
    expected = json.loads((reference_folder / "error_rates.json").read_text())["scmB"][f"y{y}"]
    best = learn(people, y, **by)
    values = best.error_rate_terms(people[FEATURES], people["Y"], people["share"])
    found = {
        "f_opt": best,
        "f_er": learn(people, y, **by, eps_total=abs(values["total"]) / 2),
        "f_ctf": learn(people, y, **by, **halves(values)),
    }
    for name, classifier in found.items():
        target = expected[name]
        values = classifier.error_rate_terms(people[FEATURES], people["Y"], people["share"])
        # The reference gives the raw measures, the classifier the additive terms.
        raw = [values["total"], values["direct"], -values["indirect"], -values["spurious"]]
        assert raw == pytest.approx([target[key] for key in ("ER", "ERd", "ERi", "ERs")], abs=1e-6)
        assert classifier.accuracy_ == pytest.approx(target["acc"], abs=1e-6)
        table = classifier.rule_.table.assign(p=classifier.rule_.probability).sort_values(FEATURES)
        assert table["p"].tolist() == pytest.approx(expected[f"{name}_theta"], abs=1e-6)


@pytest.mark.parametrize("y", [0, 1])
def test_scm_b_by_enumeration_of_its_noise(scm_b, y):
    """The same without the reference: the terms are the true ones of the rule, and the bounds are active."""
    people, by = scm_b
    best = learn(people, y, **by)
    half = halves(best.error_rate_terms(people[FEATURES], people["Y"], people["share"]))
    fair = learn(people, y, **by, **half)
    truth = true_terms("scm_b", fair.decision_proba, y)
    assert fair.terms_.to_dict() == pytest.approx(truth, abs=1e-9)
    for name, bound in half.items():
        assert abs(truth[name.removeprefix("eps_")]) == pytest.approx(bound, abs=1e-9)
    assert 0.7 < fair.accuracy_ < best.accuracy_


def test_the_diagram_gives_the_terms_of_the_scm():
    """On an explainable SCM, covariates in an exact population, enumeration and true counterfactuals agree."""
    people = population(EXPLAINABLE)
    posterior = ca.fit(ca.SCM(explainable_program), people[list("ZXWYD")], draws=2, chains=1)
    by_graph = learn(people, eps_indirect=0.02, eps_spurious=0.03)
    by_scm = learn(people, eps_indirect=0.02, eps_spurious=0.03, graph=None, posterior=posterior, population="exact")
    assert by_graph.explaining_set_ == {"Z"}
    assert by_scm.explaining_set_ is None
    assert by_graph.terms_.to_dict() == pytest.approx(by_scm.terms_.to_dict(), abs=1e-9)
    assert by_graph.accuracy_ == pytest.approx(by_scm.accuracy_, abs=1e-9)
    truth = true_terms("explainable", by_graph.decision_proba, 0)
    assert by_graph.terms_.to_dict() == pytest.approx(truth, abs=1e-9)


def test_a_covariate_that_is_not_a_feature():
    people = population(EXPLAINABLE)
    fair = learn(people, features=["X", "W", "D", "Z"], eps_indirect=0.02)
    blind = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_indirect=0.02, y=0, features=["X", "W", "D"])
    blind.fit(people[["X", "W", "D", "Z"]], people["Y"], sample_weight=people["share"])
    assert (fair.features_, blind.features_) == (["X", "W", "D", "Z"], ["X", "W", "D"])
    assert blind.explaining_set_ == {"Z"}
    truth = true_terms("explainable", blind.decision_proba, 0)
    assert blind.terms_.to_dict() == pytest.approx(truth, abs=1e-9)
    assert blind.accuracy_ < fair.accuracy_


def test_a_classifier_that_does_not_read_the_protected_attribute_has_no_direct_term():
    people = population(EXPLAINABLE)
    settings = {"y": 0, "features": ["W", "Z"], "eps_indirect": 0.05}
    fair = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", **settings)
    fair.fit(people[["X", "W", "Z"]], people["Y"], sample_weight=people["share"])
    assert fair.terms_["direct"] == 0


def test_direct_and_total_need_no_explaining_set(scm_b):
    people, by = scm_b
    graph = ca.models.standard_prediction.scm_b().graph
    fair = learn(people, graph=graph, eps_direct=0.01, eps_total=0.1)
    exact = learn(people, **by, eps_direct=0.01, eps_total=0.1)
    assert fair.explaining_set_ is None
    assert fair.terms_[["total", "direct"]].to_dict() == pytest.approx(exact.terms_[["total", "direct"]].to_dict())
    assert fair.terms_[["indirect", "spurious"]].isna().all()
    assert fair.accuracy_ == pytest.approx(exact.accuracy_)


@settings(max_examples=25)
@given(st.lists(st.floats(0, 0.2), min_size=3, max_size=3), st.integers(0, 2**16))
def test_no_rule_within_the_bounds_is_more_accurate(bounds, seed):
    people = population(EXPLAINABLE)
    fair = learn(people, **dict(zip(EPS, bounds, strict=True)))
    assert all(abs(fair.terms_[name[4:]]) <= bound + 1e-8 for name, bound in zip(EPS, bounds, strict=True))
    shares = np.random.default_rng(seed).random(16)

    def rule(rows):
        return shares[rows[FEATURES].to_numpy() @ [8, 4, 2, 1]]

    values = true_terms("explainable", rule, 0)
    # Mixing with a constant rule scales all terms: as far as the bounds ask for.
    scale = min([1.0, *(bound / max(abs(values[n[4:]]), 1e-12) for n, bound in zip(EPS, bounds, strict=True))])
    for constant in (0.0, 1.0):
        said = scale * rule(people) + (1 - scale) * constant
        right = np.where(people["Y"] == 1, said, 1 - said) @ people["share"]
        assert right <= fair.accuracy_ + 1e-8


def test_unbounded_is_the_most_probable_outcome():
    people = population(EXPLAINABLE)
    best = learn(people)
    shares = people.assign(mass=people["share"], hits=people["share"] * people["Y"]).groupby(FEATURES)[["hits", "mass"]]
    likely = (shares.sum().eval("hits / mass") > 0.5).astype(int)
    rows = likely.index.to_frame(index=False)
    assert (best.predict(rows) == likely.to_numpy()).all()
    assert best.terms_.isna().all()


def test_levels_labels_and_indexes_are_the_users():
    people = draw_people(3000, 0)
    words = pd.DataFrame(
        {
            "X": pd.Categorical(people["X"].map({0: "white", 1: "black"}), categories=["white", "black"]),
            "W": people["W"] == 1,
            "Z": people["Z"].map({0: "young", 1: "old"}),
            "D": people["D"].astype(float),
        }
    ).set_index(people.index.map(lambda i: f"person {i}"))
    labels = people["Y"].map({0: "no", 1: "yes"}).to_numpy()
    numbers = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", **CENT).fit(people[FEATURES], people["Y"])
    named = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", **CENT, y="no").fit(words, labels)
    swapped = ca.FairClassifier(EXPLAINABLE_GRAPH, {"X": ("white", "black")}, "Y", eps_total=1).fit(words, labels)
    forward = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=1, baseline="white").fit(words, labels)
    assert named.accuracy_ == pytest.approx(numbers.accuracy_, abs=1e-9)
    assert named.terms_.to_dict() == pytest.approx(numbers.terms_.to_dict(), abs=1e-9)
    assert swapped.terms_["total"] == pytest.approx(-forward.terms_["total"])
    assert set(named.predict(words)) == {"no", "yes"}
    assert list(named.classes_) == ["no", "yes"]


def test_random_decisions_belong_to_people():
    people = draw_people(5000, 1)
    fair = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", **CENT).fit(people[FEATURES], people["Y"])
    share = fair.decision_proba(people)
    coins = (share > 0) & (share < 1)
    assert 0 < coins.sum() < len(people)
    decided = fair.predict(people[FEATURES])
    # As many as there should be, within four standard errors, and never against a certain rule.
    error = np.sqrt((share * (1 - share)).sum())
    assert abs(decided.sum() - share.sum()) < 4 * error
    assert (decided[~coins] == share[~coins]).all()
    some = people.sample(frac=0.3, random_state=0)
    assert (fair.predict(some[FEATURES]) == pd.Series(decided, people.index)[some.index]).all()
    other = clone(fair).set_params(seed=1).fit(people[FEATURES], people["Y"])
    assert 0 < (other.predict(people[FEATURES]) != decided).sum() <= coins.sum()
    assert (fair.predict_proba(people[FEATURES])[:, 1] == share).all()


def test_a_combination_never_seen_is_decided_as_most_people_are():
    people = draw_people(500, 2)
    seen = people[~((people["W"] == 1) & (people["D"] == 1))]
    best = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y").fit(seen[["W", "D"]], seen["Y"])
    assert best.predict(pd.DataFrame({"W": [1], "D": [1]})) == seen["Y"].mode()[0]


def test_the_frontier_of_a_table_rises():
    people = population(EXPLAINABLE)
    fair = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", **dict.fromkeys(EPS, 0.0))
    eps = [0.0, 0.01, 0.03, 0.1, 1.0]
    table = fair.frontier(people[FEATURES], people["Y"], eps, sample_weight=people["share"])
    assert table.columns.tolist() == ["eps", "accuracy", "total", "direct", "indirect", "spurious", "objective"]
    assert (np.diff(table["accuracy"]) >= -1e-9).all()
    assert (np.diff(table["accuracy"][:4]) > 0).all()
    assert table["accuracy"].iloc[-1] == pytest.approx(learn(people).accuracy_)
    assert (table[["direct", "indirect", "spurious"]].abs().max(axis=1) <= table["eps"] + 1e-8).all()
    assert not hasattr(fair, "rule_")


def test_it_works_in_the_tools_of_scikit_learn():
    people = draw_people(600, 3)
    grid = GridSearchCV(ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y"), {"eps_total": [None, 0.05]}, cv=3)
    grid.fit(people[FEATURES], people["Y"])
    assert grid.best_score_ > 0.5
    again = pickle.loads(pickle.dumps(grid.best_estimator_))
    assert (again.predict(people[FEATURES]) == grid.predict(people[FEATURES])).all()


def test_features_are_selected_by_algorithm_2(scm_b):
    people = draw_people(2000, 4, SCM_B)
    graph = ca.models.standard_prediction.scm_b().graph
    fair = ca.FairClassifier(graph, "X", "Y", **TWO_CENTS, features="explainable").fit(people[FEATURES], people["Y"])
    assert fair.features_
    assert ca.find_explaining_set(graph, fair.features_, "X", outcome="Y") is not None
    assert not {"W", "D"} & set(fair.features_)


def test_global_random_states_are_left_alone():
    people = draw_people(300, 5)
    before = random.getstate(), torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=0.01).fit(people[FEATURES], people["Y"])
    again = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=0.01).fit(people[FEATURES], people["Y"])
    assert random.getstate() == before[0]
    assert (torch.get_rng_state() == before[1]).all()
    assert (np.random.get_state()[1] == before[2]).all()  # noqa: NPY002
    assert (first.predict(people[FEATURES]) == again.predict(people[FEATURES])).all()
