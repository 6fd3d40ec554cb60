"""Bounds of groups over all couplings: brute force over independent mechanisms, persons, XOR, what is too large."""

import itertools
from dataclasses import replace

import joblib
import numpy as np
import pytest
from scipy.optimize import linprog

from causalaudit.counterfactuals.coupling_bounds import CouplingBounds
from causalaudit.counterfactuals.finite_sites import Site, tabulate
from causalaudit.counterfactuals.group_bounds import bound_group
from causalaudit.models import standard_prediction
from tests.support.finite_programs import draw_xor


def random_site(rng, parents, sizes, values, draws=1):
    law = rng.dirichlet(np.full(values, rng.choice([0.3, 1.0, 3.0])), size=[draws, *sizes]) + 1e-3
    law /= law.sum(axis=-1, keepdims=True)
    cumulative = np.concatenate([np.zeros((*law.shape[:-1], 1)), law.cumsum(axis=-1)], axis=-1)
    base = np.broadcast_to(np.arange(values), (*sizes, values))
    return Site(np.arange(values, dtype=float), parents, cumulative, base, "monotone")


def random_group(seed, people):
    """A program A -> B -> C, A -> C, and people of it who would each have another value of A."""
    rng = np.random.default_rng(seed)
    sizes = [(2, 2, 2), (2, 2, 3), (2, 3, 2), (3, 2, 2)][seed % 4]
    sites = {
        "A": random_site(rng, (), (), sizes[0]),
        "B": random_site(rng, ("A",), sizes[:1], sizes[1]),
        "C": random_site(rng, ("A", "B"), sizes[:2], sizes[2]),
    }
    factual = dict(zip("ABC", rng.integers(0, sizes, size=(people, 3)).T, strict=True))
    other = (factual["A"] + rng.integers(1, sizes[0], size=people)) % sizes[0]
    worth = rng.normal(size=(people, *sizes[1:])) if seed % 2 else (rng.random((1, *sizes[1:])) < 0.5).astype(float)
    return CouplingBounds(sites, factual, {"A": other}), worth, rng.dirichlet(np.ones(people))


def chances(site):
    return np.diff(site.cumulative[0], axis=-1).reshape(-1, len(site.values))


def responses(law):
    """All response functions of a site, and the conditions on their law: how often each state has each value."""
    functions = np.array(list(itertools.product(range(law.shape[1]), repeat=len(law))))
    rows = [functions[:, state] == value for state in range(len(law)) for value in range(law.shape[1])]
    return functions, np.array(rows, dtype=float), law.ravel()


def corners(matrix, right):
    """All corners of {q >= 0, matrix q = right}, one basis after the other."""
    rank = np.linalg.matrix_rank(matrix)
    found = []
    for basis in itertools.combinations(range(matrix.shape[1]), rank):
        part = matrix[:, basis]
        if np.linalg.matrix_rank(part) < rank:
            continue
        weights = np.linalg.lstsq(part, right, rcond=None)[0]
        if (weights > -1e-12).all():
            corner = np.zeros(matrix.shape[1])
            corner[list(basis)] = weights
            found.append(corner)
    return np.unique(np.round(found, 13), axis=0)


def by_brute_force(bounds, worth, weights):
    """The mean is bilinear in the laws of both mechanisms, so that it is extreme at a corner of one of the two."""
    b_law, c_law = (chances(bounds.sites[name]) for name in "BC")
    (b_functions, b_rows, b_right), (c_functions, c_rows, c_right) = responses(b_law), responses(c_law)
    gain, values = np.zeros((len(b_functions), len(c_functions))), b_law.shape[1]
    for person, weight in enumerate(weights):
        a, b, c = (bounds.factual[name][person] for name in "ABC")
        new, asked = bounds.do["A"][person], worth[person if len(worth) > 1 else 0]
        b_new = b_functions[:, new]
        c_new = c_functions[:, new * values + b_new].T
        agrees = np.outer(b_functions[:, a] == b, c_functions[:, a * values + b] == c)
        gain += weight * agrees * asked[b_new[:, None], c_new] / (b_law[a, b] * c_law[a * values + b, c])
    best = [
        [linprog(sign * corner @ gain, A_eq=c_rows, b_eq=c_right).fun for sign in (1.0, -1.0)]
        for corner in corners(b_rows, b_right)
    ]
    return np.min(best, axis=0) * [1.0, -1.0]


