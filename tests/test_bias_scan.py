"""The bias scan against brute force, closed forms and scikit-learn, on small tables."""

import dataclasses
import warnings
from functools import partial
from itertools import combinations, product

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from bias_scan_people import biased, fair, people_of
from hypothesis import given, settings
from hypothesis import strategies as st
from pyro.util import get_rng_state
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import causalaudit as ca
from causalaudit.bias_scan import COMMON_NAMES, bonferroni
from causalaudit.bias_scan.ascent import Ascent
from causalaudit.bias_scan.expectations import EstimatorModels, LogisticModels
from causalaudit.bias_scan.lattice import Lattice
from causalaudit.bias_scan.logistic import fit_logistic
from causalaudit.bias_scan.question import ask
from causalaudit.bias_scan.scores import Evidence, maximise
from causalaudit.bias_scan.search import Search
from causalaudit.bias_scan.significance import Null

SCANS = {
    "separation of predictions": {"prediction": "p"},
    "separation of recommendations": {"recommendation": "flagged"},
    "sufficiency of predictions": {"prediction": "p", "criterion": "sufficiency"},
    "sufficiency of recommendations": {"recommendation": "flagged", "criterion": "sufficiency"},
}
PROTECTED = {"group": "b"}
FEATURES = ["x1", "x2"]


def question_of(people, direction="positive", features=None, bins=None, given=None, **scan):
    options = {"prediction": None, "recommendation": None, "criterion": "separation"} | scan
    return ask(people, PROTECTED, "y", given=given, direction=direction, features=features, bins=bins, **options)


def evidence_of(people, **options):
    question = question_of(people, **options)
    strata = question.strata()
    protected = strata.protected_counts(question.protected)[None]
    chance = LogisticModels().expect(strata, protected).chance
    return question, strata, question.evidence(strata, protected, chance), chance[0]


def person_by_person(question, strata, chance):
    """Event and expectation of each protected person who is scanned, and her place in the data."""
    people = np.flatnonzero(question.protected & question.inside)
    place = np.searchsorted(strata.kept, strata.stratum_of[strata.record_of[people]])
    return people, question.event[people], chance[place]


def definition(event, expected, gaussian, positive):
    """F(S) of Table 2, by a search over its parameter."""
    if not len(event):
        return 0.0
    if gaussian:
        delta = np.log(event / (1 - event)) - np.log(expected / (1 - expected))
        mu = delta.mean()
        return (2 * mu * delta.sum() - len(delta) * mu**2) / 2 if (mu > 0) == positive else 0.0

    def loss(log_q):
        q = np.exp(log_q)
        return -(event * log_q - np.log(q * expected - expected + 1)).sum()

    bounds = (0, 40) if positive else (-40, 0)
    return max(0.0, -minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-10}).fun)


def brute_force(people, features, penalty, direction, scan):
    """The best of all subgroups, from the definition, person by person."""
    question, strata, _, chance = evidence_of(people, features=features, direction=direction, **scan)
    where, event, expected = person_by_person(question, strata, chance)
    gaussian, positive = question.criterion.gaussian, direction == "positive"
    best = (0.0, None)
    levels = {name: sorted(people[name].unique()) for name in features}
    sets = [
        [list(part) for size in range(1, len(values) + 1) for part in combinations(values, size)]
        for values in levels.values()
    ]
    for choice in product(*sets):
        inside = np.logical_and.reduce(
            [people[name].isin(values).to_numpy()[where] for name, values in zip(features, choice, strict=True)]
        )
        listed = {
            name: values for name, values in zip(features, choice, strict=True) if len(values) < len(levels[name])
        }
        score = definition(event[inside], expected[inside], gaussian, positive)
        score -= penalty * sum(map(len, listed.values()))
        if score > best[0] + 1e-7:
            best = (score, listed)
    return best


