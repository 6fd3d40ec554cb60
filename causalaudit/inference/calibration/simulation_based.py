"""Simulation-based calibration: whether the posteriors of a program mean what they say.

Parameters are drawn from the prior, people from these parameters, and the program is fitted to these people. If the
posteriors are right, the rank of the true value of a parameter among its posterior draws is uniform.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.arguments import check_count, check_types
from causalaudit.errors import InferenceError
from causalaudit.global_state import ignored_warnings
from causalaudit.inference.calibration.rank_file import RankFile
from causalaudit.inference.calibration.result import Calibration
from causalaudit.inference.fit import fit
from causalaudit.progress import parallel
from causalaudit.randomness import spawn
from causalaudit.scm import SCM
from causalaudit.scm.simulation import prior_draws, simulate

_CHAINS = 4
_THINNING = 10  # draws made for each one that is ranked: those that are ranked are nearly independent


def calibrate(
    scm: SCM,
    n: int,
    data_sets: int = 200,
    *,
    draws: int = 99,
    method: str = "auto",
    seed: int = 0,
    path: str | Path | None = None,
    progress: bool = True,
) -> Calibration:
    """Check by simulation that the posteriors of a program are right.

    Parameters
    ----------
    scm
        The program. It needs parameters, and its prior must give people that it can be fitted to.
    n
        People in each data set.
    data_sets
        How many times to draw parameters and people, and fit. 200 see a bias of a third of a posterior standard
        deviation; each costs a fit.
    draws
        Posterior draws among which the truth is ranked. Each fit makes ten times as many, and evenly spaced ones are
        used.
    method
        Of `fit`.
    seed
        Everything random flows from it.
    path
        A file to which the ranks of each finished data set are added. If it exists, the data sets in it are not
        fitted again: an interrupted run goes on, and a finished one can be made longer by a larger `data_sets`.
    progress
        Show a bar when it is long.

    Returns
    -------
    Calibration

    Raises
    ------
    DataError
        If the file at `path` holds the ranks of another program, prior, method, seed, or number of people or draws.
    InferenceError
        If the program has no parameters, or no fit succeeds.

    Notes
    -----
    `joblib.parallel_config` decides how many data sets are fitted at once; the result is the same.

    References
    ----------
    Talts, Betancourt, Simpson, Vehtari and Gelman (2018), Validating Bayesian inference algorithms with
    simulation-based calibration. arXiv:1804.06788.
    Säilynoja, Bürkner and Vehtari (2022), Graphical test for discrete uniformity and its applications. Statistics and
    Computing 32.

    Examples
    --------
    >>> import pyro, pyro.distributions as dist, causalaudit as ca
    >>> from causalaudit.inference.calibration import calibrate
    >>> def wages(n):
    ...     mean = pyro.sample("mean", dist.Normal(20.0, 5.0))
    ...     with pyro.plate("individuals", n):
    ...         pyro.sample("wage", dist.Normal(mean, 4.0))
    >>> calibration = calibrate(ca.SCM(wages), n=20, data_sets=10, draws=19)
    >>> calibration.ok
    True
    """
    check_types(calibrate, locals())
    for name, value in (("n", n), ("data_sets", data_sets), ("draws", draws)):
        check_count(name, value)
    if not scm.parameters:
        raise InferenceError(f"{scm.name!r} has no free parameters: there is no posterior to calibrate.")
    if method in ("map", "ml"):
        raise InferenceError(f"The method {method!r} gives a point: it has no posterior draws to rank a truth among.")
    truths = prior_draws(scm, data_sets, seed)
    one = partial(_one_data_set, scm, truths, n, draws, method, seed)
    file = None if path is None else RankFile(Path(path), _header(scm, truths, n, draws, method, seed))
    done = {} if file is None else file.read(data_sets)
    missing = [number for number in range(data_sets) if number not in done]
    for record in parallel(one, missing, "Data sets", progress):
        done[record["data_set"]] = record
        if file is not None:
            file.add(record)
    return _collect(scm, [done[number] for number in range(data_sets)], _labels(truths), n, draws)


def _labels(truths: dict[str, np.ndarray]) -> list[str]:
    return [
        name if value.ndim == 1 else f"{name}[{', '.join(map(str, position))}]"
        for name, value in truths.items()
        for position in np.ndindex(value.shape[1:])
    ]


def _simulated(scm: SCM, truths: dict[str, np.ndarray], number: int, n: int, seed: int) -> xr.Dataset:
    """Draw the people of one data set, the same whatever the others are."""
    truth = {name: value[number : number + 1] for name, value in truths.items()}
    own_seed = int(spawn(seed, "data set", number).generate_state(1)[0])
    return simulate(scm, truth, n, 1, own_seed).isel(draw=0)


def _one_data_set(
    scm: SCM, truths: dict[str, np.ndarray], n: int, draws: int, method: str, seed: int, number: int
) -> dict[str, Any]:
    """Return the ranks of one data set, or why there are none; doubts about the fit are kept beside them."""
    size = -(-_THINNING * draws // _CHAINS)
    own_seed = int(spawn(seed, "fit", number).generate_state(1)[0])
    with ignored_warnings():  # what fit warns of is read off its diagnostics
        try:
            drawn = _simulated(scm, truths, number, n, seed)
            people = pd.DataFrame({name: scm.codec.decode(name, drawn[name].to_numpy()) for name in scm.columns})
            posterior = fit(scm, people, method, draws=size, chains=_CHAINS, seed=own_seed, progress=False)
        except Exception as error:  # whatever goes wrong in one of many data sets is a finding
            return {"data_set": number, "ranks": None, "failure": f"{type(error).__name__}: {error}", "doubt": None}
        diagnostics, sample = posterior.diagnostics(), posterior.parameters(draws)
    below = [np.ravel((sample[name] < value[number]).sum(axis=0)) for name, value in truths.items()]
    doubt = None if diagnostics.ok else diagnostics.verdict
    return {"data_set": number, "ranks": np.concatenate(below).tolist(), "failure": None, "doubt": doubt}


def _header(
    scm: SCM, truths: dict[str, np.ndarray], n: int, draws: int, method: str, seed: int
) -> dict[str, dict[str, Any]]:
    """Return what makes this calibration different from others: its settings, and the first data set it draws."""
    people = _simulated(scm, truths, 0, n, seed)
    return {
        "settings": {"n": n, "draws": draws, "method": method, "seed": seed, "parameters": _labels(truths)},
        "prior": {name: float(value[0].mean()) for name, value in truths.items()},
        "people": {name: float(people[name].mean()) for name in scm.variables},
    }


def _collect(scm: SCM, records: list[dict[str, Any]], labels: list[str], n: int, draws: int) -> Calibration:
    numbers = pd.RangeIndex(len(records), name="data_set")
    rows = [record["ranks"] or [np.nan] * len(labels) for record in records]
    ranks = pd.DataFrame(rows, index=numbers, columns=labels, dtype="float64")
    failures = {record["data_set"]: record["failure"] for record in records if record["failure"]}
    doubts = {record["data_set"]: record["doubt"] for record in records if record["doubt"]}
    if len(failures) == len(records):
        raise InferenceError(f"None of {len(records)} data sets could be fitted. The first: {failures[0]}")
    return Calibration(str(scm.name), ranks, failures, doubts, {"n": n, "draws": draws})
