"""Fair classifiers: exact populations, the reference, bounds on decisions, and what they cost."""

import json
import pickle
import random

import numpy as np
import pandas as pd
import pytest
import torch
from fair_people import EXPLAINABLE, EXPLAINABLE_GRAPH, SCM_B, explainable_program, population, true_terms
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

import causalaudit as ca
from causalaudit.error_rates.learning import logistic_rule as room
from causalaudit.errors import DataError

FEATURES = ["X", "W", "Z", "D"]
EPS = ("eps_direct", "eps_indirect", "eps_spurious")


@pytest.fixture(scope="module")
def scm_b():
    people = population(SCM_B)
    posterior = ca.fit(ca.models.standard_prediction.scm_b(), people[list("ZXWYD")], draws=2, chains=1)
    return people, {"graph": None, "posterior": posterior, "population": "exact"}


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


def draw_people(n, seed, scm=EXPLAINABLE):
    rng, people = np.random.default_rng(seed), pd.DataFrame(index=range(n))
    for name, law in scm.items():
        people[name] = (rng.random(n) < law(people)).astype(int)
    return people


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
    numbers = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", *[0.01] * 3).fit(people[FEATURES], people["Y"])
    named = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", *[0.01] * 3, y="no").fit(words, labels)
    swapped = ca.FairClassifier(EXPLAINABLE_GRAPH, {"X": ("black", "white")}, "Y", eps_total=1).fit(words, labels)
    forward = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=1, baseline="white").fit(words, labels)
    assert named.accuracy_ == pytest.approx(numbers.accuracy_, abs=1e-9)
    assert named.terms_.to_dict() == pytest.approx(numbers.terms_.to_dict(), abs=1e-9)
    assert swapped.terms_["total"] == pytest.approx(-forward.terms_["total"])
    assert set(named.predict(words)) == {"no", "yes"}
    assert list(named.classes_) == ["no", "yes"]


def test_random_decisions_belong_to_people():
    people = draw_people(5000, 1)
    fair = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", *[0.01] * 3).fit(people[FEATURES], people["Y"])
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
    fair = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", *[0.0] * 3)
    eps = [0.0, 0.01, 0.03, 0.1, 1.0]
    table = fair.frontier(people[FEATURES], people["Y"], eps, sample_weight=people["share"])
    assert table.columns.tolist() == ["eps", "accuracy", "total", "direct", "indirect", "spurious"]
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
    fair = ca.FairClassifier(graph, "X", "Y", *[0.02] * 3, features="explainable").fit(people[FEATURES], people["Y"])
    assert fair.features_
    assert ca.find_explaining_set(graph, fair.features_, "X", "Y") is not None
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


# Logistic regression


@pytest.fixture(scope="module")
def appendix_b3():
    """People of appendix B.3, and a posterior of its SCM, which has no free parameters."""
    drawn = ca.models.mediation.true_process().prior_predictive(n=20_000, draws=1, seed=0).isel(draw=0)
    people = pd.DataFrame({name: drawn[name].to_numpy() for name in "ZXWY"}).astype({"X": int, "Y": int})
    posterior = ca.fit(ca.models.mediation.true_process(), people, draws=1, chains=1)
    return people, {"graph": None, "protected": "X", "outcome": "Y", "y": 1, "posterior": posterior, "draws": 1}


def test_bounds_hold_for_decisions(appendix_b3):
    people, settings = appendix_b3
    rows, labels = people[["X", "W", "Z"]], people["Y"]
    best = ca.FairClassifier(**settings).fit(rows, labels)
    fair = ca.FairClassifier(**settings, eps_direct=0.01, eps_indirect=0.05).fit(rows, labels)
    values = fair.error_rate_terms(rows, labels)
    assert fair.terms_.to_dict() == values.to_dict()
    # By hand: who is decided upon how, in the world of each term.
    mine = people[(people["X"] == 0) & (people["Y"] == 1)]
    seen_as, moved = mine.assign(X=1), mine.assign(X=1, W=mine["W"] + 0.5)
    rates = [fair.predict(world[["X", "W", "Z"]]).mean() for world in (mine, seen_as, moved)]
    assert values["direct"] == pytest.approx(rates[1] - rates[0], abs=1e-12)
    assert values["indirect"] == pytest.approx(rates[2] - rates[1], abs=1e-12)
    assert abs(values["direct"]) <= 0.01
    assert abs(values["indirect"]) <= 0.05
    # The reference: .9367 without bounds, .9276 with them (standard error .0018).
    assert best.accuracy_ == pytest.approx(0.9367, abs=0.006)
    assert fair.accuracy_ == pytest.approx(0.9276, abs=0.006)
    share = fair.decision_proba(rows)
    assert set(share) == {0.0, 1.0}
    assert ((fair.predict_proba(rows)[:, 1] > 0.5) == share).all()


