"""Two continuous latents of each person: integrated out in the plane, and drawn from their exact conditional."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy import stats

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, InferenceError
from causalaudit.inference.density import chunked_density
from causalaudit.inference.density.marginal import marginal_of
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Intervene

LATENTS = ["skill", "luck"]
LOADINGS = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.5]])


def factors(n):
    """Three scores of two latents; everything but `base` is known."""
    base = pyro.sample("base", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        skill, luck = (pyro.sample(name, dist.Normal(0.0, 1.0)) for name in LATENTS)
        pyro.sample("x", dist.Normal(base + skill, 0.5))
        pyro.sample("y", dist.Normal(base + 0.8 * skill + 0.6 * luck, 0.5))
        pyro.sample("z", dist.Normal((1.5 + group) * luck, 0.5))


def loadings(group):
    return LOADINGS + group * np.array([[0, 0], [0, 0], [0, 1.0]])


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    group = rng.integers(0, 2, 12)
    scores = [[1, 1, 0] + loadings(one) @ rng.normal(size=2) + 0.5 * rng.normal(size=3) for one in group]
    return pd.DataFrame(scores, columns=list("xyz")).assign(group=group)


def normal_of(group, base=0.0):
    """The distribution of the scores of one person, and the coefficients and covariance of the latents given them."""
    cause = loadings(group)
    covariance = cause @ cause.T + 0.25 * np.eye(3)
    gain = cause.T @ np.linalg.inv(covariance)
    return stats.multivariate_normal(base * np.array([1, 1, 0]), covariance), gain, np.eye(2) - gain @ cause


def by_person(scm, data, **theta):
    """The log-likelihood of each distinct row at one value of the parameters."""
    marginal = marginal_of(scm, scm.encode_observed(data))
    with numerics(), torch.no_grad():
        values = Intervene({name: torch.tensor(value, dtype=torch.float64) for name, value in theta.items()})
        placed = marginal.placed_at(values).refined(values)
        return placed.log_likelihood(values).numpy()[marginal.rows.inverse]


def test_the_likelihood_is_that_of_the_closed_form(people):
    found = by_person(ca.SCM(factors, latents=LATENTS), people, base=0.7)
    expected = [normal_of(one.group, 0.7)[0].logpdf([one.x, one.y, one.z]) for one in people.itertuples()]
    np.testing.assert_allclose(found, np.add(expected, np.log(0.5)), atol=1e-8)


def curved(n):
    """A positive latent whose scale is another's, a count, a yes or no, and a heavy tail."""
    with pyro.plate("individuals", n):
        mood = pyro.sample("mood", dist.Normal(0.0, 1.0))
        drive = pyro.sample("drive", dist.LogNormal(0.3 * mood, 0.5))
        pyro.sample("visits", dist.Poisson(torch.exp(0.5 * mood) * drive))
        pyro.sample("paid", dist.Bernoulli(logits=drive - mood))
        pyro.sample("score", dist.StudentT(4.0, mood * drive, 0.7))


def test_curved_programs_have_the_likelihood_of_a_fine_grid():
    data = pd.DataFrame({"visits": [0, 2, 9], "paid": [1, 0, 1], "score": [-3.0, 0.2, 4.0]})
    found = by_person(ca.SCM(curved, latents=["mood", "drive"]), data)
    mood, log_drive = np.meshgrid(np.linspace(-8, 8, 641), np.linspace(-6, 6, 481), indexing="ij")
    drive = np.exp(log_drive)
    prior = stats.norm.pdf(mood) * stats.norm.pdf(log_drive, 0.3 * mood, 0.5)
    for one, value in zip(data.itertuples(), found, strict=True):
        likelihood = (
            stats.poisson.pmf(one.visits, np.exp(0.5 * mood) * drive)
            * (1 / (1 + np.exp(-(2 * one.paid - 1) * (drive - mood))))
            * stats.t.pdf(one.score, 4, mood * drive, 0.7)
        )
        assert value == pytest.approx(np.log((prior * likelihood).sum() * 0.025**2), abs=0.01 / 3)


