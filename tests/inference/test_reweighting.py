"""Parameters refitted to weighted people: against maxima that are known, for programs of all kinds."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch
from finite_programs import PARENTS, cells_of, draw_tables, free_tables, posterior_of, posterior_tables

import causalaudit as ca
from causalaudit.inference.reweighting import refit


def random_weights(draws, people, seed=1):
    weights = np.random.default_rng(seed).standard_exponential((draws, people))
    return weights / weights.mean(axis=1, keepdims=True)


def test_cells_of_few_people_reach_their_weighted_maxima():
    """Some states of the parents of D have a handful of the 300 people, so that weights change the curvature."""
    rng = np.random.default_rng(0)
    people = draw_tables(rng, 300)
    posterior = posterior_of(free_tables(), people, posterior_tables(rng, people, 20))
    weights = random_weights(40, 300)
    found = refit(posterior, weights, seed=0).parameters()
    for name, parents in PARENTS.items():
        index = np.broadcast_to(cells_of(people, parents), 300)
        cells = np.eye(2 ** len(parents))[index]
        exact = (weights @ (cells * people[[name]].to_numpy()) + 1) / (weights @ cells + 2)  # Beta(1, 1), log-odds
        errors = np.abs(found[f"p_{name}"] - exact)
        assert (errors.max(axis=0) < 0.15 * exact.std(axis=0)).all()
        assert np.sqrt((errors**2).mean()) < 0.03 * exact.std(axis=0).mean()


def by_logit(n):
    """Shares by `torch.logit`, which has no forward derivative of its gradient, as in the models of Adult."""
    shares = pyro.sample("shares", dist.Dirichlet(torch.ones(3)))
    slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
    cuts = torch.logit(shares.cumsum(-1)[..., :-1], eps=1e-12)
    with pyro.plate("individuals", n):
        x = pyro.sample("X", dist.Bernoulli(0.5))
        pyro.sample("W", dist.OrderedLogistic(slope * x, cuts))


def test_a_program_without_forward_derivatives():
    rng = np.random.default_rng(3)
    x = rng.integers(0, 2, 1500)
    w = np.digitize(0.7 * x + rng.logistic(size=1500), [-0.5, 1.0])
    posterior = ca.fit(ca.SCM(by_logit), pd.DataFrame({"X": x, "W": w}), draws=50, chains=1, progress=False)
    weights = random_weights(30, 1500)
    found = refit(posterior, weights, seed=0).parameters()
    # Equal numbers of copies are weights too: the maximum of a table in which people are repeated is its fit.
    copies = rng.multinomial(1500, np.full(1500, 1 / 1500))
    repeated = posterior.data.iloc[np.repeat(np.arange(1500), copies)].reset_index(drop=True)
    other = ca.fit(ca.SCM(by_logit), repeated, draws=50, chains=1, progress=False)
    one = refit(posterior, copies[None].astype(float), seed=0).parameters()
    same = refit(other, np.ones((1, 1500)), seed=0).parameters()
    for name in ("shares", "slope"):
        assert np.allclose(one[name], same[name], atol=0.03 * found[name].std(axis=0).min())


def test_equal_weights_give_the_maximum_itself():
    rng = np.random.default_rng(0)
    people = draw_tables(rng, 500)
    posterior = posterior_of(free_tables(), people, posterior_tables(rng, people, 20))
    found = refit(posterior, np.ones((2, 500)), seed=0).parameters()
    assert np.allclose(found["p_Z"], (people["Z"].sum() + 1) / 502, atol=1e-6)
    assert np.array_equal(found["p_D"][0], found["p_D"][1])
