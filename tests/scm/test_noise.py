"""The noise of each family: round trips far out, and the right distribution when drawn afresh."""

import numpy as np
import pyro.distributions as dist
import pytest
import torch
from random_programs import FAMILIES
from scipy import stats

from causalaudit.scm.execution import numerics
from causalaudit.scm.noise import noise_of, tails
from causalaudit.scm.noise.elementwise import elementwise
from causalaudit.scm.noise.finite import GumbelMax, Monotone


@pytest.fixture(autouse=True)
def _double():
    with numerics():
        yield


def round_trip(law, values, noise=None):
    noise = noise or noise_of(law, "site")
    width = noise.width(law)
    rng = np.random.default_rng(0)
    uniform = torch.from_numpy(rng.random((len(values),) if width is None else (len(values), width)))
    return noise.push(law, noise.abduct(law, values, uniform))


@pytest.mark.parametrize("rate", [0.01, 0.5, 4.0, 40.0, 1e4, 1e7])
def test_poisson_to_nine_sigma(rate):
    sigmas = torch.linspace(-9, 9, 400)
    values = (rate + sigmas * rate**0.5).round().clamp(min=0)
    assert torch.equal(round_trip(dist.Poisson(torch.full((400,), rate)), values), values)


@pytest.mark.parametrize("total", [1, 2, 30, 5000])
@pytest.mark.parametrize("logit", [-30.0, -3.0, 0.0, 12.0])
def test_binomial_at_both_ends(total, logit):
    law = dist.Binomial(total, logits=torch.full((4,), logit))
    values = torch.tensor([0.0, 1.0, total - 1.0, float(total)])
    possible = law.log_prob(values) > -650  # in double precision
    assert torch.equal(round_trip(law, values)[possible], values[possible])


@pytest.mark.parametrize("logit", [-700.0, -36.0, -30.0, 0.0, 30.0, 36.0])
@pytest.mark.parametrize("noise", [Monotone(), GumbelMax()])
def test_bernoulli_at_extreme_logits(logit, noise):
    values = torch.tensor([0.0, 1.0]).repeat(200)
    law = dist.Bernoulli(logits=torch.full((400,), logit))
    if abs(logit) < 700 or isinstance(noise, Monotone):
        assert torch.equal(round_trip(law, values, noise), values)


@pytest.mark.parametrize("df", [1.0, 3.0, 30.0])
def test_student_far_out(df):
    values = torch.cat([-torch.logspace(-3, 8, 200), torch.logspace(-3, 8, 200)])
    law = dist.StudentT(torch.full((400,), df), 0.0, 2.0)
    torch.testing.assert_close(round_trip(law, values), values, rtol=1e-12, atol=0)
    inside = values[values.abs() < {1.0: 1e8, 3.0: 1e8, 30.0: 1e4}[df]]
    quantile = noise_of(law, "site", shape_has_parents=True)
    few = dist.StudentT(torch.full((len(inside),), df), 0.0, 2.0)
    torch.testing.assert_close(round_trip(few, inside, quantile), inside, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [0.05, 0.5, 3.0, 200.0])
def test_gamma_and_beta_in_both_tails(shape):
    probabilities = np.concatenate([np.logspace(-250, -1, 100), 1 - np.logspace(-15, -1, 100)])
    for law, exact in (
        (dist.Gamma(torch.full((200,), shape), 2.0), stats.gamma(shape, scale=0.5)),
        (dist.Beta(torch.full((200,), shape), 2.5), stats.beta(shape, 2.5)),
    ):
        values = torch.from_numpy(exact.ppf(probabilities))
        usable = (values > 1e-300) & (values < (1.0 if isinstance(law, dist.Beta) else np.inf))
        got = round_trip(law, values)
        torch.testing.assert_close(got[usable], values[usable], rtol=1e-9, atol=0)


def test_normal_beyond_where_the_cdf_fails():
    values = torch.tensor([-40.0, -9.0, 9.0, 40.0])
    assert torch.equal(round_trip(dist.Normal(torch.zeros(4), 1.0), values), values)