def check_random_group(seed):
    bounds, worth, weights = random_group(seed, people=6)
    found = bound_group(bounds, ["B", "C"], worth, weights)
    assert found.kind == "sharp"
    np.testing.assert_allclose([found.low[0], found.high[0]], by_brute_force(bounds, worth, weights), atol=1e-9)
    low, high = bounds.mean(worth, ["B", "C"])
    assert low[0] @ weights <= found.low[0] + 1e-9
    assert found.high[0] <= high[0] @ weights + 1e-9


def test_bounds_of_groups_are_those_of_brute_force():
    for seed in range(4):
        check_random_group(seed)


@pytest.mark.slow
def test_bounds_of_groups_are_those_of_brute_force_for_many_programs():
    for seed in range(200):
        check_random_group(seed)


def test_a_single_person_is_a_group():
    for seed in range(4):
        bounds, worth, _ = random_group(seed, people=1)
        found, (low, high) = bound_group(bounds, ["B", "C"], worth, np.ones(1)), bounds.mean(worth, ["B", "C"])
        np.testing.assert_allclose([found.low, found.high], [low[:, 0], high[:, 0]], atol=1e-9)


def test_a_site_all_of_whose_parents_are_decided():
    """A -> B -> C: nobody's state of C is known in the other world. By brute force over C given the corners of B."""
    rng = np.random.default_rng(0)
    sites = {
        "A": random_site(rng, (), (), 2),
        "B": random_site(rng, ("A",), (2,), 2),
        "C": random_site(rng, ("B",), (2,), 2),
    }
    factual = dict(zip("ABC", rng.integers(0, 2, size=(3, 6)), strict=True))
    bounds, worth = CouplingBounds(sites, factual, {"A": 1 - factual["A"]}), rng.random((1, 2))
    weights = rng.dirichlet(np.ones(6))
    wide = replace(sites["C"], parents=("A", "B"), cumulative=np.stack([sites["C"].cumulative] * 2, axis=1))
    blind = CouplingBounds({**sites, "C": replace(wide, base=np.stack([wide.base] * 2))}, factual, bounds.do)
    found, outer = (bound_group(one, ["C"], worth, weights) for one in (bounds, blind))
    b, c = (chances(sites[name]) for name in "BC")
    gain = np.zeros((4, 4))
    for (place, to), (other, answer) in itertools.product(
        enumerate(itertools.product((0, 1), repeat=2)), enumerate(itertools.product((0, 1), repeat=2))
    ):
        for person, weight in enumerate(weights):
            own = {name: factual[name][person] for name in "ABC"}
            if to[own["A"]] == own["B"] and answer[own["B"]] == own["C"]:
                chance = b[own["A"], own["B"]] * c[own["B"], own["C"]]
                gain[place, other] += weight * worth[0, answer[to[1 - own["A"]]]] / chance
    (_, b_rows, b_right), (_, c_rows, c_right) = responses(b), responses(c)
    ends = [
        [linprog(sign * corner @ gain, A_eq=c_rows, b_eq=c_right).fun for sign in (1.0, -1.0)]
        for corner in corners(b_rows, b_right)
    ]
    assert found.kind == "sharp"
    np.testing.assert_allclose([found.low[0], -found.high[0]], np.min(ends, axis=0), atol=1e-9)
    assert outer.low[0] <= found.low[0] + 1e-9  # C may see A, too: the more couplings there are
    assert found.high[0] <= outer.high[0] + 1e-9


def xor_people(n):
    people = draw_xor(np.random.default_rng(0), n)
    factual = {name: people[name].to_numpy() for name in "ZXWYD"}
    sites = tabulate(standard_prediction.plain_bernoulli(), {}, 1, {})
    return CouplingBounds(sites, factual, {"X": 1 - factual["X"]})


