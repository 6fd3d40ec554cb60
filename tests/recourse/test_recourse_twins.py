"""Twins are priced as if they were real people: exactly, with the actions of the subgroups that they are in."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import schooling

import causalaudit as ca

CUTS = {"skill": (0.0, 1.0), "hours": (28.0, 36.0)}
BINS = {"skill": ["poor", "fair", "good"], "hours": ["short", "mid", "long"]}
STANDS = {
    "skill": {"poor": -1.0, "fair": 0.5, "good": 1.5},
    "hours": {"short": 25.0, "mid": 32.0, "long": 40.0},
}


def program(n):
    """Known equations with noise that values tell exactly: who would have a twin's values has the twin's noise."""
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        skill = pyro.sample("skill", dist.Normal(0.6 - 0.7 * sex, 1.0))
        pyro.sample("hours", dist.Normal(32.0 + 3.0 * skill - 2.0 * sex, 4.0))


def classifier(table):
    score = 1.0 * (table["skill"] == "good") + 0.6 * (table["skill"] == "fair") + 1.0 * (table["hours"] == "long")
    score += 0.5 * (table["hours"] == "mid") * (table["region"] == "n")
    return (score - 0.3 * (table["sex"] == "f") > 1.0).astype(int)


def people_and_twins(number, seed=0):
    """Everybody twice: as they are, and (marked with a star) as they would be with the other sex."""
    rng = np.random.default_rng(seed)
    sex, noise = rng.integers(0, 2, number), rng.standard_normal((2, number))
    region = rng.choice(["n", "s"], number)
    tables = []
    for own, mark in ((sex, ""), (1 - sex, "*")):
        skill = 0.6 - 0.7 * own + noise[0]
        hours = 32.0 + 3.0 * skill - 2.0 * own + 4.0 * noise[1]
        columns = {"sex": np.array(["m", "f"])[own], "skill": skill, "hours": hours, "region": region}
        tables.append(pd.DataFrame(columns, index=[f"{place}{mark}" for place in range(number)]))
    return pd.concat(tables)


def binned(people):
    return people.assign(**{name: np.array(BINS[name])[np.digitize(people[name], CUTS[name])] for name in BINS})


def audit(people, thresholds=(), **changes):
    posterior = ca.fit(ca.SCM(program, levels={"sex": ["m", "f"]}), people, draws=2, chains=1, progress=False)
    usual = {
        "ordinal": ["skill", "hours"],
        "orders": BINS,
        "immutable": ["region"],
        "weights": {"skill": 2.0, "hours": 0.7},
        "values": STANDS,
    }
    return ca.audit_recourse(
        binned(people), classifier, "sex", ["skill", "hours", "region"], posterior=posterior, support=0.03,
        thresholds=thresholds, actions=ca.Actions(**{**usual, **changes}), progress=False,
    )  # fmt: skip


def whole_action(before, after):
    """A cost that depends on what a subgroup keeps as well."""
    return sum(before[name] != after[name] for name in before) + 0.25 * len(before)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"increasing": ["skill"]},
        {"weights": whole_action},
        {"thresholds": ["skill", "hours"]},
        {"subsets": True},
    ],
    ids=["free to go down", "skill may not go down", "a cost of whole actions", "thresholds", "some features"],
)
def test_a_twin_costs_what_it_costs_as_a_real_person(changes):
    """Of 490 people and more, every twin is in the data as a real person: costs and differences agree exactly."""
    people = people_and_twins(430)
    found = audit(people, **changes)
    table = found.individuals()
    affected = people.index[classifier(binned(people)) == 0]
    assert len(table) >= 490
    twin = table.index.map(lambda label: label.removesuffix("*") if label.endswith("*") else f"{label}*")
    real = table["cost"].reindex(twin).to_numpy()
    expected = np.where(np.isin(twin, affected), np.where(np.isnan(real), np.inf, real), 0.0)
    wrong = table["twin_cost"].to_numpy() != expected
    assert not wrong.any(), f"{wrong.sum()} of {len(table)} twins are mispriced"
    own = table["cost"].to_numpy()
    both = np.isinf(own) & np.isinf(expected)
    apart = np.where(both, 0.0, own) - np.where(both, 0.0, expected)
    np.testing.assert_array_equal(table["prob_worse"], apart > 0)
    np.testing.assert_array_equal(table["prob_better"], apart < 0)
    np.testing.assert_array_equal(table["credible_low"], apart)


@pytest.mark.filterwarnings("ignore:The .* draws of the posterior differ")
def test_twins_of_uncertain_people_are_priced_in_every_draw():
    """Against counterfactuals one by one: in each draw the actions of the subgroups that the twin is in there."""
    people = schooling.sample(150, seed=3)
    posterior = ca.fit(schooling.scm(schooling.fitted), people, draws=3, chains=2, seed=0, progress=False)
    data = schooling.binned(people)
    arguments = {**schooling.BINNED, "support": 0.15}
    found = ca.audit_recourse(data, schooling.classifier, posterior=posterior, **arguments)
    table, cuts = found.individuals(), schooling.learned_cuts(people)
    affected = data.index[schooling.classifier(data) == 0]
    other, region = people.loc[affected, "sex"].map({"f": "m", "m": "f"}), people.loc[affected, "region"].to_numpy()

    def worlds(change):
        """The features of the twins after a change, in every draw."""
        do = {name: schooling.STANDS.get(name, {}).get(value, value) for name, value in change.items()}
        drawn = ca.counterfactuals(posterior, {"sex": list(other), **do}, rows=affected, progress=False).dataset
        for draw in range(6):
            values = {name: drawn[name].to_numpy()[draw] for name in ("sex", "school", "job", "hours")}
            codes = {name: values[name].astype(int) if name in schooling.LEVELS else values[name] for name in values}
            yield schooling.binned(schooling.table(codes, region, affected), cuts).assign(**change)

    def good(change):
        return np.stack([schooling.classifier(twins).to_numpy() == 1 for twins in worlds(change)])

    twins = {name: np.stack([world[name] for world in worlds({})]) for name in found.vocabulary.features}
    costs, known, candidates = np.where(good({}), 0.0, np.inf), {}, found.candidates
    for pair, subgroup in enumerate(candidates.subgroup):
        before = found.vocabulary.predicate(candidates.subgroups[subgroup])
        after = found.vocabulary.predicate(candidates.actions[pair])
        change = {name: value for name, value in after.items() if before[name] != value}
        if str(change) not in known:
            known[str(change)] = good(change)
        offered = np.all([twins[name] == value for name, value in before.items()], axis=0)
        costs = np.where(offered & known[str(change)], np.minimum(costs, candidates.costs[pair]), costs)
    expected = pd.Series(np.median(costs, axis=0), affected)
    np.testing.assert_array_equal(table["twin_cost"], expected[table.index])
    assert (costs.min(axis=0) < costs.max(axis=0)).any()  # twins differ from draw to draw
