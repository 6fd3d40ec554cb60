"""Finite programs with known truths: the XOR model and free tables, their data, and their exact posteriors."""

import arviz as az
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch

import causalaudit as ca
from causalaudit.inference import Posterior
from causalaudit.models.standard_prediction import Xor

NAMES = ("Z", "X", "W", "Y", "D")
PARENTS = {"Z": (), "X": ("Z",), "W": ("Z", "X"), "Y": ("Z", "X", "W"), "D": ("Z", "X", "W", "Y")}
# P(variable = 1) by its parents, the last of which moves fastest.
XOR_NOISE = {"Z": 0.9, "X": 0.5, "W": 0.1, "Y": 0.1, "D": 0.1}
SCM_B = {
    "Z": (0.60,),
    "X": tuple(0.30 + 0.40 * z for z in (0, 1)),
    "W": tuple(0.20 + 0.30 * x + 0.25 * z for z in (0, 1) for x in (0, 1)),
    "Y": tuple(0.10 + 0.15 * x + 0.20 * z + 0.35 * w for z in (0, 1) for x in (0, 1) for w in (0, 1)),
    "D": tuple(
        0.07 + 0.10 * x + 0.15 * z + 0.20 * w + 0.41 * y
        for z in (0, 1) for x in (0, 1) for w in (0, 1) for y in (0, 1)
    ),
}  # fmt: skip
# Cells of a classifier's table, theta[x, w, z, d], in the order of itertools.product.
GENERIC = (0.61, 0.86, 0.75, 0.25, 0.32, 0.84, 0.05, 0.79, 0.77, 0.47, 0.32, 0.3, 0.28, 0.45, 0.5, 0.55)
OPTIMAL_B = (0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1)


def classifier(theta, names=("X", "W", "Z", "D")):
    """The randomised classifier that gives the label 1 with these probabilities, by cell of its binary features."""
    table = np.asarray(theta, dtype=float).reshape([2] * len(names))
    return lambda people: table[tuple(people[name].to_numpy().astype(int) for name in names)]


def cells_of(values, parents):
    """The position of the parents' values in a table."""
    index = 0
    for parent in parents:
        index = 2 * index + values[parent]
    return index


def table_program(tables, parents=None, latents=()):
    """The program whose variables are Bernoulli with a probability for each state of their parents."""
    parents = PARENTS if parents is None else parents

    def program(n):
        values = {}
        with pyro.plate("individuals", n):
            for name, table in tables.items():
                index = cells_of(values, parents[name]) if parents[name] else torch.zeros(n)
                chance = torch.tensor(table)[torch.as_tensor(index).long()]
                values[name] = pyro.sample(name, dist.Bernoulli(chance))

    return ca.SCM(program, latents=latents)


def free_tables(structure=None):
    """The standard prediction model with a free probability for each state of the parents: monotone noise."""
    structure = PARENTS if structure is None else structure

    def program(n):
        chances = {
            name: pyro.sample(f"p_{name}", dist.Beta(1.0, 1.0).expand([2 ** len(parents)]).to_event(1))
            for name, parents in structure.items()
        }
        values = {}
        with pyro.plate("individuals", n):
            for name, parents in structure.items():
                index = cells_of(values, parents) if parents else torch.zeros(n)
                values[name] = pyro.sample(name, dist.Bernoulli(chances[name][index.long()]))

    return ca.SCM(program)


def free_xor():
    """Experiment 1 with free rates of its noise."""

    def program(n):
        chances = {name: pyro.sample(f"p_{name}", dist.Beta(1.0, 1.0)) for name in NAMES}
        values = {}
        with pyro.plate("individuals", n):
            for name, parents in PARENTS.items():
                noise = dist.Bernoulli(chances[name].expand(n))
                flips = sum((values[parent] for parent in parents), torch.zeros(n)) % 2
                law = dist.TransformedDistribution(noise, [Xor(flips)]) if parents else noise
                values[name] = pyro.sample(name, law)

    return ca.SCM(program)


def draw_tables(rng, n, tables=None, parents=None):
    """People of tables with monotone noise; by default of SCM-B."""
    values = {}
    for name, table in (SCM_B if tables is None else tables).items():
        index = cells_of(values, (parents or PARENTS)[name])
        values[name] = (rng.random(n) < np.asarray(table)[index]).astype(int)
    return pd.DataFrame(values)


def draw_xor(rng, n, noise=XOR_NOISE):
    """People of experiment 1."""
    values = {}
    for name, parents in PARENTS.items():
        values[name] = (sum((values[p] for p in parents), np.zeros(n, int)) + (rng.random(n) < noise[name])) % 2
    return pd.DataFrame(values)


def posterior_tables(rng, data, draws, structure=None):
    """Draws from the exact posterior of `free_tables`."""
    drawn = {}
    for name, parents in (PARENTS if structure is None else structure).items():
        index = np.broadcast_to(cells_of(data, parents), len(data))
        size, ones = (np.bincount(index, weights, 2 ** len(parents)) for weights in (None, data[name]))
        drawn[f"p_{name}"] = rng.beta(1 + ones, 1 + size - ones, (draws, len(size)))
    return drawn


def posterior_xor(rng, data, draws):
    """Draws from the exact posterior of `free_xor`: all noise is seen."""
    drawn = {}
    for name, parents in PARENTS.items():
        ones = ((data[list(parents)].sum(axis=1) + data[name]) % 2).sum()
        drawn[f"p_{name}"] = rng.beta(1 + ones, 1 + len(data) - ones, draws)
    return drawn


def posterior_of(scm, data, drawn):
    """A posterior with given draws."""
    draws = len(next(iter(drawn.values())))
    idata = az.from_dict(posterior={name: values[None] for name, values in drawn.items()})
    return Posterior(scm, data, idata, {"method": "exact", "draws": draws, "chains": 1, "seed": 0})


def measure(result, name, start, end, given=None):
    """The mean of one raw measure of an answer."""
    rows = result.measures
    chosen = (rows["measure"] == name) & (rows["from"] == start) & (rows["to"] == end)
    if given is not None:
        chosen &= rows["given"] == given
    return rows.loc[chosen, "mean"].item()
