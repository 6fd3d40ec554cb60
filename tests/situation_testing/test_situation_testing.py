"""Situation testing: small cases by hand, plain loops, draws."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from situations import bank, naive

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning
from causalaudit.intervals import shortest_run


@pytest.mark.filterwarnings("ignore:.*rest on a poor match:causalaudit.errors.CausalAuditWarning")  # few people
def test_a_case_small_enough_to_do_by_hand():
    people = pd.DataFrame(
        {
            "sex": ["F", "F", "F", "F", "M", "M", "M", "M"],
            "score": [1.0, 2.0, 3.0, 9.0, 1.5, 2.5, 6.0, 11.0],
            "hired": [0, 0, 1, 1, 1, 0, 1, 1],
        },
        index=list("abcdefgh"),
    )
    standard = ca.situation_testing(people, "hired", {"sex": "F"}, features=["score"], k=2).at()
    # a: women b, c (one rejected of two); men e, f (one rejected). c: women b, a; men f, e. d: women c, b; men h, g.
    assert standard["p_control"].tolist() == [0.5, 0.5, 1.0, 0.5]
    assert standard["p_test"].tolist() == [0.5, 0.5, 0.5, 0.0]
    assert standard["delta"].tolist() == [0.0, 0.0, 0.5, 0.5]
    moved = ca.CounterfactualDraws.from_frame(people.loc[list("abcd"), ["score"]] + 6, do={"sex": "M"})
    shifted = ca.situation_testing(people, "hired", {"sex": "F"}, features=["score"], counterfactuals=moved, k=2).at()
    # a at 7, b at 8, c at 9, d at 15: men g and h for all, both hired.
    assert shifted["p_test"].tolist() == [0.0] * 4
    assert shifted["delta"].tolist() == [0.5, 0.5, 1.0, 0.5]
    assert "cf_flip" not in shifted
    moved = ca.CounterfactualDraws.from_frame(moved.point.assign(hired=[1, 0, 1, 1]))
    centred = ca.situation_testing(
        people, "hired", {"sex": "F"}, features=["score"], counterfactuals=moved, k=2, centres=True
    )
    assert centred.counts.loc[2].to_numpy().tolist() == [[3, 2, 3, 0], [3, 2, 3, 1], [3, 2, 3, 0], [3, 1, 3, 0]]
    assert centred.at()["cf_flip"].tolist() == [True, False, False, False]
    published = ["complainants", "cases", "significant_cases", "cf_cases", "cf_significant_cases"]
    assert centred.summary().loc[2, published].tolist() == [4, 4, 2, 1, 1]  # a: 2/3 - 0.448 > 0


@pytest.mark.filterwarnings("ignore:.*rest on a poor match:causalaudit.errors.CausalAuditWarning")  # few people
def test_ties_go_to_the_earlier_row_and_the_complainant_is_left_out_by_identity():
    people = pd.DataFrame({"sex": list("FFFFFMMMM"), "x": [1.0] * 9, "y": [0, 1, 0, 1, 1, 1, 1, 0, 0]})
    people.loc[0, "x"] = 2.0
    table = ca.situation_testing(people, "y", {"sex": "F"}, features=["x"], k=2).at()
    # 0: women 1, 2; 1: women 2, 3; 2, 3 and 4: women 1 and the next of 2, 3.
    assert table["p_control"].tolist() == [0.5, 0.5, 0.0, 0.5, 0.5]
    assert table["p_test"].tolist() == [0.0] * 5


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
        "wald_low": delta - stats.norm.ppf(0.95) * width,
        "wald2_low": delta - stats.norm.ppf(0.975) * width,
        "wald2_high": delta + stats.norm.ppf(0.975) * width,
    }.items():
        np.testing.assert_allclose(table[name], bound, rtol=0, atol=1e-9)
    assert np.isinf(table["wald_high"]).all()
    np.testing.assert_array_equal(table["significant"], (table.wald_low > 0) & (table.delta > 0))


def test_each_draw_has_its_own_test_group(applicants, worlds, result):
    rejected = ~bank(applicants)
    women = applicants.gender == "female"
    deltas = result.to_inference_data()["posterior"]["delta"].sel(k=5).to_numpy()[0]
    for draw in (0, 7, 299):
        goals = worlds.frame(slice(draw, draw + 1))
        np.testing.assert_array_equal(deltas[draw], naive(applicants, rejected, women, ["salary", "balance"], goals, 5))
    table = result.at(5)
    np.testing.assert_allclose(table["delta_mean"], deltas.mean(axis=0))
    np.testing.assert_allclose(table["prob_beyond_tau"], (deltas > 0).mean(axis=0))
    ends = shortest_run(deltas, 0.9).T
    np.testing.assert_allclose(table[["structural_low", "structural_high"]], ends, atol=1e-12)
    np.testing.assert_array_equal(result.draw_cases[0], (deltas > 0).sum(axis=1))
    flips = np.stack([bank(frame).to_numpy() for frame in worlds.frames()]) & rejected[women].to_numpy()
    np.testing.assert_allclose(table["prob_cf_flip"], flips.mean(axis=0))


def test_centres_enter_every_draw(applicants, worlds, result):
    centred = ca.situation_testing(
        applicants,
        bank,
        {"gender": "female"},
        features=["salary", "balance"],
        counterfactuals=worlds,
        k=5,
        centres=True,
        progress=False,
    )
    good = np.stack([bank(frame).to_numpy() for frame in worlds.frames()])
    np.testing.assert_array_equal(centred.evidence.draws.test[0], result.evidence.draws.test[0] + ~good)
    assert (centred.evidence.draws.n_test == 6).all()
    assert (centred.counts[["n_control", "n_test"]] == 6).all(axis=None)


def test_hdi_ends_are_closed_where_all_and_none_were_rejected(result):
    table, counts = result.at(5), result.counts.loc[5]
    extreme = (counts.rejected_control == 5) & (counts.rejected_test == 0)
    assert extreme.any()
    assert (table.loc[extreme, "population_high"] == 1).all()
    assert (table.loc[~extreme, "population_high"] < 1).all()
    assert (table["population_low"] <= table["population_high"]).all()


def test_no_probability_of_discrimination_where_nobody_is_rejected(result):
    """With Beta draws it would be one half."""
    counts = result.counts.loc[5]
    nobody = (counts.rejected_control == 0) & (result.evidence.draws.test[0] == 0).all(axis=0)
    assert nobody.any()
    assert (result.at(5).loc[nobody, "prob_beyond_tau"] == 0).all()


def test_several_sizes_are_the_same_as_one_at_a_time(applicants, worlds, result):
    for k in (5, 10):
        single = ca.situation_testing(
            applicants,
            bank,
            {"gender": "female"},
            features=["salary", "balance"],
            counterfactuals=worlds,
            k=k,
            seed=0,
            progress=False,
        )
        pd.testing.assert_frame_equal(single.table, result.table.loc[[k]])


def test_same_seed_same_result_for_any_number_of_workers(applicants, worlds, result):
    from joblib import parallel_config

    options = {"k": [5, 10], "seed": 0, "progress": False}
    with parallel_config("threading", n_jobs=2):
        again = ca.situation_testing(
            applicants, bank, {"gender": "female"}, features=["salary", "balance"], counterfactuals=worlds, **options
        )
    pd.testing.assert_frame_equal(again.table, result.table)
    other = ca.situation_testing(
        applicants,
        bank,
        {"gender": "female"},
        features=["salary", "balance"],
        counterfactuals=worlds,
        **{**options, "seed": 1},
    )
    pd.testing.assert_frame_equal(
        other.table.drop(columns=["population_low", "population_high"]),
        result.table.drop(columns=["population_low", "population_high"]),
    )
    assert (other.table["population_low"] != result.table["population_low"]).any()


def test_positive_discrimination_is_the_mirror_of_negative(applicants, worlds):
    """If the decision is turned round, so is everything else."""
    options = {"features": ["salary", "balance"], "counterfactuals": worlds, "progress": False}
    protected = {"gender": "female"}
    against = ca.situation_testing(applicants, bank, protected, k=5, **options)
    favour = ca.situation_testing(applicants, bank, protected, k=5, favourable=False, direction="positive", **options)
    np.testing.assert_array_equal(favour.at()["delta"], -against.at()["delta"])
    np.testing.assert_allclose(favour.at()["wald_high"], -against.at()["wald_low"], atol=1e-12)
    for name in ("beyond_tau", "significant", "cf_flip", "prob_beyond_tau", "prob_cf_flip"):
        np.testing.assert_array_equal(favour.at()[name], against.at()[name])


def test_tau_is_compared_exactly():
    """A difference of 1 in 20 is not above 0.05, whatever the rounding of the shares."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": np.repeat(["F", "M"], 60), "x": rng.random(120)})
    people["y"] = (rng.random(120) < 0.5).astype(int)
    result = ca.situation_testing(people, "y", {"sex": "F"}, features=["x"], k=20, tau=0.05)
    counts = result.counts
    expected = counts.rejected_control - counts.rejected_test > 1
    assert (counts.rejected_control - counts.rejected_test == 1).any()
    np.testing.assert_array_equal(result.table["beyond_tau"], expected)


