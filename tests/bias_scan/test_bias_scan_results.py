"""Who is compared, verdicts, intervals, headlines, and results on disk."""

import json

import numpy as np
import pandas as pd
import pytest
from bias_scan_people import biased, fair

import causalaudit as ca
from causalaudit.bias_scan import evaluate_power
from causalaudit.errors import DataError
from causalaudit.storage import same

FEATURES = ["x1", "x2"]
PROTECTED = {"group": "b"}
SCAN = {"recommendation": "flagged", "features": FEATURES, "progress": False}


def test_against_one_other_level():
    """Those of a third level are left out: it is the scan of the table without them."""
    people = biased(1000, seed=7)
    people["group"] = people["group"].where(people.index % 5 > 0, "green")
    result = ca.scan_bias(people, {"group": ("b", "w")}, "y", **SCAN)
    two = people[people["group"] != "green"]
    alone = ca.scan_bias(two, {"group": "b"}, "y", **SCAN)
    pd.testing.assert_frame_equal(result.table, alone.table)
    assert result.settings["left_out"] == 200
    assert "group = b against w (200 others left out)" in result.title
    everyone = ca.scan_bias(people, {"group": "b"}, "y", **SCAN)
    assert everyone.settings["left_out"] == 0
    assert "against everyone else" in everyone.title
    assert everyone.score != result.score
    with pytest.raises(DataError, match="Nobody in data has 'group' equal to 'red'"):
        ca.scan_bias(people, {"group": ("b", "red")}, "y", **SCAN)


def test_nothing_is_flagged_by_a_score():
    people = biased(1500, seed=7)
    untested = ca.scan_bias(people, PROTECTED, "y", posterior_draws=40, top=2, **SCAN).verdicts
    assert not untested["flagged"].any()
    assert untested["rule"].iloc[0].startswith("none: a score is no test")
    assert untested["probability"].isna().all()
    tested = ca.scan_bias(people, PROTECTED, "y", permutations=99, top=2, **SCAN).verdicts
    assert tested["flagged"].tolist() == [True, False]
    assert tested["unit"].iloc[0] == "group = b against w, x1: a: P(P_bin = 1) higher than expected"
    honest = ca.scan_bias(people, PROTECTED, "y", posterior_draws=100, split=0.5, **SCAN)
    assert honest.verdicts["flagged"].tolist() == [True]
    assert honest.verdicts["probability"].iloc[0] > 0.95
    assert "on people who were not searched" in honest.verdicts["rule"].iloc[0]


def test_the_variances_of_a_verdict_add_up():
    result = ca.scan_bias(biased(1500, seed=7), PROTECTED, "y", posterior_draws=2000, **SCAN)
    row = result.verdicts.iloc[0]
    assert row["value"] == result.table["disparity"].iloc[0]
    assert min(row["structural"], row["sampling"]) > 0
    assert row["structural"] + row["sampling"] == pytest.approx(result.headline.var(), rel=0.15)
    assert len(result.headline) == 2000
    assert result.headline.mean() == pytest.approx(result.table["disparity_mean"].iloc[0])


def test_an_empty_answer_says_what_was_looked_for():
    people = fair(400, seed=0)
    results = [
        ca.scan_bias(people, PROTECTED, "y", penalty=50.0, direction=direction, **SCAN)
        for direction in ("positive", "negative")
    ]
    (empty,) = [result for result in results if result.subgroup is None]
    assert "No subgroup has a positive score. All 21 subgroups by x1, x2 were scored" in repr(empty)
    assert "penalty of 50" in empty._repr_html_()
    assert empty.headline.tolist() == [0.0]
    assert empty.verdicts.empty


@pytest.mark.parametrize(
    "options",
    [
        {"permutations": 20, "posterior_draws": 20, "split": 0.5, "top": 2},
        {"features": ["x1", "age"], "bins": {"age": [30, 40]}, "given": 0},
        {"penalty": 1000.0, "posterior_draws": 20, "direction": "negative"},
        {"counterfactuals": True},
    ],
)
def test_a_scan_is_saved(options, tmp_path):
    people = biased(600, seed=3, number=True)
    if "counterfactuals" in options:
        options = {"counterfactuals": ca.CounterfactualDraws.from_frame(people.assign(flagged=0), do={"group": "w"})}
    result = ca.scan_bias(people, PROTECTED, "y", **SCAN | options)
    assert json.loads(json.dumps(result.settings)) == result.settings
    result.save(tmp_path / "scan.nc")
    loaded = ca.load(tmp_path / "scan.nc")
    assert same(result, loaded)
    for name in ("verdicts", "intervals"):
        pd.testing.assert_frame_equal(getattr(result, name), getattr(loaded, name))
    pd.testing.assert_series_equal(result.headline, loaded.headline)
    pd.testing.assert_series_equal(result.disparity({"x1": ["a"]}), loaded.disparity({"x1": ["a"]}))
    assert result.people({}).equals(loaded.people({}))
    assert repr(result) == repr(loaded)
    assert len(loaded.plot().get_yticks()) == len(result.table)
    one, other = result.to_inference_data(), loaded.to_inference_data()
    assert one.groups() == other.groups()
    assert all(one[group].equals(other[group]) for group in one.groups())


def test_detection_power_is_saved(tmp_path):
    rng = np.random.default_rng(0)
    people = pd.DataFrame({name: rng.choice(list("ab"), 200) for name in ("sex", "age", "job")})
    power = evaluate_power(people, pd.DataFrame({"mu_sep": [0.5]}), datasets=2, progress=False)
    power.save(tmp_path / "power.nc")
    assert same(power, ca.load(tmp_path / "power.nc"))


def test_how_features_are_scanned_is_recorded():
    people = biased(600, seed=3, number=True).assign(few=lambda part: part.age.round(-1))
    result = ca.scan_bias(people, PROTECTED, "y", **SCAN | {"features": ["x1", "age", "few"]})
    assert result.settings["scanned_by"] == {
        "x1": "value: discrete (levels)",
        "age": "bin: continuous, cut at quartiles",
        "few": "value: discrete (few values)",
    }
