"""Latents integrated out: right or refused, and drawn from their exact conditionals."""

import arviz as az
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from law_school_people import simulated_level_2
from scipy import stats
from scipy.special import expit, logsumexp

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, InferenceError
from causalaudit.inference.density.latent_conditional import LatentConditional
from causalaudit.inference.density.marginal import Marginal
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.density.mirror_images import mirrored_loadings, warn_of_mirror_images
from causalaudit.models import law_school
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Intervene

PRIORS = {
    "Normal": (dist.Normal(0.3, 1.2), stats.norm(0.3, 1.2)),
    "StudentT": (dist.StudentT(3.0, 0.0, 1.0), stats.t(3)),
    "LogNormal": (dist.LogNormal(0.0, 0.8), stats.lognorm(0.8)),
    "Uniform": (dist.Uniform(-1.0, 2.0), stats.uniform(-1, 3)),
    "Beta": (dist.Beta(2.0, 0.7), stats.beta(2, 0.7)),
    "Laplace": (dist.Laplace(0.0, 1.0), stats.laplace()),
}
EFFECTS = {
    "linear": (lambda u: 1.5 * u, lambda u: 1.5 * u),
    "square": (lambda u: u**2, lambda u: u**2),
    "sigmoid": (lambda u: 3 * torch.sigmoid(2 * u), lambda u: 3 * expit(2 * u)),
    "step": (lambda u: (u > 0.5).to(u.dtype), lambda u: (u > 0.5) * 1.0),
    "where": (lambda u: torch.where(u > 0.2, 2 * u, -u), lambda u: np.where(u > 0.2, 2 * u, -u)),
}
PEOPLE = pd.DataFrame({"x": [-2.0, 0.1, 0.7, 3.5], "count": [0, 1, 4, 9]})


