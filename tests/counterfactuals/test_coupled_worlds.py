"""Worlds that share noise to a degree: closed forms, exact probabilities, the laws of counterfactuals, and auditors."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy import stats

import causalaudit as ca
from causalaudit.counterfactuals import World, population
from causalaudit.counterfactuals.shared_noise import correlated_joint
from causalaudit.errors import SavedFileError
from causalaudit.randomness import uniforms

DEGREES = [-1.0, -0.5, 0.0, 0.5, 1.0]


def chain(n):
    """Linear and Gaussian."""
    with pyro.plate("individuals", n):
        u = pyro.sample("u", dist.Normal(0.0, 1.0))
        a = pyro.sample("a", dist.Bernoulli(0.5))
        b = pyro.sample("b", dist.Normal(2.0 * a + u, 3.0))
        pyro.sample("c", dist.Normal(0.5 * b - a, 2.0))


def coins(n):
    """A Bernoulli with a cause, and one without."""
    with pyro.plate("individuals", n):
        z = pyro.sample("Z", dist.Bernoulli(0.3))
        x = pyro.sample("X", dist.Bernoulli(0.5))
        pyro.sample("Y", dist.Bernoulli(0.2 + 0.5 * x + 0.1 * z))


def people_of(scm, n, seed=0):
    drawn = scm.prior_predictive(n, draws=1, seed=seed).isel(draw=0)
    return drawn[list(scm.variables)].to_dataframe()[list(scm.variables)]


def fitted(program, n, draws=1):
    scm = ca.SCM(program)
    return ca.fit(scm, people_of(scm, n), draws=draws, chains=1, progress=False)


@pytest.fixture(scope="module")
def linear():
    return fitted(chain, 4000)


@pytest.fixture(scope="module")
def binary():
    return fitted(coins, 3000, draws=20)


def test_linear_gaussian_residuals_have_that_correlation(linear):
    people, r = linear.data, 0.5
    worlds = ca.counterfactuals(linear.with_coupling(r), {"a": 1}, seed=4, progress=False)
    b, c = (worlds.dataset[name][0].to_numpy() for name in "bc")
    moved = (people["a"] == 0).to_numpy()
    np.testing.assert_array_equal(b[~moved], people["b"][~moved])  # whom nothing changes keep what they have
    np.testing.assert_array_equal(c[~moved], people["c"][~moved])
    own = {
        "b": (people["b"] - 2 * people["a"] - people["u"]) / 3,
        "c": (people["c"] + people["a"] - people["b"] / 2) / 2,
    }
    for name, means, scale, now in (("b", 2 + people["u"], 3, b), ("c", b / 2 - 1, 2, c)):
        fresh = stats.norm.ppf(uniforms(4, f"{name} anew", np.arange(1), (4000,))[0])
        expected = r * own[name] + np.sqrt(1 - r * r) * fresh
        residual = (now - means) / scale
        np.testing.assert_allclose(residual[moved], expected[moved], rtol=1e-9, atol=1e-9)
        found = np.corrcoef(own[name][moved], residual[moved])[0, 1]
        assert found == pytest.approx(r, abs=2.6 * (1 - r * r) / np.sqrt(moved.sum()))
    # The point is where the new part is zero: the mean counterfactual.
    np.testing.assert_allclose(worlds.point["b"][moved], (2 + people["u"] + 3 * r * own["b"])[moved], rtol=1e-9)
    np.testing.assert_allclose(worlds.noise["b"][0], own["b"], rtol=1e-9, atol=1e-9)  # that of the factual world


def pair(p, q, r):
    """P(Y = 1, Y' = 1) by the distribution function of scipy."""
    both = stats.multivariate_normal([0, 0], [[1, r], [r, 1]], allow_singular=True)
    # Y is 1 above the quantile of 1 - p: the noise is a uniform quantile.
    return both.cdf([stats.norm.ppf(p), stats.norm.ppf(q)])


def joint(p, q, r):
    if abs(r) == 1:
        return min(p, q) if r > 0 else max(0.0, p + q - 1)
    return pair(p, q, r)


@pytest.mark.parametrize("r", DEGREES)
def test_bernoulli_probabilities(binary, r):
    coupled, rate = binary.with_coupling({"Y": r}), {0: 0.2, 1: 0.7}
    worlds = population(coupled, kind="enumerated", draws=1).worlds({"X": 1}, {"X": [0], "Y": [1]}, ["Y"])
    chance, after = worlds.probability(slice(0, 1))[0], worlds.positions("Y") == 1
    exact = [joint(rate[0] + 0.1 * z, rate[1] + 0.1 * z, r) for z in (0, 1)]
    had = 0.7 * 0.2 + 0.3 * 0.3
    expected = (0.7 * exact[0] + 0.3 * exact[1]) / had
    assert chance[after].sum() / chance.sum() == pytest.approx(expected, abs=1e-9)
    drawn = ca.counterfactuals(coupled, {"X": 1}, seed=2, progress=False).dataset["Y"]
    who = (binary.data["X"] == 0) & (binary.data["Y"] == 1)
    by_z = [exact[z] / (0.2 + 0.1 * z) for z in (0, 1)]
    chances = np.array(by_z)[binary.data["Z"][who].astype(int)]
    sizes = 20 * who.sum()
    error = np.sqrt((chances * (1 - chances)).sum() * 20) / sizes  # draws are independent, given the values
    assert abs(float(drawn[:, who.to_numpy()].mean()) - chances.mean()) <= 2.6 * error + 1e-12


@pytest.mark.parametrize("r", [-1.0, -0.5, 0.0, 0.5])
def test_simulated_and_weighted_people_respond_as_enumerated_ones(binary, r):
    coupled = binary.with_coupling({"Y": r})
    simulated = population(coupled, kind="simulated", draws=10, seed=1)
    here = World({"X": 0}, {"Y": 1})
    factual, other = simulated.worlds(np.arange(10), [here, World({"X": 1}, {}, 0)], ["Y", "Z"])
    kept = simulated.worlds(np.arange(10), [here, World({"X": 0}, {}, 0)], ["Y"])[1]
    np.testing.assert_array_equal(kept.values["Y"], factual.values["Y"])  # no parent differs
    one = (factual.values["Y"] == 1) & (other.values["Z"] == 0)
    expected = joint(0.2, 0.7, r) / 0.2
    error = np.sqrt(expected * (1 - expected) / one.sum())
    assert abs(other.values["Y"][one].mean() - expected) <= 4 * error + 1e-12
    weighted = population(coupled, kind="standardised", draws=10, alike=["X", "Y"], seed=1)
    who = (weighted.factual["X"] == 0) & (weighted.factual["Y"] == 1) & (weighted.factual["Z"] == 0)
    found = weighted.under({"X": 1}, who, np.arange(10))["Y"]
    assert abs(found.mean() - expected) <= 4 * np.sqrt(expected * (1 - expected) / found.size) + 1e-12


def test_joint_probabilities_by_scipy():
    rng = np.random.default_rng(0)
    ends = np.sort(rng.random((40, 2, 2)), axis=-1)
    ends[:5, 0, 0], ends[5:9, 1, 1] = 0.0, 1.0
    for r in (-0.95, -0.3, 0.6, 0.999):
        found = correlated_joint(tuple(ends[:, 0].T), tuple(ends[:, 1].T), r)
        normal = stats.multivariate_normal([0, 0], [[1, r], [r, 1]])
        z = np.clip(stats.norm.ppf(ends), -12, 12)
        corners = [normal.cdf(np.stack([z[:, 0, i], z[:, 1, j]], -1)) for i, j in ((1, 1), (0, 1), (1, 0), (0, 0))]
        np.testing.assert_allclose(found, corners[0] - corners[1] - corners[2] + corners[3], rtol=0, atol=1e-7)
    half = (np.array([0.0]), np.array([0.5]))
    for r in (-0.9, 0.2, 0.7):  # the orthant
        assert correlated_joint(half, half, r) == pytest.approx(0.25 + np.arcsin(r) / (2 * np.pi), abs=1e-14)


@pytest.mark.parametrize("r", [-1.0, 0.3])
def test_the_laws_of_counterfactuals(linear, r):
    coupled, people = linear.with_coupling(r), linear.data.iloc[:50]
    same = ca.counterfactuals(coupled, {"a": people["a"]}, rows=people.index, progress=False)
    for name in people:
        np.testing.assert_array_equal(same.dataset[name][0], people[name])  # consistency
    acted = ca.counterfactuals(coupled, {"a": 1 - people["a"]}, rows=people.index, progress=False)
    np.testing.assert_array_equal(acted.dataset["a"][0], 1 - people["a"])  # effectiveness
    np.testing.assert_array_equal(acted.dataset["u"][0], people["u"])  # locality
    b = acted.dataset["b"][0].to_numpy()
    composed = ca.counterfactuals(coupled, {"a": 1 - people["a"], "b": b}, rows=people.index, progress=False)
    np.testing.assert_array_equal(composed.dataset["c"], acted.dataset["c"])  # composition


def test_neither_chunks_nor_others_matter(linear):
    coupled, do = linear.with_coupling({"b": 0.5, "c": -0.2}), {"a": 0.0}
    everybody = ca.counterfactuals(coupled, do, progress=False).dataset
    in_chunks = ca.counterfactuals(coupled, do, chunk=1, progress=False).dataset
    assert everybody.equals(in_chunks)
    asked = ca.counterfactuals(linear, do, coupling={"b": 0.5, "c": -0.2}, progress=False)
    assert everybody.equals(asked.dataset)
    assert asked.settings["coupling"] == {"u": "monotone", "a": "monotone", "b": 0.5, "c": -0.2}
    by_all_edges = ca.counterfactuals(coupled, do, edges=linear.scm.graph.edges, progress=False)
    np.testing.assert_allclose(by_all_edges.dataset["c"], everybody["c"], rtol=1e-12)


def test_one_is_what_it_was():
    """For every kind of people."""
    loans = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(100, seed=0), draws=20, chains=1, progress=False)
    one = loans.with_coupling(1)
    worlds = [ca.counterfactuals(posterior, {"gender": "male"}, progress=False) for posterior in (loans, one)]
    assert worlds[0].dataset.equals(worlds[1].dataset)
    assert worlds[0].settings == worlds[1].settings  # the digest too
    half = ca.counterfactuals(loans.with_coupling(0.5), {"gender": "male"}, progress=False)
    assert half.settings["posterior"] != worlds[0].settings["posterior"]
    assert not half.dataset.equals(worlds[0].dataset)


