"""NUTS against closed forms; the same bits for any number of workers; chains that fail say so."""

import warnings
from contextlib import suppress
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy import stats

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, InferenceError
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.laplace.importance_draws import laplace_draws
from causalaudit.inference.posterior.diagnostics import diagnose
from causalaudit.inference.samplers import methods, nuts
from causalaudit.inference.samplers.compiled import compiled
from causalaudit.inference.samplers.coordinates import WhiteCoordinates
from causalaudit.inference.samplers.nuts import nuts_draws
from causalaudit.inference.samplers.start import coordinates_of_draws


def conjugate(n):
    mean = pyro.sample("mean", dist.Normal(1.0, 2.0))
    share = pyro.sample("share", dist.Beta(2.0, 3.0))
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Normal(mean, 1.5))
        pyro.sample("z", dist.Bernoulli(share))


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(0.4, 1.5, 40), "z": rng.integers(0, 2, 40)})


@pytest.fixture(scope="module")
def posterior(people):
    return ca.fit(ca.SCM(conjugate), people, method="nuts", draws=300, chains=4, seed=1)


def exact(people):
    """Return the exact posteriors of mean and share."""
    n, total, ones = len(people), people["x"].sum(), int(people["z"].sum())
    precision = 1 / 2.0**2 + n / 1.5**2
    return {
        "mean": stats.norm((1.0 / 2.0**2 + total / 1.5**2) / precision, precision**-0.5),
        "share": stats.beta(2 + ones, 3 + n - ones),
    }


@pytest.mark.slow
def test_nuts_recovers_the_conjugate_posterior(posterior, people):
    table = posterior.summary()
    for name, law in exact(people).items():
        assert table.loc[name, "mean"] == pytest.approx(law.mean(), abs=4 * table.loc[name, "mcse"])
        assert table.loc[name, "sd"] == pytest.approx(law.std(), rel=0.12)
        assert table.loc[name, "mcse"] < 0.1 * law.std()
        assert table.loc[name, "r_hat"] <= 1.01
        draws = posterior.parameters()[name]
        assert stats.kstest(draws, law.cdf).statistic < 1.9 / np.sqrt(table.loc[name, "ess"].clip(max=len(draws)))


def test_verdict_and_statistics_of_each_draw(posterior):
    diagnostics = posterior.diagnostics()
    assert diagnostics.ok
    assert "Trustworthy: r-hat 1.0" in diagnostics.verdict
    assert diagnostics.numbers["divergences"] == 0
    assert posterior.settings["method"] == "nuts"
    assert posterior.log_evidence is None
    found = posterior.idata["sample_stats"]
    assert {"diverging", "energy", "acceptance_rate", "n_steps", "lp", "log_likelihood"} <= set(found)
    assert all(found[name].dims == ("chain", "draw") for name in found)
    assert 0.6 < float(found["acceptance_rate"].mean()) < 1.0
    assert ((found["acceptance_rate"] >= -1e-9) & (found["acceptance_rate"] <= 1 + 1e-9)).all()
    parts = sum(posterior.idata["log_prior"].data_vars.values()) + found["log_likelihood"]
    share = posterior.idata["posterior"]["share"]
    np.testing.assert_allclose(found["lp"], parts + np.log(share * (1 - share)), rtol=1e-9)
    assert (found["energy"] >= -found["lp"].max()).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Not trustworthy")
def test_the_same_bits_for_one_and_two_workers_and_states_untouched(people):
    def fitted(seed):
        return ca.fit(ca.SCM(conjugate), people, method="nuts", draws=20, chains=2, seed=seed, progress=True)

    pyro.set_rng_seed(5)
    states = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    pyro.get_param_store()["kept"] = torch.tensor(3.0)
    one = fitted(3)
    assert list(pyro.get_param_store().keys()) == ["kept"]
    pyro.clear_param_store()
    assert torch.equal(states[0], torch.get_rng_state())
    assert (states[1] == np.random.get_state()[1]).all()  # noqa: NPY002
    assert torch.get_default_dtype() == torch.float32
    with joblib.parallel_config("loky", n_jobs=2):
        two = fitted(3)
    assert one.idata["posterior"].identical(two.idata["posterior"])
    assert one.idata["sample_stats"].identical(two.idata["sample_stats"])
    chains = one.idata["posterior"]["mean"]
    assert not (chains[0] == chains[1]).any()
    assert not one.idata["posterior"].identical(fitted(4).idata["posterior"])


def funnel(n):
    log_scale = pyro.sample("log_scale", dist.Normal(0.0, 1.5))
    shift = pyro.sample("shift", dist.Normal(0.0, torch.exp(log_scale)).expand([4]).to_event(1))
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Normal(shift.sum(), 50.0))