@pytest.mark.parametrize("direction", ["positive", "negative"])
@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize("penalty", [0.0, 0.5])
def test_the_optimum_is_that_of_the_definition(scan, direction, penalty):
    people = biased(300, seed=3, sizes=(2, 3))
    features = ["x1", "x2"]
    score, subgroup = brute_force(people, features, penalty, direction, SCANS[scan])
    result = ca.scan_bias(
        people, PROTECTED, "y", features=features, penalty=penalty, direction=direction, **SCANS[scan]
    )
    assert result.score == pytest.approx(score, abs=1e-6)
    assert result.subgroup == subgroup
    assert result.certified


@pytest.mark.parametrize("scan", SCANS)
def test_ascent_finds_what_exhaustion_finds(scan):
    people = biased(600, seed=1, sizes=(2, 3, 3, 2))
    _, strata, evidence, _ = evidence_of(people, features=["x1", "x2", "x3", "x4"], **SCANS[scan])
    search = Search.plan(strata.cells, (2, 3, 3, 2), 0.3, 100, 0)
    assert search.exhaustive
    everything = search.best(evidence)
    climbed = dataclasses.replace(search, exhaustive=False).best(evidence)
    assert climbed[0].score == pytest.approx(everything[0].score, abs=1e-9)
    for one, other in zip(climbed[0].masks, everything[0].masks, strict=True):
        np.testing.assert_array_equal(one, other)


def random_evidence(rng, cells, gaussian):
    size = rng.integers(0, 12, cells).astype(float)
    chance = rng.uniform(0.05, 0.95, cells)
    total = rng.normal(0, 1, cells) * size if gaussian else rng.binomial(size.astype(int), chance).astype(float)
    return Evidence(size[None], total[None], chance[None], np.arange(cells), gaussian)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.2, 1.0]))
def test_a_step_of_the_ascent_is_exact(seed, gaussian, penalty):
    """One feature: a single step must find the best of all sets of values."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 7))
    evidence = random_evidence(rng, size, gaussian)
    cells = np.arange(size)[:, None]
    profiles = evidence.profiles(size)
    lattice = Lattice((size,))
    best = lattice.scores(profiles, cells, evidence.nodes, penalty).max()
    start = rng.random((1, size)) < 0.5
    start[0, 0] |= not start.any()
    ascent = Ascent(profiles[0], cells, (size,), evidence.nodes, penalty)
    states, _ = ascent._step(start, np.zeros(1, dtype=bool), 0)
    assert ascent._score(states)[0] == pytest.approx(best, abs=1e-8)


@given(st.integers(0, 10_000), st.booleans())
def test_tabulated_scores_are_exact_ones(seed, gaussian):
    rng = np.random.default_rng(seed)
    evidence = random_evidence(rng, 8, gaussian)
    profiles = evidence.profiles(8)[0]
    inside = rng.random(8) < 0.6
    tabulated, shift = maximise(profiles[inside].sum(axis=0), evidence.nodes)
    exact, at = evidence.exact(inside)
    assert float(tabulated) == pytest.approx(exact, abs=1e-7 * (1 + evidence.size.sum()))
    if 0.01 < at < 10:
        assert float(shift) == pytest.approx(at, abs=1e-3)


def test_scores_of_certain_events():
    """Nothing but events: the factor is infinite, the ratio that of the limit; nothing expected more: zero."""
    evidence = Evidence(np.array([[3.0, 5.0]]), np.array([[3.0, 1.0]]), np.array([[0.2, 0.5]]), np.arange(2), False)
    assert evidence.exact(np.array([True, False])) == (pytest.approx(-3 * np.log(0.2)), np.inf)
    assert evidence.exact(np.array([False, True])) == (0.0, 0.0)
    assert evidence.exact(np.array([False, False])) == (0.0, 0.0)


def test_a_gaussian_score_in_closed_form():
    people = biased(200, seed=5)
    question, strata, evidence, chance = evidence_of(people, features=["x1"], prediction="p", given=0)
    _, event, expected = person_by_person(question, strata, chance)
    delta = np.log(event / (1 - event)) - np.log(expected / (1 - expected))
    ratio, shift = evidence.exact(np.ones(len(strata.kept), dtype=bool))
    assert shift == pytest.approx(max(delta.mean(), 0))
    assert ratio == pytest.approx(len(delta) * max(delta.mean(), 0) ** 2 / 2)


@pytest.mark.parametrize("given", [None, 0, 1])
@pytest.mark.parametrize("scan", SCANS)
def test_expectations_are_those_of_scikit_learn(scan, given):
    """The default, Newton's method on counts, against converged fits to people (and pairs of records) one by one."""
    if given is not None and scan == "sufficiency of predictions":
        pytest.skip("predictions cannot be filtered on")
    people = biased(400, seed=2, number=True)
    question = question_of(people, features=["x1", "x2", "age"], given=given, **SCANS[scan])
    strata = question.strata()
    protected = strata.protected_counts(question.protected)[None]
    own = LogisticModels().expect(strata, protected)
    theirs = EstimatorModels().expect(strata, protected)
    np.testing.assert_allclose(own.propensity, theirs.propensity, atol=1e-6)
    np.testing.assert_allclose(own.chance, theirs.chance, atol=1e-6)
    status = LogisticModels().status(strata, protected[0])
    np.testing.assert_allclose(status, EstimatorModels().status(strata, protected[0]), atol=1e-6)


