"""Doubly robust error rates from data: no effect out of nothing, coverage, balance and overlap."""

import numpy as np
import pandas as pd
import pytest
from mediated_designs import DESIGNS, TERMS, Design, band, curved, straight
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning

SETS, PEOPLE = 200, 2000


def share_within(width, x):
    """P(|Z| < width | X = x, Y = 0) in the designs with a band, by quadrature."""

    def density(z):
        chance = expit(curved(0.5, z))
        return norm.pdf(z) * (chance if x else 1 - chance) * expit(0.5 - 0.8 * x - 0.7 * z)

    inside = quad(density, -width, width)[0]
    return inside / (inside + quad(density, -10, -width)[0] + quad(density, width, 10)[0])


def test_no_indirect_effect_out_of_nothing():
    """The rule reads X and Z, which X does not change: a logistic propensity said −.27 where the truth is 0."""
    design = DESIGNS["band, without mediator"]
    found = design.estimate(design.draw(5000, 0))
    assert (found.table.loc[found.table["term"] == "indirect", ["mean", "sd"]] == 0).all(axis=None)
    direct, spurious = share_within(1.3, 0) - share_within(1.0, 0), share_within(1.3, 1) - share_within(1.3, 0)
    assert (direct, spurious) == pytest.approx((0.096, -0.312), abs=5e-4)
    truth = np.array([direct + spurious, direct, 0.0, spurious])
    assert (np.abs(found.summary()["mean"] - truth) <= 3 * found.summary()["sd"]).all()
    assert found.summary().loc["spurious", "mean"] == pytest.approx(-0.303, abs=5e-4)  # in these 5,000 people
    assert found.settings["propensity"] is None
    assert found.balance.empty
    assert list(found.weights.round(2).columns) == ["of", "standing_for", "people", "effective_people", "largest_weight", "smallest_propensity"]  # fmt: skip # noqa: E501


@pytest.mark.filterwarnings("ignore:After weighting")
def test_a_band_with_a_mediator():
    design = DESIGNS["band, with mediator"]
    found, truth = design.estimate(design.draw(PEOPLE, 0)), design.truth(400_000)
    gap = (found.summary()["mean"] - truth).abs()
    assert (gap < 3.5 * found.summary()["sd"]).all()
    with pytest.warns(CausalAuditWarning, match="fits a logistic curve to the classifier's answers"):
        design.estimate(design.draw(PEOPLE, 0), method="plugin")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:After weighting", "ignore:Little overlap")  # of one of 200 data sets, as fitted
@pytest.mark.parametrize("name", DESIGNS)
def test_intervals_cover(name):
    design = DESIGNS[name]
    truth, held = design.truth(), []
    for seed in range(SETS if design.mediator else 5 * SETS):  # where no model is fitted, more cost nothing
        table = design.estimate(design.draw(PEOPLE, seed)).summary().loc[TERMS]
        held.append((table["wald_low"] <= truth) & (truth <= table["wald_high"]))
    covered = pd.concat(held, axis=1).mean(axis=1)
    if not design.mediator:
        assert covered.pop("indirect") == 1  # exactly zero, and said to be
    print(f"{name}: {covered.round(3).to_dict()}")
    assert covered.between(0.92, 0.98).all(), covered


def test_any_pair_of_models_of_scikit_learn():
    design = DESIGNS["band, with mediator"]
    forest = RandomForestClassifier(20, min_samples_leaf=20, random_state=0)
    people = design.draw(800, 0)
    found = design.estimate(people, propensity=forest, expectation=LogisticRegression())
    assert found.settings["propensity"] == "RandomForestClassifier"
    assert found.settings["expectation"] == "LogisticRegression"
    same = design.estimate(people, propensity=forest, expectation=LogisticRegression())
    pd.testing.assert_frame_equal(found.table, same.table)


def test_poor_balance_after_weighting_is_warned_of():
    """A logistic regression on Z balances its mean, not its spread, which differs between the groups."""
    design = DESIGNS["band, with mediator"]
    with pytest.warns(CausalAuditWarning, match=r"After weighting, 1 and 0 still differ in 'Z' by 0\.\d\d"):
        found = design.estimate(design.draw(PEOPLE, 0), method="ipw")
    assert found.balance.loc[found.balance["covariate"] == "Z", "poor"].any()
    assert "the logistic regression of the level is right" in found.intervals["known"][0]


def test_little_overlap_and_few_effective_people_are_warned_of():
    rng = np.random.default_rng(0)
    z = rng.normal(size=1500)
    x = (rng.random(1500) < expit(5 * z)).astype(int)
    people = pd.DataFrame({"Z": z, "X": x, "V": 0.5, "W": z + x, "Y": (rng.random(1500) < 0.3).astype(int)})
    design = Design(band, straight, True)
    with pytest.warns(CausalAuditWarning) as caught:
        design.estimate(people)
    words = " ".join(str(one.message) for one in caught)
    assert "Little overlap: of the people with" in words
    assert "are worth" in words


def test_balance_is_saved(tmp_path):
    design = DESIGNS["linear, with mediator"]
    found = design.estimate(design.draw(800, 1))
    found.save(tmp_path / "found")
    again = ca.load(tmp_path / "found")
    pd.testing.assert_frame_equal(again.balance, found.balance)
    assert "either may be wrong" in again.intervals["known"][0]
    design = DESIGNS["band, without mediator"]
    design.estimate(design.draw(800, 1)).save(tmp_path / "nothing weighted")
    assert list(ca.load(tmp_path / "nothing weighted").balance.columns) == list(found.balance.columns)
