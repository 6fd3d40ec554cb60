"""Edges cut out of programs: bit for bit what the same program gives that was written by hand without them."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from finite_programs import posterior_of
from scipy import stats

import causalaudit as ca
from causalaudit.errors import DataError, ProgramError, SavedFileError
from causalaudit.inference.calibration import calibrate

GROUPS = ["a", "b", "c"]


def same_models(cut, hand, data, do):
    """The diagram, people drawn from priors, likelihoods, and counterfactuals: of draws from the prior."""
    assert set(cut.graph.edges) == set(hand.graph.edges)
    drawn, by_hand = (scm.prior_predictive(7, draws=3, seed=1, data=data) for scm in (cut, hand))
    assert drawn.equals(by_hand)
    parameters = {name: drawn[name].to_numpy() for name in cut.parameters}
    posteriors = [posterior_of(scm.with_columns_of(data), data, parameters) for scm in (cut, hand)]
    one, other = (posterior.log_likelihood(progress=False) for posterior in posteriors)
    np.testing.assert_array_equal(one, other)
    worlds = [ca.counterfactuals(posterior, do, seed=3, progress=False) for posterior in posteriors]
    assert worlds[0].dataset.equals(worlds[1].dataset)
    pd.testing.assert_frame_equal(worlds[0].point, worlds[1].point)


def test_it_is_fitted_as_the_program_written_by_hand():
    def without_penalty(n):
        share = pyro.sample("share", dist.Beta(1.0, 1.0))
        base, penalty = (
            pyro.sample("base", dist.Normal(100_000.0, 50_000.0)),
            pyro.sample("penalty", dist.Normal(0.0, 25_000.0)),
        )
        spread = pyro.sample("spread", dist.HalfNormal(50_000.0))
        start, gap = (
            pyro.sample("start", dist.Normal(0.0, 20_000.0)),
            pyro.sample("gap", dist.Normal(0.0, 10_000.0)),
        )
        saving = pyro.sample("saving", dist.Normal(0.0, 1.0))
        swing = pyro.sample("swing", dist.HalfNormal(10_000.0))
        with pyro.plate("individuals", n):
            gender = pyro.sample("gender", dist.Bernoulli(share))
            salary = pyro.sample("salary", dist.Normal(base, spread))
            pyro.sample("balance", dist.Normal(start + gap * gender + saving * salary, swing))
        return penalty

    whole, loans = ca.models.loan.linear(), ca.datasets.make_loan(200, seed=0)
    hand = ca.SCM(without_penalty, levels=whole.levels)
    fits = [
        ca.fit(scm, loans, draws=300, chains=1, seed=2, progress=False)
        for scm in (whole.without(("gender", "salary")), hand)
    ]
    for name, values in fits[0].parameters().items():
        np.testing.assert_array_equal(values, fits[1].parameters()[name], err_msg=name)
    assert fits[0].log_evidence == fits[1].log_evidence
    worlds = [ca.counterfactuals(fit, {"gender": "male"}, seed=3, progress=False) for fit in fits]
    assert worlds[0].dataset.equals(worlds[1].dataset)
    (inert,) = fits[0].scm.inert  # of this parameter the posterior is the prior
    assert stats.kstest(fits[0].parameters()[inert], stats.norm(0, 25_000).cdf).pvalue > 1e-3


def pay(cut=()):
    """A program that looks like those people write, with any of its edges cut by hand."""

    def program(n):
        gap = pyro.sample("gap", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
        with pyro.plate("slopes", 2):
            slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
        scale = pyro.deterministic("scale", pyro.sample("log_scale", dist.Normal(0.0, 0.3)).exp())
        with pyro.plate("people", n):
            group = pyro.sample("group", dist.Categorical(torch.tensor([0.5, 0.3, 0.2])))
            age = pyro.sample("age", dist.Normal(40.0, 10.0))
            seen = torch.zeros(n, dtype=torch.long) if ("group", "degree") in cut else group
            degree = pyro.sample("degree", dist.OrderedLogistic(gap[seen], torch.tensor([-0.5, 0.5])))
            seen = torch.zeros(n, dtype=torch.long) if ("group", "rank") in cut else group
            years = torch.full((n,), cut["age", "rank"]) if ("age", "rank") in cut else age
            rank = pyro.deterministic("rank", degree + torch.where(seen == 2, 1.0, 0.0) + (years - 40.0) / 100.0)
            seen = torch.zeros(n) if ("degree", "pay") in cut else degree
            pyro.sample("pay", dist.Normal(slope[0] * rank + slope[1] * seen, scale))

    return ca.SCM(program, levels={"group": GROUPS}, plate="people")


@pytest.fixture(scope="module")
def people():
    drawn = pay().prior_predictive(60, draws=1, seed=0).isel(draw=0)
    table = drawn[["group", "age", "degree", "pay"]].to_dataframe()[["group", "age", "degree", "pay"]]
    return table.assign(group=np.array(GROUPS)[table["group"].to_numpy()])


@pytest.mark.parametrize(
    "edges",
    [
        [("group", "degree")],
        [("group", "rank")],  # of what is computed
        [("degree", "pay")],
        [("degree", "pay"), ("group", "degree"), ("group", "rank")],
    ],
)
def test_it_is_the_program_written_by_hand(people, edges):
    at = {"degree": 0.0} if ("degree", "pay") in edges else None
    same_models(pay().without(*edges, at=at), pay(dict.fromkeys(edges)), people, {"group": "b"})


def test_edges_are_cut_one_after_the_other_or_at_once():
    edges = [("group", "degree"), ("group", "rank")]
    at_once, one_by_one = pay().without(*edges), pay().without(edges[1]).without(edges[0])
    assert set(at_once.graph.edges) == set(one_by_one.graph.edges) == set(pay(edges).graph.edges)
    assert at_once.prior_predictive(5, draws=2).equals(one_by_one.prior_predictive(5, draws=2))


def test_a_numeric_cause_is_at_its_mean_in_the_data(people):
    cut = pay().without(("age", "rank"))
    with pytest.raises(ProgramError, match=r"'age' at its mean in the data.* no data yet.*at=\{'age': …\}"):
        cut.prior_predictive(5)
    with pytest.raises(ProgramError, match="there are no data yet"):
        calibrate(cut, n=5, data_sets=2, progress=False)
    known = cut.with_columns_of(people)
    assert known.cuts == {("age", "rank"): pytest.approx(people["age"].mean(), rel=1e-15)}
    assert known.with_columns_of(people) is known
    same_models(known, pay(known.cuts), people, {"group": "b", "age": 30.0})


def test_a_fit_finds_the_mean():
    def rooms(n):
        slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            size = pyro.sample("size", dist.Normal(50.0, 9.0))
            pyro.sample("price", dist.Normal(slope * size, 5.0))

    cut, data = ca.SCM(rooms).without(("size", "price")), pd.DataFrame({"size": [40.0, 61.0], "price": [30.0, 31.0]})
    assert cut.inert == ()
    posterior = ca.fit(cut, data, draws=2000, chains=1, progress=False)
    assert posterior.scm.cuts == {("size", "price"): 50.5}
    precision = 1 + 2 * 50.5**2 / 25
    assert posterior.parameters()["slope"].mean() == pytest.approx(61 * 50.5 / 25 / precision, abs=0.01)
    assert ca.fit(cut, data.iloc[:1], draws=2, chains=1, progress=False).scm.cuts == {("size", "price"): 40.0}


def test_it_can_be_told_at_what(people):
    cut = pay().without(("age", "rank"), ("group", "degree"), at={"age": 65, "group": "b"})
    assert cut.cuts == {("age", "rank"): 65.0, ("group", "degree"): 1.0}
    assert cut.prior_predictive(5, draws=2)["age"].shape == (2, 5)
    with pytest.raises(DataError, match="'group' has the values 'd'"):
        pay().without(("group", "degree"), at={"group": "d"})
    with pytest.raises(ProgramError, match="at gives 'age' a value, which is not the cause of an edge"):
        pay().without(("group", "degree"), at={"age": 65})


def school(cut=(), known=True):
    """With a latent cause, a 0/1 covariate that is given, a count, and a noise in the textbook's form."""

    def program(n):
        a, b, c, d = (pyro.sample(name, dist.Normal(0.0, 1.0)) for name in "abcd")
        with pyro.plate("individuals", n):
            female = pyro.sample("female", ca.Given()) if known else pyro.sample("female", dist.Bernoulli(0.5))
            u = pyro.sample("u", dist.Normal(0.0, 1.0))
            seen = torch.zeros(n) if ("u", "lsat") in cut else u
            lsat = pyro.sample("lsat", dist.Poisson((1.0 + 0.3 * b * seen + 0.1 * c * female).exp()))
            noise = pyro.sample("noise", dist.Normal(0.0, 1.0))
            girl = torch.zeros(n) if ("female", "ugpa") in cut else female
            pyro.deterministic("ugpa", a * girl + d * u + 0.2 * lsat + 0.5 * noise)

    return ca.SCM(program, latents=["noise", "u"])


