"""Survey weights: fits of a pseudo-likelihood, whose draws have the spread of a survey."""

import warnings

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from law_school_people import simulated_level_2
from scipy.special import expit
from scipy.stats import binom
from surveys import TRUTH, draw_survey, outcomes

import causalaudit as ca
from causalaudit.errors import DataError, InferenceError
from causalaudit.inference.density import chunked_density
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.influence import posterior_influence
from causalaudit.inference.posterior.diagnostics import diagnose
from causalaudit.inference.posterior.predictive_check import predictive_verdict

N = 300
RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame({"x": RNG.gamma(2.0, 1.0, N), "w": RNG.gamma(2.0, 1.0, N)})
PEOPLE["y"] = PEOPLE.x + RNG.normal(size=N)


def two_means(n):
    of_x, of_y = pyro.sample("of_x", dist.Normal(0.0, 100.0)), pyro.sample("of_y", dist.Normal(0.0, 100.0))
    pyro.sample("unused", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Normal(of_x, 3.0))
        pyro.sample("y", dist.Normal(of_y, 5.0))


@pytest.fixture(scope="module")
def means():
    return ca.fit(ca.SCM(two_means), PEOPLE, "laplace", weights="w")


def test_means_have_the_variance_of_a_survey_also_between_sites(means):
    """The linearised variance of weighted means; the spreads that the program says are wrong, and do not matter."""
    share = PEOPLE.w / PEOPLE.w.sum()
    centres = np.array([(share * PEOPLE[name]).sum() for name in ("x", "y")])
    left = (PEOPLE[["x", "y"]] - centres).to_numpy() * share.to_numpy()[:, None]
    covariance = left.T @ left * N / (N - 1)
    draws = np.stack([means.parameters()[name] for name in ("of_x", "of_y")])
    assert np.allclose(draws.mean(axis=1), centres, atol=3 * np.sqrt(np.diag(covariance)) / 60)
    assert np.allclose(np.cov(draws), covariance, rtol=0.08)  # of 4,000 draws
    assert covariance[0, 1] > 0.5 * covariance[0, 0]
    assert means.parameters()["unused"].std() == pytest.approx(2.0, rel=0.05)  # the prior


def test_a_logistic_regression_with_a_prior_has_the_sandwich():
    def program(n):
        level, slope = pyro.sample("level", dist.Normal(0.0, 1.0)), pyro.sample("slope", dist.Normal(0.0, 0.3))
        with pyro.plate("individuals", n):
            dose = pyro.sample("dose", ca.Given())
            pyro.sample("cured", dist.Bernoulli(logits=level + slope * dose))

    rng = np.random.default_rng(1)
    people = pd.DataFrame({"dose": rng.normal(size=400), "w": rng.exponential(size=400)})
    people["cured"] = (rng.random(400) < expit(0.5 + people.dose)).astype(int)
    posterior = ca.fit(ca.SCM(program), people, weights="w")
    rows, weights, precision = np.column_stack([np.ones(400), people.dose]), people.w / people.w.mean(), [1.0, 1 / 0.09]
    at = np.zeros(2)
    for _ in range(20):
        left = (people.cured - expit(rows @ at)).to_numpy()
        hessian = (rows.T * (weights.to_numpy() * expit(rows @ at) * expit(-rows @ at))) @ rows + np.diag(precision)
        at = at + np.linalg.solve(hessian, rows.T @ (weights * left) - precision * at)
    scores = rows * (weights.to_numpy() * left)[:, None]
    meat = np.cov(scores, rowvar=False, bias=False) * 400 + np.diag(precision)
    expected = np.linalg.solve(hessian, np.linalg.solve(hessian, meat).T)
    draws = np.stack([posterior.parameters()[name] for name in ("level", "slope")])
    assert np.allclose(np.cov(draws), expected, rtol=0.1, atol=0.05 * expected[1, 1])
    assert np.allclose(draws.mean(axis=1), at, atol=0.1 * np.sqrt(np.diag(expected)))


def test_weights_of_replication_give_the_mode_of_replicated_rows():
    scm, people = ca.SCM(outcomes), draw_survey(np.random.default_rng(0), 60).drop(columns="w")
    copies = np.random.default_rng(1).integers(0, 4, 60)
    weighted = ca.fit(scm, people.assign(w=copies), "ml", draws=1, chains=1, weights="w")
    replicated = ca.fit(
        scm, people.loc[np.repeat(np.arange(60), copies)].reset_index(drop=True), "ml", draws=1, chains=1
    )
    for name, value in weighted.parameters().items():
        assert value == pytest.approx(replicated.parameters()[name], rel=1e-6)


