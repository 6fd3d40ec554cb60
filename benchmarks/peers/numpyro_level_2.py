"""Law school level 2 by NumPyro's NUTS, latents drawn jointly; runs where NumPyro is installed, without causalaudit.

Usage: ``python numpyro_level_2.py PEOPLE.csv WARMUP DRAWS``, with columns female, nonwhite, UGPA and LSAT. The last
line printed is JSON, with NumPyro's version, CPU seconds, mean and effective sample size of each parameter and r-hat.
"""

import json
import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS

EFFECTS = ("ugpa0", "female_UGPA", "nonwhite_UGPA", "lsat0", "eta_l", "female_LSAT", "nonwhite_LSAT")


def level_2(female: jax.Array, nonwhite: jax.Array, grades: jax.Array, scores: jax.Array) -> None:
    """The program of `causalaudit.models.law_school.level_2`, without its two root variables."""
    e = {name: numpyro.sample(name, dist.Normal(0.0, 1.0)) for name in EFFECTS}
    eta_u = numpyro.sample("eta_u", dist.HalfNormal(1.0))
    variance_g = numpyro.sample("variance_g", dist.InverseGamma(1.0, 1.0))
    with numpyro.plate("individuals", len(grades)):
        knowledge = numpyro.sample("knowledge", dist.Normal(0.0, 1.0))
        grade = e["ugpa0"] + e["female_UGPA"] * female + e["nonwhite_UGPA"] * nonwhite + eta_u * knowledge
        rate = e["lsat0"] + e["female_LSAT"] * female + e["nonwhite_LSAT"] * nonwhite + e["eta_l"] * knowledge
        numpyro.sample("UGPA", dist.Normal(grade, jnp.sqrt(variance_g)), obs=grades)
        numpyro.sample("LSAT", dist.Poisson(jnp.exp(rate)), obs=scores)


def main() -> None:
    """Sample one chain and print what it is worth."""
    people, warmup, draws = pd.read_csv(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    jax.config.update("jax_enable_x64", True)
    sampler = MCMC(NUTS(level_2), num_warmup=warmup, num_samples=draws, progress_bar=False)
    started = time.process_time()
    sampler.run(jax.random.PRNGKey(0), *(jnp.asarray(people[name]) for name in ("female", "nonwhite", "UGPA", "LSAT")))
    found = {name: np.asarray(value) for name, value in sampler.get_samples().items() if name != "knowledge"}
    seconds = time.process_time() - started
    report = {
        "version": numpyro.__version__,
        "seconds": seconds,
        "mean": {name: float(value.mean()) for name, value in found.items()},
        "ess": {name: float(effective_sample_size(value[None])) for name, value in found.items()},
        "r_hat": {name: float(split_gelman_rubin(value[None])) for name, value in found.items()},
    }
    print(json.dumps(report))


main()