def exact(prior, effect, x, count):
    """Integrate over the quantiles of the prior, in pieces graded towards both ends and cut at the kinks of effects."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    total = 0.0
    for quantile, tail in ((prior.ppf, prior.cdf), (prior.isf, prior.sf)):
        kinks = [float(tail(c)) for c in (0.0, 0.2, 0.5)]
        cuts = np.unique([0.0, *np.logspace(-18, np.log10(0.5), 150), *[k for k in kinks if 0 < k < 0.5]])
        half = np.diff(cuts)[:, None] / 2
        t = cuts[:-1, None] + half * (nodes + 1)
        u = quantile(t)
        signal = effect(u)
        rate = np.exp(np.minimum(0.3 * signal, 50))
        density = stats.norm.pdf(x, signal, 1.0) * stats.poisson.pmf(count, rate)
        total += float((half * weights * density).sum())
    return np.log(total)


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize("prior", PRIORS)
def test_quadrature_is_right_or_refused(prior, effect):
    law, exact_law = PRIORS[prior]
    function, exact_function = EFFECTS[effect]

    def program(n):
        with pyro.plate("individuals", n):
            u = pyro.sample("u", law)
            signal = function(u)
            pyro.sample("x", dist.Normal(signal, 1.0))
            pyro.sample("count", dist.Poisson(torch.exp((0.3 * signal).clamp(max=50.0))))

    scm = ca.SCM(program, latents=["u"])
    try:
        found = ca.fit(scm, PEOPLE, draws=1, chains=1).log_likelihood()[0, 0]
    except InferenceError as error:
        smooth = effect not in ("step", "where") and prior != "Laplace"  # what has no jump and no kink
        if smooth or "'u' cannot be integrated out" not in str(error):
            raise
        return
    expected = [exact(exact_law, exact_function, row.x, row["count"]) for _, row in PEOPLE.iterrows()]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def brute_force_level_2(theta, people):
    """The log-likelihood of level 2 on a fine grid of the latent."""
    grid = np.linspace(-12, 12, 40_001)
    female, nonwhite = (people["Gender"] == "Female").to_numpy(), (people["Race"] == "NonWhite").to_numpy()
    out = np.empty(len(people))
    for i in range(len(people)):
        grade = theta["ugpa0"] + theta["female_UGPA"] * female[i] + theta["nonwhite_UGPA"] * nonwhite[i]
        rate = np.exp(
            theta["lsat0"]
            + theta["female_LSAT"] * female[i]
            + theta["nonwhite_LSAT"] * nonwhite[i]
            + theta["eta_l"] * grid
        )
        terms = (
            stats.norm.logpdf(grid)
            + stats.norm.logpdf(people["UGPA"].iloc[i], grade + theta["eta_u"] * grid, np.sqrt(theta["variance_g"]))
            + stats.poisson.logpmf(people["LSAT"].iloc[i], rate)
        )
        roots = stats.bernoulli.logpmf(female[i], theta["share_female"])
        roots += stats.bernoulli.logpmf(nonwhite[i], theta["share_nonwhite"])
        out[i] = logsumexp(terms) + np.log(grid[1] - grid[0]) + roots
    return out


@pytest.fixture(scope="module")
def level_2():
    scm, people, _ = simulated_level_2(400, seed=1)
    return ca.fit(scm, people, draws=250, chains=4, seed=0)


@pytest.mark.slow
def test_level_2_likelihood_equals_a_brute_force_grid(level_2):
    draws = level_2.parameters()
    found = level_2.log_likelihood().to_numpy().reshape(1000, -1)
    for draw in (0, 500, 999):
        theta = {name: values[draw] for name, values in draws.items()}
        expected = brute_force_level_2(theta, level_2.data.head(40))
        np.testing.assert_allclose(found[draw, :40], expected, rtol=0, atol=1e-8)


def test_latents_are_drawn_from_their_conditional(level_2):
    """Twenty thousand copies of one person, at one draw of the parameters, against the distribution on a grid."""
    theta = {name: torch.tensor(values[3]) for name, values in level_2.parameters().items()}
    person = level_2.data.iloc[[7] * 20_000].reset_index(drop=True)
    with numerics(), torch.no_grad():
        marginal = Marginal(level_2.scm, level_2.scm.encode(person)).placed_at(Intervene(theta))
        uniform = torch.from_numpy(np.random.default_rng(0).random((2, 20_000)))
        drawn = marginal.draw(theta, (uniform[0], uniform[1]))["knowledge"].numpy()
        mean = float(marginal.draw(theta, None)["knowledge"][0])
    grid = np.linspace(-8, 8, 20_001)
    female, nonwhite = float(person["Gender"][0] == "Female"), float(person["Race"][0] == "NonWhite")
    t = {name: float(value) for name, value in theta.items()}
    log_density = (
        stats.norm.logpdf(grid)
        + stats.norm.logpdf(
            person["UGPA"][0],
            t["ugpa0"] + t["female_UGPA"] * female + t["nonwhite_UGPA"] * nonwhite + t["eta_u"] * grid,
            t["variance_g"] ** 0.5,
        )
        + stats.poisson.logpmf(
            person["LSAT"][0],
            np.exp(t["lsat0"] + t["female_LSAT"] * female + t["nonwhite_LSAT"] * nonwhite + t["eta_l"] * grid),
        )
    )
    density = np.exp(log_density - log_density.max())
    cdf = np.cumsum(density) / density.sum()
    assert stats.kstest(np.interp(drawn, grid, cdf), "uniform").pvalue > 1e-3
    assert mean == pytest.approx((grid * density).sum() / density.sum(), abs=1e-3)


@pytest.mark.parametrize(
    ("law", "exact_law"),
    [PRIORS["StudentT"], (dist.Beta(2.0, 1.5), stats.beta(2, 1.5)), PRIORS["LogNormal"], PRIORS["Uniform"]],
    ids=["StudentT", "Beta", "LogNormal", "Uniform"],
)
def test_latents_of_other_shapes_are_drawn_from_their_conditional(law, exact_law):

    def program(n):
        with pyro.plate("individuals", n):
            u = pyro.sample("u", law)
            pyro.sample("x", dist.Normal(1.5 * u, 1.0))

    scm = ca.SCM(program, latents=["u"])
    posterior = ca.fit(scm, pd.DataFrame({"x": np.full(20_000, 1.1)}), draws=1, chains=1)
    drawn = ca.counterfactuals(posterior, {"x": 0.0}).latents["u"].to_numpy()[0]
    low, high = exact_law.ppf([1e-9, 1 - 1e-9])
    grid = np.linspace(max(low, -60), min(high, 60), 400_001)
    density = exact_law.pdf(grid) * stats.norm.pdf(1.1, 1.5 * grid, 1.0)
    density[~np.isfinite(density)] = 0.0
    cdf = np.cumsum(density) / density.sum()
    assert stats.kstest(np.interp(drawn, grid, cdf), "uniform").pvalue > 1e-3


def test_linear_gaussian_latent_has_closed_form_counterfactuals():
    """x = u + e1, y = 2 u + 3 a + e2: u given x and y is Gaussian, and y moves by 3 whatever u is."""

    def program(n):
        with pyro.plate("individuals", n):
            a = pyro.sample("a", dist.Bernoulli(0.5))
            u = pyro.sample("u", dist.Normal(0.0, 1.0))
            pyro.sample("x", dist.Normal(u, 0.5))
            pyro.sample("y", dist.Normal(2 * u + 3 * a, 1.0))

    people = pd.DataFrame({"a": [0, 1], "x": [0.3, -1.0], "y": [1.0, 2.5]})
    posterior = ca.fit(ca.SCM(program, latents=["u"]), people, draws=2000, chains=2)
    worlds = ca.counterfactuals(posterior, {"a": 1}, seed=3)
    np.testing.assert_allclose(worlds.dataset["y"][:, 0], 4.0, rtol=1e-9)
    np.testing.assert_array_equal(worlds.dataset["y"][:, 1], 2.5)
    precision = 1 + 1 / 0.25 + 4
    means = (people["x"] / 0.25 + 2 * (people["y"] - 3 * people["a"])) / precision
    drawn = worlds.latents["u"].to_numpy()
    for person in range(2):
        law = stats.norm(means[person], precision**-0.5)
        assert stats.kstest(drawn[:, person], law.cdf).pvalue > 1e-3
    assert worlds.noise["x"].shape == (4000, 2)


def test_a_finite_and_a_continuous_latent_together():
    def program(n):
        with pyro.plate("individuals", n):
            kind = pyro.sample("kind", dist.Bernoulli(0.3))
            u = pyro.sample("u", dist.Normal(2.0 * kind, 1.0))
            pyro.sample("x", dist.Normal(u, 0.5))

    x = np.array([-1.0, 0.4, 2.0, 5.0])
    scm = ca.SCM(program, latents=["kind", "u"])
    posterior = ca.fit(scm, pd.DataFrame({"x": x}), draws=1, chains=1)
    spread = np.sqrt(1.25)
    expected = np.log(0.7 * stats.norm.pdf(x, 0, spread) + 0.3 * stats.norm.pdf(x, 2, spread))
    np.testing.assert_allclose(posterior.log_likelihood()[0, 0], expected, atol=1e-8)
    many = pd.DataFrame({"x": np.full(20_000, 1.2)})
    worlds = ca.counterfactuals(posterior, {"x": 0.0}, data=many)
    share = (
        0.3
        * stats.norm.pdf(1.2, 2, spread)
        / np.exp(np.log(0.7 * stats.norm.pdf(1.2, 0, spread) + 0.3 * stats.norm.pdf(1.2, 2, spread)))
    )
    assert float(worlds.latents["kind"].mean()) == pytest.approx(share, abs=0.015)
    ones = worlds.latents["kind"][0].to_numpy() == 1
    mean = (2 + 1.2 / 0.25) / 5
    assert stats.kstest(worlds.latents["u"].to_numpy()[0, ones], stats.norm(mean, 5**-0.5).cdf).pvalue > 1e-3


def test_a_latent_that_is_a_count_is_refused():
    def program(n):
        with pyro.plate("individuals", n):
            hidden = pyro.sample("hidden", dist.Poisson(torch.tensor(3.0)))
            pyro.sample("x", dist.Normal(hidden, 1.0))

    with pytest.raises(InferenceError, match=r"'hidden' \(Poisson\).*neither summed over nor integrated out.*Binomial"):
        ca.fit(ca.SCM(program, latents=["hidden"]), pd.DataFrame({"x": [1.0]}))


def test_level_2_recovers_its_parameters(level_2):
    _, _, truth = simulated_level_2(5, seed=0)
    table = level_2.summary()
    for name, value in truth.items():
        if name not in ("eta_u", "variance_g"):  # with 400 people these depend on the prior, as documented
            assert abs(table.loc[name, "mean"] - value) < 4.5 * table.loc[name, "sd"], name
    assert level_2.diagnostics().ok


@pytest.mark.slow
@pytest.mark.parametrize(("method", "draws", "enough"), [("laplace", 1000, 1000), ("nuts", 600, 400)])
def test_level_2_of_the_survey(data_folder, method, draws, enough):
    """The target of the design: eta_u 0.3605 (sd 0.0056), sigma_g 0.1790 (sd 0.0105)."""
    people = ca.datasets.load_law_school(data_folder).assign(LSAT=lambda frame: frame["LSAT"].round())
    posterior = ca.fit(law_school.level_2(), people, method=method, draws=draws, chains=4, seed=0)
    assert posterior.diagnostics().ok
    table = posterior.summary()
    assert (table["ess"] >= enough).all()
    for name, mean, sd in (("eta_u", 0.3605, 0.0056), ("sigma_g", 0.1790, 0.0105)):
        error = np.hypot(table.loc[name, "mcse"], sd / np.sqrt(2800))  # the target has a Monte Carlo error of its own
        assert abs(table.loc[name, "mean"] - mean) <= 3 * error
        assert table.loc[name, "sd"] == pytest.approx(sd, rel=0.1)


def two_loadings(positive):
    def program(n):
        first = pyro.sample("first", dist.HalfNormal(1.0) if positive else dist.Normal(0.0, 1.0))
        second = pyro.sample("second", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            u = pyro.sample("u", dist.Normal(0.0, 1.0))
            pyro.sample("x", dist.Normal(first * u, 1.0))
            pyro.sample("y", dist.Normal(1.0 + second * u, 1.0))

    return ca.SCM(program, latents=["u"])


def test_a_latent_without_a_sign_is_warned_of_with_the_fix():
    assert mirrored_loadings(two_loadings(positive=False), "u") == ["first", "second"]
    assert mirrored_loadings(two_loadings(positive=True), "u") == []
    assert mirrored_loadings(law_school.level_2(), "knowledge") == []
    with pytest.warns(CausalAuditWarning, match=r"'u' can change sign together with 'first', 'second'.*HalfNormal"):
        warn_of_mirror_images(two_loadings(positive=False))


def test_a_latent_whose_sign_is_hardly_known_has_two_maxima():
    """The posterior on a grid: x tells little about the sign, so that both are possible, but not equally so."""
    scm, rng = two_loadings(positive=True), np.random.default_rng(2)
    u = rng.standard_normal(150)
    people = pd.DataFrame({"x": 0.15 * u + rng.standard_normal(150), "y": 1 - 1.2 * u + rng.standard_normal(150)})
    posterior = ca.fit(scm, people, method="laplace", seed=0)
    first, second = np.meshgrid(np.linspace(0.0, 1.5, 301), np.linspace(-2.5, 2.5, 501), indexing="ij")
    log = stats.norm.logpdf(first) + stats.norm.logpdf(second)
    x, y = people["x"].to_numpy(), people["y"].to_numpy() - 1
    determinant = (first**2 + 1) * (second**2 + 1) - (first * second) ** 2
    squares = (x @ x) * (second**2 + 1) - 2 * (x @ y) * first * second + (y @ y) * (first**2 + 1)
    log += -75 * np.log(determinant) - squares / determinant / 2
    weight = np.exp(log - log.max())
    positive = weight[:, 251:].sum() / weight.sum()
    assert 0.02 < positive < 0.98
    draws = posterior.parameters()
    assert posterior.diagnostics().ok
    assert (draws["second"] > 0).mean() == pytest.approx(positive, abs=0.03)
    assert draws["first"].mean() == pytest.approx((weight * first).sum() / weight.sum(), abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["map", "ml"])
def test_the_higher_of_two_maxima_is_found(method):
    """Wherever the climb begins, the latent has the sign that the data tell."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal(200)
    people = pd.DataFrame({"x": 0.9 * u + rng.standard_normal(200), "y": 1 - 1.2 * u + rng.standard_normal(200)})
    for seed in range(6):
        found = ca.fit(two_loadings(positive=True), people, method=method, draws=1, chains=1, seed=seed).parameters()
        assert found["second"][0] < -0.5