def test_maximum_distance(applicants, worlds):
    options = {"features": ["salary", "balance"], "counterfactuals": worlds, "progress": False}
    with pytest.warns(CausalAuditWarning, match="without anyone"):
        near = ca.situation_testing(applicants, bank, {"gender": "female"}, k=10, max_distance=0.01, **options)
    women = applicants.gender == "female"
    geometry = ca.Gower().geometry(applicants[["salary", "balance"]])
    places, men = geometry.encode(applicants[women]), geometry.encode(applicants[~women])
    distances = geometry.matrix(places, places) + np.diag(np.full(len(places), np.inf))
    np.testing.assert_array_equal(near.counts["n_control"], np.minimum(10, (distances <= 0.01).sum(axis=1)))
    reached = np.sort(distances, axis=1)[:, :10]
    farthest = np.where(reached <= 0.01, reached, -1).max(axis=1)
    np.testing.assert_allclose(near.table["distance_control"], np.where(farthest < 0, np.nan, farthest), atol=1e-12)
    empty = (near.counts[["n_control", "n_test"]] == 0).any(axis=1)
    assert near.table.loc[empty, "delta"].isna().all()
    assert not near.table.loc[empty, ["beyond_tau", "significant_adjusted"]].any(axis=None)
    assert near.table.loc[~empty, ["delta", "wald_low", "newcombe_low"]].notna().all(axis=None)
    rejected = ~bank(applicants[~women]).to_numpy()
    for place, draw in ((3, 0), (20, 299)):
        centre = geometry.encode(worlds.frame(slice(draw, draw + 1)))[place : place + 1]
        gaps = geometry.matrix(centre, men)[0]
        order = np.argsort(gaps, kind="stable")[:10]
        order = order[gaps[order] <= 0.01]
        assert near.evidence.draws.n_test[0, draw, place] == len(order)
        assert near.evidence.draws.test[0, draw, place] == rejected[order].sum()


