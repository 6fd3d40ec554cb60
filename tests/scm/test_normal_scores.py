"""Values on the normal scale of their noise: the noise that gives them, its slopes, and far tails."""

import numpy as np
import pyro.distributions as dist
import pytest
import torch
from scipy import stats
from scipy.special import log_ndtr, logsumexp, ndtri
from torch.func import hessian, jacrev, vmap

from causalaudit.scm.execution import numerics
from causalaudit.scm.noise import noise_of
from causalaudit.scm.noise.normal_scores import Point, has_scores, is_interval, scores_of

# A law of a few numbers, where it is looked at, and some of its values, far out too.
FAMILIES = {
    "Poisson": (lambda p: dist.Poisson(p[0].exp()), [1.2], [0.0, 3.0, 9.0, 60.0]),
    "Binomial": (lambda p: dist.Binomial(10, logits=p[0]), [0.4], [0.0, 4.0, 9.0, 10.0]),
    "Geometric": (lambda p: dist.Geometric(logits=p[0]), [-0.4], [0.0, 1.0, 9.0]),
    "NegativeBinomial": (lambda p: dist.NegativeBinomial(p[0].exp(), logits=p[1]), [1.1, 0.3], [0.0, 3.0, 40.0, 400.0]),
    "GammaPoisson": (lambda p: dist.GammaPoisson(p[0].exp(), p[1].exp()), [1.1, 0.3], [0.0, 3.0, 40.0]),
    "Bernoulli": (lambda p: dist.Bernoulli(logits=p[0]), [0.4], [0.0, 1.0]),
    "Bernoulli, probs": (lambda p: dist.Bernoulli(p[0].sigmoid()), [0.4], [0.0, 1.0]),
    "Gamma": (lambda p: dist.Gamma(p[0].exp(), p[1].exp()), [1.1, 0.3], [0.01, 3.0, 30.0]),
    "InverseGamma": (lambda p: dist.InverseGamma(p[0].exp(), p[1].exp()), [1.1, 0.3], [0.1, 3.0, 30.0]),
    "Beta": (lambda p: dist.Beta(p[0].exp(), p[1].exp()), [1.1, 0.3], [0.01, 0.5, 0.999]),
    "StudentT": (lambda p: dist.StudentT(p[0].exp(), p[1], p[2].exp()), [1.1, 0.3, 0.2], [-30.0, 0.35, 1.5, 30.0]),
    "LogNormal": (lambda p: dist.LogNormal(p[0], p[1].exp()), [1.1, 0.3], [0.01, 3.0]),
    "Weibull": (lambda p: dist.Weibull(p[0].exp(), p[1].exp()), [1.1, 0.3], [0.01, 3.0]),
    "Normal": (lambda p: dist.Normal(p[0], p[1].exp()), [1.1, 0.3], [-60.0, 3.0]),
    "Laplace": (lambda p: dist.Laplace(p[0], p[1].exp()), [1.1, 0.3], [-30.0, 3.0]),
    "Logistic": (lambda p: dist.Logistic(p[0], p[1].exp()), [1.1, 0.3], [-30.0, 3.0]),
    "Gumbel": (lambda p: dist.Gumbel(p[0], p[1].exp()), [1.1, 0.3], [-3.0, 3.0, 30.0]),
    "Cauchy": (lambda p: dist.Cauchy(p[0], p[1].exp()), [1.1, 0.3], [-3.0, 3.0, 3000.0]),
    "Exponential": (lambda p: dist.Exponential(p[0].exp()), [1.1], [0.001, 3.0]),
    "HalfNormal": (lambda p: dist.HalfNormal(p[0].exp()), [1.1], [0.001, 3.0, 30.0]),
    "HalfCauchy": (lambda p: dist.HalfCauchy(p[0].exp()), [1.1], [0.001, 3.0, 3000.0]),
    "Uniform": (lambda p: dist.Uniform(p[0], p[1]), [-1.1, 3.5], [0.001, 3.0]),
    "OrderedLogistic": (
        lambda p: dist.OrderedLogistic(p[0], torch.stack([p[1], p[1] + 1.0, p[1] + 1.5])), [0.4, -0.2], [0.0, 1.0, 3.0],
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _numbers():
    with numerics():
        yield


def numbers_of(law, values):
    """The ends of the intervals, which infinity is cut from, or the points and their log-densities."""
    found = scores_of(law, values)
    if isinstance(found, Point):
        return torch.stack([found.score, found.log_density])
    return torch.stack([found.low.clamp(min=-50), found.high.clamp(max=50)])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_score_is_the_normal_quantile_of_the_noise_that_gives_the_value(family):
    make, at, _ = FAMILIES[family]
    uniform = torch.tensor([0.001, 0.1, 0.35, 0.5, 0.62, 0.9, 0.9999])
    law = make(torch.tensor(at)).expand(uniform.shape) if family != "OrderedLogistic" else make(torch.tensor(at))
    noise = noise_of(law, "x")
    found = scores_of(law, noise.push(law, noise.fresh(law, uniform)))
    expected = torch.from_numpy(ndtri(uniform.numpy()))
    assert has_scores(law)
    assert is_interval(law) != isinstance(found, Point)
    if isinstance(found, Point):
        assert torch.allclose(found.score, expected, rtol=1e-8, atol=1e-8)
    else:
        assert ((found.low < expected + 1e-9) & (expected - 1e-9 <= found.high)).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_slopes_and_curvatures_are_those_of_finite_differences_inside_vmap_too(family):
    make, at, values = FAMILIES[family]
    start, values, step = torch.tensor(at), torch.tensor(values), 1e-4

    def function(at):
        return numbers_of(make(at), values)

    def difference(of):
        shifts = step * torch.eye(len(start))
        near = [of(start + shift) - of(start - shift) for shift in shifts]
        far = [of(start + 2 * shift) - of(start - 2 * shift) for shift in shifts]
        return torch.stack([(8 * one - two) / (12 * step) for one, two in zip(near, far, strict=True)], -1)

    slope = jacrev(function)
    assert torch.allclose(slope(start), difference(function), rtol=1e-8, atol=1e-8)
    curvature = hessian(lambda at: function(at).sum())(start)
    assert torch.allclose(curvature, difference(jacrev(lambda at: function(at).sum())), rtol=1e-6, atol=1e-6)
    if family != "OrderedLogistic":  # Pyro's own assigns into a tensor, which vmap forbids
        several = start + torch.linspace(-0.1, 0.1, 3).unsqueeze(-1)
        assert torch.allclose(vmap(slope)(several), torch.stack([slope(one) for one in several]), rtol=1e-12)


@pytest.mark.parametrize(
    ("law", "value", "log_below", "log_above"),
    [
        (lambda: dist.Poisson(torch.tensor([1e-9])), 35, None, lambda k: stats.poisson.logpmf(k, 1e-9)),
        (lambda: dist.Poisson(torch.tensor([2e3])), 9, lambda k: stats.poisson.logpmf(k, 2e3), None),
        (lambda: dist.Binomial(400, probs=torch.tensor([1e-6])), 90, None, lambda k: stats.binom.logpmf(k, 400, 1e-6)),
        (
            lambda: dist.NegativeBinomial(torch.tensor([2.0]), probs=torch.tensor([1e-4])),
            90,
            None,
            lambda k: stats.nbinom.logpmf(k, 2.0, 1 - 1e-4),
        ),
    ],
)
def test_where_a_tail_is_too_small_for_a_double_its_score_is_right_nevertheless(law, value, log_below, log_above):
    found = float(scores_of(law(), torch.tensor([float(value)])).high)
    if log_below is not None:
        expected = logsumexp(log_below(np.arange(value + 1)))
        assert log_ndtr(found) == pytest.approx(expected, rel=1e-10)
    else:
        expected = logsumexp(log_above(np.arange(value + 1, value + 400)))
        assert log_ndtr(-found) == pytest.approx(expected, rel=1e-10)
    assert expected < -700


@pytest.mark.parametrize(
    "law",
    [
        dist.Categorical(torch.ones(3)),
        dist.VonMises(0.0, 1.0),
        dist.BetaBinomial(1.0, 1.0, 4),
        dist.TransformedDistribution(dist.VonMises(0.0, 1.0), [dist.transforms.ExpTransform()]),
    ],
)
def test_other_families_have_no_scores(law):
    assert not has_scores(law)
