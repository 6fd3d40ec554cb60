"""Covariates that are conditioned on, not modelled."""

import networkx as nx
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch

import causalaudit as ca
from causalaudit.errors import CausalAuditError, ProgramError


def program(age):
    def wages(n):
        gap = pyro.sample("gap", dist.Normal(0.0, 1.0))
        slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
        effects = pyro.sample("effects", dist.Normal(torch.zeros(3), 1.0).to_event(1))
        with pyro.plate("individuals", n):
            years = pyro.sample("age", age())
            region = pyro.sample("region", ca.Given())
            woman = pyro.sample("woman", dist.Bernoulli(0.5))
            pyro.sample("wage", dist.Normal(gap * woman + slope * years.log() + effects[region.long()], 0.5))

    return wages


LEVELS = {"region": ["north", "south", "west"]}


def people(n=120, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.integers(18, 70, n), "woman": rng.integers(0, 2, n)})
    table["region"] = np.where(table["age"] < 40, "north", rng.choice(["south", "west"], n))
    table["wage"] = 0.6 * table["woman"] + 0.5 * np.log(table["age"]) + 0.5 * rng.standard_normal(n)
    return table


def test_a_given_covariate_is_a_cause_without_a_density():
    """The posterior is that of the program that models it, since its model shares no parameter."""
    given = ca.SCM(program(ca.Given), levels=LEVELS)
    modelled = ca.SCM(program(lambda: dist.Gamma(20.0, 0.5)), levels=LEVELS)
    assert given.given == ("age", "region")
    assert set(given.graph.edges) == {("age", "wage"), ("region", "wage"), ("woman", "wage")}
    assert "age" not in given.couplings()
    table = people()
    one, two = (ca.fit(scm, table, draws=50, chains=1, method="laplace") for scm in (given, modelled))
    for name in ("gap", "slope", "effects"):
        np.testing.assert_allclose(one.parameters()[name], two.parameters()[name], rtol=1e-6, atol=1e-8)

    worlds = ca.counterfactuals(one, {"woman": 1})
    np.testing.assert_array_equal(worlds.dataset["age"][0], table["age"])  # kept
    older = ca.counterfactuals(one, {"age": lambda frame: 2 * frame["age"]})
    expected = table["wage"].to_numpy() + one.parameters()["slope"][:, None] * np.log(2)
    np.testing.assert_allclose(older.dataset["wage"], expected, rtol=1e-10)
    moved = ca.counterfactuals(one, {"region": "west"}, draws=5)
    assert set(moved.point["region"]) == {"west"}


def test_simulation_draws_whole_rows_of_the_data():
    scm, table = ca.SCM(program(ca.Given), levels=LEVELS), people()
    with pytest.raises(
        ProgramError, match=r"conditions on 'age', 'region' .Given., which cannot be simulated: hand over data="
    ):
        scm.prior_predictive(n=10)
    posterior = ca.fit(scm, table, draws=50, chains=1, method="laplace")
    codes = table["region"].map({level: code for code, level in enumerate(LEVELS["region"])})
    rows = set(zip(table["age"], codes, strict=True))
    for drawn in (scm.prior_predictive(n=300, draws=20, data=table), posterior.predictive(draws=20, seed=3)):
        pairs = np.stack([drawn["age"].to_numpy().ravel(), drawn["region"].to_numpy().ravel()], 1)
        assert {tuple(pair) for pair in pairs.astype(int).tolist()} <= rows
        assert pairs[:, 0].mean() == pytest.approx(
            table["age"].mean(), abs=4 * table["age"].std() / np.sqrt(len(pairs))
        )


def test_error_rates_take_the_covariates_of_the_data():
    """Simulated people have the rates of those of the data, where age decides and is not modelled."""

    def defendants(n):
        with pyro.plate("individuals", n):
            age = pyro.sample("age", ca.Given())
            race = pyro.sample("race", dist.Bernoulli(torch.sigmoid(2.0 - age / 20)))
            pyro.sample("again", dist.Bernoulli(torch.sigmoid(1.0 - age / 30 + 0.0 * race)))

    rng = np.random.default_rng(0)
    age = rng.choice([20.0, 50.0], 3000, p=[0.3, 0.7])
    race = rng.random(3000) < 1 / (1 + np.exp(age / 20 - 2))
    again = rng.random(3000) < 1 / (1 + np.exp(age / 30 - 1))
    table = pd.DataFrame({"age": age, "race": race.astype(int), "again": again.astype(int)})
    posterior = ca.fit(ca.SCM(defendants), table, draws=1, chains=1)
    result = ca.decompose_error_rates(
        posterior, lambda frame: (frame["age"] < 30).astype(int), {"race": (1, 0)}, outcome="again", features=["age"]
    )
    total = result.table.query("decomposition == 1 and term == 'total'")["mean"].item()
    young = {x: 0.3 * p / (0.3 * p + 0.7 * q) for x, p, q in _chances()}
    assert total == pytest.approx(young[1] - young[0], abs=0.02)
    with pytest.raises(CausalAuditError, match=r"'age' is continuous .Given."):
        ca.decompose_error_rates(posterior, lambda frame: frame["age"] < 30, {"age": (50, 20)}, outcome="again")


def _chances():
    """P(race = x, again = 0 | age) of the young and of the old."""
    sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    for x in (0, 1):
        race = [sigmoid(2.0 - age / 20) for age in (20, 50)]
        yield x, *(((p if x else 1 - p) * (1 - sigmoid(1.0 - age / 30))) for p, age in zip(race, (20, 50), strict=True))


def test_what_is_given_has_a_column_and_no_causes():
    with pytest.raises(ProgramError, match="The latent 'age' is Given"):
        ca.SCM(program(ca.Given), levels=LEVELS, latents=["age"])
    scm = ca.SCM(program(ca.Given), levels=LEVELS)
    assert not list(nx.ancestors(scm.graph, "age"))
    with pytest.raises(CausalAuditError, match="per-person site 'age'"):
        ca.fit(scm, people().drop(columns="age"))


def test_the_error_about_numbers_from_outside_points_to_it():
    ages = torch.arange(8.0)

    def outside(n):
        with pyro.plate("individuals", n):
            pyro.sample("wage", dist.Normal(ages[:n] if n <= 8 else torch.zeros(n), 1.0))

    with pytest.raises(ProgramError, match=r"pyro.sample\(\"x\", ca.Given\(\)\)"):
        ca.SCM(outside)
