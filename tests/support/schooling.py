"""A small world of schooling, jobs and hours, in which one feature causes another, or none does."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch

import causalaudit as ca

LEVELS = {"sex": ["m", "f"], "school": ["none", "some", "much"], "job": ["low", "high"]}
ORDERS = {"hours": ["short", "mid", "long"], "school": LEVELS["school"]}
STANDS = {"hours": {"short": 25.0, "mid": 32.0, "long": 42.0}}


def actions(**changes):
    """What people can do, save what is said otherwise."""
    usual = {"ordinal": ["hours", "school"], "orders": ORDERS, "immutable": ["region"], "increasing": ["school"]}
    return ca.Actions(**{**usual, **changes})


ARGUMENTS = {
    "protected": "sex",
    "features": ["school", "job", "hours", "region"],
    "actions": actions(),
    "support": 0.05,
    "no_recourse_cost": 10.0,
    "progress": False,
}
BINNED = {**ARGUMENTS, "actions": actions(values=STANDS)}
TRUTH = {"hiring": 1.2, "base": -1.0, "pay": 8.0}


def classifier(table):
    score = 1.0 * (table["job"] == "high") + (table["hours"] == "long") + 0.5 * (table["school"] == "much")
    return (score + 0.5 * (table["region"] == "n") - 0.3 * (table["sex"] == "f") > 1.2).astype(int)


def equations(n, hiring, base, pay):
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        logits = torch.stack([0 * sex, 0.3 - 0.6 * sex, -0.3 - 0.6 * sex], -1)
        school = pyro.sample("school", dist.Categorical(logits=logits))
        job = pyro.sample("job", dist.Bernoulli(logits=base + hiring * school))
        pyro.sample("hours", dist.Normal(30.0 + pay * job, 5.0))


def fitted(n):
    hiring = pyro.sample("hiring", dist.Normal(1.0, 1.0))
    base = pyro.sample("base", dist.Normal(-1.0, 1.0))
    equations(n, hiring, base, pyro.sample("pay", dist.Normal(8.0, 4.0)))


def known(n):
    equations(n, **{name: torch.tensor(value) for name, value in TRUTH.items()})


def unrelated(n):
    """Sex causes every feature, and no feature causes another."""
    gap = pyro.sample("gap", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("school", dist.Categorical(logits=torch.stack([0 * sex, gap * sex, -gap * sex], -1)))
        pyro.sample("job", dist.Bernoulli(logits=gap * sex))
        pyro.sample("hours", dist.Normal(32.0 + gap * sex, 8.0))


def scm(program):
    return ca.SCM(program, levels=LEVELS)


def draw_noise(rng, n):
    """What a person is born with: sex, region and the noise of every variable."""
    return {
        "sex": rng.integers(0, 2, n),
        "region": rng.choice(["n", "s"], n),
        "school": rng.gumbel(size=(n, 3)),
        "job": rng.random(n),
        "hours": rng.standard_normal(n),
    }


def person(noise, hiring, base, pay, do=None):
    """The person that the noise makes, after an intervention; codes for levels."""
    do, sex = do or {}, (do or {}).get("sex", noise["sex"])
    logits = np.stack([0 * sex, 0.3 - 0.6 * sex, -0.3 - 0.6 * sex], axis=1)
    school = do.get("school", (logits + noise["school"]).argmax(axis=1))
    high = 1 / (1 + np.exp(-(base + hiring * school)))
    job = do.get("job", (noise["job"] > 1 - high).astype(int))
    hours = do.get("hours", 30.0 + pay * job + 5.0 * noise["hours"])
    return {"sex": sex, "school": school, "job": job, "hours": hours}


def table(values, region, index=None):
    columns = {name: np.array(LEVELS[name])[values[name]] if name in LEVELS else values[name] for name in values}
    return pd.DataFrame({**columns, "region": region}, index=index)


def binned(people, cuts=(28.0, 36.0)):
    """The same people with hours in three bins."""
    return people.assign(hours=np.array(ORDERS["hours"])[np.digitize(people["hours"], cuts, right=True)])


def learned_cuts(people):
    """Between the bins, as far as people tell."""
    hours = people["hours"].to_numpy()
    return [(hours[hours <= cut].max() + hours[hours > cut].min()) / 2 for cut in (28.0, 36.0)]


def sample(n=800, seed=0):
    noise = draw_noise(np.random.default_rng(seed), n)
    index = pd.Index([f"p{number}" for number in range(n)])
    return table(person(noise, **TRUTH), noise["region"], index)
