"""What a result of situation testing answers, also after it was saved."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from situations import bank

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.results import VERDICT_COLUMNS
from causalaudit.storage import same

DESIGN_COLUMNS = [
    *(
        "rejected",
        "p_control",
        "p_test",
        "delta",
        "wald_low",
        "wald_high",
        "wald2_low",
        "wald2_high",
        "newcombe_low",
        "newcombe_high",
    ),
    *("beyond_tau", "significant", "significant_adjusted", "cf_flip", "distance_control", "distance_test"),
    *("remoteness_control", "remoteness_test"),
]
DRAW_COLUMNS = [
    *(
        "delta_mean",
        "structural_low",
        "structural_high",
        "prob_beyond_tau",
        "population_low",
        "population_high",
        "prob_population",
        "prob_cf_flip",
    ),
]


def test_the_columns_are_those_of_the_design(result):
    assert list(result.table.columns) == [*DESIGN_COLUMNS, *DRAW_COLUMNS]
    assert result.table.index.names == ["k", "complainant"]
    assert not result.table.isna().any(axis=None)
    assert list(result.summary().columns) == [
        *("complainants", "cases", "rejected_cases", "significant_cases", "adjusted_cases"),
        *("cf_cases", "cf_significant_cases", "discoveries", "posterior_discoveries"),
        *("expected_cases", "expected_low", "expected_high"),
    ]
    assert result.summary().index.tolist() == [5, 10]
    assert "gender = female" in repr(result)


def test_explain_shows_both_groups(applicants, worlds, result):
    complainant = result.at(5).index[3]
    shown = result.explain(complainant, 5)
    assert shown.shape == (6, 10)
    assert shown.loc[0, ("control", "salary")] == applicants.loc[complainant, "salary"]
    assert shown.loc[0, ("test", "salary")] == worlds.point.loc[complainant, "salary"]
    assert (applicants.loc[shown["test", "person"].iloc[1:], "gender"] == "male").all()
    assert shown["control", "distance"].is_monotonic_increasing
    row = result.at(5).loc[complainant]
    assert (1 - shown["control", "decision"].iloc[1:]).mean() == pytest.approx(row.p_control)
    assert (1 - shown["test", "decision"].iloc[1:]).mean() == pytest.approx(row.p_test)


def test_without_counterfactuals_there_are_no_draws(applicants):
    plain = ca.situation_testing(applicants, "approved", {"gender": "female"}, features=["salary", "balance"], k=5)
    expected = [name for name in DESIGN_COLUMNS if name != "cf_flip"]
    assert list(plain.table.columns) == [*expected, "prob_population"]
    assert plain.verdicts["probability"].isna().all()
    assert list(plain.to_inference_data().groups()) == ["constant_data"]
    assert plain.explain(plain.at().index[0]).loc[0, ("test", "person")] == plain.at().index[0]


# ---- intervals, verdicts, headline


@pytest.fixture(scope="module")
def plain(applicants):
    return ca.situation_testing(applicants, bank, {"gender": "female"}, features=["salary", "balance"], k=[5, 10])


def test_every_interval_of_the_table_says_what_it_is(result, plain):
    for audit in (result, plain):
        kinds = [str(name).removesuffix("_low") for name in audit.table if str(name).endswith("_low")]
        assert audit.intervals["kind"].tolist() == kinds
        assert all(f"{kind}_high" in audit.table for kind in kinds)
    rows = result.intervals.set_index("kind")
    assert rows.loc[["wald", "wald2", "newcombe"], "type"].eq("confidence").all()
    assert rows.loc[["structural", "population"], "level"].eq(0.9).all()
    assert rows.loc["structural", "about"].startswith("these people")
    assert rows.loc["population", "about"].startswith("the population")


def test_adjusted_significance_against_the_step_up_procedure(result):
    """The k-th smallest p-value of m tests is compared with alpha k / m, and all below the last that passes count."""
    for k in (5, 10):
        table, counts = result.at(k), result.counts.loc[k]
        shares = counts.rejected_control / counts.n_control, counts.rejected_test / counts.n_test
        error = np.sqrt(sum(share * (1 - share) for share in shares) / k)
        values = np.where(error > 0, stats.norm.sf(table.delta / error.where(error > 0, 1.0)), table.delta <= 0)
        np.testing.assert_array_equal(table.significant, values < 0.05)
        ordered = np.sort(values)
        passed = np.flatnonzero(ordered <= 0.05 * np.arange(1, len(ordered) + 1) / len(ordered))
        expected = values <= ordered[passed[-1]]
        np.testing.assert_array_equal(table.significant_adjusted, expected)
    assert result.table.significant_adjusted.sum() < result.table.significant.sum()


def test_nobody_is_flagged_by_an_untested_difference(result):
    verdicts, table = result.verdicts, result.at(5)
    assert tuple(verdicts.columns) == VERDICT_COLUMNS
    expected = table.significant_adjusted & (table.newcombe_low > 0)
    np.testing.assert_array_equal(verdicts.flagged, expected)
    assert 0 < verdicts.flagged.sum() < table.beyond_tau.sum()
    assert "adjusted over all complainants" in verdicts.rule[0]
    assert "Newcombe" in verdicts.rule[0]


def test_one_neighbour_each_proves_nothing(applicants):
    """Wald's interval has no width there, and every difference would be significant."""
    single = ca.situation_testing(applicants, bank, {"gender": "female"}, features=["salary", "balance"], k=1)
    assert single.table.significant.any()
    assert not single.verdicts.flagged.any()


