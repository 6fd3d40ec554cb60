"""Terms under another assumption on discrete noise: against plain enumerations of two worlds."""

import itertools

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from finite_programs import GENERIC, PARENTS, SCM_B, cells_of, classifier, draw_tables
from scipy import stats

import causalaudit as ca
from causalaudit.errors import ProgramError

FEATURES = ["X", "W", "Z", "D"]
SHARES = np.array([[[0.5, 0.2, 0.3], [0.1, 0.3, 0.6]], [[0.2, 0.5, 0.3], [0.45, 0.35, 0.2]]])  # of M by X and Z
READ = np.array([[0.1, 0.8, 0.3], [0.4, 0.2, 0.9]])  # P(1) by X and M


def rates_of(result):
    """N(xd, xi | x, y), by xd, xi and x."""
    return result.rates["mean"].to_numpy().reshape(2, 2, 3)[..., :2]


def chance(name, values, value):
    p = SCM_B[name][cells_of(values, PARENTS[name])]
    return p if value == 1 else 1 - p


def drawn_anew(y):
    """SCM-B: wherever a parent differs between the two worlds, noise is drawn anew; elsewhere values are kept."""
    sums, sizes = np.zeros((2, 2, 2)), np.zeros(2)
    theta = np.reshape(GENERIC, [2] * 4)
    for z, x, w, d in itertools.product((0, 1), repeat=4):
        own = {"Z": z, "X": x, "W": w, "Y": y, "D": d}
        weight = np.prod([chance(name, own, own[name]) for name in own])
        sizes[x] += weight
        for xi, w_, d_ in itertools.product((0, 1), repeat=3):
            other = {"Z": z, "X": xi, "W": w_, "Y": y, "D": d_}
            there = weight
            for name in ("W", "D"):
                kept = all(own[parent] == other[parent] for parent in PARENTS[name])
                there *= float(own[name] == other[name]) if kept else chance(name, other, other[name])
            for xd in (0, 1):
                sums[xd, xi, x] += there * theta[xd, w_, z, d_]
    return sums / sizes


@pytest.fixture(scope="module")
def tables():
    people = draw_tables(np.random.default_rng(0), 3000)
    return ca.fit(ca.models.standard_prediction.scm_b(), people, draws=80, chains=1)


