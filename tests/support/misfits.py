"""People of several true processes, and the one linear program with which all of them are explained."""

from functools import cache

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist

import causalaudit as ca

FEATURES = ["X", "W", "Z"]
WRONG = ("skewed Z", "curved X", "uneven W", "skewed W", "curved W", "crossed W", "curved Y")
COEFFICIENTS = ("x0", "xz", "w0", "wx", "wz", "y0", "yx", "yz", "yw", "z0")


def linear(n):
    """Z → X → W → Y, all linear: what is right for the process "linear" alone."""
    c = {name: pyro.sample(name, dist.Normal(0.0, 2.0)) for name in COEFFICIENTS}
    spread_w, spread_z = (pyro.sample(name, dist.HalfNormal(2.0)) for name in ("spread_w", "spread_z"))
    with pyro.plate("individuals", n):
        z = pyro.sample("Z", dist.Normal(c["z0"], spread_z))
        x = pyro.sample("X", dist.Bernoulli(logits=c["x0"] + c["xz"] * z))
        w = pyro.sample("W", dist.Normal(c["w0"] + c["wx"] * x + c["wz"] * z, spread_w))
        pyro.sample("Y", dist.Bernoulli(logits=c["y0"] + c["yx"] * x + c["yz"] * z + c["yw"] * w))


def expit(values):
    """The logistic function."""
    return 1 / (1 + np.exp(-values))


RULES = {
    "linear": lambda people: people.W + 0.5 * people.Z + 0.4 * people.X > 0.6,
    "band": lambda people: (np.abs(people.Z) < 1 + 0.3 * people.X) & (people.W > -0.5),
    "score": lambda people: expit(-0.5 + 0.8 * people.X + 1.2 * people.W),
}


def noise(rng, n):
    """The noise of n people."""
    return {"Z": rng.normal(size=n), "X": rng.random(n), "W": rng.normal(size=n), "Y": rng.random(n)}


def world(process, u, x=None, y=None):
    """The people with this noise, X and Y being set or not."""
    z = np.exp(0.8 * u["Z"]) - 1.2 if process == "skewed Z" else u["Z"]
    x = u["X"] < expit(z**2 - 1 if process == "curved X" else -0.2 + 0.7 * z) if x is None else np.full(len(z), x)
    means = {"curved W": 0.5 * x + z**2 - 1, "crossed W": 0.2 + 1.2 * x * z}
    errors = {"uneven W": u["W"] * (0.4 + 1.2 * x), "skewed W": np.exp(0.9 * u["W"]) - 1.5}
    w = means.get(process, 0.5 * x + 0.5 * z) + errors.get(process, u["W"])
    bent = -0.5 + 0.4 * x + 0.3 * z + 0.9 * (w**2 - 1)
    odds = bent if process == "curved Y" else -0.5 + 0.4 * x + 0.5 * z + 0.6 * w
    y = u["Y"] < expit(odds) if y is None else np.full(len(z), y)
    return pd.DataFrame({"Z": z, "X": x.astype(int), "W": w, "Y": y.astype(int)})


def people_of(process, n, *seeds):
    """Draw people of a process."""
    return world(process, noise(np.random.default_rng(seeds), n))


def posterior_of_people(people, seed=0):
    """Fit the linear program to them."""
    return ca.fit(ca.SCM(linear), people, draws=200, chains=1, seed=seed, progress=False)


def explain(posterior, rule, **options):
    """Explain their false positives."""
    options = {"draws": 100, "progress": False, **options}
    return ca.decompose_error_rates(posterior, RULES[rule], "X", outcome="Y", features=FEATURES, **options)


@cache
def true_terms(process, rule):
    """Total, direct, indirect and spurious terms of the first decomposition, from 400,000 people in both worlds."""
    u = noise(np.random.default_rng(99), 400_000)
    factual, rates = world(process, u), np.zeros((2, 2, 2))
    for xd, xi in np.ndindex(2, 2):
        answers = np.asarray(RULES[rule](world(process, u, x=xi, y=0).assign(X=xd)), dtype=float)
        rates[xd, xi] = [answers[(x == factual.X) & (factual.Y == 0)].mean() for x in (0, 1)]
    steps = rates[0, 0, 0], rates[1, 0, 0], rates[1, 1, 0], rates[1, 1, 1]
    return np.array([steps[3] - steps[0], *np.diff(steps)])
