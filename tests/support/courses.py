"""A small world with a known truth: two courses, one of which few take, and the skill that a bank asks for."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist

import causalaudit as ca

LEVELS = {name: ["no", "yes"] for name in ("rare", "usual", "skill")} | {"sex": ["m", "f"]}
TAKEN = {"rare": 0.03, "usual": 0.3}
ARGUMENTS = {
    "protected": "sex",
    "features": ["rare", "usual", "skill"],
    "actions": ca.Actions(weights={"rare": 1.0, "usual": 2.5}, immutable=["skill"]),
    "phi": (0.3, 0.6),
    "budgets": [1.0, 3.0],
    "no_recourse_cost": 6.0,
    "progress": False,
}


def bank(table):
    return (table["skill"] == "yes").astype(int)


def fitted(n):
    base = pyro.sample("base", dist.Normal(0.0, 2.0))
    gains = {name: pyro.sample(name, dist.Normal(0.0, 2.0)) for name in ("rare_m", "rare_f", "usual_m", "usual_f")}
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        logits = base
        for course, share in TAKEN.items():
            taken = pyro.sample(course, dist.Bernoulli(share))
            logits = logits + taken * (gains[f"{course}_m"] * (1 - sex) + gains[f"{course}_f"] * sex)
        pyro.sample("skill", dist.Bernoulli(logits=logits))


def scm():
    return ca.SCM(fitted, levels=LEVELS)


@dataclass(frozen=True)
class World:
    """What courses do to the log-odds of skill, for men and for women."""

    base: float
    rare: tuple[float, float]
    usual: tuple[float, float]

    def chance(self, sex, rare, usual):
        """The probability of skill; all are codes."""
        gain = np.array(self.rare)[sex] * rare + np.array(self.usual)[sex] * usual
        return 1 / (1 + np.exp(-(self.base + gain)))

    def sample(self, rng, n):
        codes = {"sex": rng.integers(0, 2, n)}
        codes |= {name: (rng.random(n) < share).astype(int) for name, share in TAKEN.items()}
        codes["skill"] = (rng.random(n) < self.chance(codes["sex"], codes["rare"], codes["usual"])).astype(int)
        return pd.DataFrame({name: np.array(LEVELS[name])[own] for name, own in codes.items()})

    def population(self, result):
        """The candidates of a result with the shares of the population as counts, of groups of one person."""
        found = result.candidates
        flipped = np.zeros((2, len(found.costs)))
        reached = np.zeros_like(flipped)
        for place in range(len(found)):
            pairs = found.pairs(place)
            before = result.vocabulary.predicate(found.subgroups[place])
            after = [result.vocabulary.predicate(codes) for codes in found.actions[pairs]]
            for sex, name in enumerate(LEVELS["sex"]):
                group = result.groups.index(name)
                flipped[group, pairs], reached[group, pairs] = self._shares(sex, before, after)
        return replace(found, sizes=np.ones_like(found.sizes), flipped=flipped, reached=reached)

    def _shares(self, sex, before, actions):
        """The shares of the unskilled of a subgroup whom each action helps, alone and with those before it."""
        alone, together, total = np.zeros(len(actions)), np.zeros(len(actions)), 0.0
        for rare, usual in product((0, 1), repeat=2):
            cell = {"rare": LEVELS["rare"][rare], "usual": LEVELS["usual"][usual], "skill": "no"}
            if any(cell[name] != value for name, value in before.items()):
                continue
            now = self.chance(sex, rare, usual)
            shares = [TAKEN[name] if taken else 1 - TAKEN[name] for name, taken in (("rare", rare), ("usual", usual))]
            weight = np.prod(shares) * (1 - now)
            then = [{**cell, **action} for action in actions]
            chances = np.array([self.chance(sex, *(other[name] == "yes" for name in TAKEN)) for other in then])
            helped = np.maximum(chances - now, 0.0) / (1 - now)  # the noise is monotone
            alone += weight * helped
            together += weight * np.maximum.accumulate(helped)
            total += weight
        return alone / total, together / total


FAIR = World(-0.5, (1.5, 1.5), (0.7, 0.7))
UNFAIR = World(-0.5, (2.5, 0.5), (0.3, 1.0))
