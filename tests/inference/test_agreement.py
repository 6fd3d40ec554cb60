"""NUTS and Laplace are different ways to the same posterior: they agree on every model that is shipped."""

import arviz as az
import numpy as np
import pandas as pd
import pytest
from law_school_people import simulated_level_2
from scipy import stats

import causalaudit as ca
from causalaudit.models import adult, compas, german_credit, law_school, loan, mediation, standard_prediction
from causalaudit.scm.simulation import simulate

MODELS = {
    "loan": (loan.linear, 300),
    "level 2": (law_school.level_2, 300),  # at parameters like those of the survey: its prior has none in the middle
    "level 3": (law_school.level_3, 300),
    "level 3, interaction": (law_school.level_3_interaction, 300),
    "intersectional": (law_school.intersectional, 300),
    "mediation": (mediation.linear, 300),
    "xor": (standard_prediction.xor, 300),
    "xor of exogenous sites": (standard_prediction.xor_exogenous, 300),
    "plain Bernoulli": (standard_prediction.plain_bernoulli, 300),
    "SCM-B": (standard_prediction.scm_b, 300),
    "compas": (compas.figure_1, 500),
    "german credit": (german_credit.applications, 500),
    "adult": (adult.census, 1000),
}
PROBABILITY = 1e-3  # of a false alarm in one model


def people_of(scm, n):
    """Draw people from the prior's own middle: parameters at the medians of the prior."""
    prior = scm.prior_predictive(n=1, draws=400, seed=0)
    middle = {name: np.median(prior[name].to_numpy(), axis=0, keepdims=True) for name in scm.parameters}
    drawn = simulate(scm, middle, n, 1, seed=0).isel(draw=0)
    return pd.DataFrame({name: scm.codec.decode(name, drawn[name].to_numpy()) for name in scm.columns})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Not trustworthy.*ask for more draws")
@pytest.mark.parametrize("model", MODELS)
def test_nuts_and_laplace_agree(model):
    builder, n = MODELS[model]
    scm = builder()
    if not scm.parameters:
        pytest.skip("the program has no free parameters: there is nothing to infer")
    people = simulated_level_2(n, seed=5)[1] if model == "level 2" else people_of(scm, n)
    laplace = ca.fit(scm, people, method="laplace", draws=1000, chains=4, seed=1)
    # Chains of level 2 are slow to mix: the errors of the spreads of short ones are underestimated.
    nuts = ca.fit(scm, people, method="nuts", draws=600 if model == "level 2" else 150, chains=2, seed=2)
    assert laplace.diagnostics().ok
    assert nuts.diagnostics().numbers["divergences"] == 0
    one, other = laplace.summary(), nuts.summary()
    error = np.sqrt(one["mcse"] ** 2 + other["mcse"] ** 2)
    most = stats.norm.isf(PROBABILITY / 2 / len(one))
    assert ((one["mean"] - other["mean"]).abs() < most * error).all()
    # Whitened chains are antithetic: their means are better than those of independent draws, their spreads worse.
    chains = az.mcse(nuts.idata, method="sd")
    error = np.hypot(one["sd"] / np.sqrt(2 * one["ess"]), [float(x) for name in chains for x in np.ravel(chains[name])])
    assert ((one["sd"] - other["sd"]).abs() < most * error).all()
