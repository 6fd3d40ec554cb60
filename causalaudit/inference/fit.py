"""The front door of inference."""

import warnings
from typing import Any, Literal, get_args

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.errors import CausalAuditWarning, InferenceError, check_count
from causalaudit.inference.density import Density
from causalaudit.inference.laplace import laplace_draws
from causalaudit.inference.mode import find_mode
from causalaudit.inference.posterior import Posterior
from causalaudit.scm import SCM

Method = Literal["auto", "laplace", "map", "ml"]


def fit(
    scm: SCM,
    data: pd.DataFrame,
    method: Method = "auto",
    draws: int = 1000,
    chains: int = 4,
    seed: int = 0,
    progress: bool = True,
) -> Posterior:
    """Infer the parameters of an SCM from a table of people: the first part of abduction.

    Parameters
    ----------
    scm
        The program.
    data
        A table with a unique index and a column for every variable that is not latent. Other columns are
        carried along.
    method
        ``"laplace"``: importance resampling around the mode, checked by Pareto k. ``"auto"``: the same.
        ``"map"``: the mode of the posterior density in the parameters' own units. ``"ml"``: maximum
        likelihood, which ignores the priors (the least-squares abduction of the papers).
    draws, chains
        There are ``chains × draws`` draws in all, for every method; for points they are equal.
    seed
        Everything random flows from it.
    progress
        Show a bar when it is long.

    Returns
    -------
    Posterior

    Raises
    ------
    DataError, InferenceError
        If the table does not fit the program; if the density is unbounded, flat or zero.

    Notes
    -----
    Latents with finitely many values are summed out exactly. A program without free parameters is legal:
    then the data are recorded, and every draw is the program itself.

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(500, seed=1)
    >>> posterior = ca.fit(ca.models.loan.linear(), applicants, seed=0)
    >>> posterior.diagnostics().ok
    True
    """
    if method not in get_args(Method):
        raise InferenceError(f"The method {method!r} is not one of {', '.join(get_args(Method))}.")
    check_count("draws", draws)
    check_count("chains", chains)
    density = Density(scm, scm.encode(data))
    used = "exact" if not scm.parameters else "laplace" if method == "auto" else method
    vectors, statistics = _vectors(density, used, draws * chains, seed, progress)
    parts = density.over(vectors, progress)
    if not np.isfinite(parts["likelihood"]).all():
        density.refuse_impossible({name: parts[f"value {name}"] for name in scm.parameters}, data.index)
    settings = {"method": used, "draws": int(draws), "chains": int(chains), "seed": int(seed)}
    posterior = Posterior(scm, data.copy(), _inference_data(scm, data, parts, statistics, chains, draws), settings)
    diagnostics = posterior.diagnostics()
    if not diagnostics.ok:
        warnings.warn(diagnostics.verdict, CausalAuditWarning, stacklevel=2)
    return posterior


def _vectors(
    density: Density, method: str, total: int, seed: int, progress: bool
) -> tuple[np.ndarray, dict[str, float]]:
    if method == "exact":
        return np.zeros((1, 0)), {}
    if method == "laplace":
        found = laplace_draws(density, total, seed, progress)
        statistics = {
            "pareto_k": found.pareto_k,
            "ess": found.ess,
            "log_evidence": found.log_evidence,
            "log_evidence_error": found.log_evidence_error,
        }
        return found.vectors, statistics
    return find_mode(density, prior=method == "map", jacobian=False, seed=seed).location[None], {}


def _inference_data(
    scm: SCM, data: pd.DataFrame, parts: dict[str, np.ndarray], statistics: dict[str, float], chains: int, draws: int
) -> az.InferenceData:
    """Arrange draws by chain; a single point is repeated."""

    def chained(name: str, values: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
        full = np.broadcast_to(values, (chains * draws, *values.shape[1:])).reshape(chains, draws, *values.shape[1:])
        return ("chain", "draw", *(f"{name}_dim_{axis}" for axis in range(values.ndim - 1))), full

    def group(prefix: str) -> xr.Dataset:
        names = [key.removeprefix(prefix) for key in parts if key.startswith(prefix)]
        return xr.Dataset({name: chained(name, parts[prefix + name]) for name in names}, coords=coordinates)

    coordinates: dict[str, Any] = {"chain": np.arange(chains), "draw": np.arange(draws)}
    people = {name: ("individual", scm.codec.numbers(name, tensor)) for name, tensor in scm.encode(data).items()}
    return az.InferenceData(
        posterior=group("value "),
        log_prior=group("prior "),
        sample_stats=xr.Dataset(
            {"log_likelihood": chained("log_likelihood", parts["likelihood"])}, coords=coordinates, attrs=statistics
        ),
        observed_data=xr.Dataset(people, coords={"individual": data.index.to_numpy()}),
    )