def test_bounds_on_the_linear_proxy_overshoot(appendix_b3):
    """The paper bounds the terms of the score: that costs ten points of accuracy which bounds on decisions do not."""
    people, settings = appendix_b3
    rows, labels = people[["X", "W", "Z"]], people["Y"].to_numpy()
    fair = ca.FairClassifier(**settings, eps_direct=0.01, eps_indirect=0.05)
    problem = fair._problem(rows, labels, None, ("direct", "indirect"), reset=True)
    encoder = room.Encoder.of(rows, problem.training.weights, rows)
    loss = room._Loss.of(encoder.design(rows), labels == 1, problem.training.weights, 0.0)
    matrix = problem.terms.matrix(("direct", "indirect"))
    bounds = room._Constraint.of(encoder.design(problem.terms.rows), matrix, np.array([0.01, 0.05]))
    proxy = room.LogisticRule(encoder, loss.minimise_within(np.array([0.0, 0.0, 0.0, 1.0]), bounds.proxy()))
    values = problem.values(proxy)
    assert abs(values["direct"]) < 0.005
    assert abs(values["indirect"]) < 0.02
    assert problem.accuracy(proxy) < 0.85
    assert fair.fit(rows, labels).accuracy_ > 0.92


def test_no_logistic_rule_found_by_chance_is_better(appendix_b3):
    people, settings = appendix_b3
    people = people.iloc[:4000]
    rows, labels = people[["X", "W", "Z"]], people["Y"].to_numpy()
    fair = ca.FairClassifier(**settings, eps_direct=0.01, eps_spurious=0.02, C=1e6)
    problem = fair._problem(rows, labels, None, ("direct", "spurious"), reset=True)
    rule = problem.solve({"direct": 0.01, "spurious": 0.02})

    def loss(scores):
        return np.mean(np.logaddexp(0, scores) - scores * (labels == 1))

    rng = np.random.default_rng(0)
    design = rule.encoder.design(problem.terms.rows)
    matrix, bounds = problem.terms.matrix(("direct", "spurious")), np.array([[0.01], [0.02]])
    own = loss(rule.score(rows))
    for spread in (0.1, 0.5, 2.0):
        others = rule.coefficients + spread * rng.normal(size=(2000, 4))
        fine = (np.abs(matrix @ (design @ others.T > 0)) <= bounds).all(axis=0)
        losses = [loss(rule.encoder.design(rows) @ other) for other in others[fine]]
        assert min(losses, default=np.inf) > own * 0.995


@pytest.mark.parametrize("bounds", [{"eps_direct": 0.0}, {"eps_total": 0.02}, {"eps_spurious": 0.0, "eps_direct": 0.0}])
def test_tight_bounds_on_logistic_regression(appendix_b3, bounds):
    people, settings = appendix_b3
    people = people.iloc[:3000]
    fair = ca.FairClassifier(**settings, **bounds).fit(people[["X", "W", "Z"]], people["Y"])
    for name, bound in bounds.items():
        assert abs(fair.terms_[name.removeprefix("eps_")]) <= bound + 1e-12
    assert fair.accuracy_ > 0.55


