"""Intervals of the disparity: closed forms, who is paired with whom, and coverage with a known truth."""

import warnings

import numpy as np
import pandas as pd
import pytest
from bias_scan_people import (
    RESIDUALS,
    Disparities,
    counterfactual_flags,
    counterfactual_predictions,
    people_of,
    predicted,
    worlds_of,
)
from scipy import stats
from scipy.special import expit

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, DataError

PROTECTED = {"group": "b"}
FEATURES = ["x1", "x2"]
NAMED = {"x1": ["a"]}
SCAN = {"features": FEATURES, "progress": False}


def one_cell(ours, others):
    """People who differ in nothing but their group and their prediction."""
    group = np.repeat(["b", "w"], [len(ours), len(others)])
    return pd.DataFrame({"group": group, "one": "same", "y": 0, "p": np.concatenate([ours, others])})


def test_an_interval_of_predictions_is_that_of_a_difference_of_means():
    """Whatever the law of the predictions: here skewed, with most of them near 0."""
    rng = np.random.default_rng(0)
    ours, others = rng.beta(0.3, 2.0, 400), rng.beta(0.3, 2.5, 600)
    result = ca.scan_bias(
        one_cell(ours, others), PROTECTED, "y", prediction="p", given=0, features=["one"], posterior_draws=20_000
    )
    row = result.disparity({})
    error = np.sqrt(ours.var() / 400 + others.var() / 600)
    assert row["disparity"] == pytest.approx(ours.mean() - others.mean(), abs=1e-4)
    ends = row["disparity"] + np.array([-1, 1]) * stats.norm.ppf(0.95) * error
    assert row[["credible_low", "credible_high"]].to_numpy(float) == pytest.approx(ends, abs=0.05 * error)
    assert result.headline.std() == pytest.approx(error, rel=0.03)
    verdict = result.verdicts.iloc[0]
    assert verdict["sampling"] == pytest.approx(ours.var() / 400, rel=0.01)
    assert verdict["structural"] == pytest.approx(others.var() / 600, rel=0.01)
    assert result.intervals["known"].iloc[0].startswith("the models: one of the two")


def test_without_a_counterpart_there_is_no_interval():
    people = people_of(600, seed=0).drop(columns="eta")
    people = people[(people.group == "b") | (people.x1 == "b")]
    with pytest.warns(CausalAuditWarning, match="The overlap is thin|Separation"):
        result = ca.scan_bias(people, PROTECTED, "y", recommendation="flagged", posterior_draws=50, **SCAN)
    row = result.disparity(NAMED)
    assert row["n_comparison"] == 0
    assert np.isnan(row[["credible_low", "credible_high"]].to_numpy(float)).all()
    assert np.isfinite(row["disparity"])


def test_both_ends_of_an_interval_lie_among_its_draws():
    people = people_of(300, seed=0).drop(columns="eta")
    scan = SCAN | {"recommendation": "flagged", "posterior_draws": 19}
    assert "credible_low" in ca.scan_bias(people, PROTECTED, "y", **scan).table
    with pytest.raises(DataError, match="posterior_draws is 19, but an interval of 95% needs at least 39 draws"):
        ca.scan_bias(people, PROTECTED, "y", **scan | {"prob": 0.95})
    values = np.zeros((18, 300))
    worlds = worlds_of(people, "flagged", values)
    few = ca.scan_bias(people, PROTECTED, "y", recommendation="flagged", counterfactuals=worlds, **SCAN)
    assert few.intervals.empty


def test_draws_are_made_where_no_counterfactuals_have_them():
    people = people_of(300, seed=0).drop(columns="eta")
    scan = SCAN | {"recommendation": "flagged"}
    asked = ca.scan_bias(people, PROTECTED, "y", draws=200, **scan)
    made = ca.scan_bias(people, PROTECTED, "y", posterior_draws=200, **scan)
    pd.testing.assert_frame_equal(asked.table, made.table)
    assert asked.settings["draws"] == made.settings["draws"] == 200
    worlds = worlds_of(people, "flagged", np.zeros((60, 300)))
    for none in (
        ca.scan_bias(people, PROTECTED, "y", draws=0, **scan),
        ca.scan_bias(people, PROTECTED, "y", counterfactuals=worlds, draws=0, **scan),
    ):
        assert none.intervals.empty
        assert none.inclusion is None
    every = ca.scan_bias(people, PROTECTED, "y", counterfactuals=worlds, **scan)
    assert every.settings["draws"] == 60


