"""Terms under every coupling: brute force over two mechanisms, couplings that can be asked for, XOR, refusals."""

import itertools

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from finite_programs import (
    GENERIC,
    PARENTS,
    SCM_B,
    cells_of,
    classifier,
    draw_tables,
    draw_xor,
    free_tables,
    posterior_of,
    posterior_tables,
)
from scipy.optimize import linprog

import causalaudit as ca
from causalaudit.counterfactuals import population
from causalaudit.error_rates.explaining.terms import DECOMPOSITIONS, TERMS
from causalaudit.errors import DataError
from causalaudit.storage import same

FEATURES = ["X", "W", "Z", "D"]
THETA = np.reshape(GENERIC, [2] * 4)  # by x, w, z and d


def terms_of(posterior, population="exact", bounds=True, **options):
    return ca.decompose_error_rates(
        posterior, classifier(GENERIC), "X", outcome="Y", features=options.pop("features", FEATURES),
        population=population, bounds=bounds, progress=False, **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def scm_b():
    return ca.fit(
        ca.models.standard_prediction.scm_b(), draw_tables(np.random.default_rng(0), 400), draws=2, chains=1
    )  # fmt: skip


@pytest.fixture(scope="module")
def exact(scm_b):
    return terms_of(scm_b)


def chance(name, **values):
    return SCM_B[name][cells_of(values, PARENTS[name])]


def answering(ones):
    """The conditions that functions of binary states answer 1 as often as is said."""
    functions = np.array(list(itertools.product((0, 1), repeat=len(ones))))
    return functions, np.vstack([functions.T, np.ones(len(functions))]), np.append(ones, 1.0)


def corners_of_two(first, second):
    """The two extreme laws of a pair of answers: their chance to be 1 both is least, or greatest."""
    both = max(0.0, first + second - 1), min(first, second)
    return [np.array([1 - first - second + one, second - one, first - one, one]) for one in both]


def extreme_crossed(x, coefficients, sign, y=0):
    """The extreme Σ c N(xd, 1 - x | x, y) of SCM-B: a corner of the law of W, and a linear program for that of D."""
    total, weight = 0.0, 0.0
    for z in (0, 1):
        came = (SCM_B["Z"][0] if z else 1 - SCM_B["Z"][0]) * (chance("X", Z=z) if x else 1 - chance("X", Z=z))
        said = [chance("Y", Z=z, X=x, W=w) if y else 1 - chance("Y", Z=z, X=x, W=w) for w in (0, 1)]
        ones_w = [chance("W", Z=z, X=level) for level in (x, 1 - x)]
        weight += came * sum(p * said[w] for w, p in ((0, 1 - ones_w[0]), (1, ones_w[0])))
        states = [(level, w) for level in (x, 1 - x) for w in (0, 1)]
        functions, rows, right = answering([chance("D", Z=z, X=level, W=w, Y=y) for level, w in states])
        best = np.inf
        for law in corners_of_two(*ones_w):
            cost = np.zeros(len(functions))
            for chance_w, (w, other) in zip(law, itertools.product((0, 1), repeat=2), strict=True):
                d = functions[:, states.index((1 - x, other))]
                cost += chance_w * said[w] * sum(c * THETA[xd, other, z, d] for xd, c in enumerate(coefficients))
            best = min(best, linprog(sign * cost, A_eq=rows, b_eq=right).fun)
        total += came * best
    return sign * total / weight


def test_bounds_are_those_of_brute_force(exact):
    rates = exact.draws[0]
    for place, (number, term) in enumerate(itertools.product(DECOMPOSITIONS, TERMS)):
        coefficients = DECOMPOSITIONS[number][term]
        low = high = sum(coefficients[:, x, x] @ rates[:, x, x] for x in (0, 1))
        for x in (0, 1):
            crossed = coefficients[:, 1 - x, x]
            if crossed.any():
                low, high = (end + extreme_crossed(x, crossed, sign) for end, sign in ((low, 1), (high, -1)))
        row = exact.table.iloc[place]
        np.testing.assert_allclose([row["coupling_low"], row["coupling_high"]], [low, high], atol=1e-9)
    assert set(exact.table["coupling_bounds"]) == {"sharp"}
    assert (exact.bounds.low[0] == exact.bounds.low[1]).all()


@pytest.mark.parametrize("coupling", ["monotone", "gumbel", "independent", -1.0, -0.5, 0.5])
def test_the_terms_under_every_coupling_are_inside(scm_b, exact, coupling):
    mean = terms_of(scm_b, bounds=False, coupling=coupling).table["mean"]
    assert (exact.table["coupling_low"] - 1e-9 <= mean).all()
    assert (mean <= exact.table["coupling_high"] + 1e-9).all()


def test_the_coupling_moves_some_terms_and_leaves_others(exact):
    first = exact.summary()
    width = first["coupling_high"] - first["coupling_low"]
    assert (width[["total", "direct"]] < 1e-12).all()
    assert (width[["indirect", "spurious"]] > 0.01).all()
    assert width["indirect"] == pytest.approx(width["spurious"], abs=1e-9)  # they move against one another
    assert first.loc["total", "coupling_low"] == pytest.approx(first.loc["total", "mean"], abs=1e-12)


def test_the_truth_of_xor_is_inside():
    people = draw_xor(np.random.default_rng(0), 500)
    models = ca.models.standard_prediction
    plain, truth = (ca.fit(scm, people, draws=1, chains=1) for scm in (models.plain_bernoulli(), models.xor()))
    found, mean = terms_of(plain).table, terms_of(truth, bounds=False).table["mean"]
    assert (np.abs(found["mean"] - mean) > 0.01).any()  # the default coupling misses it
    assert (found["coupling_low"] - 1e-9 <= mean).all()
    assert (mean <= found["coupling_high"] + 1e-9).all()


@pytest.fixture(scope="module")
def free():
    rng = np.random.default_rng(1)
    people = draw_tables(rng, 300)
    return posterior_of(free_tables(), people, posterior_tables(rng, people, 4))


@pytest.mark.parametrize(
    "whom", ["standardise", pytest.param("bootstrap", marks=pytest.mark.slow), "simulate", "exact"]
)
@pytest.mark.filterwarnings("ignore:Not trustworthy")
def test_the_mean_of_any_population_is_inside_its_bounds(free, whom):
    if whom == "bootstrap":
        free = ca.fit(free.scm, free.data, draws=2, chains=2, progress=False)
    found = terms_of(free, whom)
    error = {"simulate": 2e-3, "exact": 1e-9}.get(whom, 0.03)  # noise that is drawn for 300 people
    assert (found.table["coupling_low"] - error <= found.table["mean"]).all()
    assert (found.table["mean"] <= found.table["coupling_high"] + error).all()
    assert found.bounds.low.shape == (len(found.draws), len(found.table))
    np.testing.assert_allclose(found.bounds.low.mean(axis=0), found.table["coupling_low"])
    about = found.intervals.set_index("kind").loc["coupling"]
    assert about["type"] == "sharp"
    assert ("these people" in about["about"]) == (whom in ("standardise", "bootstrap"))


@pytest.mark.slow
def test_a_person_with_the_weight_two_is_two_people(free):
    weights = np.random.default_rng(2).integers(1, 3, size=300)
    twice = free.data.loc[free.data.index.repeat(weights)].reset_index(drop=True)
    weighted = ca.fit(free.scm, free.data.assign(n=weights), weights="n", draws=3, chains=1, progress=False)
    repeated = posterior_of(free.scm, twice, weighted.parameters())
    given, worth = {"X": 0, "Y": 1}, np.random.default_rng(3).random((1, 2, 2))
    one, other = (
        population(posterior, kind="standardised").any_coupling({**given, "X": 1}, given, "WD").of_all("WD", worth)
        for posterior in (weighted, repeated)
    )
    np.testing.assert_allclose([one.low, one.high], [other.low, other.high], atol=1e-9)


def test_units_have_the_bounds_of_their_direction(exact):
    units, first = exact.by_unit().set_index("unit"), exact.summary()
    for term in TERMS:
        one, other = units.loc[f"{term}: 1 above 0"], units.loc[f"{term}: 0 above 1"]
        low, high = first.loc[term, ["coupling_low", "coupling_high"]]
        assert [one["coupling_low"], one["coupling_high"]] == [low, high]
        assert [other["coupling_low"], other["coupling_high"]] == [-high, -low]
    assert "coupling_low" not in exact.verdicts


def test_the_rest_is_the_same_with_bounds_and_without(scm_b, exact):
    plain = terms_of(scm_b, bounds=False)
    pd.testing.assert_frame_equal(plain.table, exact.table[plain.table.columns])
    assert plain.bounds is None
    assert "coupling" not in set(plain.intervals["kind"])
    assert "coupling_low" not in plain.by_unit()


def test_bounds_are_saved(exact, tmp_path):
    exact.save(tmp_path / "terms.nc")
    loaded = ca.load(tmp_path / "terms.nc")
    assert same(loaded.bounds, exact.bounds)
    assert loaded.intervals.equals(exact.intervals)


def test_what_is_too_large_is_labelled():
    """D answers 27 states of A, B and C; all that can be said of it is the sum of personal bounds."""

    def program(n):
        with pyro.plate("individuals", n):
            x = pyro.sample("X", dist.Bernoulli(torch.full((n,), 0.4)))
            three = [pyro.sample(name, dist.Binomial(2, 0.3 + 0.2 * x)) for name in "ABC"]
            pyro.sample("Y", dist.Bernoulli(torch.full((n,), 0.5)))
            pyro.sample("D", dist.Bernoulli(0.2 + 0.1 * sum(three)))

    rng = np.random.default_rng(0)
    people = pd.DataFrame({name: rng.integers(2, size=60) for name in "XABCYD"})
    posterior = ca.fit(ca.SCM(program), people, draws=1, chains=1, progress=False)
    found = ca.decompose_error_rates(
        posterior, lambda table: table.D, "X", outcome="Y", features=["D"], population="exact", bounds=True,
        progress=False,
    )  # fmt: skip
    rows = found.summary()
    assert rows.loc["direct", "coupling_bounds"] == "sharp"
    assert rows.loc["indirect", "coupling_bounds"].startswith("outer: ")
    assert "joint response functions are too many for a linear program" in rows.loc["indirect", "coupling_bounds"]
    assert (rows["coupling_low"] <= rows["mean"] + 1e-9).all()
    assert (rows["mean"] <= rows["coupling_high"] + 1e-9).all()
    assert found.intervals.set_index("kind").loc["coupling", "type"] == "outer"


def test_what_has_no_bounds_is_refused(scm_b):
    def program(n):
        with pyro.plate("individuals", n):
            x = pyro.sample("X", dist.Bernoulli(torch.full((n,), 0.4)))
            d = pyro.sample("D", dist.Normal(x, 1.0))
            pyro.sample("Y", dist.Bernoulli(logits=d))

    rng = np.random.default_rng(0)
    people = pd.DataFrame({"X": rng.integers(2, size=60), "D": rng.normal(size=60), "Y": rng.integers(2, size=60)})
    posterior = ca.fit(ca.SCM(program), people, draws=2, chains=1, progress=False)
    for whom in ("standardise", "simulate"):
        with pytest.raises(DataError, match=r"'D' .* has infinitely many values.* ask without bounds=True"):
            ca.decompose_error_rates(
                posterior, lambda table: table.D > 0, "X", outcome="Y", features=["D"], population=whom,
                bounds=True, progress=False,
            )  # fmt: skip
    confounded = ca.fit(scm_b.scm.confounded("Z", "D", rho=0.3), scm_b.data, draws=1, chains=1, progress=False)
    for whom in ("exact", "standardise"):
        with pytest.raises(DataError, match="'Z' and 'D' are confounded: ask without bounds=True"):
            terms_of(confounded, whom)