def test_many_fits_at_once_are_single_fits():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 3))
    weights = rng.gamma(1.0, size=(6, 30))
    successes = weights * rng.random((6, 30))
    penalty = rng.gamma(1.0, size=(6, 3))
    together = fit_logistic(rows, successes, weights, penalty)
    for at in range(6):
        alone = fit_logistic(rows, successes[[at]], weights[[at]], penalty[[at]])
        np.testing.assert_allclose(together[at], alone[0], atol=1e-10)
        scale = np.sqrt(penalty[at])
        model = LogisticRegression(tol=1e-12, max_iter=10_000)
        both = np.concatenate([successes[at], weights[at] - successes[at]])
        model.fit(np.concatenate([rows / scale] * 2), np.repeat([1, 0], 30), sample_weight=both)
        np.testing.assert_allclose(together[at, 1:], model.coef_[0] / scale, atol=1e-6)


def test_any_pair_of_classifiers():
    people = biased(800, seed=4)
    scan = {"recommendation": "flagged", "given": 0, "features": ["x1", "x2"]}
    default = ca.scan_bias(people, PROTECTED, "y", **scan)
    plain = LogisticRegression(tol=1e-10, max_iter=10_000)
    same = ca.scan_bias(people, PROTECTED, "y", propensity=plain, expectation=plain, **scan)
    assert same.score == pytest.approx(default.score, abs=1e-5)
    one = ca.scan_bias(people, PROTECTED, "y", expectation=plain, **scan)
    assert one.score == pytest.approx(default.score, abs=1e-5)
    trees = GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0)
    other = ca.scan_bias(people, PROTECTED, "y", propensity=trees, expectation=trees, permutations=3, **scan)
    assert other.subgroup == {"x1": ["a"]}
    assert other.score != pytest.approx(default.score, abs=1e-3)
    assert len(other.null_scores) == 3


@pytest.mark.parametrize("name", COMMON_NAMES)
def test_every_common_name_is_its_family(name):
    people = biased(500, seed=6)
    scan = COMMON_NAMES[name]
    run = partial(ca.scan_bias, people, PROTECTED, "y", features=["x1", "x2"])
    named = run("p", "flagged", criterion=name)
    column = {"prediction": "p"} if scan.of == "prediction" else {"recommendation": "flagged"}
    # The rate of the other event is larger where the rate of the event is smaller.
    direction = "positive" if scan.event == 1 else "negative"
    plain = run(**column, criterion=scan.criterion, given=scan.given, direction=direction)
    assert named.score == pytest.approx(plain.score, abs=1e-7)
    assert named.subgroup == plain.subgroup
    if named.subgroup is not None:
        observed = plain.observed if scan.event == 1 else 1 - plain.observed
        assert named.observed == pytest.approx(observed)
    assert run("p", "flagged", criterion=scan.metric).score == named.score


