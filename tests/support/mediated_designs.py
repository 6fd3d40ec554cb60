"""Designs with a continuous covariate: a linear, a band and a tree-shaped rule, with and without a mediator.

Z ~ N(0, 1) and V ~ U(0, 1); X ~ Bern(σ(f(V, Z))), Y ~ Bern(σ(−.5 + .8 X + .7 Z)), and W ~ N(.7 X + .5 Z, 1), which
does not act on Y. The truth is by simulation of many people, whose W under both levels is known.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

import causalaudit as ca

WITHOUT = ca.diagram([("Z", "X"), ("Z", "Y"), ("V", "X"), ("X", "Y")])
WITH = ca.diagram([("Z", "X"), ("Z", "Y"), ("V", "X"), ("X", "Y"), ("X", "W"), ("Z", "W")])
TERMS = ["total", "direct", "indirect", "spurious"]


def linear(people):
    return people["Z"] + people.get("W", 0) + 0.5 * people["X"] > 0.4


def band(people):
    return (people["Z"] + 0.5 * people.get("W", 0)).abs() < np.where(people["X"] == 1, 1.3, 1.0)


def tree(people):
    w = people.get("W", pd.Series(0.0, people.index))
    return ((people["Z"] < 0.3) & (w < 0.6) & (people["V"] < 0.7)) | ((people["X"] == 1) & (people["Z"] > 1))


def curved(v, z):
    return z**2 - 1


def straight(v, z):
    return 0.6 * z + v - 0.5


@dataclass(frozen=True)
class Design:
    """A rule, what the protected attribute depends on, and whether the rule reads the mediator."""

    rule: object
    log_odds: object
    mediator: bool

    @property
    def features(self):
        return ["X", "Z", *(["V"] if self.rule is tree else []), *(["W"] if self.mediator else [])]

    def draw(self, n, seed):
        rng = np.random.default_rng(seed)
        z, v, noise = rng.normal(size=n), rng.random(n), rng.normal(size=n)
        x = (rng.random(n) < expit(self.log_odds(v, z))).astype(int)
        y = (rng.random(n) < expit(-0.5 + 0.8 * x + 0.7 * z)).astype(int)
        w = 0.7 * x + 0.5 * z + noise
        return pd.DataFrame({"Z": z, "V": v, "X": x, "W": w, "Y": y})

    def truth(self, n=2_000_000):
        """The terms of the first decomposition (Theorem 2), by everybody's counterfactual mediator."""
        people = self.draw(n, 10**6)
        people = people[people["Y"] == 0]

        def rate(xd, xi, x):
            own = people[people["X"] == x]
            changed = own.assign(X=xd, W=own["W"] + 0.7 * (xi - x))
            return self.rule(changed[self.features]).mean()

        total, direct = rate(1, 1, 1) - rate(0, 0, 0), rate(1, 0, 0) - rate(0, 0, 0)
        indirect = rate(1, 1, 0) - rate(1, 0, 0)
        return pd.Series([total, direct, indirect, total - direct - indirect], TERMS)

    def estimate(self, people, **options):
        graph = WITH if self.mediator else WITHOUT
        return ca.estimate_error_rates(
            people, graph, self.rule, protected="X", outcome="Y", features=self.features, **options
        )


DESIGNS = {
    f"{rule.__name__}, {'with' if mediator else 'without'} mediator": Design(rule, log_odds, mediator)
    for rule, log_odds in ((linear, straight), (band, curved), (tree, straight))
    for mediator in (False, True)
}
