"""Fits with hidden confounding: closed forms, known truths, and what must not change without it."""

import importlib

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from confounded_pairs import TRUTH, pair, people_of
from scipy import stats

import causalaudit as ca
from causalaudit.errors import InferenceError, SavedFileError
from causalaudit.inference import fit_near
from causalaudit.inference.components.partition import components_of
from causalaudit.inference.density import chunked_density
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.scm.noise.bivariate_normal import nodes_for

START = importlib.import_module("causalaudit.inference.laplace.mode_search")


@pytest.fixture(scope="module")
def people():
    return people_of("NormalNormal", 0.5, 400, seed=0)


@pytest.mark.parametrize("rho", [-0.8, -0.3, 0.2, 0.6, 0.95])
def test_two_normals_have_a_closed_form(people, rho):
    """Greatest likelihood: what is free of the noise of a is left of the residuals of least squares."""
    a, b = people["a"].to_numpy(), people["b"].to_numpy()
    ols = np.cov(a, b, ddof=0)[0, 1] / a.var()
    residual = (b - b.mean() - ols * (a - a.mean())).std()
    spread = residual / np.sqrt(1 - rho**2)
    found = ca.fit(pair("NormalNormal").confounded("b", "a", rho), people, "ml", draws=1, chains=1).parameters()
    assert found["spread"][0] == pytest.approx(spread, rel=1e-6)
    assert found["slope"][0] == pytest.approx(ols - rho * spread / a.std(), abs=1e-6)
    assert found["centre"][0] == pytest.approx(a.mean(), abs=1e-6)
    assert found["width"][0] == pytest.approx(a.std(), rel=1e-6)