def test_verdicts_name_person_group_and_direction(result):
    unit = result.verdicts["unit"].iloc[0]
    assert unit == (result.at().index[0], "gender = female against male", "negative")
    assert unit.complainant == result.at().index[0]
    assert str(unit) == f"{unit.complainant} (gender = female against male, negative discrimination)"


def test_variances_of_verdicts_are_those_over_and_within_draws(result, plain):
    verdicts, counts = result.verdicts, result.counts.loc[5]
    delta = result.to_inference_data()["posterior"]["delta"].sel(k=5).to_numpy()[0]
    np.testing.assert_allclose(verdicts.structural, delta.var(axis=0), atol=1e-15)
    ours = (counts.rejected_control / 5).to_numpy()
    theirs = ours - delta
    np.testing.assert_allclose(
        verdicts.sampling, ((ours * (1 - ours) + theirs * (1 - theirs)) / 5).mean(axis=0), atol=1e-12
    )
    np.testing.assert_array_equal(verdicts.value, result.at(5).delta)
    np.testing.assert_array_equal(verdicts.probability, result.at(5).prob_beyond_tau)
    assert plain.verdicts[["probability", "structural", "sampling"]].isna().all(axis=None)


def test_the_headline_is_the_number_of_cases_by_draw(result, plain):
    np.testing.assert_array_equal(result.headline, result.draw_cases[0])
    assert result.headline.name == "cases at k = 5"
    assert result.headline.mean() == pytest.approx(result.summary().loc[5, "expected_cases"])
    assert plain.headline.tolist() == [plain.summary().loc[5, "cases"]]


def test_draws_as_inference_data(result):
    delta = result.to_inference_data()["posterior"]["delta"]
    assert delta.dims == ("chain", "draw", "k", "complainant")
    np.testing.assert_allclose(delta.mean(("chain", "draw")).to_numpy().ravel(), result.table["delta_mean"])


def test_the_distances_are_those_of_the_farthest_members(result):
    for who in result.at().index[[0, 7]]:
        shown = result.explain(who, 10)
        for side in ("control", "test"):
            assert result.at(10).loc[who, f"distance_{side}"] == shown[side, "distance"].max()


# ---- files


def test_a_saved_result_answers_as_before(result, applicants, tmp_path):
    result.save(tmp_path / "result.nc")
    loaded = ca.load(tmp_path / "result.nc")
    assert same(result, loaded)
    assert json.loads(json.dumps(result.settings)) == result.settings == loaded.settings
    assert repr(loaded) == repr(result)
    for name in ("intervals", "verdicts", "headline", "counts"):
        assert same(getattr(result, name), getattr(loaded, name)), name
    assert same(result.discoveries(0.05, 10), loaded.discoveries(0.05, 10))
    assert result.false_discovery_rate() == loaded.false_discovery_rate()
    who = result.at().index[4]
    pd.testing.assert_frame_equal(result.explain(who, 10), loaded.explain(who, 10), check_exact=True)
    assert loaded.to_inference_data()["posterior"].identical(result.to_inference_data()["posterior"])
    for plotted in (loaded.plot(), ca.plots.plot_forest(loaded), ca.plots.plot_distributions(loaded, "salary")):
        assert plotted.get_xlabel()
    assert ca.plots.plot_groups(loaded, [who], "salary").get_ylabel() == "salary"
    again = ca.multiple_discrimination([loaded, result])
    pd.testing.assert_series_equal(again.table["prob_beyond_tau"], result.table["prob_beyond_tau"])


def test_a_distance_is_code_and_its_neighbours_are_data(applicants, tmp_path):
    def apart(some, others):
        return np.abs(some.salary.to_numpy()[:, None] - others.salary.to_numpy())

    own = ca.situation_testing(applicants, "approved", {"gender": "female"}, features=["salary"], k=5, distance=apart)
    own.save(tmp_path / "own.nc")
    loaded = ca.load(tmp_path / "own.nc")
    assert loaded.settings["distance"] == "apart"
    assert loaded.settings["decision"] == "approved"
    who = own.at().index[0]
    pd.testing.assert_frame_equal(own.explain(who), loaded.explain(who))
    with pytest.raises(DataError, match="several counterfactual draws"):
        loaded.discoveries()


# ---- names of columns


@pytest.mark.parametrize("name", ["self", "data", "person", "decision", "distance", "k", "delta", "complainant", 7])
def test_a_column_may_have_any_name(name):
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": ["F", "M"] * 20, "x": rng.random(40)})
    people["y"] = (people.x + rng.random(40) > 1).astype(int)
    renamed = people.rename(columns={"x": name})
    results = [
        ca.situation_testing(
            table,
            lambda frame, column=column: frame[column] > 0.5,
            {"sex": "F"},
            features=[column],
            counterfactuals=ca.CounterfactualDraws.from_frame(table[[column]] + 0.1, do={"sex": "M"}),
            k=3,
            centres=True,
        )
        for table, column in ((people, "x"), (renamed, name))
    ]
    pd.testing.assert_frame_equal(results[0].table, results[1].table)
    expected, shown = (result.explain(0) for result in results)
    np.testing.assert_array_equal(expected.to_numpy(), shown.to_numpy())
    assert shown.columns.is_unique


def test_an_intersection_of_columns_of_any_name():
    people = pd.DataFrame({"data": ["a", "a", "b"], "self": ["c", "d", "c"]})
    assert ca.intersection(people, **{"data": "a", "self": "c"}).tolist() == ["a-c", "Other", "Other"]
