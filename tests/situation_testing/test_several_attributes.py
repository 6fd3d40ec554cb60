"""Discrimination by each of several attributes."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import causalaudit as ca
from causalaudit.intervals import wald_width
from causalaudit.storage import same


@pytest.fixture(scope="module")
def data_set_of_two():
    rng = np.random.default_rng(3)
    female, nonwhite = rng.random(200) < 0.5, rng.random(200) < 0.4
    people = pd.DataFrame(
        {
            "Gender": np.where(female, "Female", "Male"),
            "Race": np.where(nonwhite, "NonWhite", "White"),
            "LSAT": 38 - female - 4 * nonwhite + 5 * rng.standard_normal(200),
            "UGPA": 3.2 + 0.4 * rng.standard_normal(200),
        }
    )
    return people, ca.fit(ca.models.law_school.level_3(), people, seed=0)


def test_multiple_discrimination_of_draws(data_set_of_two):
    people, posterior = data_set_of_two
    singles = []
    for column, level, other in (("Gender", "Female", "Male"), ("Race", "NonWhite", "White")):
        worlds = ca.counterfactuals(posterior, {column: other}, rows=people[column] == level, draws=50, seed=0)
        singles.append(
            ca.situation_testing(
                people,
                lambda frame: frame.LSAT > 37,
                {column: level},
                features=["LSAT", "UGPA"],
                counterfactuals=worlds,
                k=[5, 9],
                progress=False,
            )
        )
    both = ca.multiple_discrimination(singles)
    members = people.index[(people.Gender == "Female") & (people.Race == "NonWhite")]
    assert both.table.loc[5].index.tolist() == members.tolist()
    deltas = [single.to_inference_data()["posterior"]["delta"].sel(complainant=members) for single in singles]
    joint = (deltas[0] > 0) & (deltas[1] > 0)
    np.testing.assert_allclose(both.table["prob_beyond_tau"], joint.mean(("chain", "draw")).to_numpy().ravel())
    np.testing.assert_allclose(both.summary()["expected_cases"], joint.sum("complainant").mean(("chain", "draw")))
    table = both.table.loc[5]
    expected = singles[0].at(5).loc[members, "beyond_tau"] & singles[1].at(5).loc[members, "beyond_tau"]
    np.testing.assert_array_equal(table["beyond_tau"], expected)
    lows = [
        single.at(5).loc[members, "delta"]
        - wald_width(
            *(
                single.counts.loc[5].loc[members, name].to_numpy()
                for name in ("rejected_control", "n_control", "rejected_test", "n_test")
            ),
            alpha=0.025,
        )
        for single in singles
    ]
    np.testing.assert_array_equal(table["significant"], (lows[0] > 0) & (lows[1] > 0))
    assert [unit.complainant for unit in both.verdicts["unit"]] == members.tolist()
    assert both.to_inference_data()["posterior"]["cases"].sizes["draw"] == 50
    assert both.plot().get_ylabel() == "cases"
    np.testing.assert_array_equal(both.headline, both.draw_cases[0])


@pytest.fixture(scope="module")
def of_records(data_set_of_two):
    """Both tests of recorded decisions, without counterfactuals."""
    people, _ = data_set_of_two
    people = people.assign(admitted=(people.LSAT > 37).astype(int))
    return [
        ca.situation_testing(people, "admitted", protected, features=["UGPA"], k=20)
        for protected in ({"Gender": "Female"}, {"Race": "NonWhite"})
    ]


@pytest.mark.filterwarnings("ignore:.*rest on a poor match:causalaudit.errors.CausalAuditWarning")  # few people
def test_significance_by_each_is_adjusted_over_the_complainants(of_records):
    """The largest of the p-values, times their number, in the step-up procedure."""
    both = ca.multiple_discrimination(of_records)
    values = []
    for single in of_records:
        table = single.table.loc[both.table.index]
        error = np.sqrt((table.p_control * (1 - table.p_control) + table.p_test * (1 - table.p_test)) / 20)
        assert (error > 0).all()
        values.append(stats.norm.sf(table.delta / error))
    worst = np.minimum(2 * np.max(values, axis=0), 1)
    np.testing.assert_array_equal(both.table.significant, worst < 0.05)
    ordered = np.sort(worst)
    passed = np.flatnonzero(ordered <= 0.05 * np.arange(1, len(ordered) + 1) / len(ordered))
    expected = worst <= ordered[passed[-1]] if len(passed) else np.zeros(len(worst), dtype=bool)
    np.testing.assert_array_equal(both.table.significant_adjusted, expected)
    verdicts = both.verdicts
    assert not (verdicts.flagged.to_numpy() & ~both.table.significant_adjusted.to_numpy()).any()
    assert verdicts.unit[0].group == "Gender = Female against Male and Race = NonWhite against White"
    assert verdicts[["probability", "structural", "sampling"]].isna().all(axis=None)
    assert both.intervals.empty


@pytest.mark.filterwarnings("ignore:.*rest on a poor match:causalaudit.errors.CausalAuditWarning")  # few people
def test_a_saved_result_answers_as_before(of_records, tmp_path):
    both = ca.multiple_discrimination(of_records)
    both.save(tmp_path / "both.nc")
    loaded = ca.load(tmp_path / "both.nc")
    assert same(both, loaded)
    assert repr(loaded) == repr(both)
    assert same(both.verdicts, loaded.verdicts)
    assert same(both.headline, loaded.headline)
    assert json.loads(json.dumps(both.settings)) == both.settings
