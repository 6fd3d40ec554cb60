"""Finite populations for fair classifiers: every state once, with its probability; and what is true of them."""

import functools
import itertools

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist

import causalaudit as ca

# P(variable = 1) as a function of the values before it, in causal order: SCM-B of the standard prediction model.
SCM_B = {
    "Z": lambda v: 0.6,
    "X": lambda v: 0.3 + 0.4 * v["Z"],
    "W": lambda v: 0.2 + 0.3 * v["X"] + 0.25 * v["Z"],
    "Y": lambda v: 0.1 + 0.15 * v["X"] + 0.2 * v["Z"] + 0.35 * v["W"],
    "D": lambda v: 0.07 + 0.1 * v["X"] + 0.15 * v["Z"] + 0.2 * v["W"] + 0.41 * v["Y"],
}
# W does not affect Y, and D follows from X, Z, Y: with Z as covariate, all of X, W, Z, D can be explained.
EXPLAINABLE = {
    "Z": lambda v: 0.55,
    "X": lambda v: 0.35 + 0.3 * v["Z"],
    "W": lambda v: 0.2 + 0.4 * v["X"] + 0.2 * v["Z"],
    "Y": lambda v: 0.25 + 0.25 * v["X"] + 0.3 * v["Z"],
    "D": lambda v: 0.1 + 0.15 * v["X"] + 0.2 * v["Z"] + 0.4 * v["Y"],
}
SCMS = {"scm_b": SCM_B, "explainable": EXPLAINABLE}
EXPLAINABLE_GRAPH = ca.diagram(
    [("Z", "X"), ("Z", "W"), ("Z", "Y"), ("Z", "D"), ("X", "W"), ("X", "Y"), ("X", "D"), ("Y", "D")]
)


def population(scm):
    """All states of a binary SCM, with their probabilities in the column `share`."""
    rows = []
    for values in itertools.product((0, 1), repeat=len(scm)):
        person = dict(zip(scm, values, strict=True))
        shares = [law(person) if person[name] else 1 - law(person) for name, law in scm.items()]
        rows.append({**person, "share": np.prod(shares)})
    return pd.DataFrame(rows)


def explainable_program(n):
    with pyro.plate("individuals", n):
        z = pyro.sample("Z", dist.Bernoulli(0.55))
        x = pyro.sample("X", dist.Bernoulli(0.35 + 0.3 * z))
        pyro.sample("W", dist.Bernoulli(0.2 + 0.4 * x + 0.2 * z))
        y = pyro.sample("Y", dist.Bernoulli(0.25 + 0.25 * x + 0.3 * z))
        pyro.sample("D", dist.Bernoulli(0.1 + 0.15 * x + 0.2 * z + 0.4 * y))


@functools.cache
def world(name, made_by, given, y):
    """Features under do(X = made_by, Y = y) of the people with X = given and Y = y, and their shares.

    By summing over all noises, each cut at every probability its variable can have. The monotone noise of the programs:
    a variable is 1 where its uniform noise exceeds 1 - p. Nothing here is shared with the package.
    """
    scm, cuts = SCMS[name], {}
    for variable, law in scm.items():
        ps = {law(dict(zip(scm, v, strict=True))) for v in itertools.product((0, 1), repeat=len(scm))}
        ends = np.array([0.0, *sorted(1 - p for p in ps), 1.0])
        cuts[variable] = [((low + high) / 2, high - low) for low, high in itertools.pairwise(ends)]
    found = []
    for noise in itertools.product(*cuts.values()):
        factual, other = {}, {}
        for (variable, law), (u, _) in zip(scm.items(), noise, strict=True):
            factual[variable] = int(u > 1 - law(factual))
            other[variable] = {"X": made_by, "Y": y}.get(variable, int(u > 1 - law(other)))
        if factual["X"] == given and factual["Y"] == y:
            found.append({**other, "share": np.prod([size for _, size in noise])})
    people = pd.DataFrame(found).groupby(list(scm), as_index=False)["share"].sum()
    return people.assign(share=people["share"] / people["share"].sum())


def true_terms(name, rule, y):
    """The additive terms of Theorem 2 of a rule, a function of a table."""
    worlds = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1))  # X as it is read, X as it made the features, whose noise
    rates = []
    for read, made_by, given in worlds:
        people = world(name, made_by, given, y)
        rates.append(float(people["share"] @ rule(people.assign(X=read))))
    return {
        "total": rates[3] - rates[0],
        "direct": rates[1] - rates[0],
        "indirect": rates[2] - rates[1],
        "spurious": rates[3] - rates[2],
    }


def draw_people(n, seed, scm=EXPLAINABLE):
    """People of an SCM."""
    rng, people = np.random.default_rng(seed), pd.DataFrame(index=range(n))
    for name, law in scm.items():
        people[name] = (rng.random(n) < law(people)).astype(int)
    return people
