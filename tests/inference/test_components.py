"""Parameters that enter different sites are independent given the data: they are fitted apart, and nothing changes."""

import importlib
from functools import partial

import arviz as az
import joblib
import networkx as nx
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from law_school_people import simulated_level_2
from scipy import stats
from scipy.special import betaln, logsumexp

import causalaudit as ca
from causalaudit.errors import CausalAuditError, CausalAuditWarning
from causalaudit.inference.components.part_of_program import part_of_program
from causalaudit.inference.components.partition import components_of
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.laplace.importance_draws import laplace_draws
from causalaudit.models import adult, compas, german_credit, law_school, loan, mediation
from causalaudit.scm.simulation import simulate

FIT = importlib.import_module("causalaudit.inference.fit")
SHIPPED = {
    "loan": loan.linear,
    "level 2": law_school.level_2,
    "level 3": law_school.level_3,
    "level 3, interaction": law_school.level_3_interaction,
    "intersectional": law_school.intersectional,
    "mediation": mediation.linear,
    "compas": compas.figure_1,
    "german credit": german_credit.applications,
    "adult": adult.census,
}
PROBABILITY = 1e-3  # of a false alarm in one model


def people_of(name, scm, n):
    """People at the medians of the prior; of level 2, like those of the survey."""
    if name == "level 2":
        return simulated_level_2(n, seed=5)[1]
    prior = scm.prior_predictive(n=1, draws=400, seed=0)
    middle = {name: np.median(prior[name].to_numpy(), axis=0, keepdims=True) for name in scm.parameters}
    drawn = simulate(scm, middle, n, 1, seed=0).isel(draw=0)
    return pd.DataFrame({name: scm.codec.decode(name, drawn[name].to_numpy()) for name in scm.columns})


def parameters_of(components):
    return {frozenset(component.parameters) for component in components if component.parameters}


# Which there are


@st.composite
def linear_programs(draw):
    """The sources of each parameter and of each variable, and which variables are latent."""
    parameters = [f"p{number}" for number in range(draw(st.integers(1, 5)))]
    variables = [f"x{number}" for number in range(draw(st.integers(1, 4)))]
    sources = {}
    for place, name in enumerate(parameters):
        sources[name] = draw(st.sets(st.sampled_from(parameters[:place]), max_size=1)) if place else set()
    for place, name in enumerate(variables):
        sources[name] = draw(st.sets(st.sampled_from([*parameters, *variables[:place]]), max_size=3))
    latents = [name for name in variables if draw(st.booleans())]
    return sources, latents if len(latents) < len(variables) else latents[1:]


def weight(source, site):
    """A weight like no other, so that nothing cancels."""
    return float(np.sqrt(2 + 7 * int(source[1:]) + 3 * int(site[1:]) + (0.5 if source[0] == "x" else 0.0)) / 4)


def linear(n, sources):
    values = {}

    def draw(name):
        mean = sum((weight(source, name) * values[source] for source in sorted(sources[name])), torch.zeros(()))
        values[name] = pyro.sample(name, dist.Normal(mean, 1.0))

    for name in (name for name in sources if name[0] == "p"):
        draw(name)
    with pyro.plate("individuals", n):
        for name in (name for name in sources if name[0] == "x"):
            draw(name)


def parts_of_the_precision(sources, latents):
    """What hangs together in the posterior precision of parameters and latents, which is known in closed form."""
    unknown = [name for name in sources if name[0] == "p" or name in latents]
    precision = np.zeros((len(unknown), len(unknown)))
    for site, own in sources.items():
        residual = np.array([float(name == site) - (weight(name, site) if name in own else 0.0) for name in unknown])
        precision += np.outer(residual, residual)
    linked = nx.from_numpy_array(np.abs(precision) > 1e-12)
    parts = ({unknown[at] for at in part if unknown[at][0] == "p"} for part in nx.connected_components(linked))
    return {frozenset(part) for part in parts if part}