def test_the_result_compares_a_subgroup_with_its_counterpart():
    people = biased(1000, seed=7).set_index(pd.Index([f"person {number}" for number in range(1000)]))
    scan = {"recommendation": "flagged", "criterion": "false positive rate", "features": ["x1", "x2"]}
    result = ca.scan_bias(people, PROTECTED, "y", top=3, **scan)
    assert result.subgroup == {"x1": ["a"]}
    same = people[(people.x1 == "a") & (people.y == 0)]
    ours, others = same[same.group == "b"], same[same.group != "b"]
    assert (result.n, result.n_comparison) == (len(ours), len(others))
    assert result.observed == pytest.approx(ours.flagged.mean())
    assert result.comparison == pytest.approx(others.flagged.mean())
    assert list(result.members) == list(ours.index)
    assert result.llr == pytest.approx(result.score + 1)
    assert result.parameter > 1
    assert result.p_value is None
    assert len(result.subgroups) == len(result.table) == 3
    assert result.table["score"].is_monotonic_decreasing
    assert len({tuple(result.people(subgroup)) for subgroup in result.subgroups}) == 3
    assert result.summary()["subgroup"].iloc[0] == "x1: a"
    assert result.verdicts["flagged"].tolist() == [True]
    assert "false positive rate, positive deviations" in repr(result)
    assert result.disparity({"x1": ["a"]})["observed"] == pytest.approx(result.observed)
    assert result.disparity({})["n"] == ((people.group == "b") & (people.y == 0)).sum()


def test_no_subgroup_and_the_whole_class():
    people = fair(400, seed=0)
    none = ca.scan_bias(
        people, PROTECTED, "y", recommendation="flagged", features=FEATURES, penalty=50.0, direction="negative"
    )
    other = ca.scan_bias(
        people, PROTECTED, "y", recommendation="flagged", features=FEATURES, penalty=50.0, direction="positive"
    )
    # With such a penalty only the whole class can win, and in one direction only.
    empty, whole = (none, other) if none.subgroup is None else (other, none)
    assert (empty.score, empty.subgroup, empty.parameter, empty.n) == (0.0, None, None, None)
    assert empty.subgroups == []
    assert len(empty.members) == len(empty.table) == len(empty.verdicts) == 0
    assert empty.summary().empty
    assert whole.subgroup == {}
    assert whole.n == (people.group == "b").sum()
    options = {"penalty": 50.0, "permutations": 20, "direction": empty.settings["direction"]}
    with_p = ca.scan_bias(people, PROTECTED, "y", recommendation="flagged", features=FEATURES, **options)
    assert with_p.p_value == 1.0


def test_types_of_columns_do_not_matter():
    people = biased(1000, seed=7)
    expected = ca.scan_bias(people, PROTECTED, "y", recommendation="flagged", features=FEATURES)
    others = people.assign(x1=pd.Categorical(people.x1, categories=["z", "b", "a"]), x2=people.x2.astype(object))
    others = others.assign(flagged=people.flagged.astype(bool), y=people.y.astype(float))
    result = ca.scan_bias(
        others.sample(frac=1, random_state=0), PROTECTED, "y", recommendation="flagged", features=FEATURES
    )
    assert result.score == pytest.approx(expected.score, abs=1e-8)
    assert result.subgroup == expected.subgroup
    assert set(result.members) == set(expected.members)
    numbers = people.assign(x1=(people.x1 == "b").astype(int))
    result = ca.scan_bias(numbers, PROTECTED, "y", recommendation="flagged", features=FEATURES)
    assert result.score == pytest.approx(expected.score, abs=1e-8)
    assert result.subgroup == {"x1": [0]}
    unused = people.assign(same="one", flag=people.x1 == "a")
    result = ca.scan_bias(unused, PROTECTED, "y", recommendation="flagged", features=["same", "flag"], draws=20)
    assert result.subgroup == {"flag": [True]}