@pytest.mark.parametrize("kind", TRUTH)
def test_without_correlation_everything_has_the_same_bits(kind):
    data, scm = people_of(kind, 0.5, 150, seed=1), pair(kind)
    plain = ca.fit(scm, data, draws=50, progress=False)
    for same in (scm.confounded("a", "b", 0), scm.confounded("a", "b", 0.4).confounded("b", "a", 0.0)):
        found = ca.fit(same, data, draws=50, progress=False)
        assert all(np.array_equal(value, plain.parameters()[name]) for name, value in found.parameters().items())
        assert found.log_evidence == plain.log_evidence
        assert np.array_equal(found.log_likelihood().to_numpy(), plain.log_likelihood().to_numpy())
        assert np.array_equal(found.predictive(5)["b"].to_numpy(), plain.predictive(5)["b"].to_numpy())
        worlds = [ca.counterfactuals(one, {"a": 0.0}, draws=5, progress=False).dataset for one in (plain, found)]
        assert np.array_equal(worlds[0]["b"].to_numpy(), worlds[1]["b"].to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize("kind", TRUTH)
def test_the_truth_is_found_with_the_right_correlation_and_missed_without(kind):
    data, scm = people_of(kind, 0.5, 4000, seed=2), pair(kind)
    missed = ca.fit(scm, data, progress=False)
    found = fit_near(missed, scm.confounded("a", "b", 0.5), progress=False)
    assert found.diagnostics().ok
    slopes = [one.parameters()["slope"] for one in (found, missed)]
    assert abs(slopes[0].mean() - TRUTH[kind]) < 3.5 * slopes[0].std()
    assert abs(slopes[1].mean() - TRUTH[kind]) > 6 * slopes[1].std()
    assert slopes[0].std() < 0.15


def test_the_likelihood_of_a_person_is_that_of_the_pair():
    data, rho = people_of("BernoulliNormal", 0.5, 60, seed=3), 0.5
    posterior = ca.fit(pair("BernoulliNormal").confounded("a", "b", rho), data, draws=4, chains=1, progress=False)
    found, theta = posterior.log_likelihood(progress=False).to_numpy()[0], posterior.parameters()
    for draw in range(4):
        level, slope, share, spread = (theta[name][draw] for name in ("level", "slope", "share", "spread"))
        noise = (data.b - level - slope * data.a) / spread
        cut = (stats.norm.ppf(1 - share) - rho * noise) / np.sqrt(1 - rho**2)
        chance = np.where(data.a == 1, stats.norm.logsf(cut), stats.norm.logcdf(cut))
        assert np.allclose(found[draw], chance + stats.norm.logpdf(noise) - np.log(spread), rtol=1e-10)


def test_a_fit_from_its_neighbour_starts_there_and_ends_where_others_do(people, monkeypatch):
    scm = pair("NormalNormal")
    posterior = ca.fit(scm, people, draws=100, progress=False)
    confounded = scm.confounded("a", "b", 0.1)
    own = ca.fit(confounded, people, draws=100, progress=False)
    starts, climb = [], START.Climber.mode

    def noted(climber, start, *rest):
        starts.append(start)
        return climb(climber, start, *rest)

    monkeypatch.setattr(START.Climber, "mode", noted)
    near = fit_near(posterior, confounded, progress=False)
    mean = {name: value.mean(axis=0, keepdims=True) for name, value in posterior.parameters().items()}
    density = MarginalDensity(confounded, confounded.encode(people))
    assert np.allclose(starts[0], density.unconstrain(mean)[0])
    assert near.settings == own.settings
    for name, value in own.parameters().items():
        assert np.allclose(near.parameters()[name], value, rtol=1e-6, atol=1e-9)
    with pytest.raises(InferenceError, match="The parameters of 'BernoulliNormal' are"):
        fit_near(posterior, pair("BernoulliNormal"))


def test_a_saved_posterior_is_that_of_one_correlation(people, tmp_path):
    scm = pair("NormalNormal").confounded("a", "b", 0.3)
    ca.fit(scm, people, draws=10, progress=False).save(tmp_path / "fit.nc")
    assert ca.Posterior.load(tmp_path / "fit.nc", scm).scm.confounding == scm.confounding
    with pytest.raises(SavedFileError, match=r"its confounding are \[\['a', 'b', 0.3\]\]"):
        ca.Posterior.load(tmp_path / "fit.nc", scm.confounded("a", "b", 0.31))
    with pytest.raises(SavedFileError, match="its edges are"):
        ca.Posterior.load(tmp_path / "fit.nc", pair("NormalNormal"))


def wide(n):
    """Four variables of which a and d are confounded, each with parameters of its own."""
    p, q = pyro.sample("p", dist.Beta(1.0, 1.0)), pyro.sample("q", dist.Normal(0.0, 2.0))
    r, s = pyro.sample("r", dist.Normal(0.0, 2.0)), pyro.sample("s", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        a = pyro.sample("a", dist.Bernoulli(p))
        b = pyro.sample("b", dist.Normal(q + a, 1.0))
        c = pyro.sample("c", dist.Normal(r, 1.0))
        pyro.sample("d", dist.Poisson(torch.exp(s + 0.1 * a + 0.1 * b + 0.0 * c)))


def test_components_with_a_pair_are_one():
    data = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0.1, 2.0, 1.0, -0.3], "c": [0.0, 1.0, 2.0, 1.5], "d": [1, 2, 0, 3]})
    plain = ca.SCM(wide)
    confounded = plain.confounded("d", "a", 0.5)
    parts = [
        {frozenset(part.parameters) for part in components_of(scm, scm.encode(data))} for scm in (plain, confounded)
    ]
    assert parts == [
        {frozenset("p"), frozenset("q"), frozenset("r"), frozenset("s")},
        {frozenset("ps"), frozenset("q"), frozenset("r")},
    ]
    posterior = ca.fit(confounded, data, draws=20, progress=False)
    joint = MarginalDensity(confounded, confounded.encode(data))
    vectors = joint.unconstrain({name: value[:3] for name, value in posterior.parameters().items()})
    by_part = posterior.idata["sample_stats"]["log_likelihood"].to_numpy().ravel()[:3]
    assert np.allclose(joint.over(vectors).likelihood, by_part, rtol=1e-10)


def test_nodes_of_rectangles_count_in_the_memory(monkeypatch):
    data = pd.DataFrame({"a": [0, 1] * 50, "b": 0.1, "c": 0.0, "d": np.arange(100)})
    scm = ca.SCM(wide)
    values, nodes = scm.encode(data), nodes_for(0.5)
    discrete, mixed = scm.confounded("a", "d", 0.5), scm.confounded("a", "b", 0.5)
    assert [MarginalDensity(one, values).run_size for one in (scm, mixed, discrete)] == [100, 100, 100 * nodes]
    monkeypatch.setattr(chunked_density, "_PIECE", 30 * nodes)
    whole = MarginalDensity(discrete, values)
    pieces = chunked_density.marginal_density(discrete, values)
    assert len(pieces.parts) == 4
    vectors = whole.prior_vectors(2, seed=0)
    assert np.allclose(pieces.over(vectors).likelihood, whole.over(vectors).likelihood, rtol=1e-12)


