"""Sites whose values are vectors: several columns with a common noise."""

import networkx as nx
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy import stats

import causalaudit as ca
from causalaudit.errors import CausalAuditError, InterventionError, ProgramError
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Intervene, run
from causalaudit.scm.score import Score


def pupils(n):
    b = pyro.sample("b", dist.Normal(torch.zeros(2), 1.0).to_event(1))
    spread = pyro.sample("spread", dist.HalfNormal(torch.ones(2)).to_event(1))
    slant = pyro.sample("slant", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        school = pyro.sample("school", dist.Bernoulli(0.5))
        factor = torch.stack([torch.stack([spread[0], 0.0 * slant]), torch.stack([slant, spread[1]])])
        scale = factor * (1 + school)[:, None, None]
        marks = pyro.sample("marks", dist.MultivariateNormal(school.unsqueeze(-1) * b, scale_tril=scale))
        pyro.sample("admitted", dist.Bernoulli(logits=marks.sum(-1)))


COLUMNS = {"marks": ["maths", "reading"]}


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    school = rng.integers(0, 2, n)
    noise = rng.standard_normal((n, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]]) * (1 + school)[:, None]
    admitted = rng.random(n) < 1 / (1 + np.exp(-noise.sum(1)))
    return pd.DataFrame(
        {"school": school, "maths": noise[:, 0], "reading": noise[:, 1], "admitted": admitted.astype(int)}
    )


def test_a_normal_vector_has_the_residual_of_choleskys_factor_as_noise():
    scm = ca.SCM(pupils, columns=COLUMNS)
    assert scm.columns == ("school", "maths", "reading", "admitted")
    assert set(scm.graph["school"]) == {"maths", "reading"}
    assert not scm.graph.has_edge("maths", "reading")
    assert scm.graph.nodes["U(maths,reading)"]["latent"]
    assert not nx.is_d_separator(scm.graph, {"maths"}, {"reading"}, {"school"})
    table = people()
    posterior = ca.fit(scm, table, draws=30, chains=1, method="laplace")
    worlds = ca.counterfactuals(posterior, {"school": 1})
    parameters = posterior.parameters()
    for draw in range(30):
        factor = np.array(
            [[parameters["spread"][draw, 0], 0.0], [parameters["slant"][draw], parameters["spread"][draw, 1]]]
        )
        marks, school = table[["maths", "reading"]].to_numpy(), table["school"].to_numpy()[:, None]
        residual = np.linalg.solve(factor, (marks - school * parameters["b"][draw]).T).T / (1 + school)
        expected = parameters["b"][draw] + 2 * residual @ factor.T
        found = np.stack([worlds.dataset[name][draw] for name in COLUMNS["marks"]], -1)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert set(worlds.point.columns) == set(table.columns)


def log_density(scm, values, parameters):
    with numerics(), torch.no_grad():
        score = Score(list(values))
        tensors = {name: torch.tensor(value, dtype=torch.float64) for name, value in {**parameters, **values}.items()}
        run(scm.program, len(next(iter(values.values()))), score, Intervene(tensors))
        return score.total.numpy()


