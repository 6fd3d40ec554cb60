"""The laws of counterfactuals, for random programs over all families, with the unchanged-site short cut off."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import FAMILIES, RandomProgram, Site, people_in_the_tails, programs

import causalaudit as ca
from causalaudit.counterfactuals import counterfactuals
from causalaudit.counterfactuals.abduction import Abduction
from causalaudit.scm.noise import couplings_of, is_discrete


def ask(posterior, do, coupling=None, shortcut=False, seed=0, draws=1):
    """Return the counterfactuals of everybody, recomputing every variable."""
    front = counterfactuals(posterior, {}, draws=1)  # checks the data once
    tensors = {
        name: posterior.scm.codec.encode(name, values if hasattr(values, "index") else front.factual[name] * 0 + values)
        for name, values in do.items()
    }
    couplings = posterior.scm.couplings(coupling)
    question = Abduction(posterior, front.factual, tensors, draws, couplings, None, seed, None, shortcut)
    return question.datasets(progress=False)[0]


def assert_same(scm, name, got, expected):
    """Discrete values exactly, continuous ones to 1e-9 relative."""
    law = scm.structure.laws[name]
    got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    if is_discrete(law):
        np.testing.assert_array_equal(got, expected, err_msg=name)
    else:
        # A value near zero is a difference of larger numbers: its error is relative to the unit of the family.
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9, err_msg=name)


def other_value(scm, name, people):
    """Return, for everybody, a value of `name` that somebody has."""
    return people[name].sample(frac=1, random_state=1).set_axis(people.index)


def check_laws(program, seed):
    scm = ca.SCM(program)
    people = people_in_the_tails(scm, seed)
    posterior = ca.fit(scm, people, draws=1, chains=1)

    for coupling in (None, "monotone", "gumbel"):
        consistent = ask(posterior, {}, coupling)
        observed = ask(posterior, {scm.variables[0]: people[scm.variables[0]]}, coupling)
        for name in scm.variables:
            assert_same(scm, name, consistent[name][0], people[name])
            assert_same(scm, name, observed[name][0], people[name])

    cause = scm.variables[0]
    do = {cause: other_value(scm, cause, people)}
    acted = ask(posterior, do)
    np.testing.assert_array_equal(acted[cause][0], do[cause])  # effectiveness
    for name in set(scm.variables) - nx.descendants(scm.graph, cause) - {cause}:  # locality
        assert_same(scm, name, acted[name][0], people[name])
    for middle in scm.variables[1:-1]:  # composition: what W became, set by hand, changes nothing else
        composed = ask(posterior, {**do, middle: people[middle] * 0 + acted[middle][0].to_numpy()})
        for name in scm.variables:
            assert_same(scm, name, composed[name][0], acted[name][0])

    short = ask(posterior, do, shortcut=True)
    for name in scm.variables:
        assert_same(scm, name, short[name][0], acted[name][0])


@pytest.mark.slow
@given(programs(), st.integers(0, 10_000))
@settings(max_examples=40)
def test_laws_hold_for_random_programs(program, seed):
    check_laws(program, seed)


@pytest.mark.parametrize("family", FAMILIES)
def test_laws_hold_for_every_family_as_child_and_as_parent(family):
    check_laws(
        RandomProgram((Site("Bernoulli", 0.0, ()), Site(family, -0.5, (1.5,)), Site("Normal", 0.2, (0.5, 0.7)))), 3
    )


def test_independent_noise_forgets_the_factual_value_only_where_a_parent_changed():
    program = RandomProgram((Site("Bernoulli", 0.0, ()), Site("Poisson", 0.0, (1.0,))))
    scm = ca.SCM(program)
    people = (
        ca.SCM(program).prior_predictive(n=4000, draws=1, seed=5).isel(draw=0)[["a", "b"]].to_dataframe()[["a", "b"]]
    )
    posterior = ca.fit(scm, people.reset_index(drop=True), draws=1, chains=1)
    worlds = ca.counterfactuals(posterior, {"a": 1}, coupling="independent", seed=0)
    b, factual = worlds.dataset["b"][0].to_numpy(), worlds.factual
    unmoved = factual["a"] == 1
    np.testing.assert_array_equal(b[unmoved], factual["b"][unmoved])
    assert abs(np.corrcoef(b[~unmoved], factual["b"][~unmoved])[0, 1]) < 0.06
    monotone = ca.counterfactuals(posterior, {"a": 1}, seed=0).dataset["b"][0].to_numpy()
    assert np.corrcoef(monotone[~unmoved], factual["b"][~unmoved])[0, 1] > 0.9


def test_monotone_counterfactuals_never_move_against_the_change():
    program = RandomProgram((Site("Bernoulli", 0.0, ()), Site("Binomial", 0.0, (2.0,))))
    posterior = ca.fit(ca.SCM(program), people_in_the_tails(ca.SCM(program), 1), draws=5, chains=1)
    worlds = ca.counterfactuals(posterior, {"a": 1})
    assert (worlds.dataset["b"] >= worlds.factual["b"].to_numpy()).all()


def test_gumbel_and_monotone_agree_for_a_binary_site():
    """P(1 -> 0) is what a monotone noise gives, for both couplings, when the probability falls."""
    program = RandomProgram((Site("Bernoulli", 0.0, ()), Site("Bernoulli", 0.8, (-1.5,))))
    scm = ca.SCM(program)
    people = scm.prior_predictive(n=20_000, draws=1, seed=2).isel(draw=0)[["a", "b"]].to_dataframe()[["a", "b"]]
    posterior = ca.fit(scm, people.reset_index(drop=True), draws=1, chains=1)
    flips = {
        coupling: ca.counterfactuals(posterior, {"a": 1}, coupling=coupling).dataset["b"][0].to_numpy()
        for coupling in ("monotone", "gumbel")
    }
    were = posterior.data["b"].to_numpy()
    for after in flips.values():
        assert (after <= were).all()
    assert abs(flips["monotone"].mean() - flips["gumbel"].mean()) < 0.01


def test_every_family_declares_its_couplings():
    for name, law in FAMILIES.items():
        import torch

        couplings = couplings_of(law(torch.zeros(3, dtype=torch.float64)))
        assert couplings[-1] == "independent", name
        assert ("gumbel" in couplings) == any(word in name for word in ("Categorical", "Bernoulli", "Ordered", "Xor"))


def test_abduction_can_be_asked_without_the_short_cut_only_inside():
    scm = ca.models.loan.linear()
    posterior = ca.fit(scm, ca.datasets.make_loan(30, seed=0), method="ml", draws=2, chains=1)
    question = Abduction(posterior, posterior.data, {}, None, scm.couplings(), None, 0, None)
    assert question.affected == ()
    assert set(replace(question, shortcut=False).affected) == set(scm.variables)
