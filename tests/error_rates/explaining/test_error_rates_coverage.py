"""How often intervals of explained error rates hold the truth: 400 data sets of 1,000 people."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from finite_programs import (
    GENERIC,
    classifier,
    draw_tables,
    draw_xor,
    free_tables,
    free_xor,
    posterior_of,
    posterior_tables,
    posterior_xor,
    table_program,
)

import causalaudit as ca
from causalaudit.error_rates.explaining.result import summarise
from causalaudit.error_rates.explaining.terms import term_values

pytestmark = pytest.mark.slow
DATA_SETS, PEOPLE, PROB = 400, 1000, 0.9
LOWEST, HIGHEST = 0.86, 0.94  # 99 % bounds of a coverage of 90 % over 400 data sets, rounded
# W acts on Y, so that what is known of the noise of W depends on the probabilities of W, and so do its counterfactuals.
SMALL = {"Z": (0.6,), "X": (0.35, 0.6), "W": (0.3, 0.65), "Y": (0.25, 0.6, 0.4, 0.7)}
STRUCTURE = {"Z": (), "X": ("Z",), "W": ("X",), "Y": ("Z", "W")}
SMALL_RULE = classifier((0.1, 0.7, 0.3, 0.9, 0.35, 0.8, 0.6, 0.95), ("X", "W", "Z"))
GENERIC_RULE = classifier(GENERIC)  # reads D too, which follows from the outcome


@dataclass(frozen=True)
class Case:
    """A program with free parameters, data of a known truth, and its posterior."""

    free: Any
    truth: Any
    draw: Any
    posterior: Any
    rule: Any

    def true_terms(self, rule):
        people = self.draw(np.random.default_rng(0), PEOPLE)
        exact = decompose(ca.fit(self.truth, people, draws=1, chains=1), rule, "exact")
        return exact.table["mean"].to_numpy()


CASES = {
    # All noise is seen: abduction does not depend on the parameters.
    "xor": Case(free_xor(), ca.models.standard_prediction.xor(), draw_xor, posterior_xor, GENERIC_RULE),
    # The noise of W is known up to an interval between probabilities.
    "tables": Case(
        free_tables(STRUCTURE),
        table_program(SMALL, STRUCTURE),
        lambda rng, n: draw_tables(rng, n, SMALL, STRUCTURE),
        lambda rng, people, draws: posterior_tables(rng, people, draws, STRUCTURE),
        SMALL_RULE,
    ),
}


def decompose(posterior, rule, population, seed=0):
    features = ["X", "W", "Z", *(["D"] if rule is GENERIC_RULE else [])]
    return ca.decompose_error_rates(
        posterior,
        rule,
        "X",
        outcome="Y",
        features=features,
        population=population,
        prob=PROB,
        seed=seed,
        progress=False,
    )


def covered(tables, truth, ends=("credible_low", "credible_high")):
    low, high = (np.stack([table[end].to_numpy() for table in tables]) for end in ends)
    slack = 1e-12  # a term that is zero for every classifier is zero up to rounding
    return ((low - slack <= truth) & (truth <= high + slack)).mean(axis=0)


@pytest.mark.filterwarnings("ignore:The program does not give")  # draws of 400 data sets beside another one
@pytest.mark.parametrize(("population", "draws"), [("exact", 1000), ("simulate", 600)])
@pytest.mark.parametrize("name", CASES)
def test_intervals_of_the_population_of_an_scm(name, population, draws):
    case, rng = CASES[name], np.random.default_rng(5)
    rule = case.rule if population == "exact" else SMALL_RULE
    # One posterior holds the draws of all data sets: they are independent of one another.
    parts = [case.posterior(rng, case.draw(rng, PEOPLE), draws) for _ in range(DATA_SETS)]
    pooled = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    result = decompose(posterior_of(case.free, case.draw(rng, PEOPLE), pooled), rule, population)
    by_data_set = term_values(result.draws).reshape(DATA_SETS, draws, -1)
    rates = covered([summarise(values, PROB) for values in by_data_set], case.true_terms(rule))
    print(f"{name}, {population}: {rates.min():.3f} to {rates.max():.3f}")
    assert (rates >= LOWEST).all(), rates
    assert (rates <= HIGHEST).all(), rates


@pytest.mark.filterwarnings("ignore:The program does not give")  # a right one is refuted now and then
@pytest.mark.parametrize("population", ["standardise", "bootstrap"])
@pytest.mark.parametrize("name", CASES)
def test_intervals_of_the_people_of_the_data(name, population):
    case, rng, draws = CASES[name], np.random.default_rng(6), 150
    tables = []
    for seed in range(DATA_SETS):
        people = case.draw(rng, PEOPLE)
        posterior = posterior_of(case.free, people, case.posterior(rng, people, draws))
        tables.append(decompose(posterior, SMALL_RULE, population, seed).table)
    rates = covered(tables, case.true_terms(SMALL_RULE))
    print(f"{name}, {population}: {rates.min():.3f} to {rates.max():.3f}")
    assert (rates >= 0.85).all(), rates


# W does not act on Y, so that Z explains a classifier of X, W and Z.
EXPLAINABLE = {"Z": (0.6,), "X": (0.3, 0.7), "W": (0.2, 0.5, 0.45, 0.75), "Y": (0.15, 0.3, 0.4, 0.6)}
PARENTS = {"Z": (), "X": ("Z",), "W": ("Z", "X"), "Y": ("Z", "X")}


@pytest.mark.parametrize(("propensity", "method"), [("saturated", "ipw"), ("logistic", "ipw"), ("logistic", "plugin")])
def test_wald_intervals_from_the_influence_function(propensity, method):
    scm, rng = table_program(EXPLAINABLE, PARENTS), np.random.default_rng(7)
    rule, features = SMALL_RULE, ["X", "W", "Z"]
    people = [draw_tables(rng, PEOPLE, EXPLAINABLE, PARENTS) for _ in range(DATA_SETS)]
    exact = decompose(ca.fit(scm, people[0], draws=1, chains=1), rule, "exact")
    tables = [
        ca.estimate_error_rates(
            data,
            scm.graph,
            rule,
            protected="X",
            outcome="Y",
            features=features,
            method=method,
            propensity=propensity,
            alpha=1 - PROB,
        ).table
        for data in people
    ]
    rates = covered(tables, exact.table["mean"].to_numpy(), ("wald_low", "wald_high"))
    print(f"{propensity}, {method}: {rates.min():.3f} to {rates.max():.3f}")
    assert (rates >= LOWEST).all(), rates
    assert (rates <= HIGHEST).all(), rates