def of_tables(posterior, population, y=0, **options):
    return ca.decompose_error_rates(
        posterior, classifier(GENERIC), "X", outcome="Y", features=FEATURES, y=y, population=population, progress=False,
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("y", [0, 1])
def test_noise_that_is_drawn_anew(tables, y):
    truth = drawn_anew(y)
    exact = of_tables(tables, "exact", y, coupling="independent")
    assert np.allclose(rates_of(exact), truth, rtol=0, atol=1e-12)
    shared = of_tables(tables, "exact", y)
    assert np.abs(shared.table["mean"] - exact.table["mean"]).max() > 0.01  # the terms depend on it,
    assert shared.summary().loc[["total", "direct"], "mean"].tolist() == pytest.approx(
        exact.summary().loc[["total", "direct"], "mean"].tolist()
    )  # these two do not
    simulated = of_tables(tables, "simulate", y, coupling="independent")
    assert np.allclose(rates_of(simulated), truth, rtol=0, atol=2e-3)
    for population in ("standardise", "bootstrap"):
        found = of_tables(tables, population, y, coupling="independent")
        gap = np.abs(found.table["mean"] - exact.table["mean"])
        assert (gap < 4 * found.table["sd"] + 1e-12).all()


def jointly(name, own, other, r):
    """P(both values), the normal numbers of whose noise have the correlation r, by scipy."""
    steps = []
    for values in (own, other):
        cut = stats.norm.ppf(chance(name, values, 0))  # the value is 1 above it
        steps.append((cut, 10.0) if values[name] else (-10.0, cut))
    if abs(r) == 1:
        one, two = steps[0], steps[1] if r > 0 else (-steps[1][1], -steps[1][0])
        low, high = max(one[0], two[0]), min(one[1], two[1])
        return max(0.0, stats.norm.cdf(high) - stats.norm.cdf(low))
    normal = stats.multivariate_normal([0, 0], [[1, r], [r, 1]])
    return sum(
        (1 if i == j else -1) * normal.cdf([steps[0][i], steps[1][j]]) for i, j in itertools.product((0, 1), repeat=2)
    )


def shared_to_a_degree(y, r):
    """SCM-B: wherever a parent differs, noise has the correlation r; elsewhere values are kept."""
    sums, sizes = np.zeros((2, 2, 2)), np.zeros(2)
    theta, known = np.reshape(GENERIC, [2] * 4), {}
    for z, x, w, d in itertools.product((0, 1), repeat=4):
        own = {"Z": z, "X": x, "W": w, "Y": y, "D": d}
        weight = np.prod([chance(name, own, own[name]) for name in own])
        sizes[x] += weight
        for xi, w_, d_ in itertools.product((0, 1), repeat=3):
            other = {"Z": z, "X": xi, "W": w_, "Y": y, "D": d_}
            there = weight
            for name in ("W", "D"):
                kept = all(own[parent] == other[parent] for parent in PARENTS[name])
                key = name, *own.values(), *other.values()
                if not kept and key not in known:
                    known[key] = jointly(name, own, other, r) / chance(name, own, own[name])
                there *= float(own[name] == other[name]) if kept else known[key]
            for xd in (0, 1):
                sums[xd, xi, x] += there * theta[xd, w_, z, d_]
    return sums / sizes


@pytest.mark.parametrize("r", [-1, -0.5, 0, 0.5, 1])
def test_noise_that_is_shared_to_a_degree(tables, r):
    truth, coupled = shared_to_a_degree(0, r), tables.with_coupling(r)
    exact = of_tables(coupled, "exact")
    assert np.allclose(rates_of(exact), truth, rtol=0, atol=1e-6)
    assert exact.settings["coupling"]["W"] == ("monotone" if r == 1 else r)
    assert np.allclose(rates_of(of_tables(coupled, "simulate")), truth, rtol=0, atol=2e-3)
    for population in ("standardise", "bootstrap") if r == -0.5 else ():
        found = of_tables(coupled, population)
        gap = np.abs(found.table["mean"] - exact.table["mean"])
        assert (gap < 4 * found.table["sd"] + 1e-12).all()


def test_what_the_posterior_assumes_and_what_is_asked_for(tables):
    asked = of_tables(tables, "exact", coupling={"W": 0.5})
    assumed = of_tables(tables.with_coupling({"W": 0.5}), "exact")
    assert asked.table.equals(assumed.table)
    assert asked.settings == assumed.settings
    again = of_tables(tables.with_coupling({"W": 0.5}), "exact", coupling={"W": 1})  # asked for last
    assert again.table.equals(of_tables(tables, "exact").table)


@pytest.mark.parametrize("population", ["exact", "data"])
def test_a_fair_classifier_is_learned_under_it(tables, population):
    terms = ["total", "direct", "indirect", "spurious"]
    learned = {}
    for r in (1, -0.5):
        posterior = tables.with_coupling(r)
        fair = ca.FairClassifier(
            None, "X", "Y", eps_indirect=0.02, y=0, posterior=posterior, population=population, draws=80
        ).fit(tables.data[FEATURES], tables.data["Y"])
        rule = ca.decompose_error_rates(
            posterior, fair.decision_proba, "X", outcome="Y", features=FEATURES, y=0, progress=False,
            population="exact" if population == "exact" else "standardise",
        )  # fmt: skip
        tolerance = 1e-9 if population == "exact" else 0.03
        assert fair.terms_[terms].to_numpy() == pytest.approx(rule.summary()["mean"][terms].to_numpy(), abs=tolerance)
        learned[r] = rule
    assert abs(learned[1].summary()["mean"]["indirect"]) <= 0.02 + tolerance


def by_mediator(n):
    with pyro.plate("individuals", n):
        z = pyro.sample("Z", dist.Bernoulli(0.6))
        x = pyro.sample("X", dist.Bernoulli(0.3 + 0.4 * z))
        m = pyro.sample("M", dist.Categorical(torch.tensor(SHARES)[x.long(), z.long()]))
        pyro.sample("Y", dist.Bernoulli(torch.tensor([0.2, 0.6, 0.4])[m.long()]))


def of_one_uniform(y=0):
    """M from one uniform, cut at all ends of the steps of its distribution functions, for each Z and both X."""
    sums, sizes = np.zeros((2, 2, 2)), np.zeros(2)
    for z, x in itertools.product((0, 1), repeat=2):
        before = (0.6 if z else 0.4) * (0.3 + 0.4 * z if x else 0.7 - 0.4 * z)
        ends = np.cumsum(SHARES[:, z], axis=1)
        cuts = np.unique(np.round([0.0, 1.0, *ends[:, :-1].ravel()], 12))
        for low, high in itertools.pairwise(cuts):
            levels = [int(np.searchsorted(ends[xi], (low + high) / 2)) for xi in (0, 1)]
            one = [0.2, 0.6, 0.4][levels[x]]
            weight = before * (high - low) * (one if y else 1 - one)
            sizes[x] += weight
            for xd, xi in itertools.product((0, 1), repeat=2):
                sums[xd, xi, x] += weight * READ[xd, levels[xi]]
    return sums / sizes


def test_categories_in_their_order_instead_of_gumbel_noise():
    scm = ca.SCM(by_mediator)
    drawn = scm.prior_predictive(n=3000, draws=1, seed=4).isel(draw=0)
    people = pd.DataFrame({name: drawn[name].to_numpy().astype(int) for name in scm.columns})
    posterior = ca.fit(scm, people, draws=60, chains=1)
    rule = lambda them: READ[them["X"].to_numpy().astype(int), them["M"].to_numpy().astype(int)]  # noqa: E731

    def decompose(population, coupling):
        return ca.decompose_error_rates(
            posterior, rule, "X", outcome="Y", features=["X", "M"], population=population, coupling=coupling,
            progress=False,
        )  # fmt: skip

    exact, gumbel = decompose("exact", {"M": "monotone"}), decompose("exact", None)
    assert exact.settings["coupling"]["M"] == "monotone"
    assert gumbel.settings["coupling"]["M"] == "gumbel"
    assert np.allclose(rates_of(exact), of_one_uniform(), rtol=0, atol=1e-9)
    assert np.abs(rates_of(gumbel) - of_one_uniform()).max() > 0.01
    assert np.allclose(rates_of(decompose("simulate", {"M": "monotone"})), of_one_uniform(), rtol=0, atol=2e-3)
    standardised = decompose("standardise", {"M": "monotone"}).table
    assert (np.abs(standardised["mean"] - exact.table["mean"]) < 4 * standardised["sd"] + 1e-12).all()


def test_a_coupling_that_there_is_not(tables):
    with pytest.raises(ProgramError, match="The coupling 'comonotone' is not one of"):
        of_tables(tables, "exact", coupling="comonotone")
