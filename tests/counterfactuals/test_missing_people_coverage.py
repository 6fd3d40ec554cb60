"""Simulations with known truth: intervals that people with missing values are part of hold what they say."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
from scipy import stats

import causalaudit as ca

DATA_SETS, PEOPLE = 24, 200
PRIOR = {"gap": (1.0, 0.3), "slope": (0.8, 0.3), "direct": (-0.5, 0.3), "trace": (1.0, 0.3)}


def program(n):
    gap, slope, direct, trace = (pyro.sample(name, dist.Normal(*law)) for name, law in PRIOR.items())
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        skill = pyro.sample("skill", dist.Normal(gap * group, 1.0))
        wage = pyro.sample("wage", dist.Normal(slope * skill + direct * group, 1.0))
        pyro.sample("rent", dist.Normal(trace * wage, 0.7))


def simulated(seed):
    """Parameters from the prior, people, the same with values missing, and all of them had they been in the group.

    Whether group, skill and wage are missing (each for a fifth of the people) depends on the rent, which is known of
    all; skill and wage are never missing together.
    """
    rng = np.random.default_rng(seed)
    truth = {name: rng.normal(*law) for name, law in PRIOR.items()}
    group, noise = (rng.random(PEOPLE) < 0.5).astype(float), rng.normal(size=(3, PEOPLE))

    def world(group):
        skill = truth["gap"] * group + noise[0]
        wage = truth["slope"] * skill + truth["direct"] * group + noise[1]
        return pd.DataFrame(
            {"group": group, "skill": skill, "wage": wage, "rent": truth["trace"] * wage + 0.7 * noise[2]}
        )

    people = world(group)
    missing = np.clip(0.42 / (1 + np.exp(-3 * people["rent"])), 0.01, 0.45)
    first, second = rng.random((2, PEOPLE))
    holes = {"group": second < missing, "skill": first < missing, "wage": first > 1 - missing}
    known = people.assign(**{name: people[name].mask(hole) for name, hole in holes.items()})
    return truth, people, known, world(np.ones(PEOPLE))


def holds(draws, truth):
    low, high = np.quantile(draws, [0.05, 0.95])
    return bool(low < truth < high)


def intervals_that_hold(scm, data, truth, people, other, seed):
    """Of the parameters, of the mean counterfactual wage of everybody, and of the first person without a value."""
    posterior = ca.fit(scm, data, draws=250, chains=2, seed=seed, progress=False)
    worlds = ca.counterfactuals(posterior, {"group": 1.0}, progress=False)
    found = {name: holds(draws, truth[name]) for name, draws in posterior.parameters().items()}
    found["mean wage"] = holds(worlds.dataset["wage"].mean("individual"), other["wage"].mean())
    for name in worlds.completed.data_vars:
        if name != "group":
            person = data.index[data[name].isna()][0]
            one = {"individual": person}
            found[f"factual {name}"] = holds(worlds.completed[name].sel(one), people[name][person])
            found[f"counterfactual {name}"] = holds(worlds.dataset[name].sel(one), other[name][person])
    return found


@pytest.mark.slow
def test_intervals_hold_with_values_missing_at_random_and_complete_cases_do_not():
    scm, ours, complete = ca.SCM(program), [], []
    for seed in range(DATA_SETS):
        truth, people, known, other = simulated(seed)
        ours.append(intervals_that_hold(scm, known, truth, people, other, seed))
        complete.append(intervals_that_hold(scm, known.dropna(), truth, people, other, seed))
    low, high = stats.binom.ppf([0.005, 0.995], DATA_SETS, 0.9)
    held = pd.DataFrame(ours).sum()
    assert len(held) == 9
    assert held.between(low, high).all(), held
    wrong = pd.DataFrame(complete).sum()
    assert wrong["mean wage"] < low, wrong
    assert wrong["gap"] < low, wrong
