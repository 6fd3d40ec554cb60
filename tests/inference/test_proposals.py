"""Importance sampling by mixtures: proposals that are fitted, and posteriors that one normal does not resemble."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy import stats
from scipy.special import logsumexp
from torch.distributions import biject_to

import causalaudit as ca
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.density.unconstrained import unconstraining
from causalaudit.inference.laplace.importance_pool import tempered as temper
from causalaudit.inference.laplace.mode_search import find_modes, prior_spread
from causalaudit.inference.laplace.proposals import Proposal, efficiency_for_normal
from causalaudit.inference.laplace.ridge import walk_ridge

# Proposals


def banana(points: np.ndarray) -> np.ndarray:
    """Return the log-density of a normal that is bent along its first coordinate."""
    bent = points.copy()
    bent[:, 1] += 0.8 * (points[:, 0] ** 2 - 1)
    return stats.norm.logpdf(bent).sum(axis=1)


def draws_of_banana(count: int, size: int = 4) -> np.ndarray:
    points = np.random.default_rng(0).standard_normal((count, size))
    points[:, 1] -= 0.8 * (points[:, 0] ** 2 - 1)
    return points


def efficiency(log_target, proposal: Proposal) -> float:
    drawn = proposal.draw(4000, np.random.default_rng(1))
    logs = log_target(drawn) - proposal.log_density(drawn)
    return float(np.exp(2 * logsumexp(logs) - logsumexp(2 * logs)) / len(drawn))


def test_a_mixture_follows_a_bend_that_one_component_does_not():
    points = draws_of_banana(4000)
    even = np.full(4000, 1 / 4000)
    mixture = Proposal.fitted(points, even, np.random.default_rng(0))
    assert len(mixture.shares) == 8
    assert mixture.shares.sum() == pytest.approx(1)
    one = Proposal(points.mean(axis=0)[None], np.cov(points.T)[None], np.ones(1))
    assert efficiency(banana, mixture) > 0.6
    assert efficiency(banana, one) < 0.5


def test_weights_are_those_of_the_target():
    """Draws from a wide normal, weighted, stand for a narrow one elsewhere."""
    wide = np.random.default_rng(0).normal(0, 3, (20_000, 2))
    target = stats.multivariate_normal([1.0, -2.0], [[1.0, 0.6], [0.6, 1.0]])
    weights = target.pdf(wide) / np.exp(stats.norm.logpdf(wide, 0, 3).sum(axis=1))
    found = Proposal.fitted(wide, weights / weights.sum(), np.random.default_rng(0))
    assert efficiency(target.logpdf, found) > 0.85


def test_few_draws_have_one_component():
    points = np.random.default_rng(0).standard_normal((90, 12))
    found = Proposal.fitted(points, np.full(90, 1 / 90), np.random.default_rng(0))
    assert len(found.shares) == 1
    np.testing.assert_allclose(found.locations[0], points.mean(axis=0), atol=0.1)


def test_densities_of_proposals_integrate_to_one():
    points = draws_of_banana(500, 2)
    found = Proposal.fitted(points, np.full(500, 1 / 500), np.random.default_rng(0))
    axis = np.linspace(-40, 40, 801)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert np.exp(found.log_density(grid)).sum() * 0.1**2 == pytest.approx(1, abs=1e-3)


def test_units_do_not_matter():
    points, even = draws_of_banana(1000), np.full(1000, 1 / 1000)
    units = np.array([1e-6, 1.0, 1e5, 3.0])
    plain = Proposal.fitted(points, even, np.random.default_rng(0))
    scaled = Proposal.fitted(points * units, even, np.random.default_rng(0))
    difference = plain.log_density(points) - scaled.log_density(points * units)
    np.testing.assert_allclose(difference, np.log(units).sum(), atol=1e-6)


@pytest.mark.parametrize("size", [1, 11, 60])
def test_the_efficiency_for_a_normal_is_that_of_draws(size):
    normal = stats.multivariate_normal(np.zeros(size), np.eye(size))
    found = efficiency(normal.logpdf, Proposal(np.zeros((1, size)), np.eye(size)[None], np.ones(1)))
    assert found == pytest.approx(efficiency_for_normal(size), rel=0.1)


def test_weights_are_tempered_until_they_are_worth_enough():
    logs = -0.5 * np.linspace(0, 60, 1000) ** 2
    logs[-10:] = -np.inf
    logs -= logsumexp(logs)
    tempered = temper(logs, 200)
    assert 1 / np.sum(tempered**2) == pytest.approx(200, rel=1e-3)
    assert (np.diff(tempered) <= 0).all()
    assert (tempered[-10:] == 0).all()
    np.testing.assert_allclose(temper(logs, 2), np.exp(logs))
    assert 1 / np.sum(temper(logs, 5000) ** 2) == pytest.approx(495, rel=1e-3)


# Unconstrained numbers of positive parameters


@pytest.mark.parametrize(
    "law",
    [dist.HalfNormal(3.0), dist.HalfCauchy(0.2), dist.Exponential(5.0), dist.HalfNormal(2.0).expand([3]).to_event(1)],
    ids=["HalfNormal", "HalfCauchy", "Exponential", "vector"],
)
def test_positive_numbers_whose_density_does_not_vanish_at_zero(law):
    transform = unconstraining(law)
    numbers = torch.linspace(-30, 200, 3, dtype=torch.float64)
    values = transform(numbers)
    assert (values > 0).all()
    torch.testing.assert_close(transform.inv(values), numbers)
    slopes = torch.autograd.functional.jacobian(transform, numbers).diagonal()
    torch.testing.assert_close(transform.log_abs_det_jacobian(numbers, values), slopes.log())
    # Far from zero they are proportional to the parameter, close to it their exponentials are.
    torch.testing.assert_close(values[2] / values[1], numbers[2] / numbers[1])
    torch.testing.assert_close(slopes[0] / values[0], torch.tensor(1.0).double())


@pytest.mark.parametrize("law", [dist.LogNormal(0.0, 1.0), dist.Gamma(2.0, 1.0), dist.Uniform(0.0, 1.0)])
def test_other_numbers_are_those_of_torch(law):
    assert unconstraining(law) == biject_to(law.support)


# Ridges


def shared_variance(n):
    """A loading and a noise of which the data tell only the sum of squares: a curved ridge."""
    loading = pyro.sample("loading", dist.HalfNormal(1.0))
    variance = pyro.sample("variance", dist.InverseGamma(1.0, 1.0))
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Normal(0.0, (loading**2 + variance).sqrt()))


def on_a_grid(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return loadings and their posterior probabilities."""
    loading, log_variance = np.meshgrid(np.linspace(0.001, 3, 1500), np.linspace(-6, 3, 3000), indexing="ij")
    variance = np.exp(log_variance)
    total = loading**2 + variance
    log = stats.halfnorm.logpdf(loading) + stats.invgamma(1.0).logpdf(variance) + log_variance
    log += -len(x) / 2 * np.log(total) - x @ x / total / 2
    weight = np.exp(log - log.max()).sum(axis=1)
    return loading[:, 0], weight / weight.sum()


