"""Situation testing: small cases by hand, closed forms, properties."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning
from causalaudit.intervals import beta_rates, hdi, newcombe, shortest_run, wald_width
from causalaudit.situation_testing.neighbours import Group
from causalaudit.situation_testing.space import Space

DESIGN_COLUMNS = [
    *("p_control", "p_test", "delta", "ci_low", "ci_high", "ci2_low", "ci2_high", "newcombe_low", "newcombe_high"),
    *("discriminated", "significant", "cf_flip"),
]
DRAW_COLUMNS = [
    *("delta_mean", "structural_low", "structural_high", "prob_discriminated", "hdi_low", "hdi_high", "prob_cf_flip"),
]


def bank(people):
    return people.salary + 5 * people.balance > 225_000


@pytest.fixture(scope="module")
def applicants():
    return ca.datasets.make_loan(400, seed=4)


@pytest.fixture(scope="module")
def worlds(applicants):
    posterior = ca.fit(ca.models.loan.linear(), applicants, seed=0)
    return ca.counterfactuals(posterior, {"gender": "male"}, rows=applicants.gender == "female", draws=300, seed=0)


@pytest.fixture(scope="module")
def result(applicants, worlds):
    return ca.situation_testing(
        applicants, bank, {"gender": "female"}, ["salary", "balance"], worlds, k=[10, 5], seed=0, progress=False
    )


def naive(data, rejected, protected, features, goals, k, centers=None):
    """Algorithm 1 in a plain loop, with the distances of equations 3 to 5; ties go to the earlier row."""
    ranges = {name: data[name].max() - data[name].min() for name in features if data[name].dtype.kind == "f"}
    ours, theirs = data.index[protected], data.index[~protected]
    deltas = {}
    for person in ours:
        counts = []
        for centre, group in ((data.loc[person], ours.drop(person)), (goals.loc[person], theirs)):
            total = sum(
                (data.loc[group, name] - centre[name]).abs() / ranges[name]
                if name in ranges
                else (data.loc[group, name] != centre[name]).astype(float)
                for name in features
            )
            nearest = (total / len(features)).round(12).sort_values(kind="stable").index[:k]
            counts.append(int(rejected[nearest].sum()))
        deltas[person] = (counts[0] - counts[1]) / k
    return pd.Series(deltas)


# ---- by hand


def test_a_case_small_enough_to_do_by_hand():
    people = pd.DataFrame(
        {
            "sex": ["F", "F", "F", "F", "M", "M", "M", "M"],
            "score": [1.0, 2.0, 3.0, 9.0, 1.5, 2.5, 6.0, 11.0],
            "hired": [0, 0, 1, 1, 1, 0, 1, 1],
        },
        index=list("abcdefgh"),
    )
    standard = ca.situation_testing(people, "hired", {"sex": "F"}, ["score"], k=2).at()
    # a: women b, c (one rejected of two); men e, f (one rejected). c: women b, a; men f, e. d: women c, b; men h, g.
    assert standard["p_control"].tolist() == [0.5, 0.5, 1.0, 0.5]
    assert standard["p_test"].tolist() == [0.5, 0.5, 0.5, 0.0]
    assert standard["delta"].tolist() == [0.0, 0.0, 0.5, 0.5]
    moved = ca.CounterfactualDraws.from_frame(people.loc[list("abcd"), ["score"]] + 6, do={"sex": "M"})
    shifted = ca.situation_testing(people, "hired", {"sex": "F"}, ["score"], moved, k=2).at()
    # a at 7, b at 8, c at 9, d at 15: men g and h for all, both hired.
    assert shifted["p_test"].tolist() == [0.0] * 4
    assert shifted["delta"].tolist() == [0.5, 0.5, 1.0, 0.5]
    assert "cf_flip" not in shifted
    moved = ca.CounterfactualDraws.from_frame(moved.point.assign(hired=[1, 0, 1, 1]))
    centred = ca.situation_testing(people, "hired", {"sex": "F"}, ["score"], moved, k=2, centers=True)
    assert centred.counts.loc[2].to_numpy().tolist() == [[3, 2, 3, 0], [3, 2, 3, 1], [3, 2, 3, 0], [3, 1, 3, 0]]
    assert centred.at()["cf_flip"].tolist() == [True, False, False, False]
    assert centred.summary().loc[2].tolist() == [4, 4, 2, 1, 1]  # a: 2/3 - 0.448 > 0


def test_ties_go_to_the_earlier_row_and_the_complainant_is_left_out_by_identity():
    people = pd.DataFrame({"sex": list("FFFFFMMMM"), "x": [1.0] * 9, "y": [0, 1, 0, 1, 1, 1, 1, 0, 0]})
    people.loc[0, "x"] = 2.0
    table = ca.situation_testing(people, "y", {"sex": "F"}, ["x"], k=2).at()
    # 0: women 1, 2; 1: women 2, 3; 2, 3 and 4: women 1 and the next of 2, 3.
    assert table["p_control"].tolist() == [0.5, 0.5, 0.0, 0.5, 0.5]
    assert table["p_test"].tolist() == [0.0] * 5


def test_intervals_against_formulas():
    share, z = 6 / 15, stats.norm.ppf(0.95)
    assert wald_width(6, 15, 0, 15, 0.05) == pytest.approx(z * np.sqrt(share * (1 - share) / 15), abs=1e-12)
    assert wald_width(15, 15, 0, 15) == 0


def test_newcombe_against_statsmodels():
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    counts = np.array([0, 3, 15, 7, 15, 0]), np.array([15, 0, 0, 7, 15, 0])
    sizes = np.array([15, 15, 15, 16, 15, 15])
    found = newcombe(counts[0], sizes, counts[1], sizes, 0.1)
    expected = proportion.confint_proportions_2indep(
        counts[0], sizes, counts[1], sizes, method="newcomb", compare="diff", alpha=0.1
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_hdi_against_arviz():
    az = pytest.importorskip("arviz")
    draws = np.random.default_rng(0).gamma(2.0, size=(501, 4))
    expected = np.stack([az.hdi(draws[:, column], hdi_prob=0.9) for column in range(4)], axis=1)
    np.testing.assert_array_equal(hdi(draws, 0.9), expected)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=40), st.floats(0.05, 0.99))
def test_the_shortest_run_is_the_shortest(values, prob):
    values = np.array(values)
    low, high = shortest_run(values, prob)
    runs = [(a, b) for a in range(-4, 5) for b in range(a, 5) if ((values >= a) & (values <= b)).mean() >= prob - 1e-9]
    shortest = min(b - a for a, b in runs)
    most = max(((values >= a) & (values <= b)).sum() for a, b in runs if b - a == shortest)
    assert high - low == shortest
    assert ((values >= low) & (values <= high)).sum() == most


def test_rates_are_draws_of_the_beta_posterior():
    rates = beta_rates(np.array([[0, 3], [0, 3]]).repeat(5000, axis=0), np.array([15, 15]), 10_000, 0, "test")
    for column, count in enumerate((0, 3)):
        assert stats.kstest(rates[:, column], stats.beta(count + 0.5, 15.5 - count).cdf).pvalue > 0.001


# ---- the result


def test_the_columns_are_those_of_the_design(result):
    assert set(result.table.columns) == {*DESIGN_COLUMNS, *DRAW_COLUMNS}
    assert result.table.index.names == ["k", "complainant"]
    assert not result.table.isna().any(axis=None)
    expected = ["complainants", "cases", "significant_cases", "cf_cases", "cf_significant_cases"]
    assert list(result.summary().columns) == [*expected, "expected_cases", "expected_low", "expected_high"]
    assert result.summary().index.tolist() == [5, 10]
    assert "gender = female" in repr(result)


def test_the_table_follows_from_a_plain_loop(applicants, worlds, result):
    rejected = ~bank(applicants)
    found = naive(applicants, rejected, applicants.gender == "female", ["salary", "balance"], worlds.point, 5)
    table = result.at(5)
    np.testing.assert_array_equal(table["delta"], found)
    counts = result.counts.loc[5]
    shares = counts.rejected_control / 5, counts.rejected_test / 5
    width = np.sqrt((shares[0] * (1 - shares[0]) + shares[1] * (1 - shares[1])) / 5)
    delta = shares[0] - shares[1]
    for name, bound in {
        "ci_low": delta - stats.norm.ppf(0.95) * width,
        "ci2_low": delta - stats.norm.ppf(0.975) * width,
        "ci2_high": delta + stats.norm.ppf(0.975) * width,
    }.items():
        np.testing.assert_allclose(table[name], bound, rtol=0, atol=1e-9)
    assert np.isinf(table["ci_high"]).all()
    np.testing.assert_array_equal(table["significant"], (table.ci_low > 0) & (table.delta > 0))


def test_each_draw_has_its_own_test_group(applicants, worlds, result):
    rejected = ~bank(applicants)
    women = applicants.gender == "female"
    deltas = result.to_inference_data()["posterior"]["delta"].sel(k=5).to_numpy()[0]
    for draw in (0, 7, 299):
        goals = worlds.frame(slice(draw, draw + 1))
        np.testing.assert_array_equal(deltas[draw], naive(applicants, rejected, women, ["salary", "balance"], goals, 5))
    table = result.at(5)
    np.testing.assert_allclose(table["delta_mean"], deltas.mean(axis=0))
    np.testing.assert_allclose(table["prob_discriminated"], (deltas > 0).mean(axis=0))
    ends = shortest_run(deltas, 0.9).T
    np.testing.assert_allclose(table[["structural_low", "structural_high"]], ends, atol=1e-12)
    np.testing.assert_array_equal(result.draw_cases[0], (deltas > 0).sum(axis=1))
    flips = np.stack([bank(frame).to_numpy() for frame in worlds.frames()]) & rejected[women].to_numpy()
    np.testing.assert_allclose(table["prob_cf_flip"], flips.mean(axis=0))


def test_centers_enter_every_draw(applicants, worlds, result):
    centred = ca.situation_testing(
        applicants, bank, {"gender": "female"}, ["salary", "balance"], worlds, k=5, centers=True, progress=False
    )
    good = np.stack([bank(frame).to_numpy() for frame in worlds.frames()])
    np.testing.assert_array_equal(centred.draw_counts.test[0], result.draw_counts.test[0] + ~good)
    assert (centred.draw_counts.n_test == 6).all()
    assert (centred.counts[["n_control", "n_test"]] == 6).all(axis=None)


def test_hdi_ends_are_closed_where_all_and_none_were_rejected(result):
    table, counts = result.at(5), result.counts.loc[5]
    extreme = (counts.rejected_control == 5) & (counts.rejected_test == 0)
    assert extreme.any()
    assert (table.loc[extreme, "hdi_high"] == 1).all()
    assert (table.loc[~extreme, "hdi_high"] < 1).all()
    assert (table["hdi_low"] <= table["hdi_high"]).all()


def test_no_probability_of_discrimination_where_nobody_is_rejected(result):
    """With Beta draws it would be one half."""
    counts = result.counts.loc[5]
    nobody = (counts.rejected_control == 0) & (result.draw_counts.test[0] == 0).all(axis=0)
    assert nobody.any()
    assert (result.at(5).loc[nobody, "prob_discriminated"] == 0).all()


def test_false_discovery_rate_and_the_list_at_a_chosen_rate(result):
    table = result.at(10)
    flagged = table[table.discriminated]
    assert result.false_discovery_rate(10) == pytest.approx((1 - flagged.prob_discriminated).mean())
    found = result.discoveries(0.05, 10)
    assert (1 - found.prob_discriminated).mean() <= 0.05
    rest = table.drop(found.index).sort_values("prob_discriminated", ascending=False)
    longer = pd.concat([found, rest[rest.prob_discriminated == rest.prob_discriminated.iloc[0]]])
    assert (1 - longer.prob_discriminated).mean() > 0.05
    assert found.prob_discriminated.is_monotonic_decreasing
    assert len(result.discoveries(1e-9, 10)) == (table.prob_discriminated == 1).sum()


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


def test_verdicts_and_inference_data(result):
    verdicts = result.verdicts
    assert list(verdicts.columns) == ["unit", "flagged", "probability"]
    np.testing.assert_array_equal(verdicts["probability"], result.at(5)["prob_discriminated"])
    delta = result.to_inference_data()["posterior"]["delta"]
    assert delta.dims == ("chain", "draw", "k", "complainant")
    np.testing.assert_allclose(delta.mean(("chain", "draw")).to_numpy().ravel(), result.table["delta_mean"])


def test_without_counterfactuals_there_are_no_draws(applicants):
    plain = ca.situation_testing(applicants, "approved", {"gender": "female"}, ["salary", "balance"], k=5)
    assert list(plain.table.columns) == DESIGN_COLUMNS[:-1]
    assert plain.verdicts["probability"].isna().all()
    assert list(plain.to_inference_data().groups()) == ["constant_data"]
    assert plain.explain(plain.at().index[0]).loc[0, ("test", "person")] == plain.at().index[0]


def test_several_sizes_are_the_same_as_one_at_a_time(applicants, worlds, result):
    for k in (5, 10):
        single = ca.situation_testing(
            applicants, bank, {"gender": "female"}, ["salary", "balance"], worlds, k=k, seed=0, progress=False
        )
        pd.testing.assert_frame_equal(single.table, result.table.loc[[k]])


def test_same_seed_same_result_for_any_number_of_workers(applicants, worlds, result):
    from joblib import parallel_config

    options = {"k": [5, 10], "seed": 0, "progress": False}
    with parallel_config("threading", n_jobs=2):
        again = ca.situation_testing(applicants, bank, {"gender": "female"}, ["salary", "balance"], worlds, **options)
    pd.testing.assert_frame_equal(again.table, result.table)
    other = ca.situation_testing(
        applicants, bank, {"gender": "female"}, ["salary", "balance"], worlds, **{**options, "seed": 1}
    )
    pd.testing.assert_frame_equal(
        other.table.drop(columns=["hdi_low", "hdi_high"]), result.table.drop(columns=["hdi_low", "hdi_high"])
    )
    assert (other.table["hdi_low"] != result.table["hdi_low"]).any()


def test_positive_discrimination_is_the_mirror_of_negative(applicants, worlds):
    """If the decision is turned round, so is everything else."""
    arguments = (applicants, bank, {"gender": "female"}, ["salary", "balance"], worlds)
    against = ca.situation_testing(*arguments, k=5, progress=False)
    favour = ca.situation_testing(*arguments, k=5, favourable=False, direction="positive", progress=False)
    np.testing.assert_array_equal(favour.at()["delta"], -against.at()["delta"])
    np.testing.assert_allclose(favour.at()["ci_high"], -against.at()["ci_low"], atol=1e-12)
    for name in ("discriminated", "significant", "cf_flip", "prob_discriminated", "prob_cf_flip"):
        np.testing.assert_array_equal(favour.at()[name], against.at()[name])


def test_tau_is_compared_exactly():
    """A difference of 1 in 20 is not above 0.05, whatever the rounding of the shares."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": np.repeat(["F", "M"], 60), "x": rng.random(120)})
    people["y"] = (rng.random(120) < 0.5).astype(int)
    result = ca.situation_testing(people, "y", {"sex": "F"}, ["x"], k=20, tau=0.05)
    counts = result.counts
    expected = counts.rejected_control - counts.rejected_test > 1
    assert (counts.rejected_control - counts.rejected_test == 1).any()
    np.testing.assert_array_equal(result.table["discriminated"], expected)