def test_latents_are_drawn_from_their_joint_conditional(people):
    """A lattice of uniforms has the moments of the conditional to its own error."""
    count, scm = 4096, ca.SCM(factors, latents=LATENTS)
    lattice = stats.qmc.Sobol(3, seed=0).random(count).T
    for row in range(2):
        person = people.iloc[[row]]
        many = pd.concat([person] * count, ignore_index=True)
        with numerics(), torch.no_grad():
            theta = {"base": torch.tensor(0.7, dtype=torch.float64)}
            marginal = marginal_of(scm, scm.encode_observed(many)).placed_at(Intervene(theta))
            assert marginal.uniforms == 3
            drawn = marginal.draw(theta, tuple(torch.from_numpy(lattice)))
            middle = marginal.draw(theta, None)
        _, gain, covariance = normal_of(int(person["group"].iloc[0]))
        mean = gain @ (person[list("xyz")].to_numpy()[0] - [0.7, 0.7, 0.0])
        draws = np.stack([drawn[name].numpy() for name in LATENTS])
        np.testing.assert_allclose(draws.mean(1), mean, atol=2e-3)
        np.testing.assert_allclose(np.cov(draws), covariance, atol=2e-3)
        np.testing.assert_allclose([float(middle[name][0]) for name in LATENTS], mean, atol=1e-6)
        first = stats.norm(mean[0], np.sqrt(covariance[0, 0]))
        assert stats.kstest(draws[0], first.cdf).statistic < 0.01


@pytest.fixture(scope="module")
def posterior(people):
    return ca.fit(ca.SCM(factors, latents=LATENTS), people, draws=250, seed=0)


def test_the_posterior_is_that_of_the_closed_form(people, posterior):
    """`auto` integrates two latents out: nobody is warned of latents that are drawn."""
    assert posterior.settings["method"] == "laplace"
    assert posterior.diagnostics().ok
    precision, weighted, direction = 1 / 4.0, 0.0, np.array([1.0, 1.0, 0.0])
    for one in people.itertuples():
        inverse = np.linalg.inv(normal_of(one.group)[0].cov)
        precision += direction @ inverse @ direction
        weighted += direction @ inverse @ [one.x, one.y, one.z]
    draws = posterior.parameters()["base"]
    assert draws.mean() == pytest.approx(weighted / precision, abs=0.15 / np.sqrt(precision))
    assert draws.std() == pytest.approx(1 / np.sqrt(precision), rel=0.1)


def test_people_have_a_likelihood_and_files_come_back(people, posterior, tmp_path):
    base = posterior.parameters()["base"][0]
    expected = [normal_of(one.group, base)[0].logpdf([one.x, one.y, one.z]) for one in people.itertuples()]
    found = posterior.log_likelihood()[0, 0].to_numpy()
    np.testing.assert_allclose(found, np.add(expected, np.log(0.5)), atol=1e-3)
    posterior.save(tmp_path / "two.nc")
    again = ca.Posterior.load(tmp_path / "two.nc", ca.SCM(factors, latents=LATENTS))
    first, second = (ca.counterfactuals(one, {"group": 0}, draws=5, seed=2).dataset for one in (posterior, again))
    assert first.identical(second)


def test_counterfactuals_have_their_closed_form(people, posterior):
    """z gains the luck of a person, whose conditional is known; all else stays."""
    worlds = ca.counterfactuals(posterior, {"group": 1}, draws=400, seed=1)
    base = posterior.parameters(400)["base"]
    for place, one in enumerate(people.itertuples()):
        _, gain, covariance = normal_of(one.group)
        lucks = np.array([gain @ ([one.x, one.y, one.z] - value * np.array([1, 1, 0])) for value in base])[:, 1]
        change = worlds.dataset["z"][:, place].to_numpy() - one.z
        sd = np.sqrt(covariance[1, 1]) * (1 - one.group)
        assert change.mean() == pytest.approx(lucks.mean() * (1 - one.group), abs=4.5 * sd / np.sqrt(400) + 1e-9)
        assert (change - lucks * (1 - one.group)).std() == pytest.approx(sd, rel=0.2)
    np.testing.assert_array_equal(worlds.dataset["x"], np.tile(people["x"], (400, 1)))
    nothing = ca.counterfactuals(posterior, {}, draws=5)
    np.testing.assert_allclose(nothing.dataset["z"], np.tile(people["z"], (5, 1)), atol=1e-9)