def test_a_narrow_conditional_may_move_far_between_draws():
    """A count of 935 tells the latent to a hundredth, and with other parameters it is elsewhere."""
    person = pd.DataFrame({"Gender": ["Male"], "Race": ["NonWhite"], "UGPA": [-5.57], "LSAT": [935]})
    shared = {"share_female": 0.14, "share_nonwhite": 0.72, "ugpa0": 1.2, "female_UGPA": -0.6, "nonwhite_UGPA": 0.0}
    shared |= {"female_LSAT": -0.9, "nonwhite_LSAT": 1.1, "eta_u": 0.95, "variance_g": 3.1}
    near, far = ({**shared, "lsat0": 0.45, "eta_l": eta_l} for eta_l in (-1.7, -2.0))
    scm = law_school.level_2()
    with numerics(), torch.no_grad():
        there = [Intervene({name: torch.tensor(value) for name, value in theta.items()}) for theta in (near, far)]
        marginal, before = Marginal(scm, scm.encode(person)).placed_at(there[0]), None
        while marginal is not before:
            before = marginal
            for parameters in there:
                marginal = marginal.refined(parameters)
        for parameters, theta in zip(there, (near, far), strict=True):
            found = marginal.log_likelihood(parameters)
            np.testing.assert_allclose(found, brute_force_level_2(theta, person), rtol=0, atol=1e-6)


