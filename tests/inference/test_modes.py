"""Posteriors with several modes are searched for all of them, and hard ones are right or said not to be."""

import logging
import re
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from hard_posteriors import ERRORS, HARD, REFERENCE, SCHOOLS
from pyro.infer.reparam import LocScaleReparam
from wages import people

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, InferenceError, ProgramError
from causalaudit.inference.density.chunked_density import marginal_density
from causalaudit.inference.density.mirror_images import mirrored_loadings
from causalaudit.inference.laplace.many_starts import climb_together
from causalaudit.inference.laplace.other_modes import search_modes
from causalaudit.inference.posterior.diagnostics import diagnose
from causalaudit.progress import say

MEANS, SPREADS = 0.2, 1.2  # posterior standard deviations by which a mean may be off; ratio of spreads
SLOW = {
    "banana", "change_point", "factor_with_free_signs", "few_correlated_pairs", "fifty_correlated", "funnel",
    "laplace_noise", "millions", "schools_standardised", "two_lines",
}  # fmt: skip
SAMPLED = {"change_point", "laplace_noise"}  # by NUTS, which takes long
TOO_LONG = {"horseshoe", "schools_centred"}  # by NUTS, for a suite: they are there to be tried


def off(name, posterior):
    """The quantities of a hard posterior that are not what its reference says, with both."""
    found, expected = HARD[name].quantities(posterior.parameters()), REFERENCE[name]["quantities"]
    return {
        key: (found[key].mean(), found[key].std(), mean, sd)
        for key, (mean, sd) in expected.items()
        if abs(found[key].mean() - mean) > MEANS * sd or not 1 / SPREADS < found[key].std() / sd < SPREADS
    }


def right_or_distrusted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CausalAuditWarning)  # the verdict, and what it is about
        posterior = HARD[name].fit(draws=250 if name in SAMPLED else 1000)
    if posterior.diagnostics().ok:
        assert off(name, posterior) == {}
    return posterior.diagnostics()


@pytest.mark.parametrize("name", sorted(HARD.keys() - SLOW - TOO_LONG))
def test_a_hard_posterior_is_right(name):
    verdict = right_or_distrusted(name)
    assert verdict.ok, verdict


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SLOW))
def test_a_hard_posterior_is_right_or_said_not_to_be(name):
    with suppress(InferenceError):  # no answer is not a wrong one
        right_or_distrusted(name)


def test_every_hard_posterior_has_a_reference():
    assert HARD.keys() == REFERENCE.keys()
    assert len(HARD) >= 30


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("square", "2 modes count, and are weighed together. They are copies of one mode: .* if 't' change sign."),
        ("product", "if 'a', 'b' change sign together."),
        ("cosine", "They are copies of one mode: the density stays the same if 'f' change sign."),
        ("cubic", "3 modes count, and are weighed together.$"),
    ],
)
def test_modes_are_counted_and_copies_are_named(name, words):
    diagnostics = HARD[name].fit(draws=100).diagnostics()
    assert diagnostics.ok
    assert re.search(words, diagnostics.verdict), diagnostics.verdict
    assert "Modes: 64 starts drawn from the prior" in str(diagnostics)


def test_exchangeable_components_are_called_label_switching():
    verdict = HARD["exchangeable_mixture"].fit(draws=100).diagnostics().verdict
    assert "6 modes count" in verdict
    assert "They are copies of one mode" in verdict
    assert "'m[0]', 'm[1]', 'm[2]', 'w[0]', 'w[1]', 'w[2]' change places (label switching)" in verdict