def test_a_counterfactual_scan_compares_people_with_themselves():
    """With a known effect, only the spread of the effects is left: not that of the predictions, as it was (0.188)."""
    people = predicted(600, 0, "normal", effect=0.1)
    worlds = worlds_of(people, "p", counterfactual_predictions(people, 400, 0, effect=0.1))
    result = ca.scan_bias(people, PROTECTED, "y", prediction="p", counterfactuals=worlds, **SCAN)
    row = result.disparity(NAMED)
    gap = (people.p - people.p0)[(people.group == "b") & (people.x1 == "a")]
    error = gap.std() / np.sqrt(len(gap))
    assert row["disparity"] == pytest.approx(gap.mean(), abs=1e-6)
    assert row["credible_high"] - row["credible_low"] == pytest.approx(2 * stats.norm.ppf(0.95) * error, rel=0.15)
    assert error < 0.001


@pytest.mark.parametrize("split", [None, 0.5])
@pytest.mark.parametrize("permutations", [0, 99])
@pytest.mark.parametrize("draws", [0, 60])
@pytest.mark.parametrize("effect", [0.0, 1.5])
def test_a_verdict_flags_by_a_p_value_or_an_interval_alone(split, permutations, draws, effect):
    people = people_of(1200, seed=1, effect=effect).drop(columns="eta")
    result = ca.scan_bias(
        people, PROTECTED, "y", recommendation="flagged", split=split, permutations=permutations, penalty=0.0,
        posterior_draws=draws, top=3, **SCAN,
    )  # fmt: skip
    flagged = result.verdicts["flagged"].to_numpy()
    if permutations:
        assert flagged.tolist() == [result.p_value <= 0.05, False, False]
    elif draws and split:
        assert flagged.tolist() == (result.table["credible_low"] > 0).tolist()
    else:
        assert not flagged.any()
        assert result.verdicts["rule"].str.startswith("none").all()
    if effect:
        assert flagged.any() == bool(permutations or (draws and split))


DATA_SETS = 400


def covers(row, truth):
    return row["credible_low"] <= truth <= row["credible_high"]


@pytest.mark.slow
@pytest.mark.parametrize("n", [1500, 6000])
@pytest.mark.parametrize("residuals", RESIDUALS)
@pytest.mark.filterwarnings("ignore::causalaudit.errors.CausalAuditWarning")
def test_coverage_of_predictions_whatever_their_residuals(residuals, n):
    """90 % intervals: of a subgroup named beforehand, and of one that was found, with a split."""
    many = predicted(400_000, 10**6, residuals, effect=0.7)
    truth, named, found = Disparities(many, many["p"] - many["p0"]), [], []
    for number in range(DATA_SETS):
        people = predicted(n, number, residuals, effect=0.7).drop(columns="p0")
        scan = SCAN | {"prediction": "p", "draws": 100, "penalty": 0.2, "seed": number}
        whole = ca.scan_bias(people, PROTECTED, "y", **scan)
        named.append(covers(whole.disparity(NAMED), truth.of(NAMED)))
        half = ca.scan_bias(people, PROTECTED, "y", split=0.5, **scan)
        found.append(covers(half.table.iloc[0], truth.of(half.subgroup)))
    print(f"{residuals}, n = {n}: named {np.mean(named):.3f}, found {np.mean(found):.3f}")
    assert 0.86 <= np.mean(named) <= 0.94
    assert 0.86 <= np.mean(found) <= 0.94


def estimated(people, draws, number):
    return worlds_of(people, "p", counterfactual_predictions(people, draws, number))


def known(people, draws, number):
    return worlds_of(people, "p", counterfactual_predictions(people, draws, number, effect=0.7))


def flags(people, draws, number):
    return worlds_of(people, "flagged", counterfactual_flags(people, draws, number))


@pytest.mark.slow
@pytest.mark.parametrize("worlds", [estimated, known, flags])
def test_coverage_of_a_counterfactual_scan(worlds):
    """Within the 99 % bounds of 200 data sets, and no wider than twice what the spread of the estimate asks for."""
    event = "flagged" if worlds is flags else "p"
    ask = {"recommendation" if worlds is flags else "prediction": event}
    many, chances = predicted(300_000, 10**6, "normal", effect=0.7), people_of(300_000, 10**6, effect=0.7)
    gap = expit(chances["eta"]) - expit(chances["eta"] - 0.7) if worlds is flags else many["p"] - many["p0"]
    truth, rows = Disparities(many, gap).of(NAMED), []
    for number in range(200):
        people = predicted(1500, number, "normal", effect=0.7)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = ca.scan_bias(
                people, PROTECTED, "y", counterfactuals=worlds(people, 200, number), seed=number, **SCAN, **ask
            )
        rows.append(result.disparity(NAMED))
    table = pd.DataFrame(rows)
    covered = sum(covers(row, truth) for row in rows)
    width = (table["credible_high"] - table["credible_low"]).astype(float).mean()
    fitting = 2 * stats.norm.ppf(0.95) * table["disparity"].astype(float).std()
    print(f"{worlds.__name__}: {covered / 200:.3f}, width {width:.4f}, fitting {fitting:.4f}")
    low, high = stats.binom.ppf([0.005, 0.995], 200, 0.9)
    assert low <= covered <= high
    assert width <= 2 * fitting