def test_maximum_distance(applicants, worlds):
    arguments = (applicants, bank, {"gender": "female"}, ["salary", "balance"], worlds)
    free = ca.situation_testing(*arguments, k=10, progress=False)
    with pytest.warns(CausalAuditWarning, match="without anyone"):
        near = ca.situation_testing(*arguments, k=10, max_distance=0.01, progress=False)
    space = free.search.control.space
    women = free.search.control.coordinates
    distances = space.matrix(women, women) + np.diag(np.full(len(women), np.inf))
    np.testing.assert_array_equal(near.counts["n_control"], np.minimum(10, (distances <= 0.01).sum(axis=1)))
    empty = (near.counts[["n_control", "n_test"]] == 0).any(axis=1)
    assert near.table.loc[empty, "delta"].isna().all()
    assert not near.table.loc[empty, "discriminated"].any()
    assert near.table.loc[~empty, ["delta", "ci_low", "newcombe_low"]].notna().all(axis=None)
    for place, draw in ((3, 0), (20, 299)):
        centre = space.encode(worlds.frame(slice(draw, draw + 1)))[place : place + 1]
        gaps = space.matrix(centre, free.search.test.coordinates)[0]
        order = np.argsort(gaps, kind="stable")[:10]
        order = order[gaps[order] <= 0.01]
        assert near.draw_counts.n_test[0, draw, place] == len(order)
        assert near.draw_counts.test[0, draw, place] == free.search.test.rejected[order].sum()


