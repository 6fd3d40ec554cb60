"""Weights of worlds against known truths: evidence is calibrated, stacking finds a world that is not nested."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
from stated import Stated

import causalaudit as ca

# With a few hundred draws the tail of one of many thousand sets of weights is heavy now and then.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:The leave-one-out density")]


def with_gap(n):
    base, gap = pyro.sample("base", dist.Normal(0.0, 1.0)), pyro.sample("gap", dist.Normal(0.0, 0.5))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("score", dist.Normal(base + gap * sex, 1.0))


def without_gap(n):
    base = pyro.sample("base", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("score", dist.Normal(base, 1.0))


def gap_is_large(posterior):
    """An audit with one unit: the effect of sex is above .1, which it never is without an effect."""
    gap = posterior.parameters().get("gap", np.zeros(2))
    return Stated([("gap", gap.mean() > 0.1, (gap > 0.1).mean(), gap.mean(), gap.var(), 0.0)], gap)


@pytest.mark.parametrize("repetitions", [200])
def test_probabilities_averaged_by_evidence_are_calibrated(repetitions):
    """World and parameters are drawn from the priors, so that the sum of events minus probabilities has mean zero."""
    rng = np.random.default_rng(0)
    scms = {"with": ca.SCM(with_gap), "without": ca.SCM(without_gap)}
    chance, event, weight, world = np.empty((4, repetitions))
    for at in range(repetitions):
        world[at] = rng.integers(2)
        gap, sex = world[at] * rng.normal(0.0, 0.5), rng.integers(2, size=200)
        people = pd.DataFrame({"sex": sex, "score": rng.normal() + gap * sex + rng.normal(size=200)})
        posteriors = {name: ca.fit(scm, people, draws=50, progress=False, seed=at) for name, scm in scms.items()}
        result = ca.compare_worlds(posteriors, gap_is_large, "evidence", progress=False)
        chance[at], event[at] = result.table["probability"][0], gap > 0.1
        weight[at] = result.headline.loc["with", "weight"]
    for forecast, outcome in ((chance, event), (weight, world)):
        middle = (forecast > 0.02) & (forecast < 0.98)
        for part in (middle, middle & (forecast < 0.5), middle & (forecast >= 0.5)):
            spread = np.sqrt((forecast * (1 - forecast))[part].sum())
            assert abs((outcome - forecast)[part].sum()) <= 2.58 * spread
    assert 0 < weight.min() < weight.max() <= 1


def by_one(n):
    slope, spread = pyro.sample("slope", dist.Normal(0.0, 1.0)), pyro.sample("spread", dist.HalfNormal(2.0))
    with pyro.plate("individuals", n):
        one = pyro.sample("one", dist.Normal(0.0, 1.0))
        pyro.sample("other", dist.Normal(0.0, 1.0))
        pyro.sample("score", dist.Normal(slope * one, spread))


def by_other(n):
    slope, spread = pyro.sample("slope", dist.Normal(0.0, 1.0)), pyro.sample("spread", dist.HalfNormal(2.0))
    with pyro.plate("individuals", n):
        pyro.sample("one", dist.Normal(0.0, 1.0))
        other = pyro.sample("other", dist.Normal(0.0, 1.0))
        pyro.sample("score", dist.Normal(slope * other, spread))


@pytest.mark.parametrize("repetitions", [50])
def test_stacking_finds_a_world_that_is_not_nested(repetitions):
    """With 1,000 people and an effect of .2 standard deviations."""
    rng = np.random.default_rng(0)
    scms = {"true": ca.SCM(by_one), "false": ca.SCM(by_other)}
    weights = []
    for at in range(repetitions):
        people = pd.DataFrame(rng.normal(size=(1000, 2)), columns=["one", "other"])
        people["score"] = 0.2 * people.one + rng.normal(size=1000)
        posteriors = {name: ca.fit(scm, people, draws=50, progress=False, seed=at) for name, scm in scms.items()}
        result = ca.compare_worlds(posteriors, lambda _: Stated([("none", False, 0.0, 0.0, 0.0, 0.0)]), progress=False)
        weights.append(result.headline.loc["true", "weight"])
    assert np.mean(weights) >= 0.9