@pytest.mark.slow
def test_loo_equals_refits_without_the_person():
    """Leave out twenty people of level 2, one at a time, and refit."""
    scm, people, _ = simulated_level_2(300, seed=4)
    posterior = ca.fit(scm, people, seed=0)
    posterior.log_likelihood()
    loo = az.loo(posterior.idata, pointwise=True).loo_i.to_numpy()
    for person in range(0, 300, 15):
        rest = ca.fit(scm, people.drop(index=person), draws=500, chains=4, seed=1)
        density = MarginalDensity(scm, scm.encode(people.loc[[person]]))
        out = density.likelihood_by_row(rest.parameters(), 2000)[:, 0]
        assert loo[person] == pytest.approx(logsumexp(out) - np.log(len(out)), abs=0.05)


@pytest.mark.parametrize(
    "law", [stats.norm(), stats.gumbel_l(scale=0.8), stats.t(10)], ids=["normal", "skewed", "wide"]
)
def test_draws_from_a_coarse_grid_are_close_to_exact(law):
    points = torch.linspace(-np.arcsinh(9.0), np.arcsinh(9.0), 41, dtype=torch.float64).unsqueeze(-1)
    location, spread = torch.zeros(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    log_density = torch.from_numpy(law.logpdf(np.sinh(points.numpy()))) + torch.cosh(points).log()
    uniform = torch.linspace(1e-4, 1 - 1e-4, 20_001, dtype=torch.float64)
    conditional = LatentConditional.of(location, spread, points, torch.sinh(points), log_density)
    found = conditional.quantile(uniform, torch.zeros(len(uniform), dtype=torch.int64))
    np.testing.assert_allclose(law.cdf(found), uniform, atol=2e-4)
    assert bool((found.diff() >= 0).all())
