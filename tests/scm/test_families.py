"""Mixtures, zero-inflated, truncated and censored families, and whatever has a cdf: densities, noise, worlds."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from random_programs import FAMILIES
from scipy import integrate, optimize, stats

import causalaudit as ca
from causalaudit.errors import ProgramError
from causalaudit.scm.distributions import Censored, Hurdle, Truncated
from causalaudit.scm.execution import numerics
from causalaudit.scm.noise import noise_of
from causalaudit.scm.noise.both_tails import both_tails
from causalaudit.scm.noise.inverses import quantile_of
from causalaudit.scm.noise.log_tails import LOG_TAILS, log_tails


@pytest.fixture(autouse=True)
def _double():
    with numerics():
        yield


SCIPY = {
    "Normal": (lambda: dist.Normal(0.3, 2.0), stats.norm(0.3, 2.0)),
    "Laplace": (lambda: dist.Laplace(0.3, 2.0), stats.laplace(0.3, 2.0)),
    "Cauchy": (lambda: dist.Cauchy(0.3, 2.0), stats.cauchy(0.3, 2.0)),
    "Gumbel": (lambda: dist.Gumbel(torch.tensor(0.3), torch.tensor(2.0)), stats.gumbel_r(0.3, 2.0)),
    "Logistic": (lambda: dist.Logistic(torch.tensor(0.3), torch.tensor(2.0)), stats.logistic(0.3, 2.0)),
    "Exponential": (lambda: dist.Exponential(torch.tensor(2.0)), stats.expon(0, 0.5)),
    "HalfNormal": (lambda: dist.HalfNormal(torch.tensor(2.0)), stats.halfnorm(0, 2.0)),
    "HalfCauchy": (lambda: dist.HalfCauchy(torch.tensor(2.0)), stats.halfcauchy(0, 2.0)),
    "Uniform": (lambda: dist.Uniform(torch.tensor(-1.0), torch.tensor(2.0)), stats.uniform(-1, 3)),
    "LogNormal": (lambda: dist.LogNormal(torch.tensor(0.3), 0.7), stats.lognorm(0.7, 0, np.exp(0.3))),
    "Weibull": (lambda: dist.Weibull(torch.tensor(2.0), torch.tensor(1.5)), stats.weibull_min(1.5, 0, 2.0)),
}


@pytest.mark.parametrize("family", SCIPY)
def test_log_tails_are_those_of_scipy_far_out_too(family):
    law, exact = SCIPY[family][0](), SCIPY[family][1]
    assert len(SCIPY) == len(LOG_TAILS) + 1  # LogNormal and Weibull stand for the transformed
    values = np.append(exact.ppf([1e-30, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-9]), exact.isf([1e-12, 1e-40]))
    below, above = log_tails(law, torch.tensor(values))
    np.testing.assert_allclose(below, exact.logcdf(values), rtol=1e-8, atol=1e-15)
    np.testing.assert_allclose(above, exact.logsf(values), rtol=1e-8, atol=1e-15)
    signed = torch.tensor([1e-30, 1e-3, 0.4, -0.4, -1e-3, -1e-30])
    there = quantile_of(law, signed)
    tails = torch.stack(both_tails(law, there))
    if family != "Uniform":  # whose tail of 1e-30 is not a number beside its limit
        torch.testing.assert_close(torch.where(signed > 0, tails[0], -tails[1]), signed, rtol=1e-9, atol=0)


NUMBERS = torch.tensor([0.0, 0.4, 1.0, 1.9], dtype=torch.float64)


def test_densities_of_truncated_and_censored_are_those_of_scipy():
    law = Truncated(dist.Normal(0.5, 1.2), low=-0.2, high=3.0)
    exact = stats.truncnorm(-0.7 / 1.2, 2.5 / 1.2, 0.5, 1.2)
    np.testing.assert_allclose(law.log_prob(NUMBERS), exact.logpdf(NUMBERS), rtol=1e-12)
    far = Truncated(dist.Normal(0.0, 1.0), low=20.0)  # where one minus the cdf is zero
    np.testing.assert_allclose(far.log_prob(torch.tensor(20.1)), stats.norm.logpdf(20.1) - stats.norm.logsf(20.0))
    assert law.log_prob(torch.tensor(3.5)) == law.log_prob(torch.tensor(-0.3)) == -torch.inf
    tobit = Censored(dist.Normal(0.5, 1.2), low=0.0, high=1.9)
    normal = stats.norm(0.5, 1.2)
    expected = [normal.logcdf(0.0), normal.logpdf(0.4), normal.logpdf(1.0), normal.logsf(1.9)]
    np.testing.assert_allclose(tobit.log_prob(NUMBERS), expected, rtol=1e-12)
    followed = Censored(dist.Weibull(torch.tensor(2.0), torch.tensor(1.5)), high=torch.tensor([1.0, 0.4, 3.0, 1.9]))
    weibull = stats.weibull_min(1.5, 0, 2.0)
    expected = [weibull.logpdf(0.3), weibull.logsf(0.4), weibull.logpdf(1.0), weibull.logsf(1.9)]
    np.testing.assert_allclose(followed.log_prob(torch.tensor([0.3, 0.4, 1.0, 1.9])), expected, rtol=1e-12)


def test_a_hurdle_has_the_mass_that_is_asked_for_and_the_rest_above_zero():
    law = Hurdle(dist.Poisson(torch.tensor(2.0)), gate=torch.tensor(0.6))
    counts = np.arange(60)
    chances = law.log_prob(torch.tensor(counts, dtype=torch.float64)).exp().numpy()
    poisson = stats.poisson(2.0).pmf(counts)
    np.testing.assert_allclose(chances, np.where(counts == 0, 0.6, 0.4 * poisson / (1 - poisson[0])), rtol=1e-12)
    spent = Hurdle(dist.LogNormal(torch.tensor(0.3), 0.7), gate_logits=torch.tensor(0.4))
    density = lambda x: float(spent.log_prob(torch.tensor(x)).exp())  # noqa: E731
    assert density(0.0) + integrate.quad(density, 1e-12, 60)[0] == pytest.approx(1.0, abs=1e-6)


COMPOUND = [
    name for name in FAMILIES if any(word in name for word in ("Zero", "Hurdle of", "Beta", "Poisson", "counts"))
]


@pytest.mark.parametrize("family", [name for name in COMPOUND if name != "Beta"])
def test_the_distribution_function_of_a_count_is_the_sum_of_its_probabilities(family):
    law = FAMILIES[family](torch.full((13,), 0.4))
    counts = torch.arange(13.0)
    below, above = both_tails(law, counts)
    chances = law.log_prob(counts).exp()
    np.testing.assert_allclose(below, chances.cumsum(0), rtol=1e-10)
    np.testing.assert_allclose(below + above, 1.0, rtol=1e-12)
    assert tuple(float(tail[0]) for tail in both_tails(law, torch.full((13,), -1.0))) == (0.0, 1.0)


def test_a_mixture_is_inverted_as_by_root_finding():
    law = FAMILIES["Mixture"](torch.full((5,), 0.4))
    below, above = stats.norm(-0.6, 0.8), stats.norm(0.6, 0.8)
    share = 1 / (1 + np.exp(-0.4))
    quantiles = np.array([1e-12, 0.1, 0.45, 0.5, 1 - 1e-6])
    roots = [
        optimize.brentq(lambda x, q=q: share * below.cdf(x) + (1 - share) * above.cdf(x) - q, -20, 20, xtol=1e-14)
        for q in quantiles
    ]
    signed = torch.tensor(np.where(quantiles <= 0.5, quantiles, quantiles - 1))
    np.testing.assert_allclose(quantile_of(law, signed), roots, rtol=1e-9)
    np.testing.assert_allclose(torch.func.vmap(lambda q: quantile_of(law, q))(signed[None])[0], roots, rtol=1e-9)


class Triangle(dist.TorchDistribution):
    """A user's own family, with a cdf and nothing else: the density 2 (1 - x / top) / top below `top`."""

    arg_constraints = {"top": dist.constraints.positive}  # noqa: RUF012

    def __init__(self, top):
        self.top = torch.as_tensor(top)
        super().__init__(self.top.shape, validate_args=False)

    @dist.constraints.dependent_property(event_dim=0)
    def support(self):
        return dist.constraints.interval(0.0, self.top)

    def sample(self, sample_shape=()):
        return self.top * (1 - torch.rand(self.shape(sample_shape)).sqrt())

    def log_prob(self, value):
        inside = (value >= 0) & (value < self.top)
        return torch.where(inside, (2 / self.top * (1 - torch.where(inside, value, 0.0) / self.top)).log(), -torch.inf)

    def cdf(self, value):
        return 1 - (1 - value / self.top) ** 2


