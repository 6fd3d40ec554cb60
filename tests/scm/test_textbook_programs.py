"""Programs that state their noises as sites of their own, as textbooks write structural causal models."""

import numpy as np
import pyro
import pyro.distributions as dist
import pytest
import torch

import causalaudit as ca
from causalaudit.errors import ProgramError


def globals_():
    names = {"a": dist.Normal(0.0, 1.0), "b": dist.Normal(0.0, 1.0), "s": dist.HalfNormal(1.0)}
    return (pyro.sample(name, prior) for name, prior in names.items())


def textbook(n):
    a, b, s = globals_()
    with pyro.plate("people", n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        u_x, u_y = pyro.sample("u_x", dist.Normal(0.0, 1.0)), pyro.sample("u_y", dist.Gumbel(0.0, s))
        x = pyro.deterministic("x", a + b * group + s * u_x)
        pyro.deterministic("y", 2.0 - x - u_y)


def plain(n):
    a, b, s = globals_()
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        x = pyro.sample("x", dist.Normal(a + b * group, s))
        noise = dist.TransformedDistribution(dist.Gumbel(0.0 * x, s), dist.transforms.AffineTransform(2.0 - x, -1.0))
        pyro.sample("y", noise)


def people_of(scm, n=40):
    drawn = scm.prior_predictive(n, draws=1, seed=1).isel(draw=0)[list(scm.columns)]
    return drawn.to_dataframe()[list(scm.columns)]


def same_answers(one, two, people, do, columns):
    posteriors = [ca.fit(scm, people, draws=20, chains=1, method="laplace") for scm in (one, two)]
    for name in posteriors[1].scm.parameters:
        np.testing.assert_allclose(*(posterior.parameters()[name] for posterior in posteriors), rtol=1e-7, atol=1e-9)
    worlds = [ca.counterfactuals(posterior, do, seed=1) for posterior in posteriors]
    for name in columns:
        np.testing.assert_allclose(*(world.dataset[name] for world in worlds), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(*(world.point[name] for world in worlds), rtol=1e-7, atol=1e-9)
    return posteriors, worlds


def test_a_site_that_enters_a_computed_one_is_its_noise(tmp_path):
    """The data had probability zero."""
    one, two = ca.SCM(textbook, latents=["u_x", "u_y"]), ca.SCM(plain)
    assert one.noises == {"x": "u_x", "y": "u_y"}
    assert one.latents == ()
    assert sorted(one.graph.edges) == sorted(two.graph.edges) == [("group", "x"), ("x", "y")]
    people = people_of(two)
    (posterior, _), (worlds, _) = same_answers(one, two, people, {"group": 1}, ["x", "y"])
    parameters = posterior.parameters()
    mean = parameters["a"][:, None] + parameters["b"][:, None] * people["group"].to_numpy()
    residual = (people["x"].to_numpy() - mean) / parameters["s"][:, None]
    np.testing.assert_allclose(worlds.noise["x"], residual, rtol=1e-7, atol=1e-9)  # u_x itself
    drawn = [scm.prior_predictive(5, draws=3, seed=2)["y"] for scm in (one, two)]
    np.testing.assert_allclose(*drawn, rtol=1e-9)
    posterior.save(tmp_path / "posterior.nc")
    assert ca.Posterior.load(tmp_path / "posterior.nc", one).parameters()["a"][0] == parameters["a"][0]


def test_a_noise_need_not_be_named_where_it_can_be_nothing_else():
    people = people_of(ca.SCM(plain), 20)
    named, unnamed = (ca.SCM(textbook, latents=latents) for latents in (["u_x", "u_y"], ()))
    one, two = (ca.fit(scm, people, draws=5, chains=1, method="laplace") for scm in (named, unnamed))
    assert two.scm.noises == {"x": "u_x", "y": "u_y"}
    np.testing.assert_array_equal(one.parameters()["s"], two.parameters()["s"])


def test_any_strictly_monotone_way_is_inverted_by_root_finding():
    def curved(n):
        a, b, s = globals_()
        with pyro.plate("individuals", n):
            group = pyro.sample("group", dist.Bernoulli(0.5))
            u = pyro.sample("u", dist.Normal(0.0, 1.0))
            pyro.deterministic("x", torch.sinh(a + b * group - s * u))

    def direct(n):
        a, b, s = globals_()
        with pyro.plate("individuals", n):
            group = pyro.sample("group", dist.Bernoulli(0.5))
            sinh = dist.transforms.ComposeTransform(
                [dist.transforms.ExpTransform(), _Half()], cache_size=0
            )  # of exp(z): (e - 1 / e) / 2
            pyro.sample("x", dist.TransformedDistribution(dist.Normal(a + b * group, s), sinh))

    one, two = ca.SCM(curved, latents=["u"]), ca.SCM(direct)
    assert one.noises == {"x": "u"}
    same_answers(one, two, people_of(two), {"group": 1}, ["x"])


class _Half(dist.transforms.Transform):
    """(e - 1 / e) / 2 of a positive number."""

    domain, codomain = dist.constraints.positive, dist.constraints.real
    bijective, sign = True, 1

    def _call(self, x):
        return (x - 1 / x) / 2

    def _inverse(self, y):
        return torch.asinh(y).exp()

    def log_abs_det_jacobian(self, x, y):
        return ((1 + x**-2) / 2).log()


def test_without_a_column_the_computed_site_leaves_a_latent():
    """u is integrated out, as before."""

    def talented(n):
        s = pyro.sample("s", dist.HalfNormal(1.0))
        with pyro.plate("individuals", n):
            u = pyro.sample("u", dist.Normal(0.0, 1.0))
            talent = pyro.deterministic("talent", s * u)
            pyro.sample("score", dist.Normal(talent, 1.0))

    scm = ca.SCM(talented, latents=["u"])
    people = people_of(ca.SCM(talented, latents=["u"]), 40).assign(other=0.0)
    seen = ca.fit(scm, people, draws=5, chains=1, method="laplace")
    hidden = ca.fit(scm, people.drop(columns="talent"), draws=5, chains=1, method="laplace")
    assert seen.scm.noises == {"talent": "u"}
    assert hidden.scm.latents == ("u", "talent")
    assert "s" in hidden.parameters()


def shared(n):
    with pyro.plate("individuals", n):
        u = pyro.sample("u", dist.Normal(0.0, 1.0))
        pyro.deterministic("x", 1.0 + u)
        pyro.sample("y", dist.Normal(u, 1.0))


def squared(n):
    with pyro.plate("individuals", n):
        u = pyro.sample("u", dist.Normal(0.0, 1.0))
        pyro.deterministic("x", u**2)
        pyro.sample("y", dist.Normal(0.0, 1.0))


def caused(n):
    with pyro.plate("individuals", n):
        y = pyro.sample("y", dist.Normal(0.0, 1.0))
        u = pyro.sample("u", dist.Normal(y, 1.0))
        pyro.deterministic("x", 1.0 + u)


def stepped(n):
    with pyro.plate("individuals", n):
        u = pyro.sample("u", dist.Normal(0.0, 1.0))
        pyro.deterministic("x", torch.where(u > 0, 1.0, 0.0))
        pyro.sample("y", dist.Normal(0.0, 1.0))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (shared, "it enters 'x', 'y'"),
        (squared, "'x' does not"),
        (stepped, "'x' does not"),
        (caused, "it depends on 'y'"),
    ],
)
def test_other_latents_that_a_column_determines_are_refused_with_the_reason(program, reason):
    scm = ca.SCM(program, latents=["u"])
    with pytest.raises(ProgramError, match=rf"latent 'u' enters the computed site 'x'.*but {reason}\. Give 'x'"):
        ca.fit(scm, people_of(scm, 10))
