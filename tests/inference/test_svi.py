"""Variational inference against closed forms; guides that do not fit say so."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy import stats
from scipy.special import betaln

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning
from causalaudit.inference.posterior.diagnostics import diagnose
from causalaudit.inference.samplers import variational


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
    return ca.fit(ca.SCM(conjugate), people, method="svi", draws=500, chains=4, seed=1)


def test_svi_recovers_the_conjugate_posterior(posterior, people):
    n, total, ones = len(people), people["x"].sum(), int(people["z"].sum())
    precision = 1 / 2.0**2 + n / 1.5**2
    laws = {
        "mean": stats.norm((1.0 / 2.0**2 + total / 1.5**2) / precision, precision**-0.5),
        "share": stats.beta(2 + ones, 3 + n - ones),
    }
    for name, law in laws.items():
        draws = posterior.parameters()[name]
        assert draws.mean() == pytest.approx(law.mean(), abs=5 * law.std() / np.sqrt(2000))
        assert draws.std() == pytest.approx(law.std(), rel=0.08)
    assert posterior.settings["method"] == "svi"


def test_the_bound_is_kept_and_close_to_the_evidence(posterior, people):
    ones = int(people["z"].sum())
    covariance = 1.5**2 * np.eye(40) + 2.0**2
    evidence = stats.multivariate_normal(np.full(40, 1.0), covariance).logpdf(people["x"])
    evidence += betaln(2 + ones, 3 + 40 - ones) - betaln(2, 3)
    elbo = posterior.idata["sample_stats"]["elbo"]
    assert elbo.dims == ("step",)
    assert float(elbo[-100:].mean()) == pytest.approx(evidence, abs=0.02)
    diagnostics = posterior.diagnostics()
    assert diagnostics.ok
    assert "converged" in diagnostics.verdict
    assert diagnostics.numbers["elbo"] == pytest.approx(evidence, abs=0.02)
    assert posterior.log_evidence is None


@pytest.mark.slow
def test_same_seed_same_draws_and_states_untouched(people):
    pyro.set_rng_seed(5)
    state = torch.get_rng_state()
    pyro.get_param_store()["kept"] = torch.tensor(3.0)
    one, two = (ca.fit(ca.SCM(conjugate), people, method="svi", draws=20, chains=2, seed=3) for _ in range(2))
    assert list(pyro.get_param_store().keys()) == ["kept"]
    assert pyro.get_param_store()["kept"].item() == 3.0
    pyro.clear_param_store()
    assert torch.equal(state, torch.get_rng_state())
    assert one.idata["posterior"].identical(two.idata["posterior"])
    assert one.idata["sample_stats"].identical(two.idata["sample_stats"])


def test_a_bound_that_still_rises_warns(people, monkeypatch):
    monkeypatch.setattr(variational, "_WINDOWS", 1)
    monkeypatch.setattr(variational, "WINDOW", 10)
    with pytest.warns(CausalAuditWarning, match="lower bound has not converged"):
        posterior = ca.fit(ca.SCM(conjugate), people, method="svi", draws=20, chains=2)
    assert not posterior.diagnostics().ok


def product(n):
    """Only the product of two numbers is known: the posterior is a cross."""
    a, b = (pyro.sample(name, dist.Normal(0.0, 3.0)) for name in "ab")
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Normal(a * b, 0.3))


@pytest.mark.slow
def test_a_guide_that_does_not_fit_warns():
    with pytest.warns(CausalAuditWarning, match=r"Pareto k of the guide is \d.*not the normal"):
        ca.fit(ca.SCM(product), pd.DataFrame({"x": [2.0, 2.1, 1.9]}), method="svi", draws=100, chains=1)


def test_verdicts_in_words():
    good = {"pareto_k": 0.3, "ess": 500.0, "elbo": -10.0, "elbo_converged": 1}
    assert diagnose("svi", good, 1000).ok
    assert diagnose("svi", {**good, "pareto_k": 2.0, "ess": 999.0}, 1000).ok  # nearly equal weights
    assert "not the normal" in diagnose("svi", {**good, "pareto_k": 0.8}, 1000).verdict
    assert "not converged" in diagnose("svi", {**good, "elbo_converged": 0}, 1000).verdict


THREE = ["skill", "luck", "mood"]


def three_latents(n):
    base = pyro.sample("base", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        skill, luck, mood = (pyro.sample(name, dist.Normal(0.0, 1.0)) for name in THREE)
        pyro.sample("x", dist.Normal(base + skill + mood, 0.5))
        pyro.sample("y", dist.Normal(skill + luck, 0.5))


@pytest.mark.slow
def test_the_guide_holds_latents_that_cannot_be_integrated_out():
    """A linear model with normal noise: the guide can be exact, latents that follow the parameter included."""
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.normal(1, 1, 6), "y": rng.normal(0, 1.5, 6)})
    with pytest.warns(CausalAuditWarning, match="drawn jointly"):
        posterior = ca.fit(ca.SCM(three_latents, latents=THREE), data, method="svi", draws=500, chains=2)
    assert posterior.diagnostics().ok
    eye, zero = np.eye(6), np.zeros((6, 6))
    design = np.block([[np.ones((6, 1)), eye, zero, eye], [np.zeros((6, 1)), eye, eye, zero]])
    covariance = np.linalg.inv(np.diag([1 / 4.0, *np.ones(18)]) + design.T @ design / 0.25)
    mean, sd = covariance @ design.T @ np.concatenate([data["x"], data["y"]]) / 0.25, np.sqrt(np.diag(covariance))
    latents = posterior.idata["latents"]
    draws = np.column_stack(
        [posterior.parameters()["base"], *(latents[name].to_numpy().reshape(1000, 6) for name in THREE)]
    )
    np.testing.assert_allclose(draws.mean(0), mean, atol=4.5 * sd.max() / np.sqrt(1000))
    np.testing.assert_allclose(draws.std(0), sd, rtol=0.12)
