"""Diagnostics say in words whether simulated people look like the observed ones, by group."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest

import causalaudit as ca
from causalaudit.errors import DataError

LEVELS = {"sex": ["man", "woman"]}


def ages(n):
    """One spread for both, though women are of nearly one age."""
    middle = pyro.sample("middle", dist.Normal(30.0, 5.0))
    spread = pyro.sample("spread", dist.HalfNormal(20.0))
    with pyro.plate("individuals", n):
        pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("age", dist.Normal(middle, spread))


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    sex = np.repeat([0, 1], 300)
    return pd.DataFrame(
        {"sex": np.where(sex, "woman", "man"), "age": 29 + np.where(sex, 3.0, 13.0) * rng.standard_normal(600)}
    )


def test_a_trustworthy_computation_of_a_program_that_describes_nobody(people):
    posterior = ca.fit(ca.SCM(ages, levels=LEVELS), people, seed=0)
    assert posterior.diagnostics().ok
    assert posterior.diagnostics().predictive is None
    diagnostics = posterior.diagnostics(by="sex")
    assert diagnostics.ok
    assert diagnostics.fits is False
    assert diagnostics.predictive.startswith("Predictive: simulates age of sex = woman from 1")
    women = people.age[people.sex == "woman"].quantile([0.05, 0.95])
    assert f"where {women.iloc[0]:.4g} to {women.iloc[1]:.4g} were observed" in diagnostics.predictive
    assert str(diagnostics).splitlines() == [diagnostics.verdict, diagnostics.searched, diagnostics.predictive]
    assert "<br>Predictive" in diagnostics._repr_html_()


def test_an_effect_of_the_protected_attribute_that_the_program_leaves_out_is_seen():
    """Women earn 14,000 less, which is half a standard deviation: their range is not far off, their mean is."""

    def salaries(n):
        base = pyro.sample("base", dist.Normal(100_000.0, 50_000.0))
        spread = pyro.sample("spread", dist.HalfNormal(50_000.0))
        with pyro.plate("individuals", n):
            pyro.sample("gender", dist.Bernoulli(0.35))
            pyro.sample("salary", dist.Normal(base, spread))

    people = ca.datasets.make_loan(2000, seed=0)
    scm = ca.SCM(salaries, levels={"gender": ["male", "female"]})
    diagnostics = ca.fit(scm, people, draws=100, seed=0).diagnostics(by="gender")
    assert diagnostics.fits is False
    women = people.salary[people.gender == "female"].mean()
    assert "simulates salary of gender = female with a mean of 92," in diagnostics.predictive
    assert f"where {women:,.0f} was observed" in diagnostics.predictive
    right = ca.fit(ca.models.loan.linear(), people, draws=100, seed=0)
    assert right.diagnostics(by="gender").fits


def test_trust_in_a_computation_is_never_shown_alone(people):
    posterior = ca.fit(ca.SCM(ages, levels=LEVELS), people, draws=50, seed=0)
    shown = str(posterior.diagnostics()).splitlines()
    found = posterior.diagnostics()
    assert shown == [found.verdict, found.searched, "Predictive: not checked; ask for diagnostics(by=...), a column."]
    assert "not checked" in posterior._repr_html_()


def test_shares_of_levels_are_compared():
    def hired(n):
        rate = pyro.sample("rate", dist.Beta(1.0, 1.0))
        with pyro.plate("individuals", n):
            pyro.sample("sex", dist.Bernoulli(0.5))
            pyro.sample("hired", dist.Bernoulli(rate))

    people = pd.DataFrame({"sex": ["man", "woman"] * 500, "hired": [1, 0] * 400 + [0, 1] * 100})
    posterior = ca.fit(ca.SCM(hired, levels=LEVELS), people, seed=0)
    words = posterior.diagnostics(by="sex").predictive
    assert "simulates a share of 0.50 with hired of sex = " in words
    assert "where 0.80 was observed" in words or "where 0.20 was observed" in words


@pytest.mark.parametrize("seed", range(10))
def test_a_program_that_is_right_is_not_accused(seed):
    rng = np.random.default_rng(seed)
    sex = rng.random(200) < 0.5
    people = pd.DataFrame({"sex": np.where(sex, "woman", "man"), "age": 30 + 4 * rng.standard_normal(200)})
    assert ca.fit(ca.SCM(ages, levels=LEVELS), people, draws=100, seed=0).diagnostics(by="sex").fits


def test_bad_groups(people):
    posterior = ca.fit(ca.SCM(ages, levels=LEVELS), people, draws=50, seed=0)
    with pytest.raises(DataError, match="by is 'gender', but must be a variable of the program with a column"):
        posterior.diagnostics(by="gender")
    with pytest.raises(DataError, match="by is 'age', which has 600 values; expected at most 20 groups"):
        posterior.diagnostics(by="age")