@given(linear_programs())
@settings(max_examples=20)
def test_parameters_are_split_exactly_where_the_posterior_is(written):
    sources, latents = written
    scm = ca.SCM(partial(linear, sources=sources), latents=latents)
    people = pd.DataFrame(np.random.default_rng(0).normal(size=(5, len(scm.columns))), columns=list(scm.columns))
    assert parameters_of(components_of(scm, scm.encode(people))) == parts_of_the_precision(sources, latents)


def test_level_2_has_three_components_and_its_latent_joins_the_scores():
    scm = law_school.level_2()
    components = components_of(scm, scm.encode(simulated_level_2(20, seed=0)[1]))
    assert [component.sites for component in components] == [("Gender",), ("Race",), ("knowledge", "UGPA", "LSAT")]
    assert components[2].given == ("Gender", "Race")
    assert len(components[2].parameters) == 9


def test_a_dependence_that_was_not_claimed_shows_when_a_parameter_is_changed():
    scm = loan.linear()
    values = scm.encode(ca.datasets.make_loan(30, seed=0))
    assert len(parameters_of(components_of(scm, values))) == 3
    claims = scm.structure.depends_on
    claims["balance"] -= {"saving"}  # which then is a component of its own
    assert len(parameters_of(components_of(scm, values))) == 3


# What they are


@pytest.mark.parametrize("name", ["loan", "level 2", "mediation"])
def test_densities_of_components_multiply_to_that_of_the_program(name):
    scm = SHIPPED[name]()
    people = people_of(name, scm, 40)
    values = scm.encode(people)
    whole = MarginalDensity(scm, values)
    vectors = whole.prior_vectors(3, seed=1) * 0.3
    near = whole.parameters.split(torch.from_numpy(vectors))
    expected = whole.placed_at(vectors[0], "precise").over(vectors)
    likelihood, jacobian, prior = 0.0, 0.0, {}
    for component in components_of(scm, values):
        density = MarginalDensity(*part_of_program(scm, component, values))
        assert set(density.parameters.shapes) == set(component.parameters)
        own = np.concatenate([near[name].reshape(3, -1).numpy() for name in density.parameters.shapes], axis=1)
        parts = density.placed_at(own[0], "precise").over(own)
        likelihood, jacobian, prior = likelihood + parts.likelihood, jacobian + parts.jacobian, prior | parts.prior
    np.testing.assert_allclose(likelihood, expected.likelihood, rtol=1e-9 if name != "level 2" else 1e-5)
    np.testing.assert_allclose(jacobian, expected.jacobian, rtol=1e-9)
    for name, value in expected.prior.items():
        np.testing.assert_allclose(prior[name], value, rtol=1e-9)


def two_questions(n):
    mean = pyro.sample("mean", dist.Normal(1.0, 2.0))
    share = pyro.sample("share", dist.Beta(2.0, 3.0))
    unused = pyro.sample("unused", dist.Normal(3.0, 0.5))
    pyro.deterministic("ratio", mean / share)
    with pyro.plate("individuals", n):
        pyro.sample("z", dist.Bernoulli(share))
        pyro.sample("known", dist.Normal(0.0, 2.0))
        pyro.sample("x", dist.Normal(mean, 1.5))
    assert unused is not None


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"x": rng.normal(2, 1.5, 40), "z": rng.integers(0, 2, 40), "known": rng.normal(0, 2, 40)})
    return people, ca.fit(ca.SCM(two_questions), people, seed=1)


def test_posterior_and_evidence_are_those_of_the_closed_form(answers):
    people, posterior = answers
    n, ones = len(people), int(people["z"].sum())
    precision = 1 / 2.0**2 + n / 1.5**2
    laws = {
        "mean": stats.norm((1.0 / 2.0**2 + people["x"].sum() / 1.5**2) / precision, precision**-0.5),
        "share": stats.beta(2 + ones, 3 + n - ones),
        "unused": stats.norm(3.0, 0.5),
    }
    for name, law in laws.items():
        assert stats.kstest(posterior.parameters()[name], law.cdf).pvalue > 1e-3
    covariance = 1.5**2 * np.eye(n) + 2.0**2
    evidence = stats.multivariate_normal(np.full(n, 1.0), covariance).logpdf(people["x"])
    evidence += betaln(2 + ones, 3 + n - ones) - betaln(2, 3) + stats.norm(0, 2).logpdf(people["known"]).sum()
    value, error = posterior.log_evidence
    assert value == pytest.approx(evidence, abs=4 * error)
    assert error < 0.02


