"""What the models add to the uncertainty of a disparity: against refits with one more person, and by coverage."""

import numpy as np
import pandas as pd
import pytest
from bias_scan_people import LETTERS, people_of
from scipy import stats
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import causalaudit as ca

PROTECTED = {"group": "b"}
FEATURES = ["x1", "x2"]
NAMED = {"x1": ["a"]}
SUBGROUPS = {"everybody": {}, "x1 = a": NAMED}
COPIES = 50
SCAN = {"features": FEATURES, "scale": "paper", "draws": 20, "progress": False}


@pytest.mark.parametrize("scan", [{"recommendation": "flagged", "given": 0}, {"prediction": "p"}])
def test_one_more_person_moves_a_disparity_as_said(scan):
    """Each of some people is counted once more, and both models are fitted anew."""
    people = people_of(200, seed=1).drop(columns="eta")
    many = pd.concat([people] * COPIES, ignore_index=True)
    result = ca.scan_bias(many, PROTECTED, "y", **SCAN, **scan)
    measured, question = result.measured, result.question
    masks = question.masks(NAMED)
    held = np.logical_and.reduce([mask[measured.strata.cells[:, at]] for at, mask in enumerate(masks)])
    held = held[measured.strata.cell]
    fitted = measured.fitted
    both = measured.rows.influence(measured.strata, measured.protected, fitted.propensity[0], fitted.chance[0], held)
    before = result.disparity(NAMED)["disparity"]
    outside = np.flatnonzero(~(question.members(masks) & question.inside))[:40]  # who bear on it by the models alone
    for person in outside[::8]:
        more = pd.concat([many, many.iloc[[person]]], ignore_index=True)
        after = ca.scan_bias(more, PROTECTED, "y", **SCAN, **scan).disparity(NAMED)["disparity"]
        record = measured.strata.record_of[person]
        said = both[0 if question.protected[person] else 1][record]
        assert after - before == pytest.approx(said, rel=0.01, abs=2e-9)


def test_models_that_are_given_are_taken_as_they_were_fitted():
    people = people_of(400, seed=1).drop(columns="eta")
    scan = SCAN | {"recommendation": "flagged"}
    given = ca.scan_bias(people, PROTECTED, "y", expectation=LogisticRegression(), **scan)
    assert "taken as they were fitted" in given.intervals["known"].iloc[0]
    assert "taken" not in ca.scan_bias(people, PROTECTED, "y", **scan).intervals["known"].iloc[0]


def one_wrong(n, seed, wrong):
    """Draw fair people whose status, or whose prediction, depends on the parity of two features too."""
    rng = np.random.default_rng([seed, 21])
    codes = rng.integers(0, 2, (2, n))
    plain = 1.2 * (codes[0] - 0.5) - 0.9 * (codes[1] - 0.5)
    odd = 2.0 * (codes[0] ^ codes[1]) - 1
    status, event = (plain + odd, plain) if wrong == "status" else (plain, plain + odd)
    table = pd.DataFrame({"x1": LETTERS[codes[0]], "x2": LETTERS[codes[1]]})
    table["group"] = np.where(rng.random(n) < expit(status), "b", "w")
    table["y"] = rng.integers(0, 2, n)
    return table.assign(p=expit(event + rng.normal(0, 0.7, n)))


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["status", "event"])
@pytest.mark.filterwarnings("ignore::causalaudit.errors.CausalAuditWarning")
def test_coverage_if_one_of_the_models_is_wrong(wrong):
    """Plain columns do not see the parity: within the 99 % bounds of 90 % on 200 data sets, and as wide as fits."""
    rows = []
    for number in range(200):
        people = one_wrong(1000, number, wrong)
        scan = SCAN | {"prediction": "p", "draws": 100, "seed": number}
        result = ca.scan_bias(people, PROTECTED, "y", **scan)
        rows += [result.disparity(subgroup).to_dict() | {"of": name} for name, subgroup in SUBGROUPS.items()]
    table = pd.DataFrame(rows)
    low, high = stats.binom.ppf([0.005, 0.995], 200, 0.9)
    for name, own in table.groupby("of"):
        covered = ((own["credible_low"] <= 0) & (own["credible_high"] >= 0)).sum()
        width = (own["credible_high"] - own["credible_low"]).mean()
        fitting = 2 * stats.norm.ppf(0.95) * own["disparity"].std()
        print(f"wrong model of the {wrong}, {name}: {covered / 200:.3f}, width {width:.4f}, fitting {fitting:.4f}")
        assert low <= covered <= high
        assert 0.85 * fitting <= width <= 1.15 * fitting