def test_logistic_regression_by_a_diagram_with_continuous_covariates():
    """Weights by logistic regression: close to the truth of a linear SCM, where nobody's decision is random."""
    rng = np.random.default_rng(0)
    n = 40_000
    z = rng.normal(size=n)
    x = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    w = 0.8 * x + 0.5 * z + rng.normal(size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-(x + z)))).astype(int)
    people = pd.DataFrame({"X": x, "W": w, "Z": z})
    graph = ca.diagram([("Z", "X"), ("Z", "W"), ("Z", "Y"), ("X", "W"), ("X", "Y")])
    # P(X | Z, Y) is logistic in Z only nearly: the tolerance is above its bias and four standard errors.
    fair = ca.FairClassifier(graph, "X", "Y", eps_indirect=0.05, y=0, method="logistic").fit(people, y)
    values = fair.error_rate_terms(people, y)
    mine = (x == 0) & (y == 0)
    moved = people[mine].assign(X=1, W=w[mine] + 0.8)
    truth = fair.predict(moved).mean() - fair.predict(people[mine].assign(X=1)).mean()
    assert values["indirect"] == pytest.approx(truth, abs=0.02)
    assert abs(values["indirect"]) <= 0.05


def test_plain_logistic_regression_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    design = StandardScaler().fit_transform(rng.normal(size=(200, 3)) * [1, 5, 20])
    labels = rng.random(200) < 1 / (1 + np.exp(-design @ [1.0, -2.0, 0.5]))
    theirs = LogisticRegression(C=0.7, tol=1e-10, max_iter=1000).fit(design, labels)
    rule = room.fit_logistic(pd.DataFrame(design), labels, np.full(200, 1 / 200), None, {}, 1 / (0.7 * 200))
    assert rule.coefficients == pytest.approx([*theirs.coef_[0], theirs.intercept_[0]], abs=1e-5)


# Bounds that cannot be met


@pytest.mark.parametrize("method", ["table", "logistic"])
def test_the_smallest_feasible_bound(method):
    people = draw_people(400, 6)
    rows, labels = people[FEATURES], people["Y"]
    best = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", method=method).fit(rows, labels)
    settings = {"min_accuracy": best.accuracy_ - 0.005, "method": method}
    with pytest.raises(ca.error_rates.InfeasibleError, match="smallest feasible bounds are eps_total=") as caught:
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=0.0, **settings).fit(rows, labels)
    (smallest,) = caught.value.smallest.values()
    # The logistic search has found a classifier at just this bound; another bound is another search.
    slack, much = (1e-7, 3e-7) if method == "table" else (0.0, 9e-3)
    enough = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=smallest + slack, **settings).fit(rows, labels)
    assert enough.accuracy_ >= settings["min_accuracy"] - 1e-9
    with pytest.raises(ca.error_rates.InfeasibleError):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=smallest - much, **settings).fit(rows, labels)


@pytest.mark.parametrize("method", ["table", "logistic"])
def test_an_accuracy_that_nobody_reaches(method):
    people = draw_people(500, 7)
    fair = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_direct=0.1, min_accuracy=0.999, method=method)
    with pytest.raises(ca.error_rates.InfeasibleError, match=r"cannot be reached .* whatever the bounds"):
        fair.fit(people[FEATURES], people["Y"])


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"eps_direct": -0.1}, "smallest feasible bound is 0"),
        ({"eps_total": "small"}, "eps_total is 'small', but must be a number"),
        ({"eps_total": float("nan")}, "eps_total is nan"),
        ({"eps_total": True}, "eps_total is True"),
        ({"method": "forest"}, "method is 'forest'"),
        ({"population": "all"}, "population is 'all'"),
        ({"min_accuracy": 2}, "min_accuracy is 2"),
        ({"C": 0}, "C is 0"),
        ({"features": ["X", "Q"]}, "X has no column 'Q', a feature"),
        ({"features": "X"}, "must be a list of columns"),
        ({"eps_total": 0.1, "protected": "Race"}, "protected attribute 'Race' is not in X"),
        ({"eps_total": 0.1, "baseline": 7}, "The baseline is 7"),
        ({"eps_total": 0.1, "contrast": 0, "baseline": 0}, "baseline and contrast are both 0"),
        ({"eps_total": 0.1, "y": 5}, "y is 5, but the labels are 0, 1"),
        ({"eps_total": 0.1, "graph": None}, "there is no posterior"),
        ({"outcome": "W"}, "X holds the outcome 'W'"),
    ],
)
def test_bad_settings(chosen, words):
    people = draw_people(200, 8)
    with pytest.raises(DataError, match=words):
        ca.FairClassifier(**{"graph": EXPLAINABLE_GRAPH, "protected": "X", "outcome": "Y", **chosen}).fit(
            people[FEATURES], people["Y"]
        )


