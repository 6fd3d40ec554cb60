"""Calibration by simulation: the intervals we print are intervals whose coverage we have seen (ranks: `test_sbc`)."""

import numpy as np
import pandas as pd
import pytest
from loan_parameters import FITTED
from scipy import stats

import causalaudit as ca
from causalaudit.intervals import hdi
from causalaudit.models import loan
from causalaudit.scm.simulation import simulate

pytestmark = pytest.mark.slow

DATA_SETS = 200
PEOPLE = 300


def binomial_bounds(share: float, repetitions: int) -> tuple[float, float]:
    """The 99 % bounds of a count of successes."""
    return tuple(stats.binom.ppf([0.005, 0.995], repetitions, share))


def table(scm, drawn):
    return pd.DataFrame({name: scm.codec.decode(name, drawn[name].to_numpy()) for name in scm.variables})


@pytest.fixture(scope="module")
def scm():
    return loan.linear()


def test_intervals_of_counterfactuals_cover(scm):
    """One woman from each of 200 data sets simulated from the fitted program."""
    parameters = {name: np.full(DATA_SETS, value) for name, value in FITTED.items()}
    drawn = simulate(scm, parameters, PEOPLE, DATA_SETS, seed=1)
    covered = {"salary": 0, "balance": 0}
    for number in range(DATA_SETS):
        people = table(scm, drawn.isel(draw=number))
        posterior = ca.fit(scm, people, draws=250, chains=4, seed=number)
        woman = people.index[people["gender"] == "female"][:1]
        worlds = ca.counterfactuals(posterior, {"gender": "male"}, rows=woman, seed=number)
        salary = people.loc[woman[0], "salary"] - FITTED["penalty"]
        balance = people.loc[woman[0], "balance"] - FITTED["gap"] - FITTED["saving"] * FITTED["penalty"]
        for name, truth in (("salary", salary), ("balance", balance)):
            low, high = hdi(worlds.dataset[name].to_numpy()[:, 0], 0.9)
            covered[name] += low <= truth <= high
    fewest, most = binomial_bounds(0.9, DATA_SETS)
    assert fewest <= covered["salary"] <= most
    assert fewest <= covered["balance"] <= most


def test_the_fitted_model_covers_few_true_counterfactuals_of_the_papers_process(scm):
    """Each woman's penalty is her own: the model that gives all the same covers some 24 % of them, as documented."""
    applicants = ca.datasets.make_loan(5000, seed=3)
    women = applicants["gender"] == "female"
    posterior = ca.fit(scm, applicants, seed=0)
    worlds = ca.counterfactuals(posterior, {"gender": "male"}, rows=women, draws=1000)
    low, high = hdi(worlds.dataset["salary"].to_numpy(), 0.9)
    truth = worlds.factual["salary_if_male"].to_numpy()
    assert np.mean((low <= truth) & (truth <= high)) == pytest.approx(0.24, abs=0.05)
    # The average is right all the same.
    shift = (worlds.dataset["salary"].to_numpy() - worlds.factual["salary"].to_numpy()).mean(axis=1)
    low, high = hdi(shift, 0.99)
    assert low <= (truth - worlds.factual["salary"]).mean() <= high
