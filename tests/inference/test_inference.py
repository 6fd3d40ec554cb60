"""Inference against closed forms and brute force."""

import itertools

import arviz as az
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
from causalaudit.inference.posterior.diagnostics import diagnose


def conjugate(n):
    """A normal mean with known spread, and a share with a Beta prior: everything is known in closed form."""
    mean = pyro.sample("mean", dist.Normal(1.0, 2.0))
    share = pyro.sample("share", dist.Beta(2.0, 3.0))
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Normal(mean, 1.5))
        pyro.sample("z", dist.Bernoulli(share))


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"x": rng.normal(0.4, 1.5, 40), "z": rng.integers(0, 2, 40)})


def exact(people):
    """Return the exact posteriors of the conjugate program, and its log-evidence."""
    n, total, ones = len(people), people["x"].sum(), int(people["z"].sum())
    precision = 1 / 2.0**2 + n / 1.5**2
    mean = stats.norm((1.0 / 2.0**2 + total / 1.5**2) / precision, precision**-0.5)
    share = stats.beta(2 + ones, 3 + n - ones)
    covariance = 1.5**2 * np.eye(n) + 2.0**2
    evidence = stats.multivariate_normal(np.full(n, 1.0), covariance).logpdf(people["x"])
    from scipy.special import betaln

    return mean, share, evidence + betaln(2 + ones, 3 + n - ones) - betaln(2, 3)


def test_laplace_recovers_the_conjugate_posterior_and_evidence(people):
    posterior = ca.fit(ca.SCM(conjugate), people, seed=2)
    draws = posterior.parameters()
    ess = posterior.diagnostics().numbers["ess"]
    assert ess > 2000
    mean, share, evidence = exact(people)
    for name, law in (("mean", mean), ("share", share)):
        assert draws[name].mean() == pytest.approx(law.mean(), abs=3.5 * law.std() / np.sqrt(ess))
        assert draws[name].std() == pytest.approx(law.std(), rel=0.08)
        assert stats.kstest(draws[name], law.cdf).statistic < 1.9 / np.sqrt(ess)
    estimate = posterior.log_evidence
    assert estimate.value == pytest.approx(evidence, abs=4 * estimate.error)
    assert estimate.error < 0.05


def test_map_is_the_mode_in_the_parameters_own_units(people):
    posterior = ca.fit(ca.SCM(conjugate), people, method="map", draws=3, chains=2)
    mean, _, _ = exact(people)
    ones = people["z"].sum()
    assert posterior.parameters()["mean"] == pytest.approx(np.full(6, mean.mean()))
    assert posterior.parameters()["share"] == pytest.approx(np.full(6, (2 + ones - 1) / (40 + 5 - 2)))
    assert posterior.log_evidence is None


def test_maximum_likelihood_is_least_squares():
    applicants = ca.datasets.make_loan(500, seed=4)
    posterior = ca.fit(ca.models.loan.linear(), applicants, method="ml", draws=1, chains=1)
    female = (applicants["gender"] == "female").astype(float)
    design = np.column_stack([np.ones(500), female, applicants["salary"]])
    coefficients, squares, *_ = np.linalg.lstsq(design, applicants["balance"].to_numpy())
    found = {name: float(value[0]) for name, value in posterior.parameters().items()}
    assert [found["start"], found["gap"], found["saving"]] == pytest.approx(list(coefficients), rel=1e-9)
    assert found["swing"] == pytest.approx(np.sqrt(squares[0] / 500), rel=1e-9)
    assert found["share"] == pytest.approx(female.mean(), rel=1e-9)


def test_log_likelihood_by_person_and_loo(people):
    doubled = pd.concat([people, people]).reset_index(drop=True)
    posterior = ca.fit(ca.SCM(conjugate), doubled, draws=200, chains=2)
    found = posterior.log_likelihood()
    assert found.dims == ("chain", "draw", "individual")
    mean, share = (posterior.idata["posterior"][name].to_numpy()[..., None] for name in ("mean", "share"))
    x, z = doubled["x"].to_numpy(), doubled["z"].to_numpy()
    expected = stats.norm.logpdf(x, mean, 1.5) + stats.bernoulli.logpmf(z, share)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert az.loo(posterior.idata).n_data_points == 80
    assert MarginalDensity(posterior.scm, posterior.scm.encode(doubled)).rows.counts.tolist() == [2.0] * 40


def test_log_prior_is_recorded(people):
    posterior = ca.fit(ca.SCM(conjugate), people, draws=50, chains=2)
    draws = posterior.idata["posterior"]["share"].to_numpy()
    np.testing.assert_allclose(posterior.idata["log_prior"]["share"], stats.beta.logpdf(draws, 2, 3), rtol=1e-9)