def test_draws_are_independent_and_what_is_computed_of_several_is_of_the_same_draw(answers):
    _, posterior = answers
    found = {name: value.to_numpy().ravel() for name, value in posterior.idata["posterior"].items()}
    assert list(found) == ["mean", "share", "unused", "ratio"]
    np.testing.assert_allclose(found["ratio"], found["mean"] / found["share"], rtol=1e-12)
    ranks = np.array([stats.rankdata(found[name]) for name in ("mean", "share", "unused")])
    correlations = np.corrcoef(ranks)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 4 / np.sqrt(4000)


def test_likelihoods_of_people_add_up_to_those_of_the_draws(answers):
    _, posterior = answers
    people = posterior.log_likelihood().sum("individual")
    np.testing.assert_allclose(people, posterior.idata["sample_stats"]["log_likelihood"], rtol=1e-9)


def test_the_verdict_is_of_the_worst_and_each_component_has_its_own(answers):
    _, posterior = answers
    found = posterior.diagnostics()
    assert found.ok
    assert "worst of 3 independent parts of the posterior" in found.verdict
    assert [one.parameters for one in found.components] == [("mean",), ("share",), ("unused",)]
    assert found.numbers["pareto_k"] == max(one.numbers["pareto_k"] for one in found.components)
    sizes = posterior.summary()["ess"]
    assert sizes["mean"] == found.components[0].numbers["ess"]


def shared(n):
    common = pyro.sample("common", dist.Normal(0.0, 1.0))
    slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        x = pyro.sample("x", dist.Normal(common, 1.0))
        pyro.sample("y", dist.Normal(common + slope * x, 1.0))


def test_a_program_with_one_component_is_fitted_as_a_whole():
    people = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["x", "y"])
    scm = ca.SCM(shared)
    posterior = ca.fit(scm, people, draws=50, chains=2, seed=7)
    whole = laplace_draws(MarginalDensity(scm, scm.encode(people)), 100, 7)
    np.testing.assert_array_equal(posterior.parameters()["slope"], whole.parts.values["slope"])
    assert not posterior.diagnostics().components


def test_impossible_people_are_refused_also_where_nothing_is_inferred():
    def program(n):
        one, two = (pyro.sample(name, dist.Normal(0.0, 1.0)) for name in ("one", "two"))
        with pyro.plate("individuals", n):
            pyro.sample("x", dist.Normal(one, 1.0))
            pyro.sample("y", dist.Normal(two, 1.0))
            pyro.sample("u", dist.Uniform(0.0, 1.0))

    people = pd.DataFrame({"x": [0.0, 1.0], "y": [1.0, 0.0], "u": [0.5, 2.0]})
    with pytest.raises(CausalAuditError, match=r"1 of 2 rows are impossible .* the first being row 1"):
        ca.fit(ca.SCM(program), people)


# Beside the whole


def funnel_and_more(n):
    log_scale = pyro.sample("log_scale", dist.Normal(0.0, 1.5))
    shift = pyro.sample("shift", dist.Normal(0.0, torch.exp(log_scale)).expand([4]).to_event(1))
    mean = pyro.sample("mean", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Normal(shift.sum(), 50.0))
        pyro.sample("y", dist.Normal(mean, 1.0))