def test_not_explainable_names_the_open_path():
    people = draw_people(200, 9, SCM_B)
    graph = ca.models.standard_prediction.scm_b().graph
    with pytest.raises(DataError, match=r"reads X, W, Z, D are not explainable .* Y <- W: nothing lies between"):
        ca.FairClassifier(graph, "X", "Y", eps_spurious=0.1).fit(people[FEATURES], people["Y"])


def test_a_covariate_without_a_column_is_unobserved():
    people = draw_people(200, 9)
    with pytest.raises(DataError, match="X <- Z -> W: an unobserved variable is behind both"):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_spurious=0.1).fit(people[["X", "W"]], people["Y"])


def test_no_overlap_names_the_level():
    people = draw_people(500, 10)
    people = people[(people["Z"] == 0) | (people["X"] == 0)]
    with pytest.raises(
        DataError, match="No overlap: among people with 'Y' = 0 and Z = 1, some have 'X' = 0 but nobody 1"
    ):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_spurious=0.1).fit(people[FEATURES], people["Y"])


def test_too_few_people():
    people = draw_people(100, 11)
    people = people.drop(people.index[(people["X"] == 1) & (people["Y"] == 0)][3:])
    with pytest.raises(DataError, match="Only 3 people have 'X' = 1 and 'Y' = 0, too few"):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=0.1).fit(people[FEATURES], people["Y"])


def test_a_protected_attribute_that_the_scm_does_not_have(scm_b):
    people, by = scm_b
    rows = people[FEATURES].assign(race=people["X"])
    fair = ca.FairClassifier(**by, protected="race", outcome="Y", eps_total=0.1)
    with pytest.raises(DataError, match="'race' is not in the SCM"):
        fair.fit(rows, people["Y"], sample_weight=people["share"])
    fair = ca.FairClassifier(**by, protected="X", outcome="recid", eps_total=0.1)
    with pytest.raises(DataError, match="'recid' is not in the SCM"):
        fair.fit(people[FEATURES], people["Y"], sample_weight=people["share"])


@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        ({"X": [0, None, 1, None]}, [0, 1, 0, 1], "missing values .NaN.: 'X' in 2 rows"),
        ({"X": [0, 0, 1, 1]}, [0, None, 0, 1], "outcome is missing for 1 people"),
        ({"X": [0, 0, 1, 1]}, [0, 1, 2, 1], "Only binary classification is supported"),
        ({"X": [0, 0, 1, 1]}, [1, 1, 1, 1], "only one class"),
        ({"X": [0, 0, 1, 1]}, [1, 0, 1], "X has 4 rows, but y has 3"),
        ({"X": []}, [], "X has no rows"),
    ],
)
def test_bad_tables(rows, labels, words):
    with pytest.raises(DataError, match=words):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y").fit(pd.DataFrame(rows), labels)


def test_bad_weights():
    people = draw_people(50, 12)
    for weights, words in (
        (np.zeros(50), "at least one non-zero"),
        (-np.ones(50), "at least 0"),
        (np.ones(3), "shape"),
    ):
        with pytest.raises(DataError, match=words):
            ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y").fit(people[FEATURES], people["Y"], sample_weight=weights)


def test_a_frontier_of_nothing():
    people = draw_people(50, 12)
    with pytest.raises(DataError, match="Nothing is bounded"):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y").frontier(people[FEATURES], people["Y"], [0.1])


def test_the_plot_of_frontiers():
    table = pd.DataFrame({"eps": [0.0, 0.1], "accuracy": [0.6, 0.8], "direct": [-0.2, 0.1]})
    ax = ca.plots.plot_frontier({"one": table, "other": table}, y="direct")
    assert [line.get_ydata().tolist() for line in ax.lines] == [[0.2, 0.1]] * 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "other"]
    assert ca.plots.plot_frontier(table).get_xlabel() == "bound ε"
    with pytest.raises(DataError, match="A frontier has no column 'acuracy': did you mean 'accuracy'"):
        ca.plots.plot_frontier(table, y="acuracy")