def mixture(n):
    share = pyro.sample("share", dist.Beta(2.0, 2.0))
    shift = pyro.sample("shift", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        kind = pyro.sample("kind", dist.Bernoulli(share))
        grade = pyro.sample("grade", dist.Categorical(torch.tensor([0.2, 0.3, 0.5])))
        x = pyro.sample("x", dist.Normal(shift * kind + grade, 1.0))
        pyro.deterministic("high", (x > 1.0).to(x.dtype))


def test_finite_latents_are_summed_out_exactly():
    rng = np.random.default_rng(1)
    x = rng.normal(1.0, 2.0, 12)
    people = pd.DataFrame({"x": x, "high": (x > 1).astype(int)})
    scm = ca.SCM(mixture, latents=["kind", "grade"])
    posterior = ca.fit(scm, people, draws=100, chains=1)
    theta = posterior.parameters()
    expected = np.zeros((100, 12))
    for kind, grade in itertools.product((0, 1), (0, 1, 2)):
        weight = (theta["share"] if kind else 1 - theta["share"]) * [0.2, 0.3, 0.5][grade]
        expected += weight[:, None] * stats.norm.pdf(x, theta["shift"][:, None] * kind + grade, 1.0)
    np.testing.assert_allclose(posterior.log_likelihood()[0], np.log(expected), rtol=1e-10)


def test_finite_latents_are_drawn_from_their_exact_posterior():
    scm = ca.SCM(mixture, latents=["kind", "grade"])
    people = pd.DataFrame({"x": np.full(20_000, 1.3), "high": 1})
    fitted = ca.fit(scm, people.head(30), method="map", draws=1, chains=1)
    worlds = ca.counterfactuals(fitted, {"x": 0.0}, data=people)
    theta = {name: value[0] for name, value in fitted.parameters().items()}
    states = np.array(
        [
            [(theta["share"] if k else 1 - theta["share"]) * p * stats.norm.pdf(1.3, theta["shift"] * k + g, 1.0)
             for g, p in enumerate((0.2, 0.3, 0.5))]
            for k in (0, 1)
        ]
    )  # fmt: skip
    exact_states = states / states.sum()
    for kind, grade in itertools.product((0, 1), (0, 1, 2)):
        here = (worlds.latents["kind"][0] == kind) & (worlds.latents["grade"][0] == grade)
        assert float(here.mean()) == pytest.approx(exact_states[kind, grade], abs=0.015)
    assert (worlds.dataset["high"] == 0).all()  # a computed site follows the intervention


def vector(n):
    weights = pyro.sample("weights", dist.Dirichlet(torch.ones(3)))
    slopes = pyro.sample("slopes", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    cuts = pyro.sample("cuts", dist.Normal(torch.tensor([-1.0, 1.0]), 0.2).to_event(1))
    variance = pyro.sample("variance", dist.InverseGamma(2.0, 1.0))
    scale = pyro.deterministic("scale", variance.sqrt())
    with pyro.plate("individuals", n):
        kind = pyro.sample("kind", dist.Categorical(weights))
        x = pyro.sample("x", dist.Normal(slopes[0] + slopes[1] * kind, scale))
        pyro.sample("rank", dist.OrderedLogistic(x, cuts))


def test_vector_parameters_derived_parameters_and_assignment_into_tensors():
    scm = ca.SCM(vector)
    drawn = scm.prior_predictive(n=300, draws=1, seed=1).isel(draw=0)
    people = drawn[list(scm.variables)].to_dataframe()[list(scm.variables)]
    posterior = ca.fit(scm, people, draws=100, chains=2)
    table = posterior.summary()
    assert {"weights[0]", "slopes[1]", "cuts[0]", "scale", "variance"} <= set(table.index)
    np.testing.assert_allclose(posterior.idata["posterior"]["scale"] ** 2, posterior.idata["posterior"]["variance"])
    for name in ("weights", "slopes", "cuts", "variance"):
        truth = drawn[name].to_numpy()
        rows = table[[row.split("[")[0] == name for row in table.index]]
        assert (np.abs(rows["mean"] - truth.ravel()) < 4.5 * rows["sd"]).all()


def test_a_program_without_parameters_is_recorded():
    scm = ca.models.standard_prediction.scm_b()
    people = scm.prior_predictive(n=20, draws=1).isel(draw=0).to_dataframe()[list(scm.variables)]
    posterior = ca.fit(scm, people, draws=5, chains=2)
    assert posterior.settings["method"] == "exact"
    assert posterior.summary().empty
    assert posterior.diagnostics().ok
    assert posterior.predictive(draws=3, seed=1)["D"].shape == (3, 20)


def test_predictive_has_the_distribution_of_the_program(people):
    posterior = ca.fit(ca.SCM(conjugate), people, method="map", draws=1, chains=1)
    mean, share = (float(posterior.parameters()[name][0]) for name in ("mean", "share"))
    drawn = np.concatenate([posterior.predictive(seed=seed)["x"].to_numpy().ravel() for seed in range(50)])
    assert stats.kstest(drawn, stats.norm(mean, 1.5).cdf).pvalue > 1e-3
    ones = np.concatenate([posterior.predictive(seed=seed)["z"].to_numpy().ravel() for seed in range(50)])
    assert ones.mean() == pytest.approx(share, abs=0.05)


def test_identical_fits_for_the_same_seed(people):
    one, two = (ca.fit(ca.SCM(conjugate), people, draws=50, chains=2, seed=7) for _ in range(2))
    assert one.idata["posterior"].identical(two.idata["posterior"])
    other = ca.fit(ca.SCM(conjugate), people, draws=50, chains=2, seed=8)
    assert not one.idata["posterior"].identical(other.idata["posterior"])


def test_verdicts_in_words():
    figures = {"pareto_k": 0.1, "ess": 900.0, "efficiency": 0.9, "first_share": 1.0}
    good = diagnose("laplace", figures, 1000)
    assert good.ok
    assert "Trustworthy" in str(good)
    far = diagnose("laplace", {**figures, "pareto_k": 0.9}, 1000)
    assert not far.ok
    assert "0.90" in far.verdict
    few = diagnose("laplace", {**figures, "ess": 150.0, "efficiency": 0.15}, 1000)
    assert not few.ok
    assert "Ask for more draws" in few.verdict
    partial = diagnose("laplace", {**figures, "ess": 405.0, "efficiency": 0.04}, 10_000)
    assert not partial.ok
    assert "only 4.0% of the proposals count" in partial.verdict
    elsewhere = diagnose("laplace", {**figures, "first_share": 0.2}, 1000)
    assert not elsewhere.ok
    assert "found only 20.0% of the mass" in elsewhere.verdict
    assert "point estimate" in diagnose("ml", {}, 1).verdict


def funnel(n):
    log_scale = pyro.sample("log_scale", dist.Normal(0.0, 3.0))
    shift = pyro.sample("shift", dist.Normal(0.0, torch.exp(log_scale)).expand([1]).to_event(1))
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Normal(shift.sum(), 50.0))


def test_a_posterior_far_from_gaussian_warns():
    data = pd.DataFrame({"x": [0.1, -0.2]})
    with pytest.warns(CausalAuditWarning, match="Not trustworthy"):
        posterior = ca.fit(ca.SCM(funnel), data, method="laplace", draws=500, chains=2)
    assert posterior.log_evidence is None


def test_moment_matching_repairs_a_skewed_posterior():
    """A scale known from two people only: its unconstrained posterior is far from the Gaussian at its mode."""

    def program(n):
        scale = pyro.sample("scale", dist.HalfCauchy(10.0))
        with pyro.plate("individuals", n):
            pyro.sample("x", dist.Normal(0.0, scale))

    data = pd.DataFrame({"x": [0.5, -1.0]})
    posterior = ca.fit(ca.SCM(program), data, seed=0)
    grid = np.exp(np.linspace(-6, 12, 20_001))
    density = stats.halfcauchy.pdf(grid, scale=10) * stats.norm.pdf(0.5, 0, grid) * stats.norm.pdf(-1.0, 0, grid) * grid
    cdf = np.cumsum(density) / density.sum()
    draws = posterior.parameters()["scale"]
    exact_cdf = np.interp(draws, grid, cdf)
    assert stats.kstest(exact_cdf, "uniform").statistic < 0.05


@pytest.mark.parametrize("method", ["ml", "map", "laplace"])
def test_methods_agree_on_much_data(method):
    scm = ca.models.loan.linear()
    posterior = ca.fit(scm, ca.datasets.make_loan(3000, seed=0), method=method, draws=100, chains=1)
    reference = ca.fit(scm, ca.datasets.make_loan(3000, seed=0), draws=1000, chains=1, seed=3).summary()
    means = {name: values.mean() for name, values in posterior.parameters().items()}
    for name, mean in means.items():
        assert abs(mean - reference.loc[name, "mean"]) < 0.5 * reference.loc[name, "sd"]


def test_unknown_method_lists_the_known(people):
    with pytest.raises(InferenceError, match="auto, laplace, nuts, svi, map, ml"):
        ca.fit(ca.SCM(conjugate), people, method="gibbs")
