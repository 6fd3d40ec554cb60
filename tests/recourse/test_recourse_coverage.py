"""Coverage of the intervals of recourse for the population sampled; the sample is the unit."""

import numpy as np
import pytest
from recourse_populations import NOTIONS, Population, all_intervals, counted, inside, observed

pytestmark = pytest.mark.slow

PROB = 0.9
RISING, HIGHER = np.array([0.1, 0.3, 0.5, 0.55, 0.6]), np.array([0.2, 0.3, 0.4, 0.7, 0.8])
STEPS = np.array([1.0, 1.5, 2.0, 3.0, 5.0])
TIED = np.full(20, 0.5)
POPULATIONS = {
    "20 tied actions, independent": Population(TIED, TIED, np.ones(20), (40, 300), nested=False),
    "20 tied actions, nested": Population(TIED, TIED, np.ones(20), (40, 300)),
    "20 tied actions of one group": Population(TIED, np.linspace(0.1, 0.5, 20), np.ones(20), (40, 300), nested=False),
    "different groups": Population(RISING, HIGHER, STEPS, (40, 300)),
    "different groups, swapped": Population(HIGHER, RISING, STEPS, (40, 300)),
    "small groups": Population(RISING, HIGHER, STEPS, (15, 60)),
    "true distance 0": Population(RISING, RISING, STEPS, (40, 300)),
    "true distance 0, independent": Population(RISING[::-1], RISING[::-1], STEPS, (40, 300), nested=False),
    "rare recourse": Population(RISING / 50, HIGHER / 50, STEPS, (20, 200)),
    "common recourse": Population(1 - HIGHER[::-1] / 20, 1 - RISING[::-1] / 20, STEPS, (40, 300)),
    "infinite cost of one group": Population(RISING / 2, HIGHER, STEPS, (40, 300)),
}
SAMPLES = 4000
SUBGROUPS, SEARCHES = 500, 200


def check(covered, repeats, what):
    """Print the share of samples whose interval holds the truth, which must not fall short."""
    for name, share in covered.items():
        print(f"{what}, {name}: {share:.3f}")
    short = {name: share for name, share in covered.items() if share < PROB - 3 * np.sqrt(PROB * (1 - PROB) / repeats)}
    assert not short, (what, short)


@pytest.mark.parametrize("what", POPULATIONS)
def test_coverage_in_one_subgroup(what):
    population = POPULATIONS[what]
    sample = population.sample(np.random.default_rng(1), SAMPLES)
    found, truth = all_intervals(sample, population.cost, 1 - PROB), population.differences()
    check({name: inside(found[name], truth[name]).mean() for name in NOTIONS}, SAMPLES, what)


@pytest.mark.parametrize("means", [(0.3, 0.3), (0.02, 0.1), (0.97, 0.8)])
def test_coverage_where_effectiveness_is_a_probability(means):
    """Counts are sums of people's probabilities, as in causal recourse; the truth is the mean in the population."""
    rng, sizes = np.random.default_rng(4), (40, 300)
    pairs = zip(means, sizes, strict=True)
    sums = np.stack([rng.beta(mean, 1 - mean, (SAMPLES, size)).sum(axis=1) for mean, size in pairs])
    population = Population(*(np.array([mean]) for mean in means), np.ones(1), sizes)
    found = all_intervals(counted(sums, sums, sizes, np.ones(1)), np.ones(1), 1 - PROB)
    truth = population.differences()
    check({name: inside(found[name], truth[name]).mean() for name in NOTIONS}, SAMPLES, f"probabilities {means}")


def searched(kind):
    rng = np.random.default_rng(3)
    first, second = np.sort(rng.random((2, SUBGROUPS, 3)), axis=-1)
    cost = np.array([1.0, 2.0, 3.0])
    return {
        "no differences": Population(first, first, cost, (40, 300)),
        "differences": Population(first, second, cost, (40, 300)),
        "no differences, rare recourse": Population(first / 100, first / 100, cost, (40, 3000)),
    }[kind]


@pytest.mark.parametrize("kind", ["no differences", "differences", "no differences, rare recourse"])
def test_coverage_in_the_subgroup_that_comes_out_on_top(kind):
    """Of 500 subgroups, the one with the largest score; and of the whole family."""
    population = searched(kind)
    sample = population.sample(np.random.default_rng(2), SEARCHES)
    found = all_intervals(sample, population.cost, (1 - PROB) / SUBGROUPS)
    truth, seen = population.differences(), observed(sample, population.cost)
    top, family = {}, {}
    for name in NOTIONS:
        holds = inside(found[name].reshape(2, SEARCHES, SUBGROUPS), truth[name])
        best = np.abs(seen[name]).reshape(SEARCHES, SUBGROUPS).argmax(axis=1)
        top[name], family[name] = holds[np.arange(SEARCHES), best].mean(), holds.all(axis=1).mean()
    check(top, SEARCHES, f"{kind}, top")
    check(family, SEARCHES, f"{kind}, all")