def test_neither_the_unit_of_weights_nor_people_without_a_weight_change_anything(means):
    absent = pd.DataFrame({"x": [50.0], "y": [-50.0], "w": [0.0]}, index=["absent"])
    more = pd.concat([PEOPLE.assign(w=PEOPLE.w * 256), absent])
    other = ca.fit(ca.SCM(two_means), more, "laplace", weights="w")
    for name, value in means.parameters().items():
        assert np.array_equal(value, other.parameters()[name])
    assert other.weights.sum() == pytest.approx(N)
    assert "300 people are worth" in other.diagnostics().verdict


def test_a_weighted_posterior_says_that_it_is_and_is_saved_with_its_weights(means, tmp_path):
    assert means.log_evidence is None
    assert means.diagnostics().ok
    assert "Weighted by 'w': 300 people are worth 2" in means.diagnostics().verdict
    assert "log_pseudo_likelihood" in means.idata["sample_stats"]
    assert "log_likelihood" not in means.idata["sample_stats"]
    means.save(tmp_path / "means.nc")
    loaded = ca.Posterior.load(tmp_path / "means.nc", ca.SCM(two_means))
    assert np.array_equal(loaded.weights, means.weights)
    assert loaded.diagnostics().verdict == means.diagnostics().verdict
    by_person = loaded.log_likelihood(progress=False)
    assert by_person.attrs["weights"] == "w"
    spread = dist.Normal(torch.tensor(loaded.parameters()["of_y"][5]), 5.0).log_prob(torch.tensor(PEOPLE.y[7]))
    of_x = dist.Normal(torch.tensor(loaded.parameters()["of_x"][5]), 3.0).log_prob(torch.tensor(PEOPLE.x[7]))
    assert float(by_person[0, 5, 7]) == pytest.approx(float(spread + of_x))


def test_what_takes_everybody_alike_refuses_weighted_people():
    people = draw_survey(np.random.default_rng(0), 100)
    posterior = ca.fit(ca.SCM(outcomes), people, draws=100, weights="w")
    audit = lambda posterior: float(posterior.parameters()["gap"].mean())  # noqa: E731
    with pytest.raises(InferenceError, match="leave-one-out takes each for one factor"):
        ca.compare_worlds({"one": posterior, "other": posterior}, audit)
    with pytest.raises(InferenceError, match="no likelihood to scale"):
        ca.prior_sensitivity(posterior, audit)
    with pytest.raises(InferenceError, match="no likelihood to show"):
        ca.coupling_sensitivity(posterior, audit, sites=["event"], r=[0.5])


@pytest.mark.slow
def test_samplers_agree_with_importance_draws(means):
    found = ca.fit(ca.SCM(two_means), PEOPLE, "nuts", draws=400, chains=2, weights="w")
    for name in ("of_x", "of_y"):
        ours, theirs = means.parameters()[name], found.parameters()[name]
        assert theirs.mean() == pytest.approx(ours.mean(), abs=0.2 * ours.std())
        assert theirs.std() == pytest.approx(ours.std(), rel=0.12)


def test_the_influence_of_weighted_people_on_a_mean():
    posterior = ca.fit(ca.SCM(two_means), PEOPLE, "laplace", draws=100, chains=1, weights="w")
    figures = np.stack([posterior.parameters()["of_x"], 2 * posterior.parameters()["of_y"]], axis=1)
    found = posterior_influence(posterior, figures, np.arange(100))
    for column, (name, factor) in enumerate({"x": 1, "y": 2}.items()):
        centre = np.average(PEOPLE[name], weights=PEOPLE.w)
        assert np.allclose(found[:, column], factor * (PEOPLE[name] - centre) * PEOPLE.w / PEOPLE.w.mean(), atol=1e-3)
    with pytest.raises(InferenceError, match="5 draws are too few"):
        posterior_influence(posterior, figures[:5], np.arange(5))


def test_gradients_of_people_with_a_latent_are_differences_of_their_likelihoods(monkeypatch):
    scm, people, _ = simulated_level_2(12, seed=5)
    values, weights = scm.encode(people), np.random.default_rng(0).exponential(size=12)
    density = MarginalDensity(scm, values)
    vector = density.prior_vectors(1, 0)[0]
    scores, inverse = density.placed_at(vector, "precise").scores(vector)
    for number in (0, density.size - 1):
        step = np.zeros(density.size)
        step[number] = 1e-4
        ends = [density.likelihood_by_row(density.constrain((vector + sign * step)[None]), 1)[0] for sign in (1, -1)]
        assert np.allclose(scores[:, number], (ends[0] - ends[1]) / 2e-4, rtol=1e-4, atol=1e-4)
    monkeypatch.setattr(chunked_density, "_PIECE", 64)
    chunked = chunked_density.marginal_density(scm, values, weights).placed_at(vector, "precise")
    found, own = chunked.scores(vector)
    assert np.allclose(found[own], scores[inverse], atol=1e-4)
    whole = weights @ scores[inverse]
    assert np.allclose(whole, chunked_slope(chunked, vector), atol=1e-3 * np.abs(whole).max())


