"""Draws of expectations, the disparity's interval, splits, and scans of counterfactuals."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
from bias_scan_people import biased, fair, people_of
from scipy import stats
from scipy.special import expit

import causalaudit as ca
from causalaudit.adjustment import fit_logistic, odds, predict_logistic, standardising_penalty
from causalaudit.bias_scan.evidence.expectation_draws import draw_expectations
from causalaudit.bias_scan.evidence.expectations import LogisticModels
from causalaudit.bias_scan.question.scan_question import read_question

FEATURES = ["x1", "x2"]
PROTECTED = {"group": "b"}


def asked(people, **scan):
    return read_question(people, PROTECTED, "y", features=FEATURES, **scan)


@pytest.mark.parametrize("scan", [{"recommendation": "flagged"}, {"prediction": "p"}, {"prediction": "p", "given": 1}])
def test_draws_of_expectations_surround_the_model_of_the_scan(scan):
    people = fair(3000, seed=0)
    question = asked(people, **scan)
    strata = question.strata()
    protected = strata.protected_counts(question.protected)
    fitted = LogisticModels().expect(strata, protected[None])
    drawn = draw_expectations(strata, protected, fitted.propensity[0], strata.outcome_design, 4000, 0).chance(
        slice(None)
    )
    error = drawn.std(axis=0)
    assert (np.abs(np.median(drawn, axis=0) - fitted.chance[0]) < 0.1 * error).all()
    assert (error < 0.05).all()


def test_the_spread_of_expectations_is_that_of_refits():
    """Against refits to resampled people, with their weights: predictions vary less than events do."""
    people = fair(1500, seed=1)
    question = asked(people, prediction="p", given=0)
    strata = question.strata()
    protected = strata.protected_counts(question.protected)
    fitted = LogisticModels().expect(strata, protected[None])
    drawn = draw_expectations(strata, protected, fitted.propensity[0], strata.outcome_design, 4000, 0).chance(
        slice(None)
    )
    others, rows = strata.count - protected, strata.outcome_design
    weight = odds(fitted.propensity[0])[strata.covariates_of[strata.kept]]
    again = strata.by_stratum(np.random.default_rng(0).poisson(others, (2000, len(others))).astype(float))
    sums = np.random.default_rng(0).poisson(others, (2000, len(others))) * strata.event
    penalty = standardising_penalty(rows, again, as_it_is=False)
    refitted = predict_logistic(rows, fit_logistic(rows, strata.by_stratum(sums) * weight, again * weight, penalty))
    assert drawn.std(axis=0) == pytest.approx(refitted.std(axis=0), rel=0.1)


def test_the_disparity_is_uncertain_on_both_sides():
    """With one expectation for all, the observed side is the posterior Beta(k + ½, n − k + ½) of the rate."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"group": np.repeat(["b", "w"], [40, 20_000]), "one": "same"})
    people["y"] = 0
    people["flagged"] = np.concatenate([np.arange(40) < 12, rng.random(20_000) < 0.2]).astype(int)
    result = ca.scan_bias(
        people, PROTECTED, "y", recommendation="flagged", given=0, features=["one"], posterior_draws=4000, prob=0.9
    )
    drawn = result.to_inference_data()["posterior"]["disparity"].to_numpy().ravel()
    rate = people.flagged[40:].mean()
    law = stats.beta(12.5, 28.5)
    assert drawn.mean() == pytest.approx(law.mean() - rate, abs=0.005)
    assert drawn.std() == pytest.approx(law.std(), rel=0.05)
    for share in (0.05, 0.5, 0.95):
        assert np.quantile(drawn, share) == pytest.approx(law.ppf(share) - rate, abs=0.012)
    row = result.table.iloc[0]
    assert row["credible_low"] < row["disparity_mean"] < row["credible_high"]
    assert row["disparity"] == pytest.approx(row["observed"] - row["expected"])
    few = people[(people.index < 40) | (people.index >= 20_005)]
    scan = {"recommendation": "flagged", "given": 0, "features": ["one"], "posterior_draws": 400}
    wide = ca.scan_bias(few, PROTECTED, "y", **scan).disparity({})
    assert wide["credible_high"] - wide["credible_low"] > 1.2 * (row["credible_high"] - row["credible_low"])


