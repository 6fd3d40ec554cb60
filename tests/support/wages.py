"""A small program, its people, and abbreviations, for tests of what is refused."""

import pandas as pd
import pyro
import pyro.distributions as dist
import torch

LEVELS = {"gender": ["male", "female"]}


def people(n):
    return pyro.plate("individuals", n)


def normal(name, mean=0.0, spread=1.0):
    return pyro.sample(name, dist.Normal(mean, spread))


def wages(n):
    gap = pyro.sample("gap", dist.Normal(0.0, 5.0))
    double = pyro.deterministic("double", 2 * gap)
    with people(n):
        gender = pyro.sample("gender", dist.Bernoulli(0.45))
        hours = pyro.sample("hours", dist.Poisson(torch.exp(1.0 + 0.2 * gender)))
        pyro.sample("wage", dist.Normal(20.0 + double * gender + hours, 4.0))


def table():
    return pd.DataFrame(
        {
            "gender": ["male", "female", "male", "female", "male", "female"],
            "hours": [2, 3, 1, 0, 4, 6],
            "wage": [21.5, 25.0, 19.0, 24.5, 26.0, 30.0],
        },
        index=["ann", "bob", "cem", "dua", "eli", "fay"],
    )