def test_numbers_are_binned_for_the_scan_only():
    people = biased(2000, seed=9, number=True)
    scan = {"recommendation": "flagged", "features": ["age", "x1"]}
    quartiles = question_of(people, **scan)
    age = quartiles.features[0]
    assert len(age.values) == 4
    assert np.bincount(age.codes).min() > 450
    assert age.kinds.shape[1] == 1  # one number in the models
    assert all(value in interval for value, interval in zip(people.age, np.array(age.values)[age.codes], strict=True))
    edges = question_of(people, bins={"age": [30, 40]}, **scan).features[0]
    assert [str(value) for value in edges.values] == ["(-inf, 30.0]", "(30.0, 40.0]", "(40.0, inf]"]
    np.testing.assert_array_equal(edges.codes, np.digitize(people.age, [30, 40], right=True))
    assert len(question_of(people, bins=7, **scan).features[0].values) == 7
    # The models see the number, whatever the bins: expectations of people are the same.
    chances = []
    for bins in (2, 5):
        question, strata, _, chance = evidence_of(people, bins=bins, **scan)
        chances.append(person_by_person(question, strata, chance)[2])
    np.testing.assert_allclose(*chances, atol=1e-9)
    result = ca.scan_bias(people, PROTECTED, "y", **scan)
    assert set(result.subgroup) <= {"age", "x1"}
    few = people.assign(age=people.age.round(-1).astype(int))
    assert set(question_of(few, **scan).features[0].values) == set(few.age.unique())


def test_large_lattices_are_climbed():
    people = biased(3000, seed=10, sizes=(2, 3, 6, 6, 5))
    scan = {"recommendation": "flagged", "given": 0, "features": [f"x{at}" for at in range(1, 6)]}
    result = ca.scan_bias(people, PROTECTED, "y", iterations=60, top=2, **scan)
    assert not result.certified
    assert result.subgroup["x1"] == ["a"]
    again = ca.scan_bias(people, PROTECTED, "y", iterations=60, top=2, **scan)
    pd.testing.assert_frame_equal(result.table, again.table)
    tested = ca.scan_bias(people, PROTECTED, "y", iterations=5, permutations=5, **scan)
    assert len(tested.null_scores) == 5
    assert tested.p_value == pytest.approx(1 / 6)


def test_seeds_and_workers():
    people = biased(600, seed=11)
    scan = {"recommendation": "flagged", "features": FEATURES, "permutations": 120, "draws": 40, "top": 2}
    before = get_rng_state()
    first = ca.scan_bias(people, PROTECTED, "y", seed=1, **scan)
    after = get_rng_state()
    assert torch.equal(before["torch"], after["torch"])
    np.testing.assert_array_equal(before["numpy"][1], after["numpy"][1])
    with joblib.parallel_config("threading", n_jobs=2):
        second = ca.scan_bias(people, PROTECTED, "y", seed=1, **scan)
    pd.testing.assert_frame_equal(first.table, second.table)
    pd.testing.assert_frame_equal(first.inclusion, second.inclusion)
    np.testing.assert_array_equal(first.null_scores, second.null_scores)
    other = ca.scan_bias(people, PROTECTED, "y", seed=2, **scan)
    assert not np.array_equal(first.null_scores, other.null_scores)
    assert first.score == other.score


def test_null_draws_stop_at_the_tenth_that_scores_as_high():
    people = fair(400, seed=3)
    scan = {"recommendation": "flagged", "features": ["x1", "x2"]}
    for seed in range(4):
        result = ca.scan_bias(people, PROTECTED, "y", permutations=400, seed=seed, **scan)
        as_high = (result.null_scores >= result.score - 1e-6).sum()
        drawn = len(result.null_scores)
        assert as_high == 10
        assert result.null_scores[-1] >= result.score - 1e-6
        assert result.p_value == 10 / drawn
    sure = ca.scan_bias(biased(1500, seed=3), PROTECTED, "y", permutations=99, **scan)
    assert len(sure.null_scores) == 99
    assert sure.p_value == 0.01


@pytest.mark.parametrize("null", ["propensity", "permutation"])
@pytest.mark.parametrize("scan", SCANS)
def test_null_draws_have_the_law_that_is_stated(scan, null):
    """Each record's protected people: P(A | X, C) of its people, or the share of everyone."""
    people = biased(500, seed=12)
    question = question_of(people, features=["x1", "x2"], **SCANS[scan])
    strata = question.strata()
    protected = strata.protected_counts(question.protected)
    status = LogisticModels().status(strata, protected) if null == "propensity" else None
    law = Null(question, strata, LogisticModels(), None, status, 4000, 0)
    drawn = law._draw(np.random.default_rng(0))
    assert (drawn <= strata.count).all()
    chance = np.full(len(strata.count), protected.sum() / strata.count.sum()) if status is None else status
    error = np.sqrt(strata.count * chance * (1 - chance) / 4000)
    assert (np.abs(drawn.mean(axis=0) - strata.count * chance) < 5 * error + 1e-12).all()
    if null == "permutation":
        assert (drawn.sum(axis=1) == protected.sum()).all()