def test_a_walk_goes_along_the_ridge_from_end_to_end():
    """The ridge is where the squares of the loading and the variance add up to the mean square."""
    x = 1.8 * np.random.default_rng(0).standard_normal(300)
    scm = ca.SCM(shared_variance)
    density = MarginalDensity(scm, scm.encode(pd.DataFrame({"x": x})))
    (mode,) = find_modes(density, prior=True, jacobian=True, seed=0)
    points = walk_ridge(density, mode, prior_spread(density, 0))
    parts = density.over(np.stack([mode.location, *(point.location for point in points)]))
    loading, variance = parts.values["loading"], parts.values["variance"]
    np.testing.assert_allclose(loading**2 + variance, np.mean(x**2), rtol=0.1)
    exact, weight = on_a_grid(x)
    low, high = exact[np.searchsorted(np.cumsum(weight), [0.05, 0.95])]
    assert loading.min() < low
    assert loading.max() > high
    heights = parts.likelihood + parts.jacobian + parts.prior["loading"] + parts.prior["variance"]
    np.testing.assert_allclose([point.height for point in points], heights[1:])
    assert (heights[1:] < heights[0]).all()
    assert all((np.linalg.eigvalsh(point.hessian) > 0).all() for point in points)


def test_one_number_has_no_ridge():
    def program(n):
        mean = pyro.sample("mean", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            pyro.sample("x", dist.Normal(mean, 1.0))

    scm = ca.SCM(program)
    density = MarginalDensity(scm, scm.encode(pd.DataFrame({"x": [0.1, 0.2]})))
    (mode,) = find_modes(density, prior=True, jacobian=True, seed=0)
    assert walk_ridge(density, mode, np.ones(1)) == []


# Posteriors


@pytest.mark.parametrize("scale", [0.9, 1.8])
def test_a_curved_ridge_is_drawn_from_end_to_end(scale):
    x = scale * np.random.default_rng(0).standard_normal(300)
    posterior = ca.fit(ca.SCM(shared_variance), pd.DataFrame({"x": x}), method="laplace", seed=0, progress=False)
    assert posterior.diagnostics().ok
    loading, weight = on_a_grid(x)
    drawn, below = posterior.parameters()["loading"], np.cumsum(weight)
    for share in (0.02, 0.1, 0.5, 0.9):
        exact = loading[np.searchsorted(below, share)]
        assert (drawn < exact).mean() == pytest.approx(share, abs=3.5 * np.sqrt(share * (1 - share) / 2000))


def hierarchy(n):
    """The width of a prior is a parameter: so are the units of the unconstrained numbers."""
    width = pyro.sample("width", dist.Exponential(1.0))
    spread = pyro.sample("spread", dist.HalfNormal(width))
    with pyro.plate("individuals", n):
        pyro.sample("x", dist.Normal(0.0, spread))


def test_the_width_of_a_prior_may_be_a_parameter():
    x = 0.7 * np.random.default_rng(1).standard_normal(12)
    posterior = ca.fit(ca.SCM(hierarchy), pd.DataFrame({"x": x}), method="laplace", seed=0, progress=False)
    assert posterior.diagnostics().ok
    width, spread = np.meshgrid(np.linspace(0.005, 12, 2400), np.linspace(0.005, 4, 800), indexing="ij")
    log = stats.expon.logpdf(width) + stats.halfnorm(scale=width).logpdf(spread) - 12 * np.log(spread)
    weight = np.exp(log - x @ x / spread**2 / 2)
    weight /= weight.sum()
    drawn = posterior.parameters()
    for name, exact in (("width", width), ("spread", spread)):
        mean = (weight * exact).sum()
        error = np.sqrt((weight * (exact - mean) ** 2).sum() / 1500)
        assert drawn[name].mean() == pytest.approx(mean, abs=3.5 * error)