@pytest.fixture(scope="module")
def students():
    covariate = pd.DataFrame({"female": np.tile([0.0, 1.0], 20)})
    drawn = school().prior_predictive(40, draws=1, seed=0, data=covariate).isel(draw=0)
    return drawn[["female", "lsat", "ugpa"]].to_dataframe()[["female", "lsat", "ugpa"]]


def test_latents_given_covariates_and_noises_in_the_textbooks_form(students):
    edges = [("female", "ugpa"), ("u", "lsat")]
    cut = school().without(*edges, at={"female": 0, "u": 0.0})
    assert cut.noises == {"ugpa": "noise"}
    assert cut.inert == ("a", "b")
    same_models(cut, school(edges), students, {"lsat": 3.0})


def test_a_coupling_stays(students):
    model = school().with_coupling({"lsat": 0.5}).without(("female", "ugpa"), at={"female": 0})
    assert model.couplings()["lsat"] == 0.5
    assert model.with_coupling({"ugpa": -1}).with_columns_of(students).couplings()["ugpa"] == -1
    assert model.with_coupling({"ugpa": 0}).without(("u", "lsat"), at={"u": 0}).coupling == {"lsat": 0.5, "ugpa": 0.0}


def test_inert_parameters_are_named():
    whole = ca.models.loan.linear()
    cut = whole.without(("gender", "salary"))
    assert (cut.inert, whole.inert) == (("penalty",), ())
    assert "8 parameters (inert: penalty)" in repr(cut)
    posterior = ca.fit(cut, ca.datasets.make_loan(50, seed=0), draws=200, chains=1, progress=False)
    assert posterior.diagnostics().inert == ("penalty",)
    assert "Inert, as edges were cut: 'penalty'." in str(posterior.diagnostics())