def test_a_family_of_ones_own_with_a_cdf_is_enough():
    """Pyro wraps it as ExpandedDistribution where it is the same for everybody, which was refused."""

    def program(n):
        with pyro.plate("individuals", n):
            group = pyro.sample("group", dist.Bernoulli(0.5))
            same = pyro.sample("same", Triangle(3.0))
            pyro.sample("y", Triangle(2.0 + same + group))

    scm = ca.SCM(program)
    people = pd.DataFrame({"group": [0, 1, 0], "same": [0.2, 1.0, 2.9], "y": [0.5, 2.0, 1.0]})
    worlds = ca.counterfactuals(ca.fit(scm, people, draws=1, chains=1), {"group": 1})
    shares = people["y"] / (2 + people["same"] + people["group"])
    np.testing.assert_allclose(worlds.dataset["y"][0], shares * (3 + people["same"]), rtol=1e-12)
    assert scm.families == {"group": "Bernoulli", "same": "Triangle", "y": "Triangle"}


def wages(family):
    def program(n):
        b = pyro.sample("b", dist.Normal(0.0, 1.0))
        s = pyro.sample("s", dist.HalfNormal(2.0))
        with pyro.plate("individuals", n):
            group = pyro.sample("group", dist.Bernoulli(0.5))
            pyro.sample("y", family(b * group, s))

    return ca.SCM(program)


