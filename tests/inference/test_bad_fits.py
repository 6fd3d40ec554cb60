"""Fits that are refused: options, densities without a maximum, impossible people, latents."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from wages import LEVELS, normal, people, table, wages

import causalaudit as ca
from causalaudit.errors import (
    DataError,
    InferenceError,
)


@pytest.fixture(scope="module")
def scm():
    return ca.SCM(wages, levels=LEVELS)


@pytest.fixture(scope="module")
def posterior(scm):
    return ca.fit(scm, table(), method="map", draws=5, chains=2, progress=False)


# Fitting


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "mcmc"}, InferenceError, "method 'mcmc' is not one of auto, laplace, nuts, svi, map, ml"),
        ({"draws": 0}, DataError, "draws is 0, but must be a whole number of at least 1"),
        ({"draws": -3}, DataError, "draws is -3, but must be"),
        ({"draws": 2.5}, DataError, r"draws is 2\.5, but must be a whole number"),
        ({"chains": 0}, DataError, "chains is 0, but must be a whole number of at least 1"),
    ],
)
def test_fit_options_are_refused(scm, options, error, message):
    with pytest.raises(error, match=message):
        ca.fit(scm, table(), **options, progress=False)


def test_numpy_integers_are_whole_numbers(scm):
    assert (
        ca.fit(scm, table(), method="map", draws=np.int64(2), chains=np.int64(1), progress=False).settings["draws"] == 2
    )


@pytest.mark.parametrize(("n", "draws", "message"), [(0, 2, "n is 0"), (-1, 2, "n is -1"), (2, 0, "draws is 0")])
def test_prior_predictive_is_refused(scm, n, draws, message):
    with pytest.raises(DataError, match=message):
        scm.prior_predictive(n=n, draws=draws)


def two_intercepts(n):
    a, b = normal("a"), normal("b")
    with people(n):
        normal("x", a + b)


def unused_parameter(n):
    a = normal("a")
    normal("b")
    with people(n):
        normal("x", a)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (two_intercepts, r"likelihood is flat along 'a', 'b': .*Use a method with priors \(map, laplace\)"),
        (unused_parameter, "likelihood is flat along 'b': .*Use a method with priors"),
    ],
)
def test_flat_likelihood(program, message):
    data = pd.DataFrame({"x": [0.3, -1.2, 0.8]})
    with pytest.raises(InferenceError, match=message):
        ca.fit(ca.SCM(program), data, method="ml", progress=False)
    ca.fit(ca.SCM(program), data, method="map", draws=1, chains=1, progress=False)


def mean_and_spread(n):
    spread, mean = pyro.sample("spread", dist.HalfNormal(1.0)), normal("mean")
    with people(n):
        normal("x", mean, spread)


def spread_only(n):
    spread = pyro.sample("spread", dist.HalfNormal(1.0))
    with people(n):
        normal("x", 1.0, spread)


def logit(n):
    slope = normal("slope")
    with people(n):
        x = normal("x")
        pyro.sample("y", dist.Bernoulli(logits=slope * x))


SAME = pd.DataFrame({"x": [1.0] * 20})
SEPARATED = pd.DataFrame({"x": [-2.0, -1.0, 1.0, 2.0], "y": [0, 0, 1, 1]})


@pytest.mark.parametrize(
    ("program", "data", "parameter"),
    [(mean_and_spread, SAME, "(spread|mean)"), (spread_only, SAME, "spread"), (logit, SEPARATED, "slope")],
)
def test_unbounded_likelihood(program, data, parameter):
    with pytest.raises(InferenceError, match=rf"(?=.*(unbounded|flat|rises))(?=.*'{parameter}')"):
        ca.fit(ca.SCM(program), data, method="ml", draws=1, chains=1, progress=False)


def narrow_range(n):
    top = pyro.sample("top", dist.Beta(1.0, 1.0))
    with people(n):
        pyro.sample("x", dist.Uniform(0.0, top))


def test_data_impossible_under_every_prior_draw():
    message = (
        r"probability zero under each of 64 draws from the prior of 'narrow_range'\. 2 people are impossible, "
        r"for example \{'x': 7\.0\}\. Check that the priors are in the units of the data"
    )
    with pytest.raises(InferenceError, match=message):
        ca.fit(ca.SCM(narrow_range), pd.DataFrame({"x": [7.0, 0.0001, 7.0]}), progress=False)


def exogenous(n):
    with people(n):
        noise = pyro.sample("noise", dist.Bernoulli(0.5))
        a = pyro.sample("a", dist.Bernoulli(0.5))
        pyro.deterministic("x", a + noise)


CONSISTENT = pd.DataFrame({"a": [0, 1, 0], "x": [0, 1, 1]}, index=["ann", "bob", "cem"])
INCONSISTENT = CONSISTENT.assign(x=[0, 1, 2])
IMPOSSIBLE = "1 of 3 rows are impossible under the program 'exogenous', the first being row 'cem'.*Correct the data"


def test_inconsistent_row_is_named():
    with pytest.raises(DataError, match=IMPOSSIBLE):
        ca.fit(ca.SCM(exogenous, latents=["noise"]), INCONSISTENT, progress=False)


def test_inconsistent_new_person_is_named():
    posterior = ca.fit(ca.SCM(exogenous, latents=["noise"]), CONSISTENT, draws=2, chains=1, progress=False)
    with pytest.raises(DataError, match=IMPOSSIBLE):
        ca.counterfactuals(posterior, {"a": 0}, data=INCONSISTENT, progress=False)


def many_latents(n):
    with people(n):
        latents = [pyro.sample(f"u{i}", dist.Bernoulli(0.5)) for i in range(9)]
        normal("x", sum(latents))


def test_too_many_latent_states():
    scm = ca.SCM(many_latents, latents=[f"u{i}" for i in range(9)])
    with pytest.raises(InferenceError, match=r"latents u0, .*, u8 have 512 joint states.*at most 256.*fewer latents"):
        ca.fit(scm, pd.DataFrame({"x": [1.0]}), progress=False)


def test_as_many_latent_states_as_are_allowed():
    scm = ca.SCM(many_latents, latents=[f"u{i}" for i in range(8)])
    posterior = ca.fit(scm, pd.DataFrame({"u8": [0, 1], "x": [4.0, 2.0]}), draws=1, chains=1, progress=False)
    assert np.isfinite(posterior.idata["sample_stats"]["log_likelihood"]).all()


def test_latent_that_is_neither_finite_nor_continuous():
    def program(n):
        with people(n):
            normal("x", pyro.sample("u", dist.Poisson(torch.tensor(3.0))))

    message = r"latent 'u' \(Poisson\) has infinitely many values.*Give it a finite or a continuous distribution"
    with pytest.raises(InferenceError, match=message):
        ca.fit(ca.SCM(program, latents=["u"]), pd.DataFrame({"x": [1.0]}), progress=False)
