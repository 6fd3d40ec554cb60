"""Tables that are too large for one pass: densities in pieces, and few passes in place of thousands."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy import stats

import causalaudit as ca
from causalaudit.inference.density import chunked_density
from causalaudit.inference.density.chunked_density import ChunkedDensity, marginal_density
from causalaudit.inference.density.log_density import log_joint
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.laplace import importance_pool
from causalaudit.inference.laplace.ascent import Objective
from causalaudit.inference.laplace.interpolation import densities_of_draws
from causalaudit.inference.laplace.mode_search import find_modes
from causalaudit.inference.laplace.proposals import Proposal
from causalaudit.scm.execution import numerics


def plain(n):
    a, b, c, d = (pyro.sample(name, dist.Normal(0.0, 2.0)) for name in "abcd")
    s = pyro.sample("s", dist.HalfNormal(2.0))
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        x = pyro.sample("x", dist.Normal(a + b * group, s))
        pyro.sample("y", dist.Bernoulli(logits=c + d * x + 0.0 * a))


def with_latents(n):
    a, e = (pyro.sample(name, dist.Normal(0.0, 2.0)) for name in "ae")
    c = pyro.sample("c", dist.HalfNormal(2.0))
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        kind = pyro.sample("kind", dist.Bernoulli(0.3))
        u = pyro.sample("u", dist.Normal(0.0, 1.0))
        pyro.sample("x", dist.Normal(a * group + kind + c * u, 1.0))
        pyro.sample("y", dist.Bernoulli(logits=e + u))


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    x = rng.normal(1 + 0.5 * group, 1.5)
    return pd.DataFrame({"group": group, "x": x, "y": (rng.random(n) < 1 / (1 + np.exp(0.3 - 0.7 * x))).astype(int)})


PROGRAMS = {"plain": (plain, []), "with latents": (with_latents, ["u", "kind"])}


@pytest.fixture(params=PROGRAMS)
def both(request, monkeypatch):
    """The density of a table as a whole, and in pieces."""
    program, latents = PROGRAMS[request.param]
    scm = ca.SCM(program, latents=latents)
    table = people(150)
    values = scm.encode(pd.concat([table, table[:30]], ignore_index=True))
    monkeypatch.setattr(chunked_density, "_PIECE", 2048 if latents else 64)
    return MarginalDensity(scm, values), marginal_density(scm, values)


def test_pieces_add_up_to_the_whole(both):
    whole, pieces = both
    assert isinstance(pieces, ChunkedDensity)
    assert sum(len(part.rows) for part in pieces.parts) == len(whole.rows) == 150
    assert pieces.run_size < whole.run_size <= pieces.whole_size + 1
    vectors = 0.3 * whole.prior_vectors(4, seed=1)
    whole, pieces = whole.placed_at(vectors[0], "precise"), pieces.placed_at(vectors[0], "precise")
    one, other = whole.over(vectors), pieces.over(vectors)
    close = 1e-6 if whole.integrates else 1e-10
    np.testing.assert_allclose(one.likelihood, other.likelihood, rtol=close)
    np.testing.assert_array_equal(log_joint(one) - one.likelihood, log_joint(other) - other.likelihood)
    values = {name: one.values[name] for name in whole.scm.parameters}
    np.testing.assert_allclose(whole.likelihood_by_row(values, 4), pieces.likelihood_by_row(values, 4), rtol=1e-6)


def test_derivatives_of_pieces_add_up_to_those_of_the_whole(both):
    whole, pieces = both
    point = 0.3 * whole.prior_vectors(1, seed=1)[0]
    whole, pieces = whole.placed_at(point, "precise"), pieces.placed_at(point, "precise")
    with numerics():
        one, other = Objective(whole.terms), Objective(pieces.terms)
        close = {"rtol": 1e-5, "atol": 1e-5} if whole.integrates else {"rtol": 1e-10, "atol": 1e-10}
        np.testing.assert_allclose(one.slope(point)[1], other.slope(point)[1], **close)
        np.testing.assert_allclose(one.hessian(point), other.hessian(point), **close)
        expected = torch.autograd.functional.hessian(lambda at: whole.total(at), torch.from_numpy(point))
        np.testing.assert_array_equal(one.hessian(point), expected.numpy())
        np.testing.assert_allclose(pieces.gradient(point)[1], whole.gradient(point)[1], **close)


def test_people_of_pieces_are_found(both):
    whole, pieces = both
    assert pieces.of_few(20, seed=0).rows.counts.sum() == 20
    np.testing.assert_array_equal(whole.of_few(20, 0).rows.counts, pieces.of_few(20, 0).rows.counts)
    assert pieces.refined(0.1 * whole.prior_vectors(2, 0)) is not None
    np.testing.assert_array_equal(whole.mirror_signs(), pieces.mirror_signs())


def test_a_fit_in_pieces_gives_the_same_draws(monkeypatch):
    scm, table = ca.SCM(plain), people(300)
    whole = ca.fit(scm, table, draws=250, seed=1)
    monkeypatch.setattr(chunked_density, "_PIECE", 100)
    pieces = ca.fit(scm, table, draws=250, seed=1)
    for name, value in whole.parameters().items():
        np.testing.assert_allclose(np.sort(pieces.parameters()[name]), np.sort(value), rtol=1e-4, atol=1e-4)
    assert pieces.log_evidence.value == pytest.approx(whole.log_evidence.value, abs=1e-6)


# Few passes


@dataclass
class Counted:
    """A density that counts the vectors at which it is asked for."""

    density: MarginalDensity
    asked: list = field(default_factory=list)

    def over(self, vectors, progress=False):
        self.asked.append(len(vectors))
        return self.density.over(vectors, progress)

    def of_first(self):
        return self.density.of_first()


def proposed(program, table, draws=2000):
    scm = ca.SCM(program)
    density = MarginalDensity(scm, scm.encode(table))
    proposal = Proposal.at(find_modes(density, prior=True, jacobian=True, seed=0, rough=True))
    vectors = proposal.draw(draws, np.random.default_rng(0))
    return density, proposal, vectors, proposal.log_density(vectors)


def test_weights_from_a_part_of_the_draws_are_those_of_all_passes():
    density, proposal, vectors, log_proposed = proposed(plain, people(3000))
    counted = Counted(density)
    found = densities_of_draws(counted, vectors, proposal.standardised(vectors), log_proposed, False)
    exact = density.over(vectors)
    assert sum(counted.asked) < len(vectors) / 4
    logs = log_joint(exact) - log_proposed
    weights = np.exp(logs - logs.max())
    errors = weights * np.expm1(found.likelihood - exact.likelihood) / weights.mean()
    assert np.sqrt(np.mean(errors**2)) < 0.005
    for name, value in exact.prior.items():
        np.testing.assert_array_equal(found.prior[name], value)
    for name, value in exact.values.items():
        np.testing.assert_array_equal(found.values[name], value)


def rough(n):
    a = pyro.sample("a", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Laplace(a, 0.05))


def test_a_likelihood_that_is_not_smooth_is_computed_at_all_draws():
    scm = ca.SCM(rough)
    density = MarginalDensity(scm, scm.encode(pd.DataFrame({"x": [-0.13, 0.0, 0.02, 0.21]})))
    proposal = Proposal(np.zeros((1, 1)), np.full((1, 1, 1), 0.05**2), np.ones(1))
    vectors = proposal.draw(2000, np.random.default_rng(0))
    log_proposed = proposal.log_density(vectors)
    counted = Counted(density)
    found = densities_of_draws(counted, vectors, proposal.standardised(vectors), log_proposed, False)
    assert sum(counted.asked) == len(vectors)
    np.testing.assert_array_equal(found.likelihood, density.over(vectors).likelihood)


@pytest.mark.slow
def test_a_fit_of_few_passes_equals_that_of_all(monkeypatch):
    """The same seed, so that the proposals are the same, and only their weights could differ."""
    scm, table = ca.SCM(with_latents, latents=["u", "kind"]), people(3000)
    exact = ca.fit(scm, table, method="laplace", seed=1)
    monkeypatch.setattr(importance_pool, "_LARGE", 0)
    spared = ca.fit(scm, table, method="laplace", seed=1)
    one, other = exact.summary(), spared.summary()
    assert ((one["mean"] - other["mean"]).abs() < 0.02 * one["sd"]).all()
    assert np.log(one["sd"] / other["sd"]).abs().max() < 0.02
    assert spared.log_evidence.value == pytest.approx(exact.log_evidence.value, abs=0.01)
    for name, value in exact.parameters().items():
        assert stats.ks_2samp(value, spared.parameters()[name]).statistic < 0.01