def test_a_pair_beside_a_continuous_latent_is_integrated_with_it():
    """The latent touches one of the two; their density is inside of the integral."""

    def program(n):
        slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            u = pyro.sample("u", dist.Normal(0.0, 1.0))
            a = pyro.sample("a", dist.Normal(0.5 * u, 1.0))
            pyro.sample("b", dist.Normal(slope * a, 1.0))

    rho, theta = 0.6, 0.4
    data = pd.DataFrame({"a": [0.3, -1.0, 2.0], "b": [1.0, 0.0, -0.5]})
    scm = ca.SCM(program, latents=["u"]).confounded("a", "b", rho)
    density = MarginalDensity(scm, scm.encode(data))
    found = density.likelihood_by_row({"slope": np.array([theta])}, 1)[0][density.rows.inverse]
    # a = u / 2 + e, b = slope a + f, where e and f have the correlation.
    noise = np.stack([data.a, data.b - theta * data.a], -1)
    expected = stats.multivariate_normal([0, 0], [[1.25, rho], [rho, 1.0]]).logpdf(noise)
    assert np.allclose(found, expected, atol=1e-6)


@pytest.mark.slow
def test_two_counts_one_of_which_has_a_shape_are_found_too():
    def program(n):
        level, odds = pyro.sample("level", dist.Normal(0.0, 2.0)), pyro.sample("odds", dist.Normal(0.0, 2.0))
        slope, shape = pyro.sample("slope", dist.Normal(0.0, 1.0)), pyro.sample("shape", dist.LogNormal(0.0, 1.0))
        with pyro.plate("individuals", n):
            a = pyro.sample("a", dist.Poisson(level.exp()))
            pyro.sample("b", dist.NegativeBinomial(shape, logits=odds + slope * (a - 24)))

    noise = stats.norm.cdf(np.random.default_rng(5).multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=2000))
    a = stats.poisson.ppf(noise[:, 0], np.exp(3.2))
    data = pd.DataFrame({"a": a, "b": stats.nbinom.ppf(noise[:, 1], 4.0, 1 / (1 + np.exp(1.0 + 0.02 * (a - 24))))})
    found = ca.fit(ca.SCM(program).confounded("a", "b", 0.5), data, draws=250, progress=False).parameters()
    for name, truth in {"level": 3.2, "odds": 1.0, "slope": 0.02, "shape": 4.0}.items():
        assert abs(found[name].mean() - truth) < 3.5 * found[name].std()
    assert abs(ca.fit(ca.SCM(program), data, draws=250, progress=False).parameters()["slope"].mean() - 0.02) > 0.04


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*rest on a poor match")
def test_law_school_cases_by_the_confounding_of_race_and_lsat(data_folder):
    people, scm = ca.datasets.load_law_school(data_folder), ca.models.law_school.level_3()

    def admitted(table):
        return (0.6 * table.UGPA + 0.4 * table.LSAT).round(6) >= 20.80

    posterior, cases = ca.fit(scm, people, draws=250, progress=False), {}
    for rho in (0.0, -0.2, -0.6, 0.2, 0.6):
        posterior = fit_near(posterior, scm.confounded("Race", "LSAT", rho), progress=False)
        worlds = ca.counterfactuals(
            posterior, {"Race": "White"}, rows=people.Race == "NonWhite", draws=2, progress=False
        )
        result = ca.situation_testing(
            people,
            admitted,
            {"Race": "NonWhite"},
            features=["LSAT", "UGPA"],
            counterfactuals=worlds,
            progress=False,
        )
        cases[rho] = int(result.summary()["cases"].iloc[0])
    expected = {-0.6: 7, -0.2: 153, 0.0: 297, 0.2: 527, 0.6: 1116}
    assert all(abs(cases[rho] - number) <= 0.05 * number for rho, number in expected.items()), cases
