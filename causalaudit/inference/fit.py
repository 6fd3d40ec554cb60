"""The front door of inference."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.errors import CausalAuditWarning, InferenceError, check_count
from causalaudit.inference.density import Density
from causalaudit.inference.frame import AnyDensity
from causalaudit.inference.joint import JointDensity
from causalaudit.inference.laplace import ImportanceDraws, laplace_draws
from causalaudit.inference.latents import continuous_latents
from causalaudit.inference.mode import find_mode
from causalaudit.inference.nuts import nuts_draws
from causalaudit.inference.posterior import Posterior
from causalaudit.inference.svi import svi_draws
from causalaudit.inference.symmetry import warn_of_mirror_images
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Tensors

Method = Literal["auto", "laplace", "nuts", "svi", "map", "ml"]


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
        =============  ===========================================================  ======================
        method         what                                                         when `auto` picks it
        =============  ===========================================================  ======================
        ``"laplace"``  importance resampling around the mode and along its ridge,   k < 0.7, 10 % count,
                       checked by Pareto k, the share of the proposals that count   half of the mass is
                       and that of the mass that is around the mode                 around the mode
        ``"nuts"``     Pyro's no-U-turn sampler, started and whitened by the above  otherwise
        ``"svi"``      a variational guide (normal), checked by Pareto k            never
        ``"map"``      the mode of the posterior density in the parameters' units   never
        ``"ml"``       maximum likelihood, which ignores the priors: the papers'    never
                       least-squares abduction
        =============  ===========================================================  ======================
    draws, chains
        There are ``chains × draws`` draws in all, for every method; for points they are equal. Only ``"nuts"``
        has chains that are run one by one, by `joblib` (see `joblib.parallel_config`).
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
    Latents with finitely many values are summed out exactly, and one continuous latent for each person is
    integrated out. Several continuous latents are drawn jointly with the parameters (``"nuts"``, ``"svi"``),
    with a warning about the cost; their draws are in ``posterior.idata["latents"]``. A program without free
    parameters is legal: then the data are recorded, and every draw is the program itself.

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
    density = _density(scm, scm.encode(data), method)
    warn_of_mirror_images(scm)
    found = _draw(density, method, draws, chains, seed, progress)
    parts = density.over(found.vectors, progress) if found.parts is None else dict(found.parts)
    if not np.isfinite(parts["likelihood"]).all():
        density.refuse_impossible({name: parts[f"value {name}"] for name in scm.parameters}, data.index)
    settings = {"method": found.method, "draws": int(draws), "chains": int(chains), "seed": int(seed)}
    posterior = Posterior(scm, data.copy(), _inference_data(scm, data, parts, found, chains, draws), settings)
    diagnostics = posterior.diagnostics()
    if not diagnostics.ok:
        warnings.warn(diagnostics.verdict, CausalAuditWarning, stacklevel=2)
    return posterior


@dataclass(frozen=True)
class _Draws:
    """Unconstrained draws of a method (a single one is a point), and what it says about them."""

    method: str
    vectors: np.ndarray
    statistics: Mapping[str, Any] = field(default_factory=dict)
    by_draw: Mapping[str, np.ndarray] = field(default_factory=dict)
    by_step: Mapping[str, np.ndarray] = field(default_factory=dict)
    parts: Mapping[str, np.ndarray] | None = None  # their densities, where the method knows them already


def _density(scm: SCM, values: Tensors, method: Method) -> AnyDensity:
    latents = continuous_latents(scm)
    if len(latents) < 2 or method not in ("auto", "nuts", "svi"):
        return Density(scm, values)
    density = JointDensity(scm, values)
    warnings.warn(
        f"The latents {', '.join(map(repr, latents))} are continuous, and only one for each person can be integrated "
        f"out: all {len(latents) * density.people} of the {density.people} people are drawn jointly with the "
        "parameters, which is slow and scales badly. Fewer latents, finite ones, or fewer people make it fast.",
        CausalAuditWarning,
        stacklevel=3,
    )
    return density


def _draw(density: AnyDensity, method: Method, draws: int, chains: int, seed: int, progress: bool) -> _Draws:
    total, laplace = draws * chains, None
    if not density.space.size:
        return _Draws("exact", np.zeros((1, 0)))
    if method == "svi":
        guide = svi_draws(density, total, seed, progress)
        return _Draws("svi", guide.vectors, guide.statistics, by_step={"elbo": guide.elbo})
    if isinstance(density, Density) and method in ("map", "ml"):
        return _Draws(method, find_mode(density, prior=method == "map", jacobian=False, seed=seed).location[None])
    if isinstance(density, Density) and method in ("auto", "laplace"):
        try:
            laplace = laplace_draws(density, total, seed, progress)
        except InferenceError:
            if method == "laplace":
                raise
        if laplace is not None and (method == "laplace" or laplace.trusted):
            return _Draws("laplace", laplace.vectors, _importance_statistics(laplace), parts=laplace.parts)
    sampled = nuts_draws(density, draws, chains, seed, progress, laplace)
    return _Draws("nuts", sampled.vectors, sampled.statistics, sampled.by_draw)


def _importance_statistics(laplace: ImportanceDraws) -> dict[str, float]:
    names = ("pareto_k", "ess", "efficiency", "first_share", "log_evidence", "log_evidence_error")
    return {name: getattr(laplace, name) for name in names}


def _inference_data(
    scm: SCM, data: pd.DataFrame, parts: dict[str, np.ndarray], found: _Draws, chains: int, draws: int
) -> az.InferenceData:
    """Arrange draws by chain; a single point is repeated."""

    def chained(name: str, values: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
        full = np.broadcast_to(values, (chains * draws, *values.shape[1:])).reshape(chains, draws, *values.shape[1:])
        return ("chain", "draw", *(f"{name}_dim_{axis}" for axis in range(values.ndim - 1))), full

    def group(prefix: str) -> xr.Dataset:
        names = [key.removeprefix(prefix) for key in parts if key.startswith(prefix)]
        return xr.Dataset({name: chained(name, parts[prefix + name]) for name in names}, coords=coordinates)

    coordinates: dict[str, Any] = {"chain": np.arange(chains), "draw": np.arange(draws)}
    individuals = data.index.to_numpy()
    people = {name: ("individual", scm.codec.numbers(name, tensor)) for name, tensor in scm.encode(data).items()}
    statistics = {name: chained(name, value) for name, value in found.by_draw.items()}
    latents = {
        name.removeprefix("latent "): (("chain", "draw", "individual"), chained(name, value)[1])
        for name, value in parts.items()
        if name.startswith("latent ")
    }
    groups = {
        "posterior": group("value "),
        "log_prior": group("prior "),
        "sample_stats": xr.Dataset(
            {"log_likelihood": chained("log_likelihood", parts["likelihood"]), **statistics},
            coords=coordinates,
            attrs=dict(found.statistics),
        ).assign({name: ("step", value) for name, value in found.by_step.items()}),
        "observed_data": xr.Dataset(people, coords={"individual": individuals}),
    }
    if latents:
        groups["latents"] = xr.Dataset(latents, coords={**coordinates, "individual": individuals})
    return az.InferenceData(**groups)  # type: ignore[arg-type]
