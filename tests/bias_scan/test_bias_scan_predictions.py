"""Predictions are compared by their means: what is fair is not found, and what is shifted is, however spread out."""

import warnings

import numpy as np
import pytest
from bias_scan_people import spread_out
from scipy import stats

import causalaudit as ca
from causalaudit.errors import DataError

PROTECTED = {"group": "b"}
FEATURES = ["x1", "x2"]
SCAN = {"prediction": "p", "features": FEATURES, "progress": False}


def scores(shift, base, **options):
    """The scans of ten data sets of 4,000 people."""
    return [
        ca.scan_bias(spread_out(4000, seed, shift=shift, base=base), PROTECTED, "y", **SCAN, **options)
        for seed in range(10)
    ]


@pytest.mark.parametrize("base", [-2.0, 2.0])
def test_fair_predictions_score_little_however_spread_out(base):
    """The paper compares means of logits with logits of a mean: it scores 126 if most are high, 52 if most are low."""
    for direction in ("positive", "negative"):
        assert np.mean([result.score for result in scores(0.0, base, direction=direction)]) < 3
    side = "positive" if base > 0 else "negative"
    assert np.mean([result.score for result in scores(0.0, base, direction=side, scale="paper")]) > 40


@pytest.mark.parametrize("base", [-2.0, 2.0])
def test_a_shift_of_predictions_is_found_however_spread_out(base):
    """A shift of 0.3 of the log-odds: the paper's scale misses its subgroup in nine of ten and more."""
    found = [result.subgroup == {"x1": ["a"]} for result in scores(0.3, base)]
    assert sum(found) >= 9
    assert sum(result.subgroup == {"x1": ["a"]} for result in scores(0.3, base, scale="paper")) <= 1


def test_the_parameter_is_the_factor_of_the_odds_of_the_mean():
    people = spread_out(20_000, 0, shift=0.5)
    result = ca.scan_bias(people, PROTECTED, "y", **SCAN)
    ours = people[(people.group == "b") & (people.x1 == "a")]
    row = result.table.iloc[0]
    assert result.subgroup == {"x1": ["a"]}
    assert row["observed"] == pytest.approx(ours.p.mean())
    odds = [mean / (1 - mean) for mean in (row["observed"], row["expected"])]
    assert result.parameter == pytest.approx(odds[0] / odds[1], rel=0.05)


def test_sigma_is_of_the_gaussian_score_alone():
    people = spread_out(500, 0)
    one, other = (
        ca.scan_bias(people, PROTECTED, "y", penalty=0.0, scale="paper", sigma=sigma, **SCAN) for sigma in (None, 2.0)
    )
    assert (one.settings["sigma"], other.settings["sigma"]) == (1.0, 2.0)
    assert other.llr == pytest.approx(one.llr / 4)
    assert other.parameter == pytest.approx(one.parameter)
    for options in ({"sigma": 1.0}, {"sigma": 1.0, "scale": "paper", "criterion": "sufficiency"}):
        with pytest.raises(DataError, match="only the Gaussian score has one"):
            ca.scan_bias(people, PROTECTED, "y", **SCAN | options)
    with pytest.raises(DataError, match="sigma is 0, but must be a number above 0"):
        ca.scan_bias(people, PROTECTED, "y", **SCAN, scale="paper", sigma=0)
    with pytest.raises(DataError, match="scale is 'logit', but must be 'mean' or 'paper'"):
        ca.scan_bias(people, PROTECTED, "y", **SCAN, scale="logit")


@pytest.mark.slow
@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_type_one_error_of_predictions(spread):
    """Within the 99 % bounds of 5 % on 200 fair data sets."""
    count = 0
    for seed in range(200):
        people = spread_out(1500, seed, spread=spread)
        with warnings.catch_warnings():  # a misfit is said of one in a hundred models that are right
            warnings.filterwarnings("ignore", ".*misfits by cell")
            result = ca.scan_bias(people, PROTECTED, "y", permutations=199, seed=seed, **SCAN)
        count += result.p_value <= 0.05
    print(f"type-I error at 5 %, spread {spread}: {count / 200}")
    low, high = stats.binom.ppf([0.005, 0.995], 200, 0.05)
    assert low <= count <= high