def test_parents_of_inert_parameters_are_inert():
    def program(n):
        width = pyro.sample("width", dist.HalfNormal(1.0))
        gaps = pyro.sample("gaps", dist.Normal(0.0, width))
        with pyro.plate("individuals", n):
            x = pyro.sample("x", dist.Bernoulli(0.5))
            y = pyro.sample("y", dist.Normal(gaps * x, 1.0))
            pyro.sample("z", dist.Normal(y, 1.0))

    scm = ca.SCM(program)
    assert scm.without(("x", "y")).inert == ("width", "gaps")
    assert scm.without(("y", "z"), at={"y": 0}).inert == ()


def shapes(cut=()):
    """Vectors: one-hot, of independent numbers, and of numbers that share noise."""

    def program(n):
        effect = pyro.sample("effect", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            kind = pyro.sample("kind", dist.OneHotCategorical(torch.tensor([0.2, 0.5, 0.3])))
            seen = torch.tensor([1.0, 0.0, 0.0]).expand(n, 3) if ("kind", "m0") in cut else kind
            means = torch.stack([seen @ torch.arange(3.0), kind @ torch.arange(3.0)], -1)
            m = pyro.sample("m", dist.Normal(effect * means, 1.0).to_event(1))
            v = pyro.sample("v", dist.MultivariateNormal(m, torch.tensor([[1.0, 0.5], [0.5, 1.0]])))
            first = torch.zeros(n) if ("v0", "y") in cut else v[:, 0]
            pyro.sample("y", dist.Bernoulli(logits=first - v[:, 1]))

    return ca.SCM(program, columns={"m": ["m0", "m1"], "v": ["v0", "v1"]})


def test_vectors():
    edges = [("kind", "m0"), ("v0", "y")]
    drawn = shapes().prior_predictive(30, draws=1, seed=0).isel(draw=0)
    data = drawn[["kind", "m0", "m1", "v0", "v1", "y"]].to_dataframe()[["kind", "m0", "m1", "v0", "v1", "y"]]
    cut, hand = shapes().without(*edges, at={"v0": 0}), shapes(edges)
    hand.graph.remove_edges_from(edges)  # which tracking sees in a stack of two columns
    same_models(cut, hand, data, {"kind": 1})
    with pytest.raises(ProgramError, match=r"'v1' is a number of a vector with a common noise, \['v0', 'v1'\]"):
        shapes().without(("m1", "v1"))


def test_it_runs_over_draws_at_once(recwarn):
    """Two draws are compared with the loop; a program that could not be run by vmap would warn."""
    cut = pay().without(("group", "degree"), ("group", "rank"))
    cut.prior_predictive(5, draws=3)
    assert not [warning for warning in recwarn if "vmap" in str(warning.message)]


def test_a_posterior_is_that_of_the_cut_program(tmp_path):
    whole = ca.models.loan.linear()
    cut = whole.without(("salary", "balance"))  # at the mean, which is found again
    posterior = ca.fit(cut, ca.datasets.make_loan(50, seed=0), draws=10, chains=1, method="map", progress=False)
    posterior.save(tmp_path / "cut.nc")
    assert ca.Posterior.load(tmp_path / "cut.nc", cut).scm.cuts == posterior.scm.cuts
    with pytest.raises(SavedFileError, match="its edges are"):
        ca.Posterior.load(tmp_path / "cut.nc", whole)


def test_auditors_see_no_cut_edge():
    """Of a finite program, whose rates are enumerated."""
    cut = ca.models.standard_prediction.scm_b().without(("X", "W"), ("X", "Y"), ("X", "D"))
    people = cut.prior_predictive(300, draws=1).isel(draw=0).to_dataframe()[["Z", "X", "W", "Y", "D"]]
    result = ca.decompose_error_rates(
        ca.fit(cut, people, draws=1, chains=1, progress=False), lambda seen: seen.W + seen.D >= 1, "X", outcome="Y",
        population="exact", progress=False,
    )  # fmt: skip
    assert result.summary().loc[["direct", "indirect"], "mean"].abs().max() < 1e-12
    assert abs(result.summary().loc["spurious", "mean"]) > 0.01


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (("pay", "group"), r"\('pay', 'group'\) is not an edge of 'program'.*\('group', 'degree'\)"),
        (("group", "pay"), "is not an edge"),  # only by others
        (("gap", "degree"), "is not an edge"),
        ("group", "'group' is not an edge"),
    ],
)
def test_what_is_no_edge(edge, message):
    with pytest.raises(ProgramError, match=message):
        pay().without(edge)


def test_causes_without_a_mean():
    with pytest.raises(ProgramError, match=r"'u' has no column, so that its mean cannot stand for it.*at="):
        school().without(("u", "lsat"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edge", "pair"), [(("gender", "balance"), ("salary", "balance")), (("salary", "balance"), ("gender", "salary"))]
)
def test_a_cut_and_confounding_are_one_model_in_either_order(edge, pair):
    scm, people = ca.models.loan.linear(), ca.datasets.make_loan(40, seed=0)
    one, other = scm.without(edge).confounded(*pair, rho=0.4), scm.confounded(*pair, rho=0.4).without(edge)
    assert set(one.graph.edges) == set(other.graph.edges)
    fits = [ca.fit(model, people, method="map", draws=2, chains=1) for model in (one, other)]
    assert fits[0].scm.confounding == fits[1].scm.confounding == one.confounding  # a mean in the data is known by now
    np.testing.assert_allclose(fits[0].log_likelihood(), fits[1].log_likelihood(), rtol=1e-9)
    plain = ca.fit(scm.without(edge), people, method="map", draws=2, chains=1)
    assert abs(float((fits[0].log_likelihood() - plain.log_likelihood()).sum())) > 1e-3