def test_intervals_are_labelled():
    people = biased(1500, seed=0)
    scan = {"recommendation": "flagged", "features": FEATURES, "posterior_draws": 100}
    searched = ca.scan_bias(people, PROTECTED, "y", **scan)
    honest = ca.scan_bias(people, PROTECTED, "y", split=0.5, **scan)
    for result, words in ((searched, "not corrected for the search"), (honest, "on people who were not searched")):
        (kind,) = result.intervals.to_dict("records")
        assert (kind["kind"], kind["level"], kind["type"], kind["scope"]) == ("credible", 0.9, "credible", "one unit")
        assert kind["about"] == f"the disparity of the subgroup in the population, {words}"
        assert "one of the two" in kind["known"]
        assert {"credible_low", "credible_high"} <= set(result.table)
    named = searched.disparity({"x1": ["a"]})
    assert named["interval"] == "90% credible, in a subgroup that was named beforehand"
    assert "not corrected for the search" in searched.plot().get_legend().get_texts()[0].get_text()
    plain = ca.scan_bias(people, PROTECTED, "y", **scan | {"posterior_draws": 0})
    assert plain.intervals.empty
    assert not [name for name in plain.table if name.endswith(("_low", "_high"))]


def test_a_split_searches_some_and_measures_the_others():
    people = biased(2000, seed=1)
    scan = {"recommendation": "flagged", "features": FEATURES, "given": 0}
    result = ca.scan_bias(people, PROTECTED, "y", split=0.3, **scan)
    measured = result.measured.question.index
    searched = people.drop(index=measured)
    assert len(searched) == pytest.approx(600, abs=2)
    shares = [(part.group == "b").mean() for part in (searched, people.loc[measured])]
    assert shares[0] == pytest.approx(shares[1], abs=0.003)
    # The search saw the others only: it is the scan of them alone.
    alone = ca.scan_bias(searched, PROTECTED, "y", **scan)
    assert (result.score, result.subgroup) == (pytest.approx(alone.score), alone.subgroup)
    same = people.loc[measured][lambda part: (part.x1 == "a") & (part.y == 0)]
    assert result.subgroup == {"x1": ["a"]}
    assert result.n == (same.group == "b").sum()
    assert result.observed == pytest.approx(same.flagged[same.group == "b"].mean())
    other = ca.scan_bias(people, PROTECTED, "y", split=0.3, seed=1, **scan)
    assert set(other.measured.question.index) != set(measured)


def test_inclusion_is_the_share_of_draws():
    people = biased(2500, seed=2, effect=2.0)
    scan = {"recommendation": "flagged", "features": FEATURES}
    result = ca.scan_bias(people, PROTECTED, "y", posterior_draws=60, **scan)
    shares = result.inclusion.set_index(["feature", "value"])["share"]
    assert list(shares.index) == [("x1", "a"), ("x1", "b"), ("x2", "a"), ("x2", "b"), ("x2", "c")]
    assert shares["x1", "a"] == 1.0
    assert shares["x1", "b"] < 0.2
    assert shares.between(0, 1).all()
    nothing = ca.scan_bias(people, PROTECTED, "y", posterior_draws=20, direction="negative", penalty=1000.0, **scan)
    assert nothing.inclusion["share"].sum() == 0
    assert nothing.to_inference_data()["constant_data"].sizes["rank"] == 0


def known_counterfactuals(people):
    """What the same people would have been flagged, with the same chance, had they been of the other group."""
    rng = np.random.default_rng(5)
    chance = expit(people["eta"])
    without = expit(people["eta"] - 1.5 * ((people.group == "b") & (people.x1 == "a")))
    flips = rng.random(len(people)) < without / chance
    return people.assign(flagged=people.flagged * flips).drop(columns="eta")