def test_a_level_against_a_reference_level():
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"race": np.repeat(["a", "b", "c"], 30), "x": rng.random(90)})
    people["y"] = (rng.random(90) < 0.5).astype(int)
    pair = people[people.race != "c"]
    for chosen, rest in ((("a", "b"), pair), (("b", "a"), pair)):
        found = ca.situation_testing(people, "y", {"race": chosen}, features=["x"], k=5, distance=ca.Gower("std"))
        expected = ca.situation_testing(rest, "y", {"race": chosen[0]}, features=["x"], k=5, distance=ca.Gower("std"))
        np.testing.assert_array_equal(found.at()["delta"], expected.at()["delta"])


@pytest.mark.filterwarnings("ignore:.*rest on a poor match:causalaudit.errors.CausalAuditWarning")  # few people
def test_counterfactual_unfairness_and_discrimination_do_not_imply_one_another():
    """Proposition 4.1: a is treated otherwise as a man and is no case; d is one and is not treated otherwise."""
    people = pd.DataFrame(
        {
            "sex": ["F"] * 6 + ["M"] * 6,
            "score": [1.0, 1.1, 1.2, 8.0, 8.1, 8.2, 4.0, 4.1, 4.2, 12.0, 12.1, 12.2],
            "hired": [0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0],
        },
        index=list("abcdefghijkl"),
    )
    moved = people.loc[list("abcdef"), ["score"]].assign(hired=[1, 1, 1, 0, 1, 1])
    moved["score"] = [4.05] * 3 + [12.05] * 3
    worlds = ca.CounterfactualDraws.from_frame(moved, do={"sex": "M"})
    table = ca.situation_testing(
        people, "hired", {"sex": "F"}, features=["score"], counterfactuals=worlds, k=2, centres=True
    ).at()
    unfair, case = table["cf_flip"], table["beyond_tau"]
    assert table.loc["a", "delta"] == pytest.approx(1 / 3 - 2 / 3)
    assert (unfair["a"], case["a"]) == (True, False)
    assert table.loc["d", "delta"] == pytest.approx(3 / 3 - 1 / 3)
    assert (unfair["d"], case["d"]) == (False, True)
