"""Bounds over all couplings: linear programs over whole response functions, XOR, couplings that can be asked for."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from causalaudit.counterfactuals.coupling_bounds import CouplingBounds
from causalaudit.counterfactuals.finite_sites import Site, tabulate
from causalaudit.errors import DataError
from causalaudit.models import standard_prediction


def random_site(rng, parents, sizes, values):
    law = rng.dirichlet(np.full(values, rng.choice([0.3, 1.0, 3.0])), size=[1, *sizes]) + 1e-6
    law /= law.sum(axis=-1, keepdims=True)
    cumulative = np.concatenate([np.zeros((*law.shape[:-1], 1)), law.cumsum(axis=-1)], axis=-1)
    base = np.broadcast_to(np.arange(values), (*sizes, values))
    return Site(np.arange(values, dtype=float), parents, cumulative, base, "monotone"), law[0]


def response_program(law, had, own, now, worth):
    """The greatest mean worth of the value at `now` of those who had `own` at `had`, by response functions."""
    functions = np.array(list(itertools.product(range(law.shape[-1]), repeat=len(law))))
    equal = [functions[:, state] == value for state in range(len(law)) for value in range(law.shape[-1])]
    gain = worth[functions[:, now]] * (functions[:, had] == own)
    return -linprog(-gain, A_eq=np.array(equal, dtype=float), b_eq=law.ravel(), method="highs").fun / law[had, own]


def by_programs(laws, factual, new, worth):
    """Chain linear programs: C for every state that B can lead to, then B."""
    (b_law, c_law), (a, b, c) = laws, factual
    flat, sizes = c_law.reshape(-1, c_law.shape[-1]), c_law.shape[1]
    ahead = np.array([
        response_program(flat, a * sizes + b, c, new * sizes + value, worth[value]) for value in range(sizes)
    ])  # fmt: skip
    return response_program(b_law, a, b, new, ahead)


def check_random_program(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 4, size=3)
    if np.prod(sizes) > 12:  # there are 3 to the power of the states of the parents
        sizes[rng.integers(0, 2)] = 2
    root, _ = random_site(rng, (), (), sizes[0])
    middle, b_law = random_site(rng, ("A",), sizes[:1], sizes[1])
    last, c_law = random_site(rng, ("A", "B"), sizes[:2], sizes[2])
    a, b, c, new = (int(rng.integers(size)) for size in (*sizes, sizes[0]))
    people = {name: np.array([code]) for name, code in zip("ABC", (a, b, c), strict=True)}
    bounds = CouplingBounds({"A": root, "B": middle, "C": last}, people, {"A": np.array([new])})
    inside = rng.random(sizes[1:]) < 0.5
    low, high = bounds.probability(inside, ("B", "C"))
    assert bounds.sharp(("B", "C"))
    expected = [sign * by_programs((b_law, c_law), (a, b, c), new, sign * inside) for sign in (-1.0, 1.0)]
    np.testing.assert_allclose([low[0, 0], high[0, 0]], expected, atol=1e-9)


def test_bounds_are_linear_programs_over_response_functions():
    for seed in range(10):
        check_random_program(seed)


@pytest.mark.slow
def test_bounds_are_linear_programs_over_response_functions_of_many_programs():
    for seed in range(200):
        check_random_program(seed)


def xor_bounds():
    scm = standard_prediction.xor()
    sites = tabulate(scm, {}, 1, {})
    world = np.indices((2,) * 4).reshape(4, -1)
    people = dict(zip("ZXWY", world, strict=True))
    kept = {name: site for name, site in sites.items() if name != "D"}
    share = np.prod(
        [sites[name].probability(slice(0, 1), parents(sites[name], people), people[name]) for name in kept], 0
    )
    return CouplingBounds(kept, people, {"X": 1 - people["X"]}), people, share[0]


def parents(site, people):
    return tuple(people[name] for name in site.parents)


def flip_bounds(bounds, names, decision, factual):
    """Bounds of the probability that a decision on some variables is another one."""
    low, high = (end[0] for end in bounds.probability(decision, names))
    one = decision[tuple(factual[name] for name in names)] == 1
    return np.where(one, 1 - high, low), np.where(one, 1 - low, high)


@pytest.mark.parametrize(
    ("names", "decision", "expected", "flips"),
    [
        ("W", np.array([0, 1]), (0.8, 1.0), lambda y: np.ones_like(y)),
        ("Y", np.array([0, 1]), (0.0, 0.36), lambda y: np.zeros_like(y)),
        ("WY", np.array([[0, 1], [1, 1]]), (0.72, 0.92), lambda y: 1 - y),  # under do(1 - X), W flips and Y does not
    ],
)
def test_xor(names, decision, expected, flips):
    bounds, people, share = xor_bounds()
    low, high = flip_bounds(bounds, names, decision, people)
    truth = flips(people["Y"])
    assert (low <= truth + 1e-12).all()
    assert (high >= truth - 1e-12).all()
    np.testing.assert_allclose([low @ share, high @ share], expected, atol=1e-12)
    assert low @ share - 1e-12 <= truth @ share <= high @ share + 1e-12


def test_every_coupling_is_inside():
    """Of which bounds are attained, and a variable that does not see the one before it gives outer bounds."""
    rng = np.random.default_rng(0)
    sites = {"A": random_site(rng, (), (), 2)[0], "B": random_site(rng, ("A",), (2,), 2)[0]}
    sites["C"], sites["D"] = random_site(rng, ("A",), (2,), 3)[0], random_site(rng, ("B", "C"), (2, 3), 2)[0]
    grid = dict(zip("ABCD", np.indices((2, 2, 3, 2)).reshape(4, -1), strict=True))
    bounds = CouplingBounds(sites, grid, {"A": 1 - grid["A"]})
    assert bounds.reached == ("B", "C", "D")
    assert bounds.sharp(["C"])
    assert not bounds.sharp(["D"])
    low, high = (end[0] for end in bounds.probability(np.array([0.0, 1.0]), ["D"]))
    for coupling in ("monotone", "gumbel", -1.0, 0.0, 0.5):
        given = coupled_probability({name: replace(site, coupling=coupling) for name, site in sites.items()}, grid)
        assert (low - 1e-12 <= given).all()
        assert (given <= high + 1e-12).all()


def coupled_probability(sites, grid):
    """P(D = 1 under do(1 - A)) of everybody, by summing over the values of B and C."""
    total, do = np.zeros(len(grid["A"])), 1 - grid["A"]
    own = np.ones(len(do))
    for name in "BCD":
        own = own * sites[name].probability(slice(0, 1), parents(sites[name], grid), grid[name])[0]
    for b, c in itertools.product(range(2), range(3)):
        other = {"A": do, "B": np.full_like(do, b), "C": np.full_like(do, c), "D": np.ones_like(do)}
        joint = [
            sites[name].joint(
                slice(0, 1), (parents(sites[name], grid), grid[name]), (parents(sites[name], other), other[name])
            )[0]
            for name in "BCD"
        ]
        total += np.prod(joint, axis=0)
    return total / own


def test_people_whom_the_program_cannot_give_are_refused():
    root, _ = random_site(np.random.default_rng(0), (), (), 2)
    never = Site(
        np.arange(2.0), ("A",), np.array([[[0.0, 1.0, 1.0], [0.0, 0.5, 1.0]]]), np.indices((2, 2))[1], "monotone"
    )
    people = {"A": np.array([0, 1]), "B": np.array([1, 1])}
    bounds = CouplingBounds({"A": root, "B": never}, people, {"A": np.array([1, 0])})
    with pytest.raises(DataError, match="1 people have a value of 'B' that is impossible"):
        bounds.probability(np.array([0, 1]), ["B"])