@pytest.mark.slow
def test_only_the_component_that_needs_it_is_sampled_by_chains():
    people = pd.DataFrame({"x": [0.1, -0.2], "y": [0.3, 0.4]})
    with pytest.warns(CausalAuditWarning, match="Not trustworthy.*worst of 2 .*'log_scale', 'shift'"):
        posterior = ca.fit(ca.SCM(funnel_and_more), people, draws=200, chains=2)
    assert posterior.settings["method"] == "laplace and nuts"
    funnel, plain = posterior.diagnostics().components
    assert "r_hat" in funnel.numbers
    assert "pareto_k" in plain.numbers
    table = posterior.summary()
    assert np.isfinite(table.loc["log_scale", "r_hat"])
    assert np.isnan(table.loc["mean", "r_hat"])
    assert table.loc["mean", "mean"] == pytest.approx(0.7 / 3, abs=4 * table.loc["mean", "mcse"])
    assert posterior.log_evidence is None
    parts = posterior.idata["sample_stats"]
    prior = sum(posterior.idata["log_prior"].data_vars.values())
    np.testing.assert_allclose(parts["lp"], prior + parts["log_likelihood"], rtol=1e-9)


@pytest.mark.slow
def test_the_same_bits_for_one_and_two_workers():
    people = ca.datasets.make_loan(50, seed=0)
    one = ca.fit(loan.linear(), people, draws=50, chains=2, seed=3)
    with joblib.parallel_config("loky", n_jobs=2):
        two = ca.fit(loan.linear(), people, draws=50, chains=2, seed=3)
    assert one.idata["posterior"].identical(two.idata["posterior"])
    assert one.idata["sample_stats"].identical(two.idata["sample_stats"])


# Of Adult it is the joint fit of all 108 parameters that is off (by a third of a standard deviation in hours_spread):
# proposals that are fitted to their own draws are too narrow in so many dimensions. Its components agree with chains.
OFF = pytest.mark.xfail(strict=True, reason="the joint fit of 108 parameters is biased; components agree with NUTS")


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=OFF if name == "adult" else ()) for name in SHIPPED])
def test_components_equal_the_joint_fit(name, monkeypatch):
    scm = SHIPPED[name]()
    people = people_of(name, scm, {"level 2": 150, "adult": 500}.get(name, 300))
    apart = ca.fit(scm, people, method="laplace", seed=1)
    monkeypatch.setattr(FIT, "components_of", lambda scm, values: [])
    joint = ca.fit(scm, people, method="laplace", seed=2)
    assert apart.diagnostics().components
    assert not joint.diagnostics().components
    one, other = apart.summary(), joint.summary()
    most = stats.norm.isf(PROBABILITY / 4 / len(one))
    gaps = (one["mean"] - other["mean"]).abs() / np.hypot(one["mcse"], other["mcse"])
    assert gaps.max() < most
    # The spread of n draws of a heavier-tailed posterior is less certain than that of a normal: kurtosis counts.
    draws = np.concatenate([value.reshape(len(value), -1) for value in apart.parameters().values()], axis=1)
    heaviness = np.sqrt((np.maximum(stats.kurtosis(draws).max(), 0.0) + 2) / 4)
    error = heaviness * np.sqrt(1 / one["ess"] + 1 / other["ess"])
    assert (np.log(one["sd"] / other["sd"]).abs() < most * error).all()
    evidence, whole = apart.log_evidence, joint.log_evidence
    assert abs(evidence.value - whole.value) < 4 * np.hypot(evidence.error, whole.error)
    (mine, error), (theirs, joint_error) = leave_one_out(apart), leave_one_out(joint)
    assert abs(mine - theirs) < 4 * np.hypot(error, joint_error)


def leave_one_out(posterior):
    """The expected log predictive density, and its Monte Carlo error: people share the draws, so that errors add up."""
    people = posterior.log_likelihood(progress=False).to_numpy()
    inverse = -people.reshape(-1, people.shape[-1])
    ratios = np.exp(inverse - logsumexp(inverse, axis=0) + np.log(len(inverse)))  # 1 / likelihood, with a mean of one
    error = ratios.sum(axis=1).std() / np.sqrt(posterior.summary()["ess"].min())
    return az.loo(posterior.idata).elpd_loo, error