@pytest.mark.slow
def test_auto_samples_a_funnel_and_its_neck_diverges():
    """The data say nothing, so that the posterior of the scale is its prior; both methods find it hard, and say so."""
    data = pd.DataFrame({"x": [0.1, -0.2]})
    with pytest.warns(CausalAuditWarning, match="Not trustworthy.*far from Gaussian"):
        ca.fit(ca.SCM(funnel), data, draws=500, chains=2, method="laplace")
    with pytest.warns(CausalAuditWarning, match="Not trustworthy.*(diverged|not mixed)"):
        sampled = ca.fit(ca.SCM(funnel), data, draws=500, chains=2)
    assert sampled.settings["method"] == "nuts"
    scale = sampled.summary().loc["log_scale"]
    assert abs(scale["mean"]) < 3.5 * scale["mcse"], scale


@pytest.mark.parametrize(
    ("pareto_k", "efficiency", "first_share", "method"),
    [(0.9, 0.5, 1.0, "nuts"), (0.1, 0.05, 1.0, "nuts"), (0.1, 0.5, 0.3, "nuts"), (0.1, 0.5, 1.0, "laplace")],
)
def test_auto_samples_where_the_proposal_is_not_trusted(people, monkeypatch, pareto_k, efficiency, first_share, method):
    """A proposal that misses a part of the posterior may have weights with a light tail, but little of it counts."""

    def pretended(*args):
        return replace(laplace_draws(*args), pareto_k=pareto_k, efficiency=efficiency, first_share=first_share)

    def sampled(*_):
        asked.append("nuts")
        raise InferenceError("enough was seen")

    asked = []
    monkeypatch.setattr(methods, "laplace_draws", pretended)
    monkeypatch.setattr(methods, "_nuts", sampled)
    with warnings.catch_warnings(), suppress(InferenceError):
        warnings.simplefilter("ignore", CausalAuditWarning)  # so few draws are judged harshly
        asked.append(ca.fit(ca.SCM(conjugate), people, draws=10, chains=1).settings["method"])
    assert asked == [method]


NOISE = 4.0  # of a school's result


def schools(n):
    """Effects of groups around a common one: the density has no maximum, but is a posterior."""
    common, spread = pyro.sample("common", dist.Normal(0.0, 5.0)), pyro.sample("spread", dist.HalfCauchy(5.0))
    effects = pyro.sample("effects", dist.Normal(common, spread).expand([8]).to_event(1))
    with pyro.plate("individuals", n):
        school = pyro.sample("school", dist.Categorical(torch.ones(8)))
        pyro.sample("y", dist.Normal(effects[school], NOISE))


@pytest.mark.slow
def test_a_density_without_a_maximum_is_sampled():
    """The posterior of the two parameters above the effects, by a grid."""
    gains = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    data = pd.DataFrame({"school": range(8), "y": gains})
    posterior = ca.fit(ca.SCM(schools), data, draws=1000, chains=2)
    assert posterior.settings["method"] == "nuts"
    assert posterior.diagnostics().ok
    common, spread = np.meshgrid(np.linspace(-20, 30, 501), np.geomspace(1e-3, 300, 1000), indexing="ij")
    log = stats.norm.logpdf(common, 0, 5) + stats.halfcauchy.logpdf(spread, scale=5) + np.log(spread)
    log += sum(stats.norm.logpdf(gain, common, np.sqrt(NOISE**2 + spread**2)) for gain in gains)
    weight = np.exp(log - log.max())
    exact_mean = (weight * common).sum() / weight.sum()
    summary = posterior.summary()
    assert abs(summary.loc["common", "mean"] - exact_mean) < 3.5 * summary.loc["common", "mcse"]
    exact_spread = (weight * spread).sum() / weight.sum()
    assert abs(summary.loc["spread", "mean"] - exact_spread) < 3.5 * summary.loc["spread", "mcse"]


# Posteriors that are none


def two_intercepts(n):
    a, b = (pyro.sample(name, dist.Normal(0.0, 1e8)) for name in "ab")
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Normal(a + b, 1.0))


def mean_and_spread(n):
    spread, mean = pyro.sample("spread", dist.HalfNormal(1.0)), pyro.sample("mean", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Normal(mean, spread))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "x", "message"),
    [(two_intercepts, [0.3, -1.2, 0.8], "flat|rises"), (mean_and_spread, [1.0] * 20, "unbounded.*narrower prior")],
)
def test_a_flat_or_unbounded_posterior_is_refused(program, x, message):
    with pytest.raises(InferenceError, match=message):
        ca.fit(ca.SCM(program), pd.DataFrame({"x": x}), method="nuts", draws=50, chains=2)