def test_the_density_is_that_of_the_vector():
    scm, table = ca.SCM(pupils, columns=COLUMNS), people(20)
    parameters = {"b": [0.3, -0.4], "spread": [0.9, 1.3], "slant": 0.5}
    factor = np.array([[0.9, 0.0], [0.5, 1.3]])
    values = {name: table[name].to_numpy(dtype=float) for name in ("school", "maths", "reading")}
    expected = [
        stats.multivariate_normal(school * np.array([0.3, -0.4]), factor @ factor.T * (1 + school) ** 2).logpdf([m, r])
        for school, m, r in zip(*values.values(), strict=True)
    ]
    found = log_density(scm, values, parameters) - np.log(0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def shares(n):
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        spent = pyro.sample("spent", dist.Dirichlet(torch.stack([1.0 + group, 2.0 - group, 0.0 * group + 3.0], -1)))
        pyro.sample("joy", dist.Normal(spent[..., 0], 1.0))


def test_a_dirichlet_breaks_a_stick():
    names = ["food", "rent", "fun"]
    scm = ca.SCM(shares, columns={"spent": names})
    table = scm.prior_predictive(6, draws=1, seed=2).isel(draw=0)[["group", *names, "joy"]].to_dataframe()
    table = table[["group", *names, "joy"]]
    np.testing.assert_allclose(table[names].sum(axis=1), 1.0, rtol=1e-12)
    values = {name: table[name].to_numpy(dtype=float) for name in ["group", *names]}
    rows = np.stack(list(values.values()), 1)
    expected = [stats.dirichlet([1 + row[0], 2 - row[0], 3]).logpdf(row[1:] / row[1:].sum()) for row in rows]
    np.testing.assert_allclose(log_density(scm, values, {}) - np.log(0.5), expected, rtol=1e-8)
    worlds = ca.counterfactuals(ca.fit(scm, table, draws=1, chains=1), {"group": 1}).dataset.isel(draw=0)
    for (old, food, rent, _), new in zip(rows, np.stack([worlds[name] for name in names], 1), strict=True):
        first = stats.beta(2, 4).ppf(stats.beta(1 + old, 5 - old).cdf(food))
        second = (1 - first) * stats.beta(1, 3).ppf(stats.beta(2 - old, 3).cdf(rent / (1 - food)))
        np.testing.assert_allclose(new, [first, second, 1 - first - second], rtol=1e-8)


def test_independent_numbers_are_sites_of_their_own():
    def counts(n):
        with pyro.plate("individuals", n):
            old = pyro.sample("old", dist.Bernoulli(0.5))
            rates = torch.stack([1.0 + old, 3.0 + old], -1)
            pyro.sample("visits", dist.Poisson(rates).to_event(1))
            pyro.sample("costs", dist.LogNormal(rates, 0.5).to_event(1))

    scm = ca.SCM(counts, columns={"visits": ["doctor", "nurse"], "costs": ["drugs", "travel"]})
    assert list(scm.graph.edges) == [("old", name) for name in ("doctor", "nurse", "drugs", "travel")]
    table = pd.DataFrame({"old": [0, 1], "doctor": [1, 4], "nurse": [2, 0], "drugs": [2.0, 3.0], "travel": [20.0, 9.0]})
    posterior = ca.fit(scm, table, draws=1, chains=1)
    worlds = ca.counterfactuals(posterior, {"old": 1, "doctor": 7})
    np.testing.assert_allclose(worlds.dataset["drugs"][0], [2.0 * np.e, 3.0])
    assert worlds.dataset["doctor"][0].to_numpy().tolist() == [7, 7]


def test_parts_of_a_vector_are_set_together_and_named_completely():
    posterior = ca.fit(ca.SCM(pupils, columns=COLUMNS), people(20), draws=2, chains=1, method="map")
    with pytest.raises(InterventionError, match="one vector with a common noise, of which 'reading' is not set"):
        ca.counterfactuals(posterior, {"maths": 1.0})
    both = ca.counterfactuals(posterior, {"maths": 1.0, "reading": 0.0, "school": 0})
    assert (both.dataset["maths"] == 1.0).all()
    for columns, words in (
        (None, r"'marks' has vectors of 2 numbers, but its columns are \[\]: name one for each"),
        ({"marks": ["maths"]}, "vectors of 2 numbers"),
        ({"marks": ["maths", "maths"]}, "vectors of 2 numbers"),
        ({"mark": ["maths", "reading"]}, "no vector of a person"),
    ):
        with pytest.raises(ProgramError, match=words):
            ca.SCM(pupils, columns=columns)
    with pytest.raises(CausalAuditError, match="per-person site 'reading'"):
        ca.fit(ca.SCM(pupils, columns=COLUMNS), people(20).drop(columns="reading"))
