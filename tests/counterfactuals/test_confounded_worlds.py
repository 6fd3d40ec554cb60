"""Worlds that keep the noise of two confounded variables: against enumeration, and against people of known noise."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy import stats

import causalaudit as ca
from causalaudit.counterfactuals import World, population
from causalaudit.errors import ProgramError
from causalaudit.scm.execution import numerics
from causalaudit.scm.noise.bivariate_normal import log_rectangle
from causalaudit.scm.noise.copula import Partner

RHO = 0.6
CUTS = torch.tensor([-0.4, 0.9], dtype=torch.float64)


def finite(n):
    """x → w → y, and x → y; x and w are confounded."""
    with pyro.plate("individuals", n):
        x = pyro.sample("x", dist.Bernoulli(0.4))
        w = pyro.sample("w", dist.OrderedLogistic(-0.3 + 0.9 * x, CUTS))
        pyro.sample("y", dist.Bernoulli(logits=-0.5 + 0.6 * w - 0.4 * x))


def mixed(n):
    """A count and a score with a hidden common cause, x causing both."""
    with pyro.plate("individuals", n):
        x = pyro.sample("x", dist.Bernoulli(0.4))
        visits = pyro.sample("visits", dist.Poisson(torch.exp(0.7 + 0.5 * x)))
        pyro.sample("score", dist.Normal(1.0 - 0.8 * x + 0.3 * visits, 1.5))


def steps(x):
    """The normal scores between which w is 0, 1, 2."""
    cuts = np.asarray(CUTS) - (-0.3 + 0.9 * x)
    return np.concatenate([[-np.inf], stats.norm.ppf(1 / (1 + np.exp(-cuts))), [np.inf]])


def of_rectangle(one, other, rho=RHO):
    law = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]])
    low, high = np.clip([one[0], other[0]], -12, 12), np.clip([one[1], other[1]], -12, 12)
    return law.cdf(high, lower_limit=low) if (high > low).all() else 0.0


def response(x, w, w_after):
    """P(w would be `w_after` were x different | x, w), exactly."""
    half = stats.norm.ppf(0.6)
    noise_of_x = (-np.inf, half) if x == 0 else (half, np.inf)
    before, after = steps(x)[w : w + 2], steps(1 - x)[w_after : w_after + 2]
    both = max(before[0], after[0]), min(before[1], after[1])
    return of_rectangle(noise_of_x, both) / of_rectangle(noise_of_x, before)


@pytest.fixture(scope="module")
def posterior():
    scm = ca.SCM(finite).confounded("x", "w", RHO)
    people = scm.prior_predictive(n=3000, draws=1, seed=0).isel(draw=0)
    data = pd.DataFrame({name: people[name].to_numpy() for name in scm.columns})
    return ca.fit(scm, data, draws=200, chains=1, progress=False)


def test_discrete_noise_is_drawn_given_its_partner_even_where_that_is_set(posterior):
    after = ca.counterfactuals(posterior, {"x": 1 - posterior.data.x}, seed=1, progress=False).dataset["w"].to_numpy()
    data = posterior.data
    for x in (0, 1):
        for w in (0, 1, 2):
            who = ((data.x == x) & (data.w == w)).to_numpy()
            for value in (0, 1, 2):
                exact, number = response(x, w, value), who.sum() * 200
                error = 4.5 * np.sqrt(exact * (1 - exact) / number) + 1e-9
                assert (after[:, who] == value).mean() == pytest.approx(exact, abs=error)


def test_ignoring_the_partner_is_wrong(posterior):
    # The people above would be answered like this if noise were uniform in its step.
    ignoring = (steps(1)[1] - 0, steps(0)[1])
    share = stats.norm.cdf(ignoring[0]) / stats.norm.cdf(ignoring[1])
    assert abs(share - response(0, 0, 0)) > 0.02


def test_simulated_and_enumerated_people_have_the_exact_rates(posterior):
    half, given = stats.norm.ppf(0.6), stats.multivariate_normal([0, 0], [[1, RHO], [RHO, 1]])
    exact = given.cdf([half, 12], lower_limit=[-12, steps(1)[2]]) / 0.6  # P(w is 2 were x 1 | x = 0)
    enumerated = population(posterior, kind="enumerated", draws=1)
    worlds = enumerated.worlds({"x": 1}, {"x": [0]}, ["w"])
    chance = np.concatenate([worlds.probability(part) for part in worlds.tasks()])[0]
    assert chance.sum() == pytest.approx(0.6, abs=1e-9)
    assert chance[worlds.positions("w") == 2].sum() / chance.sum() == pytest.approx(exact, abs=1e-9)
    simulated = population(posterior, kind="simulated", draws=20, seed=0)
    asked = [World({"x": 1}, {"x": 0}), World({"x": 1}, {"x": 0, "w": 2}), World({"x": 1}, {})]
    weighted, joint, everybody = simulated.worlds(np.arange(20), asked, ["w"])
    assert weighted.chance.mean() == pytest.approx(0.6, abs=2e-3)
    share = (weighted.chance * (weighted.values["w"] == 2)).sum() / weighted.chance.sum()
    assert share == pytest.approx(exact, abs=3e-3)
    # Of x and w together: x = 0 is asked of the noise, w = 2 of that in the world of x = 1.
    assert joint.chance == pytest.approx(0.6 * exact, abs=1e-9)
    assert (everybody.values["w"] == 2).mean() == pytest.approx(stats.norm.sf(steps(1)[2]), abs=2e-3)


def test_what_changes_nothing_gives_back_what_was_seen(posterior):
    same = ca.counterfactuals(posterior, {"x": posterior.data.x}, draws=3, progress=False)
    assert (same.dataset["w"] == posterior.data.w.to_numpy()).all()
    assert same.noise["w"].shape == (3, 3000)


def test_worlds_keep_the_noise_of_both(posterior):
    with pytest.raises(ProgramError, match="'x' is confounded"):
        ca.counterfactuals(posterior, {"x": 0}, coupling="independent")
    settings = ca.counterfactuals(posterior, {"x": 0}, draws=2, progress=False).settings
    assert settings["confounding"] == [["x", "w", RHO]]
    noise = ca.counterfactuals(posterior, {"x": 0}, draws=100, progress=False).noise
    normal = [stats.norm.ppf(noise[name].to_numpy().ravel()) for name in ("x", "w", "y")]
    found = np.corrcoef(normal)
    assert found[0, 1] == pytest.approx(RHO, abs=0.02)  # of 3,000 people
    assert abs(found[0, 2]) < 0.06
    assert [part.std() for part in normal] == pytest.approx([1, 1, 1], abs=0.04)


def test_people_with_known_noise_are_answered_right():
    """The truth about counts, were x different, for people whose noises are known to have the correlation."""
    scm = ca.SCM(mixed).confounded("visits", "score", -0.7)
    rng = np.random.default_rng(3)
    x, noise = (rng.random(20_000) < 0.4).astype(float), rng.multivariate_normal([0, 0], [[1, -0.7], [-0.7, 1]], 20_000)
    visits = stats.poisson.ppf(stats.norm.cdf(noise[:, 0]), np.exp(0.7 + 0.5 * x))
    data = pd.DataFrame({"x": x, "visits": visits, "score": 1.0 - 0.8 * x + 0.3 * visits + 1.5 * noise[:, 1]})
    truth = stats.poisson.ppf(stats.norm.cdf(noise[:, 0]), np.exp(0.7 + 0.5 * (1 - x)))
    posterior = ca.fit(scm, data, draws=20, chains=1, progress=False)
    worlds = ca.counterfactuals(posterior, {"x": 1 - x}, seed=0, progress=False).dataset
    found = worlds["visits"].to_numpy()
    for low, high in ((-9, -1), (-1, 0), (0, 1), (1, 9)):  # by the noise of the score, which tells of that of visits
        who = (noise[:, 1] > low) & (noise[:, 1] < high) & (x == 0) & (visits == 2)
        error = 4.5 * truth[who].std() / np.sqrt(who.sum())
        assert found[:, who].mean() == pytest.approx(truth[who].mean(), abs=error)
    change = worlds["score"].to_numpy() - data.score.to_numpy()
    expected = -0.8 * (1 - 2 * x) + 0.3 * (found - visits)
    assert np.allclose(change, expected, atol=1e-9)  # the residual stays


@pytest.mark.parametrize("far", [False, True])
def test_noise_in_a_rectangle_is_drawn_from_its_distribution(far):
    """Two discrete noises by inversion: against the distribution function of the rectangle, far out too."""
    rng, n = np.random.default_rng(0), 4000
    logits = (-9.0, 11.0) if far else (0.4, -0.8)
    laws = [dist.Bernoulli(logits=torch.tensor(logit, dtype=torch.float64)) for logit in logits]
    value = torch.tensor(1.0 if far else 0.0, dtype=torch.float64)
    with numerics():
        values = [value.expand(n), (1.0 - value).expand(n)]
        uniforms = {name: torch.from_numpy(rng.random(n)) for name in ("one", "other")}
        partner = Partner("one", laws[0].expand([n]), values[0], 0.8)
        found = partner.uniforms("other", laws[1].expand([n]), values[1], uniforms)
    ends = [stats.norm.ppf([0.0, 1 / (1 + np.exp(logit)), 1.0]) for logit in logits]
    (first, second) = [end[int(value[0]) : int(value[0]) + 2] for end, value in zip(ends, values, strict=True)]

    def score(uniform, step):
        low, high = stats.norm.cdf(step)
        return stats.norm.ppf(low + (1 - uniform) * (high - low))

    scores = [score(found["one"].numpy(), first), score(found["other"].numpy(), second)]

    def exactly(one, other):
        ends = (torch.tensor([end], dtype=torch.float64).clamp(-1e7, 1e7) for end in (*one, *other))
        a, b, c, d = ends
        return float(log_rectangle((a, b), (c, d), 0.8))

    for place in range(n // 8, n, n // 8):
        first_below, second_below = (np.sort(part)[place] for part in scores)
        share = np.exp(exactly((first[0], first_below), second) - exactly(first, second))
        assert share == pytest.approx(place / n, abs=0.035)  # 4.4 standard errors
        share = np.exp(exactly(first, (second[0], second_below)) - exactly(first, second))
        assert share == pytest.approx(place / n, abs=0.035)


@pytest.mark.filterwarnings("ignore:The program does not give the error rates")  # the people are of another one
@pytest.mark.parametrize("pair", [("x", "w"), ("w", "y"), ("y", "x")])
def test_error_rates_of_simulated_people_are_those_of_enumerated_ones(posterior, pair):
    """By rectangles of the copula, and by the chance of a value given the noise of its partner."""
    scm = ca.SCM(finite).confounded(*pair, -0.7)
    confounded = replace(posterior, scm=scm)

    def rule(people):
        return np.array([[0.2, 0.9, 0.4], [0.6, 0.1, 0.8]])[people.x.astype(int), people.w.astype(int)]

    def terms(population, scm=confounded):
        result = ca.decompose_error_rates(
            scm, rule, "x", outcome="y", features=["x", "w"], population=population, draws=20, progress=False
        )
        return result.table["mean"].to_numpy()

    exact = terms("exact")
    assert np.allclose(terms("simulate"), exact, atol=2e-3)
    assert np.abs(exact - terms("exact", replace(posterior, scm=ca.SCM(finite)))).max() > 0.01
