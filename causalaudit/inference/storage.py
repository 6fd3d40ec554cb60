"""Posteriors on disk."""

import json
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import torch
import xarray as xr

from causalaudit.errors import SavedFileError
from causalaudit.inference.density import Density
from causalaudit.inference.joint import JointDensity
from causalaudit.scm import SCM
from causalaudit.storage import pack, read_artefact, unpack, write_artefact

KIND = "posterior"
_GROUPS = ("posterior", "latents", "log_prior", "sample_stats", "observed_data")


def write(path: Path, scm: SCM, data: pd.DataFrame, idata: az.InferenceData, settings: dict[str, Any]) -> None:
    """Write a posterior to a file."""
    groups = {name: idata[name] for name in _GROUPS if name in idata.groups()}
    content, arrays = pack({"data": data, "groups": groups})
    header = {"settings": settings, "program": _fingerprint(scm), "content": content}
    write_artefact(path, KIND, header, {"arrays": arrays})


def read(path: Path, scm: SCM) -> tuple[pd.DataFrame, az.InferenceData, dict[str, Any]]:
    """Read the data, the draws and the settings of a posterior; verify that they are whole and belong to `scm`."""
    found = read_artefact(path)
    if found.kind != KIND:
        raise SavedFileError(f"{path.name!r} holds a {found.kind}, not a posterior: use causalaudit.load.")
    _compare(path.name, found.header["program"], _fingerprint(scm))
    content = unpack(found.header["content"], found.groups["arrays"])
    idata = az.InferenceData(**content["groups"])
    _recompute(path.name, scm, content["data"], idata)
    return content["data"], idata, found.header["settings"]


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
        raise SavedFileError(
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
        raise SavedFileError(
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