def test_bonferroni():
    people = biased(1500, seed=13)
    scans = [
        ca.scan_bias(
            people, PROTECTED, "y", recommendation="flagged", features=FEATURES, given=value, permutations=permutations
        )
        for value, permutations in ((0, 99), (1, 19))
    ]
    table = bonferroni(scans)
    assert table["level"].tolist() == [0.025, 0.025]
    assert table["attainable"].tolist() == [True, False]
    assert table["significant"].tolist() == [scan.p_value <= 0.025 for scan in scans]
    assert bonferroni(scans, alpha=0.2)["level"].tolist() == [0.1, 0.1]


def test_calibration_curves():
    people = fair(4000, seed=1)
    result = ca.scan_bias(people, PROTECTED, "y", recommendation="flagged", given=0, features=FEATURES)
    curves = result.calibration
    assert set(curves["model"]) == {"propensity", "outcome"}
    propensity = curves[curves["model"] == "propensity"]
    assert propensity["weight"].sum() == pytest.approx(4000)
    assert np.average(propensity["predicted"], weights=propensity["weight"]) == pytest.approx(
        (people.group == "b").mean(), abs=1e-6
    )
    assert ((curves["observed"] - curves["predicted"]).abs() < 4 * curves["error"]).all()


def test_plots_and_inference_data():
    people = biased(500, seed=14)
    scan = {"recommendation": "flagged", "features": FEATURES, "top": 2}
    result = ca.scan_bias(people, PROTECTED, "y", given=0, permutations=30, draws=50, **scan)
    plain = ca.scan_bias(people, PROTECTED, "y", given=1, **scan)
    assert len(result.plot().get_yticklabels()) == len(result.table)
    axes = ca.plots.plot_disparity({"first": result, "second": plain}, plt.subplots()[1])
    assert axes.get_yticklabels()[0].get_text().startswith("first: ")
    assert "p = " in ca.plots.plot_null(result, plt.subplots()[1]).get_legend().get_texts()[-1].get_text()
    assert len(ca.plots.plot_calibration(result, plt.subplots()[1]).containers) == 2
    draws = result.to_inference_data()
    assert draws["posterior"]["disparity"].sizes == {"chain": 1, "draw": 50, "rank": len(result.table)}
    assert draws["constant_data"]["null_scores"].size == len(result.null_scores)
    assert draws["posterior"]["disparity"].mean().item() == pytest.approx(result.table["disparity_mean"].mean())
    assert "posterior" not in plain.to_inference_data().groups()


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_laws_of_the_score(seed):
    """A penalty only lowers the score; a scan of fewer features scores no more; people twice, the ratio grows."""
    people = biased(150, seed=seed, sizes=(2, 2))
    scan = {"recommendation": "flagged", "features": ["x1", "x2"]}
    scores = [_quietly(people, penalty=penalty, **scan).score for penalty in (0.0, 0.5, 2.0)]
    assert scores == sorted(scores, reverse=True)
    best = _quietly(people, penalty=0.0, **scan)
    assert best.llr == pytest.approx(best.score)
    if best.subgroup is not None:
        assert best.observed >= 0
        assert best.n == len(best.members)


def _quietly(people, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ca.scan_bias(people, PROTECTED, "y", **options)


def test_expectations_are_right_in_expectation():
    """With a well specified model, the mean expectation of a cell nears its truth."""
    people = people_of(60_000, seed=2)
    question, strata, _, chance = evidence_of(people, features=["x1", "x2"], recommendation="flagged")
    where, _, expected = person_by_person(question, strata, chance)
    truth = expit(people["eta"].to_numpy()[where])
    assert np.abs(expected - truth).max() < 0.03
