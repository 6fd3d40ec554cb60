"""The programs of the benchmark of the engine by NumPyro's NUTS; runs where NumPyro is installed, without causalaudit.

Usage: ``python numpyro_engine.py PROGRAM PEOPLE.csv WARMUP DRAWS SECONDS``: the process is ended after so many CPU
seconds. Latents are drawn jointly. The last line printed is JSON: NumPyro's version, CPU seconds, peak memory, mean,
standard deviation and effective sample size of each parameter, and the largest r-hat.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS

Columns = dict[str, jax.Array]
PARENTS = 3


def five(of: Columns) -> None:
    """Five parameters in a Normal and a logistic site."""
    a, b, c, d = (numpyro.sample(name, dist.Normal(0.0, 2.0)) for name in "abcd")
    spread = numpyro.sample("spread", dist.HalfNormal(2.0))
    numpyro.sample("x", dist.Normal(a + b * of["group"], spread), obs=of["x"])
    numpyro.sample("y", dist.Bernoulli(logits=c + d * of["x"]), obs=of["y"])


def latent(of: Columns) -> None:
    """Six parameters, and a continuous latent that enters both sites."""
    a, b, c, d = (numpyro.sample(name, dist.Normal(0.0, 2.0)) for name in "abcd")
    loading, spread = numpyro.sample("loading", dist.Normal(0.0, 2.0)), numpyro.sample("spread", dist.HalfNormal(2.0))
    with numpyro.plate("individuals", len(of["x"])):
        u = numpyro.sample("u", dist.Normal(0.0, 1.0))
        numpyro.sample("x", dist.Normal(a + b * of["group"] + loading * u, spread), obs=of["x"])
        numpyro.sample("y", dist.Bernoulli(logits=c + d * of["group"] + u), obs=of["y"])


def network(sites: int) -> Callable[[Columns], None]:
    """Normal sites, each with a level, three slopes on those before it, and a spread."""

    def program(of: Columns) -> None:
        before = [of[f"root{number}"] for number in range(PARENTS)]
        for site in range(sites):
            mean = numpyro.sample(f"level{site}", dist.Normal(0.0, 2.0))
            for back in range(1, PARENTS + 1):
                mean = mean + numpyro.sample(f"tilt{site}_{back}", dist.Normal(0.0, 1.0)) * before[-back]
            spread = numpyro.sample(f"spread{site}", dist.HalfNormal(2.0))
            numpyro.sample(f"x{site}", dist.Normal(mean, spread), obs=of[f"x{site}"])
            before.append(of[f"x{site}"])

    return program


def regression(coefficients: int) -> Callable[[Columns], None]:
    """A logistic regression on a level and columns that are known."""

    def program(of: Columns) -> None:
        score = numpyro.sample("level", dist.Normal(0.0, 2.0))
        for column in range(coefficients - 1):
            score = score + numpyro.sample(f"tilt{column}", dist.Normal(0.0, 1.0)) * of[f"x{column}"]
        numpyro.sample("y", dist.Bernoulli(logits=score), obs=of["y"])

    return program


BACKGROUND = ("female", "foreign", "age")
SCHOOLED = ("level", *BACKGROUND, "schooling")
ENTERING = {
    "schooling": ("level", *BACKGROUND),
    "grade": (*BACKGROUND, "schooling"),
    "smoker": SCHOOLED,
    "children": SCHOOLED,
    "visits": ("level", *BACKGROUND, "smoker"),
    "income": (*SCHOOLED, "children"),
    "hours": (*SCHOOLED, "children"),
    "debt": ("level", *BACKGROUND, "income", "children"),
    "score": (*SCHOOLED, "income", "debt", "hours", "smoker"),
    "approved": (*SCHOOLED, "income", "debt", "hours", "score"),
}


def mixed(of: Columns) -> None:
    """Seventy parameters in ten sites of five kinds, five of which share a continuous latent."""
    at = {**of, "level": 1.0, "income": jnp.log(of["income"]), "debt": jnp.log(of["debt"])}
    half = dist.HalfNormal(1.0)
    loading = {name: numpyro.sample(f"loading_{name}", half) for name in ("schooling", "income", "score", "visits")}
    spread = {
        name: numpyro.sample(f"spread_{name}", half) for name in ("schooling", "income", "hours", "debt", "score")
    }
    first, gap = numpyro.sample("cut", dist.Normal(0.0, 1.0)), numpyro.sample("gap", half)
    with numpyro.plate("individuals", len(of["age"])):
        ability = numpyro.sample("ability", dist.Normal(0.0, 1.0))
    mean = {}
    for site, names in ENTERING.items():
        mean[site] = sum(numpyro.sample(f"{site}_{name}", dist.Normal(0.0, 1.0)) * at[name] for name in names)
        mean[site] = mean[site] + loading.get(site, 0.0) * ability
    cuts = jnp.stack([first, first + gap])
    laws = {
        "grade": dist.OrderedLogistic(mean["grade"] + ability, cuts),
        **{site: dist.Bernoulli(logits=mean[site]) for site in ("smoker", "approved")},
        **{site: dist.Poisson(jnp.exp(mean[site])) for site in ("children", "visits")},
        **{site: dist.LogNormal(mean[site], spread[site]) for site in ("income", "debt")},
        **{site: dist.Normal(mean[site], spread[site]) for site in ("schooling", "hours", "score")},
    }
    for site, law in laws.items():
        numpyro.sample(site, law, obs=of[site])


PROGRAMS = {
    "five": five,
    "latent": latent,
    "network50": network(10),
    "network100": network(20),
    "regression50": regression(50),
    "regression100": regression(100),
    "mixed": mixed,
}
LATENTS = ("u", "ability")


def main() -> None:
    """Sample one chain and print what it found."""
    program, people = PROGRAMS[sys.argv[1]], pd.read_csv(sys.argv[2])
    warmup, draws, limit = map(int, sys.argv[3:])
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    jax.config.update("jax_enable_x64", True)
    sampler = MCMC(NUTS(program), num_warmup=warmup, num_samples=draws, progress_bar=False)
    started = time.process_time()
    sampler.run(jax.random.PRNGKey(0), {name: jnp.asarray(people[name]) for name in people})
    found = {name: np.asarray(value) for name, value in sampler.get_samples().items() if name not in LATENTS}
    report = {
        "version": numpyro.__version__,
        "seconds": time.process_time() - started,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "mean": {name: float(value.mean()) for name, value in found.items()},
        "sd": {name: float(value.std()) for name, value in found.items()},
        "ess": {name: float(effective_sample_size(value[None])) for name, value in found.items()},
        "r_hat": max(float(split_gelman_rubin(value[None])) for value in found.values()),
    }
    print(json.dumps(report))


main()
