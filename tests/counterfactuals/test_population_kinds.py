"""People who can be asked about interventions: simulated, enumerated and reweighted ones agree with one another."""

import numpy as np
import pytest
from finite_programs import draw_tables, free_tables, posterior_of, posterior_tables

import causalaudit as ca
from causalaudit.counterfactuals import World, population
from causalaudit.errors import DataError

DRAWS = 6


@pytest.fixture(scope="module")
def posterior():
    rng = np.random.default_rng(0)
    people = draw_tables(rng, 4000)
    return posterior_of(free_tables(), people, posterior_tables(rng, people, DRAWS))


def enumerated_mean(posterior, do, given, name):
    """E[name under do | given] at each draw, of enumerated people."""
    worlds = population(posterior, kind="enumerated").worlds(do, given, [name])
    values = worlds.people.sites[name].values[worlds.positions(name)]
    chance = np.concatenate([worlds.probability(part) for part in worlds.tasks()])
    return (chance * values).sum(axis=1) / chance.sum(axis=1)


def test_simulated_people_respond_as_enumerated_ones(posterior):
    people = population(posterior, kind="simulated", seed=1)
    worlds = [World({"X": 1}, {"X": 0}), World({"X": 0}, {"X": 0, "Y": 1}), World({"X": 1}, {})]
    found = [people.worlds(numbers, worlds, ["W", "Z"]) for numbers in people.tasks()]
    assert sum(len(part[0].chance) for part in found) == DRAWS
    responses, factual, everybody = found[0]
    size = people.number_of_people
    assert responses.values["W"].shape == (DRAWS, size)
    assert np.array_equal(responses.values["Z"], factual.values["Z"])  # nothing that is set reaches Z
    mean = (responses.chance * responses.values["W"]).sum(axis=1) / responses.chance.sum(axis=1)
    assert np.allclose(mean, enumerated_mean(posterior, {"X": 1}, {"X": [0]}, "W"), atol=5e-3)
    assert (everybody.chance == 1).all()
    assert (factual.chance <= responses.chance).all()  # of Y too


def test_reweighted_people_respond_as_enumerated_ones(posterior):
    people = population(posterior, kind="reweighted", alike=["X"], seed=1)
    assert people.weights.shape == (DRAWS, 4000)
    assert np.allclose(people.weights.mean(axis=1), 1)
    assert people.persons["X"].is_monotonic_increasing
    who = people.factual["X"] == 0
    (numbers,) = people.tasks()
    changed = people.under({"X": 1}, who, numbers)
    assert (changed["X"] == 1).all()
    assert np.array_equal(changed["Z"], np.broadcast_to(people.factual["Z"][who], changed["Z"].shape))
    weights = people.weights[:, who]
    mean = (weights * changed["W"]).sum(axis=1) / weights.sum(axis=1)
    assert np.allclose(mean, enumerated_mean(posterior, {"X": 1}, {"X": [0]}, "W"), atol=0.08)


def test_enumerated_people_are_all_there_are(posterior):
    people = population(posterior, kind="enumerated", draws=2)
    worlds = people.worlds({"X": 0}, {}, ["W", "D"])
    assert np.allclose(worlds.probability(slice(0, 2)).sum(axis=1), 1)
    split = people.worlds({"X": 0}, {"X": [0, 1]}, ["W"])
    assert (split.had("X").sum(axis=0) == 1).all()
    assert np.allclose(split.probability(slice(0, 2)).sum(axis=1), 1)
    with pytest.raises(DataError, match=r"'X' is never 3 under the program; it is one of \[0.0, 1.0\]"):
        people.worlds({"X": 3}, {}, ["W"])


def test_numbers_are_shown_as_a_table_like_the_data():
    applicants = ca.datasets.make_loan(100, seed=0)
    posterior = ca.fit(ca.models.loan.linear(), applicants, draws=2, chains=1, seed=0)
    table = population(posterior, kind="simulated").table({"gender": np.array([1, 0]), "salary": np.array([2.5, 3.5])})
    assert table["gender"].dtype == applicants["gender"].dtype
    levels = posterior.scm.levels["gender"]
    assert table["gender"].tolist() == [levels[1], levels[0]]


def test_the_same_seed_gives_the_same_people(posterior):
    def values(seed):
        people = population(posterior, kind="simulated", seed=seed)
        return people.worlds(people.tasks()[0], [World({"X": 1}, {})], ["W"])[0].values["W"]

    assert np.array_equal(values(3), values(3))
    assert not np.array_equal(values(3), values(4))


def test_what_is_not_understood(posterior):
    with pytest.raises(DataError, match=r"kind is 'all', but must be one of observed, simulated, enumerated"):
        population(posterior, kind="all")
    with pytest.raises(DataError, match=r"data and rows are of observed people, but kind is 'simulated'"):
        population(posterior, kind="simulated", rows=[1])
    with pytest.raises(DataError, match=r"posterior must come from causalaudit.fit, but is str"):
        population("posterior")
    with pytest.raises(DataError, match=r"posterior must come from causalaudit.fit, but is DataFrame"):
        ca.counterfactuals(posterior.data, {"X": 1})