def test_a_level_against_a_reference_level():
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"race": np.repeat(["a", "b", "c"], 30), "x": rng.random(90)})
    people["y"] = (rng.random(90) < 0.5).astype(int)
    pair = people[people.race != "c"]
    for chosen, rest in ((("a", "b"), pair), (("b", "a"), pair)):
        found = ca.situation_testing(people, "y", {"race": chosen}, ["x"], k=5, distance=ca.Gower("std"))
        expected = ca.situation_testing(rest, "y", {"race": chosen[0]}, ["x"], k=5, distance=ca.Gower("std"))
        np.testing.assert_array_equal(found.at()["delta"], expected.at()["delta"])


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
                ["LSAT", "UGPA"],
                worlds,
                k=[5, 9],
                progress=False,
            )
        )
    both = ca.multiple_discrimination(singles)
    members = people.index[(people.Gender == "Female") & (people.Race == "NonWhite")]
    assert both.table.loc[5].index.tolist() == members.tolist()
    deltas = [single.to_inference_data()["posterior"]["delta"].sel(complainant=members) for single in singles]
    joint = (deltas[0] > 0) & (deltas[1] > 0)
    np.testing.assert_allclose(both.table["prob_discriminated"], joint.mean(("chain", "draw")).to_numpy().ravel())
    np.testing.assert_allclose(both.summary()["expected_cases"], joint.sum("complainant").mean(("chain", "draw")))
    table = both.table.loc[5]
    expected = singles[0].at(5).loc[members, "discriminated"] & singles[1].at(5).loc[members, "discriminated"]
    np.testing.assert_array_equal(table["discriminated"], expected)
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
    assert both.verdicts["unit"].tolist() == members.tolist()
    assert both.to_inference_data()["posterior"]["cases"].sizes["draw"] == 50
    both.plot()


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