def test_one_mechanism_serves_everybody():
    """In the population P(Y' = 1) is known whatever the coupling is; of a sample nearly so, which sums are not."""
    bounds, worth = xor_people(4000), np.array([[0.0, 1.0]])
    found, (low, high) = bound_group(bounds, ["Y"], worth, np.full(4000, 1 / 4000)), bounds.mean(worth, ["Y"])
    assert found.kind == "sharp"
    assert found.functions == 128  # 4 for W and 16 for Y, for either Z
    known = 0.9 * 0.1 + 0.1 * 0.9  # X + Z + W' is the noise of W, and so Y' is that and the noise of Y, one or other
    assert found.low[0] < known < found.high[0]
    assert found.high[0] - found.low[0] < 0.02
    np.testing.assert_allclose([low.mean(), high.mean()], [0.0, 0.36], atol=0.01)


def test_too_many_response_functions_are_counted_and_personal_bounds_summed():
    bounds, worth = xor_people(200), np.array([[0.0, 1.0]])
    found, (low, high) = bound_group(bounds, ["D"], worth, np.full(200, 1 / 200)), bounds.mean(worth, ["D"])
    assert (found.kind, found.functions) == ("outer", 32_768)
    assert "32,768 joint response functions are too many for a linear program" in found.why
    np.testing.assert_allclose([found.low[0], found.high[0]], [low.mean(), high.mean()])


def shared_mechanism(seed):
    """W depends on Z and X, and Y on X and W alone: one mechanism of Y serves both values of Z."""
    rng = np.random.default_rng(seed)
    sites = {"Z": random_site(rng, (), (), 2), "X": random_site(rng, (), (), 2)}
    sites["W"] = random_site(rng, ("Z", "X"), (2, 2), 2, draws=2)
    sites["Y"] = random_site(rng, ("X", "W"), (2, 2), 2, draws=2)
    factual = dict(zip("ZXWY", rng.integers(0, 2, size=(4, 20)), strict=True))
    return CouplingBounds(sites, factual, {"X": 1 - factual["X"]})


@pytest.mark.parametrize("coupling", ["monotone", "gumbel", 0.0, -1.0, 0.5])
def test_the_share_under_every_coupling_is_inside(coupling):
    bounds, weights = shared_mechanism(seed=0), np.full(20, 1 / 20)
    found = bound_group(bounds, ["Y"], np.array([[0.0, 1.0]]), weights)
    share, do, own = np.zeros((2, 20)), {**bounds.factual, **bounds.do}, np.ones((2, 20))
    sites = {name: replace(bounds.sites[name], coupling=coupling) for name in "WY"}

    def place(name, values):
        return tuple(values[parent] for parent in sites[name].parents), values[name]

    for name in "WY":
        own *= sites[name].probability(slice(0, 2), *place(name, bounds.factual))
    for w in range(2):
        other = {**do, "W": np.full(20, w), "Y": np.ones(20, dtype=int)}
        both = [sites[name].joint(slice(0, 2), place(name, bounds.factual), place(name, other)) for name in "WY"]
        share += both[0] * both[1] / own
    assert (found.low - 1e-9 <= share @ weights).all()
    assert (share @ weights <= found.high + 1e-9).all()
    low, high = bounds.mean(np.array([[0.0, 1.0]]), ["Y"])
    assert (found.low >= low @ weights - 1e-9).all()
    assert (found.high <= high @ weights + 1e-9).all()
    assert (found.high - found.low < high @ weights - low @ weights - 0.01).all()  # they are narrower, too


def test_the_same_bounds_for_any_number_of_workers():
    bounds = shared_mechanism(seed=1)
    one = bound_group(bounds, ["Y"], np.array([[0.0, 1.0]]), np.full(20, 1 / 20))
    with joblib.parallel_config("threading", n_jobs=2):
        two = bound_group(bounds, ["Y"], np.array([[0.0, 1.0]]), np.full(20, 1 / 20))
    assert (one.low == two.low).all()
    assert (one.high == two.high).all()
