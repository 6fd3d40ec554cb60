"""Calibration of situation testing on data simulated from the fitted loan program; the data set is the unit."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from loan_parameters import FITTED
from scipy import stats
from scipy.special import expit

import causalaudit as ca
from causalaudit.models import loan
from causalaudit.scm.simulation import simulate
from causalaudit.situation_testing.neighbours import SearchSpace

# At the edges of simulated data a few complainants have no neighbours like them, which is said each time.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.* rest on a poor match")]

DATA_SETS = 200
PEOPLE = 1000
POPULATION = 40_000  # people of each gender, to tell the rates inside a neighbourhood
ASKED = 40  # complainants of each data set whose neighbourhoods are looked up in the population
K = 15
FEATURES = ["salary", "balance"]


def margin(people):
    return people["salary"] + 5 * people["balance"] - 225_000


# The chance of a rejection: certain on either side of a line, or changing smoothly across it.
RULES = {
    "deterministic": lambda people: (margin(people) <= 0).astype(float),
    "random": lambda people: expit(-margin(people) / 60_000),
}


def tables(people, sets, seed):
    scm = loan.linear()
    drawn = simulate(scm, {name: np.full(sets, value) for name, value in FITTED.items()}, people, sets, seed=seed)
    for number in range(sets):
        part = drawn.isel(draw=number)
        yield pd.DataFrame({name: scm.codec.decode(name, part[name].to_numpy()) for name in scm.variables})


def true_counterfactuals(women):
    salary = women["salary"] - FITTED["penalty"]
    return women.assign(salary=salary, balance=women["balance"] - FITTED["gap"] - FITTED["saving"] * FITTED["penalty"])


@dataclass
class Outcome:
    """What happened in one data set."""

    rank: float
    structural: float
    neighbourhood: float
    chances: np.ndarray
    cases: np.ndarray


def ask(scm, people, number):
    posterior = ca.fit(scm, people, draws=100, chains=4, seed=number, progress=False)
    women = people["gender"] == "female"
    return ca.counterfactuals(posterior, {"gender": "male"}, rows=women, seed=number, progress=False)


def audit(people, worlds, number, rule, population):
    rng = np.random.default_rng(number)
    people = people.assign(approved=(rng.random(len(people)) >= RULES[rule](people)).astype(int))
    women = people.index[people["gender"] == "female"]
    result = ca.situation_testing(
        people,
        "approved",
        {"gender": "female"},
        features=FEATURES,
        counterfactuals=worlds,
        k=K,
        seed=number,
        progress=False,
    )
    truth = ca.CounterfactualDraws.from_frame(true_counterfactuals(people.loc[women])[FEATURES])
    true = (
        ca.situation_testing(people, "approved", {"gender": "female"}, features=FEATURES, counterfactuals=truth, k=K)
        .at()["delta"]
        .to_numpy()
    )
    table = result.at()
    widest = int((table["structural_high"] - table["structural_low"]).to_numpy().argmax())
    draws = result.evidence.draws.delta(0)[:, widest]
    below, equal = (draws < true[widest]).sum(), (draws == true[widest]).sum()
    asked = rng.choice(len(women), ASKED, replace=False)
    rates = neighbourhood_differences(people, truth.point, asked, population, rule)
    rows = table.iloc[asked]
    return Outcome(
        rank=(below + rng.integers(0, equal + 1)) / (len(draws) + 1),
        structural=((table["structural_low"] <= true) & (true <= table["structural_high"])).mean(),
        neighbourhood=((rows["population_low"] <= rates) & (rates <= rows["population_high"])).mean(),
        chances=table["prob_beyond_tau"].to_numpy(),
        cases=true > 0,
    )


def neighbourhood_differences(people, truth, asked, population, rule):
    """The difference of rejection rates in the population, nearer than the k+1-th neighbour of each centre."""
    geometry = ca.Gower().geometry(people[FEATURES])
    women, men = (
        SearchSpace(geometry, geometry.encode(group), (group["approved"] == 0).to_numpy())
        for group in (people[people["gender"] == gender] for gender in ("female", "male"))
    )
    own, other = women.coordinates[asked], geometry.encode(truth)[asked]
    sides = (
        (own, women.nearest(own, K + 1, asked)[1], "female"),
        (other, men.nearest(other, K + 1)[1], "male"),
    )
    rates = []
    for centres, distances, gender in sides:
        everyone = population[population["gender"] == gender]
        inside = geometry.matrix(centres, geometry.encode(everyone)) < distances[:, -1:]
        chance = RULES[rule](everyone).to_numpy()
        rates.append((inside * chance).sum(axis=1) / inside.sum(axis=1))
    return rates[0] - rates[1]


@pytest.fixture(scope="module")
def outcomes():
    (population,) = tables(3 * POPULATION, 1, seed=99)
    population = population.groupby("gender").head(POPULATION)
    scm, found = loan.linear(), {rule: [] for rule in RULES}
    for number, people in enumerate(tables(PEOPLE, DATA_SETS, seed=5)):
        worlds = ask(scm, people, number)
        for rule in RULES:
            found[rule].append(audit(people, worlds, number, rule, population))
    return found


def at_least(shares, prob=0.9):
    """Whether a mean over data sets is at least `prob`, less three standard errors."""
    return np.mean(shares) >= prob - 3 * np.std(shares, ddof=1) / np.sqrt(len(shares))


@pytest.mark.parametrize("rule", RULES)
def test_the_rank_of_delta_at_the_true_counterfactual_is_uniform(outcomes, rule):
    """One complainant from each data set: she with the widest structural interval."""
    ranks = [outcome.rank for outcome in outcomes[rule]]
    assert stats.chisquare(np.histogram(ranks, bins=10, range=(0, 1))[0]).pvalue > 0.01
    assert stats.kstest(ranks, "uniform").pvalue > 0.01


@pytest.mark.parametrize("rule", RULES)
def test_intervals_cover(outcomes, rule):
    """Structural ones delta at the true counterfactual, `population` that in the population of the neighbourhoods."""
    for name in ("structural", "neighbourhood"):
        shares = [getattr(outcome, name) for outcome in outcomes[rule]]
        error = np.std(shares, ddof=1) / np.sqrt(len(shares))
        print(f"{rule}, {name}: {np.mean(shares):.3f} covered (se {error:.3f})")
        assert np.mean(shares) >= 0.9 - 3 * error


@pytest.mark.parametrize("rule", RULES)
def test_probabilities_of_discrimination_are_reliable(outcomes, rule):
    """In each bin, as many cases at the true counterfactual as expected, within three standard errors by data set."""
    edges = [0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0 + 1e-9]
    for low, high in pairwise(edges):
        excess, people = [], 0
        for outcome in outcomes[rule]:
            inside = (outcome.chances >= low) & (outcome.chances < high)
            excess.append((outcome.cases - outcome.chances)[inside].sum())
            people += inside.sum()
        score = np.sum(excess) / np.sqrt(np.sum(np.square(excess)))
        mean = np.sum(excess) / people
        print(f"{rule}, P in [{low:.2f}, {high:.2f}): {people} people, excess {mean:+.3f}, z {score:+.2f}")
        assert abs(score) < 3, (low, high, score)
