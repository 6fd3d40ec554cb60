"""Tables as plain arrays, and back: what a posterior's data look like on disk."""

import json
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.errors import DataError


def to_arrays(frame: pd.DataFrame) -> xr.Dataset:
    """Store the index and each column as an array; text and categories as codes, with their values in JSON."""
    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise DataError(f"Only tables whose columns are named by text, each once, can be saved; these are {names}.")
    if not isinstance(frame.index.name, str | None):
        raise DataError(f"The index has the name {frame.index.name!r}; only text can be saved.")
    columns = [
        _pack("The index", pd.Series(frame.index.tolist(), dtype=frame.index.dtype)),
        *(_pack(f"Column {name!r}", frame[name]) for name in names),
    ]
    kinds = {type(value).__name__ for value in frame.index} if frame.index.dtype == object else set()
    if len(kinds) > 1:
        raise DataError(f"The index holds {', '.join(sorted(kinds))} values, which cannot be saved; use one kind.")
    attributes = {"names": json.dumps(names), "index": json.dumps(frame.index.name)}
    return xr.Dataset({f"column_{number}": column for number, column in enumerate(columns)}, attrs=attributes)


def _pack(what: str, column: "pd.Series[Any]") -> xr.Variable:
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        stored = column.to_numpy().astype(np.uint8) if column.dtype.kind == "b" else column.to_numpy()
        return xr.Variable("row", stored, {"kept_type": str(column.dtype)})
    category = isinstance(column.dtype, pd.CategoricalDtype)
    values = list(column.cat.categories) if category else [value for value in column.tolist() if not _missing(value)]
    kinds = sorted({type(value).__name__ for value in values} - {"str", "int", "float", "bool"})
    if kinds:
        raise DataError(
            f"{what} holds {', '.join(kinds)} values, which cannot be saved; convert it to numbers or text."
        )
    # Equal values of different types (1, True) are different levels.
    levels = list(dict.fromkeys((type(value).__name__, value) for value in values))
    places = {level: place for place, level in enumerate(levels)}
    codes = [-1 if _missing(value) else places[type(value).__name__, value] for value in column.tolist()]
    attributes = {
        "kept_type": "category" if category else str(column.dtype),
        "values": json.dumps([value for _, value in levels]),
        "ordered": int(category and bool(column.cat.ordered)),
    }
    return xr.Variable("row", np.array(codes, dtype=np.int32), attributes)


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value))


def to_frame(dataset: xr.Dataset) -> pd.DataFrame:
    """Return the table that `to_arrays` stored."""
    names = json.loads(dataset.attrs["names"])
    index, *columns = (_unpack(dataset[f"column_{number}"]) for number in range(len(names) + 1))
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    frame.index = pd.Index(index.array, dtype=index.dtype, name=json.loads(dataset.attrs["index"]))
    return frame


def _unpack(variable: xr.DataArray) -> "pd.Series[Any]":
    values, dtype = variable.to_numpy(), variable.attrs["kept_type"]
    if "values" not in variable.attrs:
        return pd.Series(values.astype(dtype))
    levels = json.loads(variable.attrs["values"])
    if dtype == "category":
        return pd.Series(pd.Categorical.from_codes(values, levels, ordered=bool(variable.attrs["ordered"])))
    return pd.Series(np.array([*levels, None], dtype=object)[values], dtype=dtype)