def test_ascents_reach_the_tops_above_their_starts():
    """Two normals of unequal height, side by side: each start goes to the closer top."""
    tops = np.array([[-4.0, 0.0], [4.0, 1.0]])

    def slopes(points):
        apart = points[:, None] - tops
        logs = np.array([0.0, -1.0]) - 0.5 * (apart**2).sum(-1)
        heights = np.logaddexp(*logs.T)
        shares = np.exp(logs - heights[:, None])
        return heights, -(shares[..., None] * apart).sum(1)

    starts = np.random.default_rng(0).normal(0, 6, size=(50, 2))
    starts = starts[np.abs(starts[:, 0]) > 1]
    ends = climb_together(slopes, starts, lambda points, heights: np.zeros(len(points), dtype=bool))
    assert ends.level.all()
    np.testing.assert_allclose(ends.points, tops[(starts[:, 0] > 0).astype(int)], atol=0.05)


def test_a_search_that_finds_ever_more_maxima_is_not_trusted():
    figures = {"pareto_k": 0.1, "ess": 900.0, "efficiency": 0.9, "first_share": 1.0}
    search = {"starts": 256, "arrived": 200, "maxima": 60, "modes": 1, "unseen": 0.2}
    doubtful = diagnose("laplace", figures | search, 1000)
    assert not doubtful.ok
    assert "256 starts drawn from the prior led to 60 maxima" in doubtful.verdict
    assert diagnose("laplace", figures | search | {"unseen": 0.01}, 1000).ok


def test_chains_that_never_visit_a_known_mode_are_not_trusted():
    figures = {"r_hat": 1.0, "ess": 900.0, "ess_tail": 900.0, "worst": "a"}
    search = {"starts": 64, "arrived": 64, "maxima": 2, "modes": 2, "unseen": 0.0}
    assert diagnose("nuts", figures | search | {"unvisited": 0.0}, 1000).ok
    doubtful = diagnose("nuts", figures | search | {"unvisited": 0.5}, 1000)
    assert not doubtful.ok
    assert "never came to modes that hold some 50% of the posterior" in doubtful.verdict


@pytest.mark.slow
def test_nuts_in_one_of_two_modes_says_so():
    """Four chains may all be in the same of two mirror images, and agree."""
    with pytest.warns(CausalAuditWarning, match="never came to modes|chains have not mixed"):
        posterior = HARD["square"].fit(draws=50, method="nuts")
    assert not posterior.diagnostics().ok


def test_parts_of_a_posterior_are_searched_one_by_one():
    def program(n):
        t, m = pyro.sample("t", dist.Normal(0.0, 2.0)), pyro.sample("m", dist.Normal(0.0, 2.0))
        with people(n):
            pyro.sample("x", dist.Normal(m, 1.0))
            pyro.sample("y", dist.Normal(t**2, 1.0))

    data = pd.DataFrame({"x": [1.0, 1.2, 0.3], "y": [2.0, 2.5, 1.9]})
    posterior = ca.fit(ca.SCM(program), data, draws=100, seed=0)
    assert posterior.diagnostics().ok
    assert posterior.diagnostics().searched == (
        "Modes: the starts drawn from the prior led to one maximum in 1 of 2 independent parts. "
        "('t') Modes: 64 starts drawn from the prior led to 2 maxima, of which 2 count."
    )