def test_distributions_of_torch_itself_are_those_of_pyro():
    def program(n):
        b = pyro.sample("b", torch.distributions.Normal(0.0, 1.0))
        s = pyro.sample("s", torch.distributions.HalfNormal(2.0))
        with pyro.plate("individuals", n):
            group = pyro.sample("group", torch.distributions.Bernoulli(0.5))
            pyro.sample("y", torch.distributions.Normal(b * group, s))

    plain, ours = ca.SCM(program), wages(dist.Normal)
    assert plain.families == ours.families
    people = ours.prior_predictive(60, draws=1).isel(draw=0)[["group", "y"]].to_dataframe()[["group", "y"]]
    one, two = (ca.fit(scm, people, draws=20, chains=1, method="laplace") for scm in (plain, ours))
    np.testing.assert_array_equal(one.parameters()["s"], two.parameters()["s"])
    worlds = [ca.counterfactuals(posterior, {"group": 1}).dataset["y"] for posterior in (one, two)]
    np.testing.assert_array_equal(*worlds)


def tobit_people(n=150, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    return pd.DataFrame({"group": group, "y": np.maximum(0.7 * group + 1.3 * rng.standard_normal(n), 0.0)})


def test_tobit_posterior_is_that_of_a_grid_and_counterfactuals_are_clipped_residuals():
    people = tobit_people()
    posterior = ca.fit(wages(lambda mean, s: Censored(dist.Normal(mean, s), low=0.0)), people, draws=500, chains=1)
    b, s = (axis.ravel() for axis in np.meshgrid(np.linspace(-1, 2, 181), np.linspace(0.7, 2.2, 181)))
    y, mean = people["y"].to_numpy(), people["group"].to_numpy() * b[:, None]
    normal = stats.norm(mean, s[:, None])
    log = np.where(y == 0, normal.logcdf(0.0), normal.logpdf(y)).sum(1) + stats.norm(0, 1).logpdf(b)
    log += stats.halfnorm(0, 2).logpdf(s)
    weights = np.exp(log - log.max()) / np.exp(log - log.max()).sum()
    for name, values in (("b", b), ("s", s)):
        exact = weights @ values, np.sqrt(weights @ values**2 - (weights @ values) ** 2)
        drawn = posterior.parameters()[name]
        assert drawn.mean() == pytest.approx(exact[0], abs=4 * exact[1] / np.sqrt(300))
        assert drawn.std() == pytest.approx(exact[1], rel=0.15)

    worlds = ca.counterfactuals(posterior, {"group": 1}, draws=200)
    y_if = worlds.dataset["y"].to_numpy()
    effect = posterior.parameters(200)["b"][:, None]
    seen, moved = (y > 0)[None], (people["group"] == 0).to_numpy()[None]
    np.testing.assert_allclose(y_if, np.where(moved & seen, np.maximum(y + effect, 0.0), y_if), rtol=1e-9)
    hidden = moved & ~seen  # the residual is below zero's: mean and share of zeros are those of a truncated normal
    s = np.broadcast_to(posterior.parameters(200)["s"][:, None], y_if.shape)[:, hidden[0]]
    b = np.broadcast_to(effect, y_if.shape)[:, hidden[0]]
    chance = np.minimum(stats.norm.cdf(-b / s) / 0.5, 1.0)
    assert (y_if[:, hidden[0]] == 0).mean() == pytest.approx(chance.mean(), abs=4 * 0.5 / np.sqrt(s.size))


def test_bases_that_cannot_be_limited_are_refused():
    with pytest.raises(ProgramError, match="Truncated takes a continuous one-dimensional base"):
        Truncated(dist.Poisson(2.0), low=0.0)
    with pytest.raises(ProgramError, match="no distribution function here that can be differentiated"):
        Censored(dist.Beta(2.0, 2.0), low=0.1).log_prob(torch.tensor(0.1))
    with pytest.raises(ProgramError, match="no negative values"):
        Hurdle(dist.Normal(0.0, 1.0), gate=0.2)
    with pytest.raises(ProgramError, match="either gate"):
        Hurdle(dist.Poisson(2.0))
    with pytest.raises(ProgramError, match="'vM' has the distribution VonMises"):
        noise_of(dist.VonMises(torch.tensor(0.0), torch.tensor(1.0)), "vM")


def patients(n):
    effect = pyro.sample("effect", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        treated = pyro.sample("treated", dist.Bernoulli(0.5))
        followed = pyro.sample("followed", ca.Given())
        time = dist.Weibull((effect * treated).exp(), torch.full((n,), 1.5))
        pyro.sample("time", Censored(time, high=followed))


def test_survival_times_are_censored_by_each_persons_own_follow_up():
    rng = np.random.default_rng(1)
    treated, followed = rng.integers(0, 2, 200), rng.uniform(0.3, 2.0, 200)
    time = np.minimum(rng.weibull(1.5, 200) * np.exp(0.7 * treated), followed)
    people = pd.DataFrame({"treated": treated, "followed": followed, "time": time})
    posterior = ca.fit(ca.SCM(patients), people, draws=400, chains=1, method="laplace")
    grid = np.linspace(-0.5, 2.0, 400)[:, None]
    weibull = stats.weibull_min(1.5, 0, np.exp(grid * treated))
    log = np.where(time == followed, weibull.logsf(time), weibull.logpdf(time)).sum(1) + stats.norm().logpdf(grid[:, 0])
    weights = np.exp(log - log.max()) / np.exp(log - log.max()).sum()
    mean, sd = weights @ grid[:, 0], np.sqrt(weights @ grid[:, 0] ** 2 - (weights @ grid[:, 0]) ** 2)
    drawn = posterior.parameters()["effect"]
    assert drawn.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(300))
    assert drawn.std() == pytest.approx(sd, rel=0.15)
    untreated = ca.counterfactuals(posterior, {"treated": 0}, draws=50).dataset["time"].to_numpy()
    shrunk = time * np.exp(-posterior.parameters(50)["effect"][:, None] * treated)
    seen = time < followed  # with the noise that is known, time is scaled; of the others it is at least so long
    np.testing.assert_allclose(untreated[:, seen], np.minimum(shrunk, followed)[:, seen], rtol=1e-9)
    assert (untreated[:, ~seen] >= np.minimum(shrunk, followed)[:, ~seen] * (1 - 1e-9)).all()
    longer = ca.counterfactuals(posterior, {"followed": 1e9}, draws=50).dataset["time"].to_numpy()
    np.testing.assert_allclose(longer[:, seen], np.broadcast_to(time[seen], (50, seen.sum())), rtol=1e-9)
    assert (longer[:, ~seen] > time[~seen]).all()


FITTED = [
    "GammaPoisson",
    "BetaBinomial",
    "ZeroInflatedPoisson",
    "Hurdle of a count",
    "Mixture",
    "Truncated LogNormal",
    "Hurdle",
]


@pytest.mark.parametrize("family", FITTED)
def test_the_mode_is_where_the_likelihood_is_greatest(family):
    def program(n):
        b = pyro.sample("b", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            x = pyro.sample("x", dist.Bernoulli(0.5))
            pyro.sample("y", FAMILIES[family](0.3 + b * x))

    x = torch.arange(200) % 2
    pyro.set_rng_seed(3)
    y = FAMILIES[family](0.3 + 0.5 * x.double()).sample()
    people = pd.DataFrame({"x": x.numpy(), "y": y.numpy()})
    found = ca.fit(ca.SCM(program), people, method="ml", draws=1, chains=1).parameters()["b"]
    loss = lambda b: -float(FAMILIES[family](0.3 + b * x.double()).log_prob(y).sum())  # noqa: E731
    best = optimize.minimize_scalar(loss, bounds=(-1, 2), method="bounded", options={"xatol": 1e-9})
    np.testing.assert_allclose(found.ravel(), best.x, atol=1e-5)
