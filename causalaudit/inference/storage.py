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
import xarray as xr

from causalaudit.errors import DataError, SavedPosteriorError
from causalaudit.inference.density import Density
from causalaudit.scm import SCM

_FORMAT = 1
_ENGINE: Any = "h5netcdf"
_GROUPS = ("posterior", "log_prior", "sample_stats", "observed_data")


def write(path: Path, scm: SCM, data: pd.DataFrame, idata: az.InferenceData, settings: dict[str, Any]) -> None:
    """Write a posterior to a temporary file beside `path`, then rename it."""
    groups = {name: idata[name] for name in _GROUPS if name in idata.groups()} | {"people": _to_dataset(data)}
    header = {
        "format": _FORMAT,
        "groups": list(groups),
        "settings": settings,
        "program": _fingerprint(scm),
        "checksum": _checksum(groups),
    }
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    try:
        xr.Dataset(attrs={"causalaudit": json.dumps(header)}).to_netcdf(temporary, mode="w", engine=_ENGINE)
        for name, dataset in groups.items():
            dataset.to_netcdf(temporary, mode="a", group=name, engine=_ENGINE)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(path: Path, scm: SCM) -> tuple[pd.DataFrame, az.InferenceData, dict[str, Any]]:
    """Read the data, the draws and the settings of a posterior; verify that they are whole and belong to `scm`."""
    if not path.exists():
        raise SavedPosteriorError(f"There is no file {path.name!r} in {str(path.parent)!r}.")
    try:
        header = json.loads(_read(path, None).attrs["causalaudit"])
        groups = {name: _read(path, name) for name in header["groups"]}
        intact = header["checksum"] == _checksum(groups)
        data = _to_frame(groups.pop("people"))
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise SavedPosteriorError(f"{path.name!r} is damaged or not a saved posterior: {error}") from error
    if not intact:
        raise SavedPosteriorError(f"{path.name!r} is damaged: its content does not match its checksum.")
    if header["format"] != _FORMAT:
        raise SavedPosteriorError(f"{path.name!r} has format {header['format']}; this version reads format {_FORMAT}.")
    _compare(path.name, header["program"], _fingerprint(scm))
    idata = az.InferenceData(**groups)  # type: ignore[arg-type]
    _recompute(path.name, scm, data, idata)
    return data, idata, header["settings"]


def _read(path: Path, group: str | None) -> xr.Dataset:
    with xr.open_dataset(path, group=group, engine=_ENGINE) as dataset:
        return dataset.load()


def _checksum(groups: dict[str, xr.Dataset]) -> str:
    digest = hashlib.sha256()
    for name, dataset in sorted(groups.items()):
        for key, array in sorted(dataset.variables.items(), key=lambda item: str(item[0])):
            values = array.to_numpy()
            content = (
                values.astype(str).tolist() if values.dtype.kind in "OUT" else np.ascontiguousarray(values).tobytes()
            )
            digest.update(f"{name}/{key}".encode())
            digest.update(content if isinstance(content, bytes) else json.dumps(content).encode())
    return digest.hexdigest()


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

    density = Density(scm, scm.encode(data))
    parameters = {name: ends(idata["posterior"][name]) for name in scm.parameters}
    likelihood = density.likelihood_by_row(parameters, 2) @ density.rows.counts.numpy()
    same = np.allclose(likelihood, ends(idata["sample_stats"]["log_likelihood"]), rtol=1e-9)
    vectors = np.stack([density.space.inverse({k: v[i] for k, v in parameters.items()}) for i in range(2)])
    parts = density.over(vectors)
    for name in scm.parameters:
        same = same and np.allclose(parts[f"prior {name}"], ends(idata["log_prior"][name]), rtol=1e-6, atol=1e-6)
    if not same:
        raise SavedPosteriorError(
            f"{file!r} is the posterior of another program: the given one has the same sites, but gives the stored "
            "draws another density, so that its equations or priors differ."
        )


def _to_dataset(frame: pd.DataFrame) -> xr.Dataset:
    """Store the index and each column as plain arrays, text and categories as codes with their values in JSON."""
    columns = [("index", frame.index.to_series()), *((str(name), frame[name]) for name in frame.columns)]
    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names) or frame.index.name not in (None, str(frame.index.name)):
        raise DataError(f"Only tables whose columns are named by text can be saved; these are {names}.")
    variables = {f"column_{number}": _pack(name, column) for number, (name, column) in enumerate(columns)}
    return xr.Dataset(variables, attrs={"names": json.dumps(names), "index": json.dumps(frame.index.name)})


def _pack(name: str, column: "pd.Series[Any]") -> xr.Variable:
    if column.dtype.kind in "biuf" and isinstance(column.dtype, np.dtype):
        return xr.Variable("row", column.to_numpy(), {"dtype": str(column.dtype)})
    category = isinstance(column.dtype, pd.CategoricalDtype)
    codes, values = (
        (column.cat.codes.to_numpy(), column.cat.categories)
        if category
        else pd.factorize(column.to_numpy(dtype=object))
    )
    kinds = {type(value).__name__ for value in values}
    if not kinds <= {"str", "int", "float", "bool"}:
        raise DataError(
            f"Column {name!r} holds {', '.join(sorted(kinds))} values, which cannot be saved; "
            "convert it to numbers or text."
        )
    ordered = bool(category and column.cat.ordered)
    attributes = {
        "dtype": "category" if category else str(column.dtype),
        "values": json.dumps(list(values)),
        "ordered": int(ordered),
    }
    return xr.Variable("row", codes.astype(np.int32), attributes)


def _to_frame(dataset: xr.Dataset) -> pd.DataFrame:
    names = json.loads(dataset.attrs["names"])
    index, *columns = (_unpack(dataset[f"column_{number}"]) for number in range(len(names) + 1))
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    frame.index = pd.Index(index, name=json.loads(dataset.attrs["index"]))
    return frame


def _unpack(variable: xr.DataArray) -> Any:
    values, dtype = variable.to_numpy(), variable.attrs["dtype"]
    if "values" not in variable.attrs:
        return values.astype(dtype)
    levels = json.loads(variable.attrs["values"])
    if dtype == "category":
        return pd.Categorical.from_codes(values, levels, ordered=bool(variable.attrs["ordered"]))
    objects = np.array([*levels, None], dtype=object)[values]
    return pd.array(objects, dtype=dtype)
