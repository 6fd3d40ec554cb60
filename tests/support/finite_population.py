"""A population with few kinds of people, whose shares are known: what every notion says of it is exact."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from causalaudit.recourse import AtLeast, AtMost

LEVELS = {"skill": [0, 1, 2, 3], "hours": ["part", "full", "over"], "team": ["a", "b", "c"], "town": ["n", "s"]}
ORDERS = {"hours": LEVELS["hours"]}


def company(table):
    """Who is hired; the two sexes are asked for different things, and no score adds up."""
    hours, female = table["hours"].map({"part": 0, "full": 1, "over": 2}).astype(int), table["sex"] == "f"
    skilled = table["skill"] >= np.where(female & (table["team"] == "a"), 3, 2)
    return (skilled & (hours >= 1) | (hours == 2) & (table["town"] == "n") & ~female).astype(int)


class FinitePopulation:
    """Every kind of person with its share, and what the classifier says."""

    def __init__(self, seed=0):
        self.kinds = pd.DataFrame(list(product("mf", *LEVELS.values())), columns=["sex", *LEVELS])
        self.shares = np.random.default_rng(seed).dirichlet(np.ones(len(self.kinds)))
        self.good = company(self.kinds).to_numpy().reshape(2, *map(len, LEVELS.values())).astype(bool)
        self.codes = np.indices(self.good.shape).reshape(self.good.ndim, -1)

    def sample(self, rng, n):
        return self.kinds.iloc[rng.choice(len(self.kinds), n, p=self.shares)].reset_index(drop=True)

    def population(self, result):
        """The candidates of a result with the shares of the population as counts, of groups of one person."""
        found = result.candidates
        flipped, reached = np.zeros((2, 2, len(found.costs)))
        for place in range(len(found)):
            inside = inside_of(result.vocabulary.predicate(found.subgroups[place]), self.kinds) & ~self.good.ravel()
            helped = np.stack([self.after(change) for change in changes_of(result, place)])
            for group, level in enumerate(result.groups):
                own = inside & (self.kinds["sex"] == level).to_numpy()
                shares = self.shares[own] / self.shares[own].sum()
                flipped[group, found.pairs(place)] = helped[:, own] @ shares
                reached[group, found.pairs(place)] = np.maximum.accumulate(helped[:, own], axis=0) @ shares
        return replace(found, sizes=np.ones_like(found.sizes), flipped=flipped, reached=reached)

    def after(self, change):
        """Who of all kinds is hired after a change."""
        codes = list(self.codes)
        for name, value in change.items():
            codes[1 + list(LEVELS).index(name)] = LEVELS[name].index(value)
        return self.good[tuple(np.broadcast_arrays(*codes))]


def changes_of(result, place):
    """What the actions of a subgroup change."""
    found = result.candidates
    for codes in found.actions[found.pairs(place)]:
        yield result.vocabulary.predicate(np.where(codes == found.subgroups[place], -1, codes))


def inside_of(predicate, people):
    """Who is in a subgroup."""
    return np.all([_says(people[name], value) for name, value in predicate.items()], axis=0)


def _says(column, value):
    if not isinstance(value, AtLeast | AtMost):
        return column == value
    place, codes = LEVELS[column.name].index(value.value), column.map(LEVELS[column.name].index)
    return codes >= place if isinstance(value, AtLeast) else codes <= place
