"""The posterior of every shipped model is saved, loaded in another process, and equal in every bit."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import posterior_digests
import pyro
import pyro.distributions as dist
import pytest
from posterior_digests import MODELS, NEVER_FITTED, digest

import causalaudit as ca
from causalaudit.errors import SavedFileError
from causalaudit.inference import register_method
from causalaudit.inference.samplers.registry import METHODS
from causalaudit.models import adult, compas, german_credit, law_school, loan, mediation, standard_prediction
from causalaudit.scm import SCM


def from_the_prior(density, request):
    """A sampler that costs nothing: what is saved need not be a good fit."""
    return density.prior_vectors(request.total, request.seed).reshape(request.chains, request.draws, density.size)


@pytest.fixture
def registered():
    register_method("prior", from_the_prior)
    yield
    del METHODS["prior"]


def people_from(scm: SCM, n: int) -> pd.DataFrame:
    drawn = scm.prior_predictive(n=n, draws=1, seed=3).isel(draw=0)
    return pd.DataFrame({name: scm.codec.decode(name, drawn[name].to_numpy()) for name in scm.columns})


def test_the_table_holds_every_model():
    modules = (adult, compas, german_credit, law_school, loan, mediation, standard_prediction)
    builders = {
        f"{module.__name__.rpartition('.')[2]}.{name}"
        for module in modules
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and value.__annotations__["return"] is SCM
    }
    assert builders == {*MODELS, *NEVER_FITTED}


@pytest.mark.slow
@pytest.mark.usefixtures("registered")
@pytest.mark.filterwarnings("ignore::causalaudit.errors.CausalAuditWarning")  # such chains are judged harshly
def test_every_model_comes_back_in_another_process(tmp_path):
    saved = {}
    for name, build in MODELS.items():
        scm = build()
        method = "laplace" if name == "law_school.level_2" else "prior"
        posterior = ca.fit(scm, people_from(scm, 40), method=method, draws=5, chains=2, progress=False)
        posterior.save(tmp_path / f"{name}.nc")
        saved[name] = digest(posterior)
    command = [sys.executable, posterior_digests.__file__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(ca.__file__).parents[1], check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == saved


def counts(shift=0.0):
    def program(n):
        base, loading = pyro.sample("base", dist.Normal(0.0, 1.0)), pyro.sample("loading", dist.HalfNormal(1.0))
        with pyro.plate("individuals", n):
            skill = pyro.sample("skill", dist.Normal(0.0, 1.0))
            pyro.sample("x", dist.Poisson((shift + base + loading * skill).exp()))

    return ca.SCM(program, latents=["skill"])


def test_a_latent_that_is_integrated_out_numerically(tmp_path):
    """The fit needs the sum of the likelihoods to 0.01; what is saved to be compared is as accurate as can be."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"x": rng.poisson(np.exp(1 + 0.8 * rng.standard_normal(200)))})
    posterior = ca.fit(counts(), people, draws=50, chains=2, seed=0, progress=False)
    posterior.save(tmp_path / "posterior.nc")
    assert digest(ca.Posterior.load(tmp_path / "posterior.nc", counts())) == digest(posterior)
    # Every person moves by about 10^-4, their sum by little: other equations are noticed all the same.
    with pytest.raises(SavedFileError, match="another density"):
        ca.Posterior.load(tmp_path / "posterior.nc", counts(shift=1e-4))
