"""The registry of methods: a sampler from elsewhere is one function from a log-density to draws."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
from scipy.optimize import minimize

import causalaudit as ca
from causalaudit.errors import InferenceError
from causalaudit.inference import register_method
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.samplers.registry import METHODS

_BURN_IN = 60


def metropolis(density, request):
    """A random walk from the mode, with the shape that its search has learned; all chains step at once."""
    rng = np.random.default_rng(request.seed)

    def negative(vector):
        height, slope = density.gradient(vector)
        return -height, -slope

    found = minimize(negative, density.prior_vectors(1, request.seed)[0], jac=True, method="BFGS")
    root = np.linalg.cholesky(found.hess_inv) * 2.4 / np.sqrt(density.size)
    state = found.x + 2 * rng.standard_normal((request.chains, density.size)) @ root.T
    height, draws = density.value(state), []
    for _ in range(_BURN_IN + request.draws):
        proposed = state + rng.standard_normal(state.shape) @ root.T
        there = density.value(proposed)
        accepted = np.log(rng.random(request.chains)) < there - height
        state, height = np.where(accepted[:, None], proposed, state), np.where(accepted, there, height)
        draws.append(state)
    return np.stack(draws[_BURN_IN:], axis=1)


@pytest.fixture
def registered():
    known = dict(METHODS)
    register_method("metropolis", metropolis)
    yield
    METHODS.clear()
    METHODS.update(known)


def wages(n):
    mean = pyro.sample("mean", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        luck = pyro.sample("luck", dist.Normal(0.0, 1.0))
        pyro.sample("wage", dist.Normal(mean + luck, 1.0))


@pytest.mark.slow
@pytest.mark.usefixtures("registered")
def test_a_sampler_from_elsewhere_fits_a_program_with_a_latent(tmp_path):
    """The latent is integrated out by the density: the exact posterior of the mean is normal."""
    people = pd.DataFrame({"wage": np.random.default_rng(1).normal(0.7, np.sqrt(2.0), 30)})
    scm = ca.SCM(wages, latents=["luck"])
    posterior = ca.fit(scm, people, method="metropolis", draws=600, chains=8, seed=0)
    precision = 1 / 4 + 30 / 2
    exact, sd = people["wage"].sum() / 2 / precision, precision**-0.5
    row = posterior.summary().loc["mean"]
    assert posterior.settings["method"] == "metropolis"
    assert posterior.diagnostics().ok, posterior.diagnostics()
    assert "divergences" not in posterior.diagnostics().numbers
    assert row["r_hat"] < 1.01
    assert abs(row["mean"] - exact) < 4 * row["mcse"]
    assert row["sd"] == pytest.approx(sd, rel=0.1)
    worlds = ca.counterfactuals(posterior, {"wage": 1.0}, draws=5, progress=False)
    assert worlds.dataset["wage"].shape == (5, 30)
    posterior.save(tmp_path / "posterior.nc")
    loaded = ca.Posterior.load(tmp_path / "posterior.nc", scm)
    np.testing.assert_array_equal(loaded.parameters()["mean"], posterior.parameters()["mean"])


def test_the_protocol_is_the_density_of_the_parameters():
    """Value, gradient, prior draws and constrain, against the closed form."""

    def program(n):
        rate = pyro.sample("rate", dist.Exponential(2.0))
        with pyro.plate("individuals", n):
            pyro.sample("x", dist.Exponential(rate))

    scm = ca.SCM(program)
    density = MarginalDensity(scm, scm.encode(pd.DataFrame({"x": [0.5, 1.5]})))
    vectors = density.prior_vectors(4000, seed=0)
    rates = density.constrain(vectors)["rate"]
    assert rates.mean() == pytest.approx(0.5, abs=0.03)
    first, second = np.sort(rates[:2])
    low, high = vectors[:2][np.argsort(rates[:2])]
    width = 0.1 * 0.5  # of the scaled softplus by which such a parameter is measured
    jacobian = [np.log(width) - np.log1p(np.exp(-vector[0])) for vector in (low, high)]
    exact = [2 * np.log(r) - 2 * r + np.log(2) - 2 * r + j for r, j in zip((first, second), jacobian, strict=True)]
    np.testing.assert_allclose(density.value(np.stack([low, high])), exact, rtol=1e-9)
    height, slope = density.gradient(low)
    assert height == pytest.approx(exact[0], rel=1e-9)
    step = np.array([1e-6])
    assert slope[0] == pytest.approx(np.diff(density.value(np.stack([low - step, low + step])))[0] / 2e-6, rel=1e-5)
    assert (density.name, density.size, density.labels) == ("program", 1, ["rate"])


@pytest.mark.usefixtures("registered")
def test_bad_methods_are_refused():
    people, scm = pd.DataFrame({"wage": [0.1, 0.3]}), ca.SCM(wages, latents=["luck"])
    with pytest.raises(InferenceError, match=r"'hmc' is not one of auto, laplace, nuts, svi, map, ml, metropolis\."):
        ca.fit(scm, people, method="hmc")
    with pytest.raises(InferenceError, match="There is a method 'nuts' already"):
        register_method("nuts", metropolis)
    register_method("short", lambda density, request: np.zeros((1, 2)))
    with pytest.raises(InferenceError, match=r"'short' returned an array of the shape \(1, 2\).*are \(4, 10, 1\)"):
        ca.fit(scm, people, method="short", draws=10)
    register_method("lost", lambda density, request: np.full((4, 10, 1), np.nan))
    with pytest.raises(InferenceError, match="'lost' returned draws that are not finite"):
        ca.fit(scm, people, method="lost", draws=10)