def test_draws_do_not_depend_on_chunks(posterior):
    one, two = (ca.counterfactuals(posterior, {"group": 1}, draws=6, seed=1, chunk=size).dataset for size in (1, 6))
    assert one.identical(two)


def test_values_that_are_missing_beside_them(people):
    """A score that nothing follows from is dropped; a finite cause is summed over."""
    data = people.astype(float)
    data.loc[0, "z"], data.loc[1, "group"] = np.nan, np.nan
    found = by_person(ca.SCM(factors, latents=LATENTS), data, base=0.7)
    law = normal_of(people.loc[0, "group"], 0.7)[0]
    part = stats.multivariate_normal(law.mean[:2], law.cov[:2, :2])
    assert found[0] == pytest.approx(part.logpdf(people.loc[0, ["x", "y"]]) + np.log(0.5), abs=1e-6)
    both = [normal_of(group, 0.7)[0].pdf(people.loc[1, list("xyz")]) / 2 for group in (0, 1)]
    assert found[1] == pytest.approx(np.log(sum(both)), abs=1e-6)


def test_large_tables_are_summed_in_pieces(people, monkeypatch):
    scm, vectors = ca.SCM(factors, latents=LATENTS), np.array([[0.7], [0.2]])
    whole = chunked_density.marginal_density(scm, scm.encode(people)).placed_at(vectors[0])
    monkeypatch.setattr(chunked_density, "_PIECE", 2048)
    pieces = chunked_density.marginal_density(scm, scm.encode(people)).placed_at(vectors[0])
    assert len(pieces.parts) == 2
    np.testing.assert_allclose(pieces.value(vectors), whole.value(vectors), atol=1e-6)
    for one, two in zip(pieces.slopes(vectors), whole.slopes(vectors), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


@pytest.mark.slow
def test_weighted_people(people):
    """Equal weights change nothing but the spread, which is that of the sandwich."""
    posterior = ca.fit(ca.SCM(factors, latents=LATENTS), people.assign(w=2.0), weights="w", draws=100, seed=0)
    plain = ca.fit(ca.SCM(factors, latents=LATENTS), people, draws=100, seed=0)
    means = [one.parameters()["base"].mean() for one in (posterior, plain)]
    assert means[0] == pytest.approx(means[1], abs=0.05)


def many_scores(n):
    with pyro.plate("individuals", n):
        skill, luck = (pyro.sample(name, dist.Normal(0.0, 1.0)) for name in LATENTS)
        for number in range(9):
            pyro.sample(f"x{number}", dist.Normal(skill + luck, 1.0))


def test_two_that_enter_many_variables_are_not_integrated():
    data = pd.DataFrame({f"x{number}": [0.0] for number in range(9)})
    with pytest.raises(InferenceError, match="two that enter at most 8 variables"):
        ca.fit(ca.SCM(many_scores, latents=LATENTS), data, method="laplace")


def jumping(n):
    base = pyro.sample("base", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        skill, luck = (pyro.sample(name, dist.Normal(0.0, 1.0)) for name in LATENTS)
        pyro.sample("x", dist.Normal(base + torch.where(skill + luck > 0.3, 5.0, -5.0), 0.5))


def test_an_integral_that_does_not_converge_is_an_error():
    with pytest.raises(InferenceError, match="'skill', 'luck' cannot be integrated out"):
        by_person(ca.SCM(jumping, latents=LATENTS), pd.DataFrame({"x": [5.0]}), base=0.0)


@pytest.mark.slow
def test_latents_whose_integral_does_not_converge_are_drawn():
    data, scm = pd.DataFrame({"x": [5.0, -4.0, 5.5]}), ca.SCM(jumping, latents=LATENTS)
    with pytest.warns(CausalAuditWarning) as warned:
        posterior = ca.fit(scm, data, method="svi", draws=20)
    assert "cannot be integrated out numerically: all 6 of the 3 people are drawn jointly" in str(warned[0].message)
    assert set(posterior.idata["latents"].data_vars) == set(LATENTS)