def test_a_counterfactual_scan_finds_the_causal_disparity():
    people = people_of(4000, seed=3, effect=1.5)
    worlds = ca.CounterfactualDraws.from_frame(known_counterfactuals(people), do={"group": "w"})
    scan = {"recommendation": "flagged", "features": FEATURES, "counterfactuals": worlds}
    result = ca.scan_bias(people, PROTECTED, "y", draws=1, **scan)
    assert result.subgroup == {"x1": ["a"]}
    ours = people[(people.group == "b") & (people.x1 == "a")]
    expected = worlds.factual.loc[ours.index, "flagged"].mean()
    assert result.table["expected"].iloc[0] == pytest.approx(expected)
    assert result.table["disparity"].iloc[0] == pytest.approx(ours.flagged.mean() - expected)
    assert result.title.startswith("Counterfactual bias scan")
    assert result.calibration.empty
    # Nothing would have been different: nothing is found.
    same = ca.CounterfactualDraws.from_frame(people[["flagged"]], do={"group": "w"})
    nothing = ca.scan_bias(people, PROTECTED, "y", **scan | {"counterfactuals": same})
    assert nothing.subgroup is None
    named = nothing.disparity({})
    assert named["disparity"] == pytest.approx(0)
    # In the other direction nobody is favoured.
    assert ca.scan_bias(people, PROTECTED, "y", direction="negative", **scan).subgroup is None


def test_a_counterfactual_scan_of_probabilities_and_other_events():
    people = people_of(2000, seed=4, effect=1.5).assign(group=lambda part: part.group)
    hit = (people.group == "b") & (people.x1 == "a")
    p = expit(np.log(people.p / (1 - people.p)) - 1.0 * hit)
    worlds = ca.CounterfactualDraws.from_frame(people.assign(p=p), do={"group": "w"})
    scan = {"prediction": "p", "features": FEATURES, "counterfactuals": worlds}
    result = ca.scan_bias(people, PROTECTED, "y", penalty=0.1, scale="paper", **scan)
    assert result.subgroup == {"x1": ["a"]}
    assert result.parameter == pytest.approx(1.0)
    assert result.llr == pytest.approx(hit.sum() / 2)
    means = ca.scan_bias(people, PROTECTED, "y", penalty=0.1, **scan)
    assert means.subgroup == {"x1": ["a"]}
    assert means.parameter > 1
    assert means.table["disparity"].iloc[0] == pytest.approx((people.p - p)[hit].mean())
    flipped = ca.CounterfactualDraws.from_frame(known_counterfactuals(people))
    rates = [
        ca.scan_bias(
            people, PROTECTED, "y", recommendation="flagged", criterion=name, direction=direction, features=FEATURES,
            counterfactuals=flipped,
        )
        for name, direction in (("true positive rate", "positive"), ("false negative rate", "negative"))
    ]  # fmt: skip
    assert rates[0].score == pytest.approx(rates[1].score)
    assert rates[0].table["expected"].iloc[0] == pytest.approx(1 - rates[1].table["expected"].iloc[0])


def hiring(n):
    gap = pyro.sample("gap", dist.Normal(0.0, 2.0))
    base = pyro.sample("base", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        region = pyro.sample("region", dist.Bernoulli(0.5))
        y = pyro.sample("y", dist.Bernoulli(0.5))
        pyro.sample("flagged", dist.Bernoulli(logits=base + gap * group * region + 0.0 * y))


def test_a_counterfactual_scan_through_a_program():
    rng = np.random.default_rng(0)
    n = 1200
    people = pd.DataFrame({name: rng.integers(0, 2, n) for name in ("group", "region", "y")})
    people["flagged"] = (rng.random(n) < expit(-0.5 + 1.5 * people.group * people.region)).astype(int)
    posterior = ca.fit(ca.SCM(hiring), people, draws=25, chains=4, progress=False)
    worlds = ca.counterfactuals(posterior, {"group": 0}, rows=people.group == 1, progress=False)
    result = ca.scan_bias(
        people, {"group": 1}, "y", recommendation="flagged", features=["region"], counterfactuals=worlds, draws=100
    )
    assert result.subgroup == {"region": [1]}
    truth = expit(1.0) - expit(-0.5)
    row = result.table.iloc[0]
    assert row["credible_low"] < truth < row["credible_high"]
    assert row["disparity"] == pytest.approx(truth, abs=0.08)
    assert result.inclusion.set_index("value")["share"].to_dict() == {0: 0.0, 1: 1.0}
    scan = {"recommendation": "flagged", "features": ["region"], "counterfactuals": worlds}
    honest = ca.scan_bias(people, {"group": 1}, "y", draws=50, split=0.5, **scan)
    assert honest.subgroup == {"region": [1]}
    assert honest.n < row["n"]
