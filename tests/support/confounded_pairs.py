"""Two variables, the first a cause of the second, with a hidden common cause: programs, and people of known truth."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
from scipy import stats
from scipy.special import expit

import causalaudit as ca

TRUTH = {"NormalNormal": 1.0, "BernoulliNormal": -1.0, "NormalBernoulli": 0.286, "BernoulliBernoulli": 0.727}
SHARE = 0.4


def pair(kind):
    """a → b, both free of everything else."""
    first_normal, second_normal = kind.startswith("Normal"), kind.endswith("Normal")

    def program(n):
        level, slope = pyro.sample("level", dist.Normal(0.0, 5.0)), pyro.sample("slope", dist.Normal(0.0, 5.0))
        if first_normal:
            first = dist.Normal(
                pyro.sample("centre", dist.Normal(0.0, 5.0)), pyro.sample("width", dist.HalfNormal(5.0))
            )
        else:
            first = dist.Bernoulli(pyro.sample("share", dist.Beta(1.0, 1.0)))
        width = pyro.sample("spread", dist.HalfNormal(5.0)) if second_normal else None
        with pyro.plate("individuals", n):
            mean = level + slope * pyro.sample("a", first)
            pyro.sample("b", dist.Bernoulli(logits=mean) if width is None else dist.Normal(mean, width))

    return ca.SCM(program, name=kind)


def people_of(kind, rho, n, seed):
    """People of a pair whose noises have a correlation on the normal scale."""
    noise = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=n)
    a = 0.5 + noise[:, 0] if kind.startswith("Normal") else (noise[:, 0] > stats.norm.ppf(1 - SHARE)).astype(float)
    mean = -0.3 + TRUTH[kind] * a
    if kind.endswith("Normal"):
        return pd.DataFrame({"a": a, "b": mean + 1.2 * noise[:, 1]})
    return pd.DataFrame({"a": a, "b": (noise[:, 1] > -stats.norm.ppf(expit(mean))).astype(float)})