def factor(n):
    """Loadings with free signs, in one vector with a slope that has a sign."""
    b, s = (pyro.sample(name, law.expand([4]).to_event(1)) for name, law in FACTOR.items())
    with people(n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        u = pyro.sample("u", dist.Normal(0.0, 1.0))
        pyro.sample("y0", dist.Normal(b[0] * u + b[3] * group, s[0]))
        pyro.sample("y1", dist.Normal(b[1] * u, s[1]))
        pyro.sample("y2", dist.Normal(b[2] * u, s[2]))


FACTOR = {"b": dist.Normal(0.0, 1.0), "s": dist.HalfNormal(1.0)}


@pytest.mark.slow
def test_nodes_of_a_latent_follow_far_enough_to_reach_its_mirror_image():
    """Starts on the other side led nowhere, and the mirror image was missed by a posterior that was trusted."""
    rng = np.random.default_rng(6)
    u, group = rng.normal(size=80), rng.integers(0, 2, 80)
    noise = 0.5 * rng.normal(size=(3, 80))
    data = pd.DataFrame({"group": group, "y0": u - 0.4 * group, "y1": 0.7 * u, "y2": -0.8 * u})
    data[["y0", "y1", "y2"]] += noise.T
    scm = ca.SCM(factor, latents=["u"])
    search = search_modes(marginal_density(scm, scm.encode(data)), seed=0)
    assert len(search.modes) == 2
    assert search.arrived > 0.9 * search.starts
    assert "'b[0]', 'b[1]', 'b[2]' change sign together" in search.copies
    np.testing.assert_allclose(search.modes[0].location[:3], -search.modes[1].location[:3], atol=0.01)


def test_loadings_in_a_vector_are_mirrored_too():
    def program(n):
        b = pyro.sample("b", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
        with people(n):
            u = pyro.sample("u", dist.Normal(0.0, 1.0))
            pyro.sample("y0", dist.Normal(b[0] * u, 1.0))
            pyro.sample("y1", dist.Normal(b[1] * u, 1.0))

    assert mirrored_loadings(ca.SCM(program, latents=["u"]), "u") == ["b"]


# When NUTS takes over


@pytest.mark.slow
def test_it_is_said_why_auto_samples(caplog, capsys):
    def kinked(n):
        m = pyro.sample("m", dist.Laplace(0.0, 1.0))
        with people(n):
            pyro.sample("y", dist.Normal(0.0 * m, 1.0))

    data = pd.DataFrame({"y": [0.0, 1.0]})
    with caplog.at_level(logging.INFO, logger="causalaudit"), warnings.catch_warnings():
        warnings.simplefilter("ignore", CausalAuditWarning)  # so few draws are judged harshly
        ca.fit(ca.SCM(kinked), data, draws=300, chains=2, seed=0)
    assert "fit: NUTS samples 'm' of 'kinked', because importance resampling failed" in caplog.text
    assert capsys.readouterr().err == ""


def test_what_is_said_is_seen_where_no_log_listens(capsys):
    say("NUTS samples", progress=True)
    assert capsys.readouterr().err == "NUTS samples\n"
    say("NUTS samples", progress=False)
    assert capsys.readouterr().err == ""


# Programs as others write them


def schools(n):
    mu, tau = pyro.sample("mu", dist.Normal(0.0, 5.0)), pyro.sample("tau", dist.HalfCauchy(5.0))
    effects = pyro.sample("effects", dist.Normal(mu, tau).expand([8]).to_event(1))
    with people(n):
        g = pyro.sample("g", dist.Categorical(torch.ones(8)))
        pyro.sample("y", dist.Normal(effects[..., g.long()], torch.tensor(ERRORS)[g.long()]))


def test_a_reparametrised_program_has_the_posterior_of_the_program():
    """Against the integral over effects in closed form, on a grid of their mean and scale."""
    program = pyro.poutine.reparam(schools, config={"effects": LocScaleReparam(0.0)})
    scm = ca.SCM(program)
    assert scm.parameters == ("mu", "tau", "effects_decentered")
    posterior = ca.fit(scm, pd.DataFrame({"g": range(8), "y": SCHOOLS}), draws=500, seed=0)
    assert posterior.diagnostics().ok
    expected = REFERENCE["schools_centred"]["quantities"]
    draws = posterior.idata["posterior"]
    for name, value in {"mu": draws["mu"], "effects[0]": draws["effects"][..., 0]}.items():
        mean, sd = expected[name]
        assert abs(float(value.mean()) - mean) < MEANS * sd
        assert 1 / SPREADS < float(value.std()) / sd < SPREADS


def test_a_reparametrisation_that_is_learnt_is_refused():
    with pytest.raises(ProgramError, match=r"LocScaleReparam\(centered=0.0\) learns none"):
        ca.SCM(pyro.poutine.reparam(schools, config={"effects": LocScaleReparam()}))