def test_zero_has_the_law_of_independent(binary):
    rates = []
    for coupling in (0, "independent"):
        worlds = population(binary.with_coupling({"Y": coupling}), kind="enumerated").worlds(
            {"X": 1}, {"X": [0]}, ["Y"]
        )
        rates.append(worlds.probability(slice(0, 20)))
    np.testing.assert_array_equal(*rates)


def test_it_is_saved(tmp_path):
    scm = ca.models.loan.linear()
    posterior = ca.fit(scm, ca.datasets.make_loan(50, seed=0), draws=10, chains=1, method="map", progress=False)
    coupled = posterior.with_coupling({"salary": 0.5, "gender": "independent"})
    assert coupled.idata is posterior.idata  # no refit
    coupled.save(tmp_path / "coupled.nc")
    loaded = ca.Posterior.load(tmp_path / "coupled.nc", scm)
    assert loaded.scm.coupling == {"salary": 0.5, "gender": "independent"}
    assert ca.Posterior.load(tmp_path / "coupled.nc", coupled.scm).scm.coupling == coupled.scm.coupling
    with pytest.raises(SavedFileError, match=r"was saved under the coupling .*'salary': 0\.5.* chosen .*0\.1\}"):
        ca.Posterior.load(tmp_path / "coupled.nc", scm.with_coupling({"salary": 0.1}))
    posterior.save(tmp_path / "plain.nc")
    assert ca.Posterior.load(tmp_path / "plain.nc", scm).scm.coupling == {}
    with pytest.raises(SavedFileError, match="was saved under the coupling of the families"):
        ca.Posterior.load(tmp_path / "plain.nc", scm.with_coupling({"salary": 0.1}))


def test_latents_are_shared_in_full():
    """A noise that the program states itself is no matter of the coupling."""

    def stated(n):
        with pyro.plate("individuals", n):
            x = pyro.sample("X", dist.Bernoulli(0.5))
            noise = pyro.sample("U", dist.Bernoulli(0.2))
            pyro.deterministic("Y", (x + noise) % 2)

    scm = ca.SCM(stated, latents=["U"])
    data = pd.DataFrame({"X": [0.0, 1.0, 0.0], "Y": [0.0, 0.0, 1.0]})
    posterior = ca.fit(scm.with_coupling(0.0), data, draws=3, chains=1, progress=False)
    worlds = ca.counterfactuals(posterior, {"X": 1 - data["X"]}, progress=False)
    np.testing.assert_array_equal(worlds.dataset["Y"], np.tile(1 - data["Y"], (3, 1)))


def test_global_random_states_are_untouched(linear):
    torch.manual_seed(3)
    state = torch.get_rng_state()
    ca.counterfactuals(linear.with_coupling(0.5), {"a": 1}, progress=False)
    assert torch.equal(state, torch.get_rng_state())
