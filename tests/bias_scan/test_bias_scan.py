"""What a bias scan answers, on small tables."""

import warnings
from functools import partial

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from bias_scan_people import biased, fair, people_of
from bias_scan_questions import FEATURES, PROTECTED, SCANS, evidence_of, person_by_person, question_of
from hypothesis import given, settings
from hypothesis import strategies as st
from pyro.util import get_rng_state
from scipy.special import expit
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import causalaudit as ca
from causalaudit.bias_scan import COMMON_NAMES, bonferroni
from causalaudit.bias_scan.evidence.expectations import LogisticModels
from causalaudit.bias_scan.evidence.null_tables import NullTables


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
    named = run(prediction="p", recommendation="flagged", criterion=name)
    column = {"prediction": "p"} if scan.of == "prediction" else {"recommendation": "flagged"}
    # The rate of the other event is larger where the rate of the event is smaller.
    direction = "positive" if scan.event == 1 else "negative"
    plain = run(**column, criterion=scan.criterion, given=scan.given, direction=direction)
    assert named.score == pytest.approx(plain.score, abs=1e-7)
    assert named.subgroup == plain.subgroup
    if named.subgroup is not None:
        observed = plain.observed if scan.event == 1 else 1 - plain.observed
        assert named.observed == pytest.approx(observed)
    assert run(prediction="p", recommendation="flagged", criterion=scan.metric).score == named.score


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
    assert result.verdicts["flagged"].tolist() == [False] * 3  # nothing was tested
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
    result = ca.scan_bias(
        unused, PROTECTED, "y", recommendation="flagged", features=["same", "flag"], posterior_draws=20
    )
    assert result.subgroup == {"flag": [True]}


def test_numbers_are_binned_for_the_scan_only():
    people = biased(2000, seed=9, number=True)
    scan = {"recommendation": "flagged", "features": ["age", "x1"]}
    quartiles = question_of(people, **scan)
    age = quartiles.features[0]
    assert len(age.values) == 4
    assert np.bincount(age.codes).min() > 450
    assert age.model_rows.shape[1] == 1  # one number in the models
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
    scan = {"recommendation": "flagged", "features": FEATURES, "permutations": 120, "posterior_draws": 40, "top": 2}
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
    law = NullTables(question, strata, LogisticModels(), None, status, 4000, 0)
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
    result = ca.scan_bias(people, PROTECTED, "y", given=0, permutations=30, posterior_draws=50, **scan)
    plain = ca.scan_bias(people, PROTECTED, "y", given=1, **scan)
    assert len(result.plot().get_yticklabels()) == len(result.table)
    axes = ca.plots.plot_disparity({"first": result, "second": plain}, plt.subplots()[1])
    assert axes.get_yticklabels()[0].get_text().startswith("first:\n")
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
