"""Draws by chain in ArviZ's form, with names along their axes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.arviz_versions import InferenceData
from causalaudit.arviz_versions import inference_data as in_groups
from causalaudit.inference.density.log_density import DensityParts
from causalaudit.scm import SCM
from causalaudit.scm.missing import filled, missing_in

Shape = tuple[int, int]


def inference_data(
    scm: SCM,
    data: pd.DataFrame,
    shape: Shape,
    parts: DensityParts[np.ndarray],
    statistics: Mapping[str, Any],
    by_draw: Mapping[str, np.ndarray],
    by_step: Mapping[str, np.ndarray],
    likelihood: str = "log_likelihood",
) -> InferenceData:
    """Arrange draws by chain (`shape`: chains and draws of each); a single point is repeated.

    `likelihood` is what that of all people together is called.
    """
    people = {name: ("individual", numbers) for name, numbers in _observed(scm, data).items()}
    individuals = {"individual": data.index.to_numpy()}
    sample_stats = chained(scm, shape, {likelihood: parts.likelihood, **by_draw})
    groups = {
        "posterior": chained(scm, shape, parts.values),
        "log_prior": chained(scm, shape, parts.prior),
        "sample_stats": sample_stats.assign_attrs(statistics).assign(
            {name: ("step", value) for name, value in by_step.items()}
        ),
        "observed_data": xr.Dataset(people, coords=individuals),
    }
    if parts.latents:
        latents = {
            name: (("chain", "draw", "individual"), _split(value, shape)) for name, value in parts.latents.items()
        }
        groups["latents"] = xr.Dataset(latents, coords={**_numbers(shape), **individuals})
    return in_groups(**groups)


def _observed(scm: SCM, data: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the columns as plain numbers, NaN where a value is missing."""
    values = scm.encode_observed(data)
    numbers = {name: scm.codec.numbers(name, tensor) for name, tensor in filled(scm, values).items()}
    return numbers | {name: np.where(mask, np.nan, numbers[name]) for name, mask in missing_in(values).items()}


def chained(scm: SCM, shape: Shape, values: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Arrange draws (first axis) by chain; the other axes of a parameter have the names that the SCM gives them."""
    variables = {
        name: (("chain", "draw", *_axes(name, value.ndim - 1)), _split(value, shape)) for name, value in values.items()
    }
    names = {
        axis: labels
        for name, value in values.items()
        for axis, labels in zip(_axes(name, value.ndim - 1), scm.coords.get(name, ()), strict=False)
    }
    return xr.Dataset(variables, coords={**_numbers(shape), **names})


def _axes(name: str, count: int) -> list[str]:
    return [f"{name}_dim_{axis}" for axis in range(count)]


def _numbers(shape: Shape) -> dict[str, np.ndarray]:
    return {"chain": np.arange(shape[0]), "draw": np.arange(shape[1])}


def _split(values: np.ndarray, shape: Shape) -> np.ndarray:
    rest = values.shape[1:]
    return np.broadcast_to(values, (shape[0] * shape[1], *rest)).reshape(*shape, *rest)
