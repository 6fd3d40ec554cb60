"""`SCM.confounded`: what it accepts, what the diagram says, and the density of a person."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from confounded_pairs import pair
from scipy import stats

import causalaudit as ca
from causalaudit.errors import DataError, ProgramError
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Intervene, run
from causalaudit.scm.score import Score


def mixed(n):
    with pyro.plate("individuals", n):
        u = pyro.sample("u", dist.Normal(0.0, 1.0))
        kind = pyro.sample("kind", dist.Categorical(torch.ones(3)))
        x = pyro.sample("x", dist.Bernoulli(0.3))
        age = pyro.sample("age", ca.Given())
        w = pyro.sample("w", dist.Poisson(torch.exp(0.5 + 0.4 * x)))
        y = pyro.sample("y", dist.Normal(u + w + 0.1 * age + kind, 2.0))
        pyro.deterministic("double", 2 * y)


@pytest.fixture(scope="module")
def scm():
    return ca.SCM(mixed, latents=["u"])


@pytest.mark.parametrize(
    ("one", "other", "rho", "message"),
    [
        ("x", "y", 1.0, "rho is 1.0, but must be a number between -1 and 1"),
        ("x", "y", -1.5, "rho is -1.5"),
        ("x", "y", float("nan"), "rho is nan"),
        ("x", "z", 0.3, "There is no variable 'z' to confound"),
        ("x", "u", 0.3, "'u' is latent"),
        ("x", "kind", 0.3, r"'kind' \(Categorical\) has no order"),
        ("double", "x", 0.3, r"'double' has no noise of its own that could be confounded \(Delta\)"),
        ("age", "x", 0.3, r"'age' has no noise of its own that could be confounded \(Given\)"),
        ("x", "x", 0.3, "cannot be confounded with itself"),
    ],
)
def test_what_cannot_be_confounded_is_refused(scm, one, other, rho, message):
    with pytest.raises(ProgramError, match=message):
        scm.confounded(one, other, rho)


def test_a_correlation_is_a_number(scm):
    with pytest.raises(DataError, match=r"rho is '0\.3', but must be a number"):
        scm.confounded("x", "y", "0.3")


def test_a_variable_is_in_one_pair(scm):
    with pytest.raises(ProgramError, match="'x' is confounded with another variable already"):
        scm.confounded("x", "y", 0.3).confounded("w", "x", 0.2)


def test_parts_of_vectors_and_unknown_families_are_refused():
    def program(n):
        with pyro.plate("individuals", n):
            x = pyro.sample("x", dist.Normal(0.0, 1.0))
            pyro.sample("v", dist.MultivariateNormal(torch.zeros(2), torch.eye(2)))
            pyro.sample("angle", dist.BetaBinomial(1.0 + x**2, 1.0, 5))

    model = ca.SCM(program, columns={"v": ["v1", "v2"]})
    with pytest.raises(ProgramError, match="'v1' is part of a vector"):
        model.confounded("x", "v1", 0.3)
    with pytest.raises(ProgramError, match=r"The noise of 'angle' .* cannot be confounded. Supported: Bernoulli"):
        model.confounded("x", "angle", 0.3)


def test_the_diagram_has_a_latent_cause_that_is_no_variable(scm):
    confounded = scm.confounded("y", "x", 0.3)
    assert set(confounded.graph.successors("U(x,y)")) == {"x", "y"}
    assert confounded.graph.nodes["U(x,y)"]["latent"]
    assert confounded.variables == scm.variables
    assert confounded.columns == scm.columns
    assert "U(x,y)" not in scm.graph  # the other model is as it was
    assert "x and y confounded by +0.3" in repr(confounded)
    (found,) = confounded.confounding
    assert (found.first, found.second, found.rho) == ("x", "y", 0.3)
    again = confounded.confounded("x", "y", -0.2)
    assert [one.rho for one in again.confounding] == [-0.2]
    without = again.confounded("x", "y", 0)
    assert not without.confounding
    assert set(without.graph.edges) == set(scm.graph.edges)
    assert scm.confounded("x", "y", 0.0).program is scm.program


def test_a_confounded_variable_has_monotone_noise(scm):
    confounded = scm.confounded("x", "y", 0.3)
    assert confounded.couplings()["x"] == "monotone"
    for coupling in ("independent", "gumbel", {"x": "independent"}):
        with pytest.raises(ProgramError, match="'x' is confounded, which is about its monotone noise"):
            confounded.couplings(coupling)
    assert confounded.couplings({"w": "independent"})["w"] == "independent"


def test_computed_columns_keep_the_confounding():
    def program(n):
        slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            x = pyro.sample("x", dist.Normal(0.0, 1.0))
            noise = pyro.sample("noise", dist.Normal(0.0, 1.0))
            pyro.deterministic("y", slope * x + noise)
            pyro.sample("z", dist.Normal(x, 1.0))

    model = ca.SCM(program, latents=["noise"]).confounded("y", "z", 0.4)  # noise is that of y
    data = pd.DataFrame({"x": [0.0, 1.0], "y": [0.5, 1.0], "z": [0.0, 2.0]})
    assert model.with_columns_of(data).confounding == model.confounding
    with pytest.raises(ProgramError, match="'y' is latent"):
        model.with_columns_of(data.drop(columns="y"))


def log_density(scm, values, names=None):
    with numerics(), torch.no_grad():
        score = Score(names)
        tensors = {name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()}
        run(scm.program, len(next(iter(values.values()))), score, Intervene(tensors))
        return score.total.numpy()


def test_the_density_of_two_normals_is_the_bivariate_normal():
    rho, values = 0.6, {"a": [0.3, -2.0], "b": [1.0, 7.0]}
    constants = {"level": 0.5, "slope": 2.0, "centre": -1.0, "width": 1.5, "spread": 0.7}
    found = log_density(pair("NormalNormal").confounded("a", "b", rho), {**values, **constants})
    covariance = np.array([[1.5**2, rho * 1.5 * 0.7], [rho * 1.5 * 0.7, 0.7**2]])
    noise = np.stack([np.array(values["a"]) + 1.0, np.array(values["b"]) - 0.5 - 2.0 * np.array(values["a"])], -1)
    assert np.allclose(found, stats.multivariate_normal([0, 0], covariance).logpdf(noise), rtol=1e-12)


def test_probabilities_of_discrete_pairs_add_up_and_have_the_marginals_of_the_program(scm):
    confounded = scm.confounded("x", "w", -0.7)
    grid = [np.ravel(axis).astype(float) for axis in np.meshgrid([0, 1], np.arange(40), indexing="ij")]
    others = {"u": [0.0] * 80, "kind": [0] * 80, "age": [1.0] * 80, "y": [0.0] * 80}
    values = {"x": grid[0], "w": grid[1], **others}
    both = np.exp(log_density(confounded, values, {"x", "w"})).reshape(2, 40)
    assert both.sum() == pytest.approx(1.0, abs=1e-10)
    assert both.sum(axis=1) == pytest.approx([0.7, 0.3], abs=1e-10)
    # w is caused by x: what is known is the chance of w given the noise of x, averaged over who has x = 1.
    alone = np.exp(log_density(confounded, values, {"w"})).reshape(2, 40)
    assert np.allclose(alone * np.array([[0.7], [0.3]]), both, rtol=1e-9)
    assert np.allclose(np.exp(log_density(confounded, values, {"x"})).reshape(2, 40), [[0.7], [0.3]])
    corner = stats.multivariate_normal([0, 0], [[1, -0.7], [-0.7, 1]]).cdf(
        [stats.norm.ppf(0.7), stats.norm.ppf(stats.poisson.cdf(2, np.exp(0.5)))]
    )
    assert both[0, :3].sum() == pytest.approx(corner, abs=1e-10)


def test_a_mixed_pair_adds_up_too(scm):
    confounded = scm.confounded("w", "y", 0.5)
    grid = np.linspace(-40, 40, 4001)
    values = {"u": 0 * grid, "kind": np.zeros(4001), "x": 0 * grid, "age": 0 * grid, "w": 0 * grid + 2.0, "y": grid}
    density = np.exp(log_density(confounded, values, {"w", "y"}))
    assert density.sum() * (grid[1] - grid[0]) == pytest.approx(stats.poisson.pmf(2, np.exp(0.5)), rel=1e-9)


def test_the_noise_of_a_falling_transformation_is_that_of_its_base():
    def falling(n):
        with pyro.plate("individuals", n):
            pyro.sample("x", dist.Normal(0.0, 1.0))
            flip = dist.transforms.AffineTransform(1.0, -2.0)
            pyro.sample("y", dist.TransformedDistribution(dist.Normal(0.0, 1.0), [flip]))

    found = log_density(ca.SCM(falling).confounded("x", "y", 0.8), {"x": [0.4], "y": [3.0]})
    law = stats.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]])
    assert float(found[0]) == pytest.approx(law.logpdf([0.4, -1.0]) - np.log(2), rel=1e-12)


def test_people_of_the_prior_have_the_correlation():
    scm = pair("NormalNormal").confounded("a", "b", 0.6)
    prior = scm.prior_predictive(n=2000, draws=20, seed=0)
    values = {name: prior[name].to_numpy() for name in ("a", "b", "slope", "level")}
    rest = values["b"] - values["slope"][:, None] * values["a"] - values["level"][:, None]
    found = [np.corrcoef(a, b)[0, 1] for a, b in zip(values["a"], rest, strict=True)]
    assert np.mean(found) == pytest.approx(0.6, abs=4 * 0.64 / np.sqrt(40_000))
    plain = pair("NormalNormal").prior_predictive(n=2000, draws=20, seed=0)
    assert np.array_equal(plain["a"].to_numpy(), prior["a"].to_numpy())


def test_edges_are_cut_of_confounded_models_and_of_others_alike():
    def whole(n, cut=False):
        slopes = [pyro.sample(name, dist.Normal(0.0, 1.0)) for name in ("p", "q", "r")]
        with pyro.plate("individuals", n):
            x = pyro.sample("x", dist.Bernoulli(0.4))
            seen = torch.zeros(n, dtype=torch.float64) if cut else x
            a = pyro.sample("a", dist.Normal(slopes[0] * seen, 1.0))
            pyro.sample("b", dist.Normal(slopes[1] * a + slopes[2] * x, 1.0))

    values = {"x": [0.0, 1.0, 1.0], "a": [0.3, -1.0, 2.0], "b": [1.0, 0.0, -0.5], "p": 0.7, "q": -0.4, "r": 1.1}
    expected = log_density(ca.SCM(lambda n: whole(n, cut=True)).confounded("a", "b", 0.6), values)
    scm = ca.SCM(whole)
    first, second = scm.confounded("a", "b", 0.6).without(("x", "a")), scm.without(("x", "a")).confounded("a", "b", 0.6)
    for model in (first, second):
        assert np.allclose(log_density(model, values), expected, rtol=1e-12)
        assert ("x", "a") not in model.graph.edges
        assert "U(a,b)" in model.graph
        both = model.without(("a", "b"), at={"a": 0.0})
        assert [pair.rho for pair in both.confounding] == [0.6]
        assert "U(a,b)" in both.graph
    plain = first.confounded("a", "b", 0.0).without(("a", "b"))
    assert not plain.confounding
    assert "U(a,b)" not in plain.graph
    alone = scm.without(("x", "a"), ("a", "b"), at={"a": 0.0})
    again = first.confounded("a", "b", 0.0).without(("a", "b"), at={"a": 0.0})
    assert np.array_equal(log_density(again, values), log_density(alone, values))
    with pytest.raises(ProgramError, match="'a' is confounded"):
        scm.with_coupling({"a": 0.5}).confounded("a", "b", 0.3)
    with pytest.raises(ProgramError, match="'a' is confounded"):
        first.with_coupling({"a": 0.5})
