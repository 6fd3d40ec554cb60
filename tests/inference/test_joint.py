"""Several continuous latents: drawn together with the parameters, and what can be asked of them then."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy import stats

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, InferenceError, InterventionError, SavedFileError
from causalaudit.inference.density.joint_density import JointDensity
from causalaudit.inference.density.joint_latents import JointLatents
from causalaudit.inference.samplers.arrowhead import arrowhead_coordinates
from causalaudit.inference.samplers.start import coordinates_of_prior
from causalaudit.scm.execution import numerics

# Several continuous latents


THREE = ["skill", "luck", "mood"]


def three_latents(n):
    base = pyro.sample("base", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        skill, luck, mood = (pyro.sample(name, dist.Normal(0.0, 1.0)) for name in THREE)
        pyro.sample("x", dist.Normal(base + skill + mood, 0.5))
        pyro.sample("y", dist.Normal(skill + luck, 0.5))


def linear_posterior(data):
    """Return mean and covariance of base, the skills, the lucks and the moods given the data."""
    n = len(data)
    eye, zero = np.eye(n), np.zeros((n, n))
    design = np.block([[np.ones((n, 1)), eye, zero, eye], [np.zeros((n, 1)), eye, eye, zero]])
    precision = np.diag([1 / 4.0, *np.ones(3 * n)]) + design.T @ design / 0.25
    covariance = np.linalg.inv(precision)
    return covariance @ design.T @ np.concatenate([data["x"], data["y"]]) / 0.25, covariance


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(2)
    return pd.DataFrame({"x": rng.normal(1, 1, 6), "y": rng.normal(0, 1.5, 6)}, index=list("abcdef"))


@pytest.mark.slow
def test_three_continuous_latents_are_drawn_jointly(pairs):
    with pytest.warns(CausalAuditWarning, match=r"'luck', 'mood' are continuous.*all 18 of the 6 people.*slow"):
        posterior = ca.fit(ca.SCM(three_latents, latents=THREE), pairs, draws=900, chains=2)
    assert posterior.settings["method"] == "nuts"
    assert posterior.diagnostics().ok
    mean, covariance = linear_posterior(pairs)
    latents = posterior.idata["latents"]
    assert latents["skill"].dims == ("chain", "draw", "individual")
    assert latents["individual"].to_numpy().tolist() == list("abcdef")
    draws = np.column_stack(
        [posterior.parameters()["base"], *(latents[name].to_numpy().reshape(1800, 6) for name in THREE)]
    )
    sd = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(draws.mean(0), mean, atol=4.5 * sd.max() / np.sqrt(500))
    np.testing.assert_allclose(draws.std(0), sd, rtol=0.15)
    np.testing.assert_allclose(np.corrcoef(draws.T), covariance / np.outer(sd, sd), atol=0.17)


def test_the_curvature_of_a_linear_model_is_its_precision(pairs):
    scm = ca.SCM(three_latents, latents=THREE)
    density = JointDensity(scm, scm.encode(pairs))
    found = arrowhead_coordinates(density, coordinates_of_prior(density, seed=0))
    _, covariance = linear_posterior(pairs)
    matrix = (found.to_vectors(torch.eye(19, dtype=torch.float64)) - torch.from_numpy(found.location)).numpy().T
    np.testing.assert_allclose(matrix @ matrix.T, covariance, atol=1e-9)
    assert found.log_volume == pytest.approx(np.linalg.slogdet(matrix)[1])


def finite_beside_continuous(n):
    shift = pyro.sample("shift", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        kind = pyro.sample("kind", dist.Bernoulli(0.3))
        width = pyro.sample("width", dist.LogNormal(0.0, 0.5))
        skill = pyro.sample("skill", dist.Normal(0.0, 1.0))
        pyro.sample("x", dist.Normal(shift * kind + skill, width))


def test_the_joint_density_sums_finite_latents_out():
    scm = ca.SCM(finite_beside_continuous, latents=["kind", "width", "skill"])
    data = pd.DataFrame({"x": [0.3, -1.0]})
    density = JointDensity(scm, scm.encode(data))
    vector = np.array([0.4, 0.1, -0.2, 0.5, 0.6])  # shift, log width, skill
    parts = density.over(vector[None])
    width, skill = np.exp(vector[1:3]), vector[3:]
    by_kind = [share * stats.norm.pdf(data["x"], 0.4 * kind + skill, width) for kind, share in ((0, 0.7), (1, 0.3))]
    people = np.log(sum(by_kind)) + stats.lognorm.logpdf(width, 0.5) + stats.norm.logpdf(skill)
    assert parts.likelihood[0] == pytest.approx(people.sum(), rel=1e-12)
    assert parts.jacobian[0] == pytest.approx(vector[1:3].sum(), rel=1e-12)
    assert parts.prior["shift"][0] == pytest.approx(stats.norm.logpdf(0.4), rel=1e-12)
    np.testing.assert_allclose(parts.latents["width"][0], width)
    assert density.labels == ["shift", "width[0]", "width[1]", "skill[0]", "skill[1]"]
    torch.set_default_dtype(torch.float64)
    try:
        total = float(density.total(torch.from_numpy(vector)))
    finally:
        torch.set_default_dtype(torch.float32)
    assert total == pytest.approx((parts.likelihood + parts.jacobian + parts.prior["shift"])[0], rel=1e-12)


@pytest.mark.parametrize("method", ["laplace", "map", "ml"])
def test_methods_that_need_marginal_latents_refuse_several(pairs, method):
    with pytest.raises(InferenceError, match="'skill', 'luck', 'mood' are continuous"):
        ca.fit(ca.SCM(three_latents, latents=THREE), pairs, method=method)


# Counterfactuals of people with several latents


def school(n, spread=0.5):
    bonus = pyro.sample("bonus", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        skill = pyro.sample("skill", dist.Normal(0.0, 1.0))
        luck, mood = (pyro.sample(name, dist.Normal(0.0, 1.0)) for name in ("luck", "mood"))
        pyro.sample("x", dist.Normal(skill + luck + mood, spread))
        pyro.sample("y", dist.Normal(skill * (1.0 + group) + bonus * group, spread))


@pytest.fixture(scope="module")
def schooled():
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {"group": [0, 1] * 4, "x": rng.normal(0, 1.4, 8), "y": rng.normal(0.5, 1.5, 8)}, index=list("stuvwxyz")
    )
    with pytest.warns(CausalAuditWarning, match="jointly"):
        return ca.fit(ca.SCM(school, latents=THREE), data, draws=40, chains=2, method="svi")


@pytest.mark.slow
def test_counterfactuals_use_the_latents_of_each_draw(schooled):
    worlds = ca.counterfactuals(schooled, do={"group": 1}, rows=["s", "t", "w"], seed=1)
    skill = schooled.idata["latents"]["skill"].to_numpy().reshape(80, 8)[:, [0, 1, 4]]
    bonus = schooled.parameters()["bonus"][:, None]
    moved = np.array([1, 0, 1])  # "t" is in group 1 already
    expected = schooled.data.loc[["s", "t", "w"], "y"].to_numpy() + moved * (skill + bonus)
    np.testing.assert_allclose(worlds.dataset["y"], expected, atol=1e-9)
    np.testing.assert_allclose(worlds.latents["skill"], skill)
    np.testing.assert_allclose(worlds.point["y"], expected.mean(0), atol=1e-9)


@pytest.mark.slow
def test_doing_nothing_gives_the_factual_back(schooled):
    worlds = ca.counterfactuals(schooled, do={})
    np.testing.assert_allclose(worlds.dataset["y"], np.tile(schooled.data["y"], (80, 1)), atol=1e-9)


@pytest.mark.slow
def test_people_outside_the_fit_are_refused(schooled):
    with pytest.raises(InterventionError, match="outside the fit"):
        ca.counterfactuals(schooled, do={"group": 1}, data=schooled.data.iloc[:2])


@pytest.mark.slow
def test_there_is_no_likelihood_of_a_person(schooled):
    with pytest.raises(InferenceError, match="no leave-one-out"):
        schooled.log_likelihood()


@pytest.mark.slow
def test_save_and_load(schooled, tmp_path):
    schooled.save(tmp_path / "joint.nc")
    again = ca.Posterior.load(tmp_path / "joint.nc", schooled.scm)
    first, second = (ca.counterfactuals(one, do={"group": 0}, seed=2).dataset for one in (schooled, again))
    assert first.identical(second)
    other = ca.SCM(lambda n: school(n, spread=0.6), latents=THREE)
    with pytest.raises(SavedFileError, match="another density"):
        ca.Posterior.load(tmp_path / "joint.nc", other)


def test_finite_latents_are_drawn_given_the_continuous_ones():
    scm = ca.SCM(finite_beside_continuous, latents=["kind", "width", "skill"])
    people = 20_000
    latents = JointLatents(scm, {"x": torch.full((people,), 1.0)})
    continuous = {"width": torch.full((people,), 0.8), "skill": torch.full((people,), -0.2)}
    with numerics():
        theta = {"shift": torch.tensor(1.5)}
        drawn = latents.draw(theta, continuous, torch.linspace(0, 1, people + 2)[1:-1])
        likeliest = latents.draw(theta, continuous, None)
    weights = np.array([0.7, 0.3]) * stats.norm.pdf(1.0, np.array([-0.2, 1.3]), 0.8)
    assert float(drawn["kind"].mean()) == pytest.approx(weights[1] / weights.sum(), abs=2e-4)
    assert float(likeliest["kind"][0]) == weights.argmax()
