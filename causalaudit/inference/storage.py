"""Posteriors on disk: netCDF with JSON inside, nothing that could run code."""

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import torch
import xarray as xr

from causalaudit.errors import SavedPosteriorError
from causalaudit.inference.density import Density
from causalaudit.inference.joint import JointDensity
from causalaudit.inference.tables import to_arrays, to_frame
from causalaudit.scm import SCM

_FORMAT = 1
_DIGEST = hashlib.sha256().digest_size  # bytes at the end of the file
_ENGINE: Any = "h5netcdf"
_GROUPS = ("posterior", "latents", "log_prior", "sample_stats", "observed_data")


def write(path: Path, scm: SCM, data: pd.DataFrame, idata: az.InferenceData, settings: dict[str, Any]) -> None:
    """Write a posterior to a temporary file beside `path`, sign it with its digest, then rename it."""
    groups = {name: idata[name] for name in _GROUPS if name in idata.groups()} | {"people": to_arrays(data)}
    header = {"format": _FORMAT, "groups": list(groups), "settings": settings, "program": _fingerprint(scm)}
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        xr.Dataset(attrs={"causalaudit": json.dumps(header)}).to_netcdf(temporary, mode="w", engine=_ENGINE)
        for group, dataset in groups.items():
            dataset.to_netcdf(temporary, mode="a", group=group, engine=_ENGINE)
        content = temporary.read_bytes()
        temporary.write_bytes(content + hashlib.sha256(content).digest())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read(path: Path, scm: SCM) -> tuple[pd.DataFrame, az.InferenceData, dict[str, Any]]:
    """Read the data, the draws and the settings of a posterior; verify that they are whole and belong to `scm`."""
    if not path.is_file():
        raise SavedPosteriorError(f"There is no file {path.name!r} in {str(path.parent)!r}.")
    content = path.read_bytes()
    if hashlib.sha256(content[:-_DIGEST]).digest() != content[-_DIGEST:]:
        raise SavedPosteriorError(f"{path.name!r} is damaged or not a saved posterior: its digest does not match.")
    header = json.loads(_read(path, None).attrs["causalaudit"])
    if header["format"] != _FORMAT:
        raise SavedPosteriorError(f"{path.name!r} has format {header['format']}; this version reads format {_FORMAT}.")
    _compare(path.name, header["program"], _fingerprint(scm))
    groups = {name: _read(path, name) for name in header["groups"]}
    data = to_frame(groups.pop("people"))
    idata = az.InferenceData(**groups)  # type: ignore[arg-type]
    _recompute(path.name, scm, data, idata)
    return data, idata, header["settings"]


def _read(path: Path, group: str | None) -> xr.Dataset:
    with xr.open_dataset(path, group=group, engine=_ENGINE) as dataset:
        return dataset.load()


def _fingerprint(scm: SCM) -> dict[str, Any]:
    """Return the structure of a program in JSON types."""
    structure = {
        "parameters": scm.parameters,
        "variables": scm.families,
        "edges": sorted(scm.graph.edges),
        "latents": sorted(scm.latents),
        "levels": scm.levels,
    }
    result: dict[str, Any] = json.loads(json.dumps(structure, default=str))
    return result


def _compare(file: str, saved: dict[str, Any], given: dict[str, Any]) -> None:
    different = [part for part in given if saved.get(part) != given[part]]
    if different:
        part = different[0]
        raise SavedPosteriorError(
            f"{file!r} is the posterior of another program: its {part} are {saved.get(part)}, those of the given one "
            f"{given[part]}."
        )


def _recompute(file: str, scm: SCM, data: pd.DataFrame, idata: az.InferenceData) -> None:
    """Compute the likelihood and the priors of two stored draws again: the same equations give the same numbers."""

    def ends(array: xr.DataArray) -> np.ndarray:
        values = array.to_numpy()
        return values.reshape(-1, *values.shape[2:])[[0, -1]]

    parameters = {name: ends(idata["posterior"][name]) for name in scm.parameters}
    if "latents" in idata.groups():
        latents = {str(name): ends(value) for name, value in idata["latents"].data_vars.items()}
        parts = _joint_parts(scm, data, {**parameters, **latents})
    else:
        parts = _parts(scm, data, parameters)
    same = np.allclose(parts["likelihood"], ends(idata["sample_stats"]["log_likelihood"]), rtol=1e-9)
    for name in scm.parameters:
        same = same and np.allclose(parts[f"prior {name}"], ends(idata["log_prior"][name]), rtol=1e-6, atol=1e-6)
    if not same:
        raise SavedPosteriorError(
            f"{file!r} is the posterior of another program: the given one has the same sites, but gives the stored "
            "draws another density, so that its equations or priors differ."
        )


def _parts(scm: SCM, data: pd.DataFrame, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    density = Density(scm, scm.encode(data))
    likelihood = density.likelihood_by_row(values, 2) @ density.rows.counts.numpy()
    vectors = np.stack([density.space.inverse({k: v[i] for k, v in values.items()}) for i in range(2)])
    return {**density.over(vectors), "likelihood": likelihood}


def _joint_parts(scm: SCM, data: pd.DataFrame, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    density = JointDensity(scm, scm.encode(data))
    draws = [{name: torch.from_numpy(np.array(value[at])) for name, value in values.items()} for at in range(2)]
    return density.over(np.stack([density.inverse(draw) for draw in draws]))