SCIPY = {
    "Normal": stats.norm(0.3, 0.5 + 0.3**2),
    "Laplace": stats.laplace(0.3, 1.5),
    "StudentT": stats.t(3, 0.3, 2),
    "StudentT, df of parents": stats.t(2 + np.exp(0.3), 0.3, 2),
    "Logistic": stats.logistic(0.3, 1),
    "Cauchy": stats.cauchy(0.3, 1),
    "Gumbel": stats.gumbel_r(0.3, 1),
    "Uniform": stats.uniform(-0.7, 3),
    "HalfNormal": stats.halfnorm(0, np.exp(0.3)),
    "HalfCauchy": stats.halfcauchy(0, np.exp(0.3)),
    "Exponential": stats.expon(0, np.exp(-0.3)),
    "LogNormal": stats.lognorm(0.7, 0, np.exp(0.3)),
    "Weibull": stats.weibull_min(1.5, 0, np.exp(0.3)),
    "Pareto": stats.pareto(2.5, 0, np.exp(0.3)),
    "InverseGamma": stats.invgamma(2 + np.exp(0.3)),
    "Gamma": stats.gamma(0.3 + np.exp(0.3), scale=1 / 1.5),
    "Beta": stats.beta(0.5 + np.exp(0.3), 2),
    "Truncated": stats.truncnorm(-1.3 / 1.5, 2 / 1.5, 0.3, 1.5),
    "Normal of torch": stats.norm(0.3, 0.5 + 0.3**2),
}
# Of these the distribution function is that of the family itself.
WITHOUT_SCIPY = {"Mixture", "Truncated LogNormal", "Censored", "Censored Weibull", "Hurdle", "SoftLaplace"}


@pytest.mark.parametrize("family", SCIPY)
def test_fresh_noise_has_the_distribution_of_the_family(family):
    law = FAMILIES[family](torch.full((20_000,), 0.3))
    noise = noise_of(law, "site", shape_has_parents="parents" in family)
    drawn = noise.push(law, noise.fresh(law, torch.from_numpy(np.random.default_rng(1).random(20_000))))
    assert stats.kstest(drawn.numpy(), SCIPY[family].cdf).pvalue > 1e-3


DISCRETE = [name for name in FAMILIES if name not in {*SCIPY, *WITHOUT_SCIPY, "OneHotCategorical"}]


@pytest.mark.parametrize("family", DISCRETE)
def test_fresh_discrete_noise_has_the_probabilities_of_the_family(family):
    law = FAMILIES[family](torch.full((50_000,), 0.3))
    noise = noise_of(law, "site")
    width = noise.width(law)
    uniform = torch.from_numpy(np.random.default_rng(2).random((50_000,) if width is None else (50_000, width)))
    drawn = noise.push(law, noise.fresh(law, uniform))
    for value in range(4):
        here = torch.full((50_000,), float(value))
        if bool(law.support.check(here).all()):
            probability = float(law.log_prob(here).exp()[0])
            assert float((drawn == value).double().mean()) == pytest.approx(probability, abs=0.01)


@pytest.mark.parametrize("family", [*DISCRETE, "OneHotCategorical"])
def test_abducted_noise_mixes_back_to_the_prior_noise(family):
    """Noise abducted from values drawn from the law is distributed as noise drawn afresh."""
    law = FAMILIES[family](torch.full((20_000,), 0.3))
    torch.manual_seed(0)
    values = law.sample()
    noise = noise_of(law, "site")
    width = noise.width(law)
    rng = np.random.default_rng(3)
    shape = (20_000,) if width is None else (20_000, width)
    abducted = noise.readable(noise.abduct(law, values, torch.from_numpy(rng.random(shape)))).numpy()
    exact = stats.uniform().cdf if width is None else stats.gumbel_r().cdf
    for column in abducted.reshape(20_000, -1).T:
        assert stats.kstest(column, exact).pvalue > 1e-3
    if width:
        correlations = np.corrcoef(abducted.T) - np.eye(width)
        assert np.abs(correlations).max() < 0.04


def test_a_step_is_half_open():
    below = (torch.tensor([0.2]), torch.tensor([0.5]))
    above = (torch.tensor([0.8]), torch.tensor([0.5]))
    near_top = tails.inside_step(below, above, torch.tensor([2.0**-54]))
    near_bottom = tails.inside_step(below, above, torch.tensor([1 - 2.0**-53]))
    assert float(tails.to_uniform(near_top)) <= 0.5
    assert float(tails.to_uniform(near_bottom)) > 0.2


def test_elementwise_under_vmap_matches_the_loop():
    def shifted(x, y):
        return elementwise(np.add, x, y)

    x, y = torch.arange(6.0).reshape(2, 3), torch.arange(3.0)
    expected = torch.stack([shifted(row, y) for row in x])
    torch.testing.assert_close(torch.func.vmap(shifted, in_dims=(0, None))(x, y), expected)
    torch.testing.assert_close(torch.func.vmap(shifted, in_dims=(1, None), out_dims=1)(x.T, y), expected.T)


def test_an_impossible_category_keeps_its_noise():
    law = dist.Categorical(torch.tensor([0.3, 0.0, 0.7]).expand(1000, 3))
    values = torch.tensor([0, 2]).repeat(500)
    noise = GumbelMax()
    uniform = torch.from_numpy(np.random.default_rng(0).random((1000, 3)))
    abducted = noise.abduct(law, values, uniform)
    assert bool(torch.isfinite(abducted).all())
    assert torch.equal(noise.push(law, abducted).long(), values)
    assert stats.kstest(abducted[:, 1].numpy(), stats.gumbel_r.cdf).pvalue > 1e-3
