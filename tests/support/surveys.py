"""Surveys that sample people with unequal probabilities, which depend on what is studied."""

import pandas as pd
import pyro
import pyro.distributions as dist
from scipy.special import expit

TRUTH = {"share": 0.4, "base": 1.0, "gap": 2.0, "spread": 1.0, "level": -1.0, "slope": 0.5}


def outcomes(n):
    """A group, a score that it changes, and an event that the score makes likelier."""
    share = pyro.sample("share", dist.Beta(1.0, 1.0))
    base, gap = pyro.sample("base", dist.Normal(0.0, 10.0)), pyro.sample("gap", dist.Normal(0.0, 10.0))
    spread = pyro.sample("spread", dist.HalfNormal(5.0))
    level, slope = pyro.sample("level", dist.Normal(0.0, 3.0)), pyro.sample("slope", dist.Normal(0.0, 3.0))
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(share))
        score = pyro.sample("score", dist.Normal(base + gap * group, spread))
        pyro.sample("event", dist.Bernoulli(logits=level + slope * score))


def draw_population(rng, n):
    """People of the population."""
    group = (rng.random(n) < TRUTH["share"]).astype(int)
    score = TRUTH["base"] + TRUTH["gap"] * group + TRUTH["spread"] * rng.normal(size=n)
    event = (rng.random(n) < expit(TRUTH["level"] + TRUTH["slope"] * score)).astype(int)
    return pd.DataFrame({"group": group, "score": score, "event": event})


def draw_survey(rng, n):
    """People who are sampled the more often, the higher their score and if they had the event; and their weights."""
    people = draw_population(rng, 8 * n)
    chance = expit(-1.5 + 0.7 * people["score"] + 0.8 * people["event"]) * 0.9 + 0.05
    sampled = people[rng.random(len(people)) < chance].head(n)
    assert len(sampled) == n
    return sampled.assign(w=1 / chance).reset_index(drop=True)


def sample_survey(rng, people, chance):
    """Sample people independently, with their probabilities, and give them weights."""
    sampled = rng.random(len(people)) < chance
    return people[sampled].assign(w=1 / chance[sampled]).reset_index(drop=True)