# ---- distances


def test_gower_by_hand_with_weights_order_and_missing_values():
    people = pd.DataFrame(
        {
            "size": pd.Categorical(["S", "M", "XL"], ["S", "M", "L", "XL"], ordered=True),
            "colour": ["red", "blue", None],
            "age": [20.0, np.nan, 40.0],
            "code": [1, 2, 1],
        }
    )
    found = ca.Gower(categorical=["code"], weights={"size": 2.0}).matrix(people)
    assert found[0, 1] == pytest.approx((2 / 3 + 1 + 1) / 4)  # age is missing
    assert found[0, 2] == pytest.approx((2 * 1 + 1 + 0) / 4)  # colour is missing
    assert found[1, 2] == pytest.approx((2 * 2 / 3 + 1) / 3)  # both are
    assert (np.diag(found) == 0).all()


def test_missing_features_are_compared_by_what_is_known():
    rng = np.random.default_rng(2)
    people = pd.DataFrame({"sex": np.repeat(["F", "M"], 40), "x": rng.random(80), "z": rng.random(80)})
    people["y"] = (rng.random(80) < 0.5).astype(int)
    people.loc[rng.random(80) < 0.3, "z"] = np.nan
    result = ca.situation_testing(people, "y", {"sex": "F"}, ["x", "z"], k=4)
    matrix = ca.Gower().matrix(people[["x", "z"]])
    for row in (0, 11, 39):
        order = np.argsort(np.round(matrix[row, :40], 12), kind="stable")
        control = [other for other in order if other != row][:4]
        assert result.at().loc[row, "p_control"] == (people.y[control] == 0).mean()