def laplace_coordinates(density):
    laplace = laplace_draws(density, 1000, seed=0)
    return coordinates_of_draws(laplace.vectors, laplace.trusted)


@pytest.mark.slow
def test_a_posterior_without_a_maximum_whose_chains_run_on_is_refused(people, monkeypatch):
    scm = ca.SCM(conjugate)
    density = MarginalDensity(scm, scm.encode(people))
    reason = InferenceError("No maximum was found.")
    start = laplace_coordinates(density)
    monkeypatch.setattr(nuts, "_ENDLESS", 0)
    with pytest.raises(InferenceError, match="No maximum was found"):
        nuts_draws(density, start, 10, 1, seed=0, no_maximum=reason)
    monkeypatch.setattr(nuts, "_ENDLESS", 64)
    monkeypatch.setattr(nuts, "_HOPELESS", 0.0)
    with pytest.raises(InferenceError, match=r"No maximum was found\..*chains do not agree either"):
        nuts_draws(density, start, 10, 1, seed=0, no_maximum=reason)


def test_no_finite_start_is_an_error(people):
    scm = ca.SCM(conjugate)
    density = MarginalDensity(scm, scm.encode(people))
    density.total = lambda vector, **_: vector.sum() * torch.nan
    start = WhiteCoordinates.of_parameters(np.zeros(2), np.eye(2))
    sampler = nuts.ChainSampler(density, start, 10, 0, progress=False)
    with pytest.raises(InferenceError, match="not finite at any of 100 starts"):
        sampler.chain(0)


def test_verdicts_in_words():
    good = {"r_hat": 1.001, "ess": 900.0, "ess_tail": 800.0, "divergences": 0, "worst": "slope"}
    assert diagnose("nuts", good, 4000).ok
    for change, words in (
        ({"divergences": 3}, "3 of 4000 trajectories diverged"),
        ({"r_hat": 1.2}, "r-hat of 'slope' is 1.200"),
        ({"r_hat": np.nan}, "r-hat of 'slope' is unknown"),
        ({"ess": 20.0}, "worth only 20 for means"),
        ({"ess_tail": 30.0}, "30 for intervals"),
    ):
        verdict = diagnose("nuts", {**good, **change}, 4000)
        assert not verdict.ok
        assert words in verdict.verdict
        assert verdict.verdict.startswith("Not trustworthy")


@pytest.mark.parametrize(("draws", "chains"), [(2, 1), (3, 2)])
def test_too_few_draws_are_not_judged_good(people, draws, chains):
    with pytest.warns(CausalAuditWarning, match="r-hat of .* is unknown"):
        posterior = ca.fit(ca.SCM(conjugate), people, method="nuts", draws=draws, chains=chains)
    assert len(posterior.parameters()["mean"]) == draws * chains
    assert set(posterior.summary().index) == {"mean", "share"}


# The compiled density


def test_compiled_functions_are_the_same_functions():
    def smooth(x):
        return (x**2).sum() + torch.lgamma(x.exp()).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast = compiled(smooth, [torch.randn(3, dtype=torch.float64) for _ in range(3)])
    assert fast is not smooth
    for _ in range(5):
        x = torch.randn(3, dtype=torch.float64, requires_grad=True)
        (one,), (two,) = (torch.autograd.grad(f(x), x) for f in (fast, smooth))
        torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-12)
        assert fast(x).item() == pytest.approx(smooth(x).item(), rel=1e-12)


def branching(x):
    return (x**2).sum() if x[0] > 0 else (x**4).sum()


def leaving_torch(x):
    return (x**2).sum() * float(np.exp(x.detach().numpy()[0]))


@pytest.mark.parametrize("function", [branching, leaving_torch])
def test_functions_that_cannot_be_compiled_stay_as_they_are(function):
    points = [torch.tensor([value, 1.0], dtype=torch.float64) for value in (0.5, -0.5, 0.2)]
    assert compiled(function, points) is function


@pytest.mark.slow
def test_a_compiled_density_that_is_wrong_at_the_draws_is_not_used(people, monkeypatch):
    scm = ca.SCM(conjugate)
    density = MarginalDensity(scm, scm.encode(people))
    start = laplace_coordinates(density)
    honest = nuts.ChainSampler(density, start, 10, 0, progress=False, fast=False).chain(0)
    monkeypatch.setattr(nuts, "compiled", lambda function, _: lambda point: function(point) + point[0])
    found = nuts_draws(density, start, 10, 1, seed=0)
    np.testing.assert_array_equal(found.vectors, honest["vectors"])