def chunked_slope(density, vector):
    """The gradient of a log-likelihood."""
    at = torch.tensor(vector, requires_grad=True)
    (slope,) = torch.autograd.grad(sum(density.terms(at, prior=False, jacobian=False)), at)
    return slope.numpy()


def test_covariates_that_are_given_are_simulated_by_weight():
    def program(n):
        slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            age = pyro.sample("age", ca.Given())
            pyro.sample("wage", dist.Normal(slope * age, 1.0))

    people = pd.DataFrame({"age": [1.0, 2.0, 3.0] * 200, "wage": [1.0, 2.0, 3.0] * 200, "w": [0.0, 3.0, 1.0] * 200})
    posterior = ca.fit(ca.SCM(program), people, draws=50, chains=1, weights="w")
    ages = posterior.predictive(draws=50)["age"].to_numpy()
    assert [float((ages == age).mean().round(2)) for age in (1.0, 2.0, 3.0)] == pytest.approx(
        [0.0, 0.75, 0.25], abs=0.015
    )


def test_simulated_people_are_compared_with_the_population():
    people = draw_survey(np.random.default_rng(5), 1000)
    posterior = ca.fit(ca.SCM(outcomes), people, draws=100, chains=1, weights="w")
    weighted, drawn = posterior.diagnostics(by="group"), posterior.predictive()
    assert weighted.fits, weighted.predictive
    fits, words = predictive_verdict(drawn, people, "group")  # as they were sampled, they are not like them
    assert not fits
    assert "simulates" in words
    shifted = people.assign(score=people.score.where(people.group == 0, people.score + 1))
    assert not predictive_verdict(drawn, shifted, "group", people.w.to_numpy())[0]


def test_a_weighted_posterior_far_from_normal_is_not_trusted():
    numbers = {"pareto_k": 0.1, "ess": 4000.0, "efficiency": 0.9, "first_share": 1.0}
    assert diagnose("laplace", {**numbers, "beyond_curvature": 1.1}, 4000).ok
    found = diagnose("laplace", {**numbers, "beyond_curvature": 2.5}, 4000)
    assert not found.ok
    assert "2.5 times as wide as its curvature" in found.verdict


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("v", "column of weights 'v' is not in data"),
        (PEOPLE.w, r"weights is Series of shape \(300,\), but must be the name of a column"),
        ("missing", "'missing' is missing for 1 of 300 people"),
        ("negative", "1 of 300 are not, for example -1.0 of the person 4"),
        ("nothing", "are all 0"),
        ("text", "must be numbers"),
    ],
)
def test_bad_weights_are_refused(weights, words):
    more = PEOPLE.assign(missing=PEOPLE.w.where(PEOPLE.index != 4), nothing=0.0, text="1")
    more["negative"] = PEOPLE.w.where(PEOPLE.index != 4, -1.0)
    with pytest.raises(DataError, match=words):
        ca.fit(ca.SCM(two_means), more, weights=weights)


def test_missing_values_of_weighted_people_are_refused():
    with pytest.raises(DataError, match="'y' is missing for some people, and fits with weights need all columns"):
        ca.fit(ca.SCM(two_means), PEOPLE.assign(y=PEOPLE.y.where(PEOPLE.index > 3)), weights="w")


def test_several_continuous_latents_are_refused():
    def program(n):
        loading = pyro.sample("loading", dist.HalfNormal(1.0))
        with pyro.plate("individuals", n):
            u, v, w = (pyro.sample(name, dist.Normal(0.0, 1.0)) for name in "uvw")
            pyro.sample("x", dist.Normal(loading * u + v + w, 1.0))

    with pytest.raises(InferenceError, match=r"'u', 'v', 'w' are continuous .* Leave out weights"):
        ca.fit(ca.SCM(program, latents=["u", "v", "w"]), PEOPLE, weights="w")


def coverage(seeds, n=400, prob=0.9):
    """How often intervals of parameters hold the truth, with weights and without."""
    scm, held = ca.SCM(outcomes), {"w": [], None: []}
    for seed in seeds:
        people = draw_survey(np.random.default_rng(seed), n)
        for weights, found in held.items():
            posterior = ca.fit(scm, people, draws=500, chains=1, weights=weights, seed=seed, progress=False)
            table = posterior.summary(prob).loc[list(TRUTH)]
            truth = np.array(list(TRUTH.values()))
            found.append((table["credible_low"] <= truth) & (truth <= table["credible_high"]))
    return {weights: np.mean(found, axis=0) for weights, found in held.items()}


@pytest.mark.slow
def test_intervals_cover_under_informative_sampling_and_unweighted_ones_do_not():
    """People are sampled by score and event; 99 % binomial bounds of a coverage of 90 %, for each parameter."""
    number = 40
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = coverage(range(number))
    low, high = binom.ppf([0.005, 0.995], number, 0.9) / number
    assert ((low <= found["w"]) & (found["w"] <= high)).all(), found
    assert (found[None] < low).sum() >= 3, found