def test_any_other_metric():
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"sex": np.repeat(["F", "M"], 40), "x": rng.random(80), "c": rng.choice(list("ab"), 80)})
    people["y"] = (rng.random(80) < 0.5).astype(int)
    worlds = ca.CounterfactualDraws.from_frame(people[["x", "c"]].assign(x=people.x + 0.1))
    gower = ca.situation_testing(people, "y", {"sex": "F"}, ["x", "c"], worlds, k=4)
    scale = people.x.max() - people.x.min()

    def dollars(a, b):
        """The same, in other units, and too large for whole numbers of 1e-12."""
        assert list(a.columns) == ["x", "c"]
        apart = np.abs(a.x.to_numpy()[:, None] - b.x.to_numpy()) / scale
        return 1e6 * (apart + (a.c.to_numpy()[:, None] != b.c.to_numpy()))

    other = ca.situation_testing(people, "y", {"sex": "F"}, ["x", "c"], worlds, k=4, distance=dollars)
    pd.testing.assert_frame_equal(other.table, gower.table)


# ---- properties


@st.composite
def mixed_people(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n = draw(st.integers(140, 260))
    steps = draw(st.sampled_from([2, 5, 1000]))  # few steps: many ties
    people = pd.DataFrame(
        {
            "x": rng.integers(0, steps, n) / steps * draw(st.sampled_from([1.0, 1e-3, 1e5])),
            "z": rng.integers(0, steps, n) / 7,
            "c": rng.choice(list("abc")[: draw(st.integers(1, 3))], n),
        }
    )
    people["sex"] = np.where(np.arange(n) % 2 == 0, "F", "M")
    people["y"] = (rng.random(n) < 0.6).astype(int)
    return people, rng


@settings(max_examples=40)
@given(mixed_people(), st.sampled_from(["range", "std", "authors"]), st.integers(1, 30), st.booleans())
def test_brute_force_and_tree_agree(drawn, scale, k, limited):
    people, rng = drawn
    space = ca.Gower(scale).space(people[["x", "z", "c"]])
    coordinates, rejected = space.encode(people), (people.y == 0).to_numpy()
    rows = np.flatnonzero(people.sex == "F")
    later = scale == "authors"
    tree, brute = (Group(space, coordinates[rows], rejected[rows], later, use) for use in (True, False))
    assert tree.tree is not None
    assert brute.tree is None
    own = np.arange(len(rows))
    for mine in (own, None):
        for found, expected in zip(
            tree.nearest(coordinates[rows], k, mine), brute.nearest(coordinates[rows], k, mine), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
    matrix = np.round(space.matrix(coordinates[rows], coordinates[rows]), 12)
    order = np.lexsort((-own if later else own, matrix[0]))
    np.testing.assert_array_equal(tree.nearest(coordinates[rows[:1]], k, own[:1])[0][0], order[order != 0][:k])
    places = np.repeat(coordinates[rows[:9], None], 30, axis=1)
    places[..., :2] += rng.normal(0, 0.05, places[..., :2].shape)
    limit = 0.1 if limited else None
    sizes = [1, k] if k > 1 else [1]
    for found, expected in zip(
        tree.rejections(places, sizes, limit), brute.rejections(places, sizes, limit), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    if not limited:
        positions, _ = brute.nearest(places.reshape(-1, 3), k)
        expected = brute.rejected[positions].sum(axis=1).reshape(9, 30).T
        np.testing.assert_array_equal(tree.rejections(places, sizes)[0][-1], expected)


@settings(max_examples=25)
@given(mixed_people(), st.sampled_from(["range", "std", "authors"]), st.integers(1, 30), st.booleans())
def test_brute_force_and_tree_give_the_same_tables(drawn, scale, k, centers):
    people, rng = drawn
    if people.y.nunique() < 2:
        return
    moved = people[["x", "z", "c", "y"]].assign(x=people.x + rng.choice([0.0, 0.1], len(people)), c="a")
    worlds = ca.CounterfactualDraws.from_frame(moved)
    options = {"k": [1, k], "centers": centers, "distance": ca.Gower(scale)}
    tree = ca.situation_testing(people, "y", {"sex": "F"}, ["x", "z", "c"], worlds, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Space, "embeddable", False)
        brute = ca.situation_testing(people, "y", {"sex": "F"}, ["x", "z", "c"], worlds, **options)
        assert brute.search.test.tree is None
    assert tree.search.test.tree is not None
    pd.testing.assert_frame_equal(tree.table, brute.table)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_permuting_the_rows_changes_nothing(applicants, worlds, result, seed):
    """Of people among whom there are no ties."""
    shuffled = applicants.sample(frac=1.0, random_state=np.random.default_rng(seed))
    again = ca.situation_testing(
        shuffled, bank, {"gender": "female"}, ["salary", "balance"], worlds, k=[5, 10], seed=0, progress=False
    )
    pd.testing.assert_frame_equal(again.table.loc[result.table.index], result.table)


@settings(max_examples=25)
@given(mixed_people(), st.integers(1, 20))
def test_swapping_the_labels_of_the_groups_negates_delta(drawn, k):
    """Everyone but the complainant changes sides: who was compared with whom remains, in the other order."""
    people, rng = drawn
    if people.y.nunique() < 2:
        return
    features = ["x", "z", "c"]
    before = ca.situation_testing(people, "y", {"sex": "F"}, features, k=k).at()
    for complainant in rng.choice(before.index, 3):
        swapped = people.assign(sex=people.sex.map({"F": "M", "M": "F"}))
        swapped.loc[complainant, "sex"] = "F"
        after = ca.situation_testing(swapped, "y", {"sex": "F"}, features, k=k).at()
        assert after.loc[complainant, "delta"] == -before.loc[complainant, "delta"]
    turned = ca.situation_testing(people, "y", {"sex": "F"}, features, k=k, favourable=0).at()
    np.testing.assert_array_equal(turned["delta"], -before["delta"])


# ---- plots


def test_plots(applicants, worlds, result, tmp_path):
    standard = ca.situation_testing(applicants, bank, {"gender": "female"}, ["salary", "balance"], k=[5, 10])
    both = {"CST": result, "ST": standard}
    assert len(ca.plots.plot_cases(both).get_lines()) == 4
    assert len(ca.plots.plot_cases(result, "cf_cases", ax=plt.gca()).get_lines()) == 6
    plt.close()
    assert ca.plots.plot_cases(both, "delta").get_ylabel() == "mean Δ of the cases"
    assert ca.plots.plot_groups(result, result.at().index[:3], "salary", k=10).get_xlabel() == "complainant"
    assert ca.plots.plot_distributions(result, "balance").get_xlabel() == "balance"
    assert ca.plots.plot_forest(result, k=10).get_xlabel() == "Δ at k = 10"
    assert result.plot().get_xlabel()
    figure = ca.plots.plot_forest(standard).figure
    figure.savefig(tmp_path / "forest.png")
