"""Nested values as JSON beside arrays: only types that are known here, and classes that say `storable`."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

import networkx as nx
import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.errors import DataError

TAG = "~"
STORED_AS: dict[str, Any] = {"b": np.uint8, "m": np.int64, "M": np.int64}  # types that netCDF has no word for
CLASSES: dict[str, type] = {}
Class = TypeVar("Class", bound=type)


def storable(cls: Class) -> Class:
    """Let the instances of a dataclass be saved: its fields must be storable themselves."""
    CLASSES[f"{cls.__module__.removeprefix('causalaudit.')}.{cls.__qualname__}"] = cls
    return cls


class Unsaved:
    """What stands for a function or a fitted model in what was loaded: code is never saved."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<not saved: {self.text}>"

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise DataError(
            f"This was loaded from a file, and {self.text} is code, which is never saved: run the audit again for that."
        )


def pack(value: Any) -> tuple[Any, xr.Dataset]:
    """Return a value as JSON that refers to arrays, and these arrays.

    Raises
    ------
    DataError
        If something in it cannot be saved, with where it is.

    Examples
    --------
    >>> import numpy as np
    >>> from causalaudit.storage import unpack
    >>> skeleton, arrays = pack({"level": 0.05, "draws": np.arange(3.0)})
    >>> unpack(skeleton, arrays)
    {'level': 0.05, 'draws': array([0., 1., 2.])}
    """
    packer = _Packer()
    skeleton = packer.pack(value, "the value")
    return skeleton, xr.Dataset(packer.arrays)


def same(one: Any, other: Any) -> bool:
    """Tell whether two storable values are equal, in every bit and type."""
    (mine, left), (yours, right) = pack(one), pack(other)
    if json.dumps(mine) != json.dumps(yours) or set(left) != set(right):
        return False
    return all(
        left[name].dtype == right[name].dtype
        and left[name].shape == right[name].shape
        and left[name].to_numpy().tobytes() == right[name].to_numpy().tobytes()
        for name in left
    )


class _Packer:
    def __init__(self) -> None:
        self.arrays: dict[str, xr.Variable] = {}
        self._known = self._packers()

    def pack(self, value: Any, where: str) -> Any:
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, np.generic):
            return self.pack(value.item(), where)
        if isinstance(value, float):
            return value if np.isfinite(value) else {TAG: "float", "is": repr(value)}
        for kinds, packer in self._known:
            if isinstance(value, kinds):
                return packer(value, where)
        if dataclasses.is_dataclass(value):
            return self._object(value, where)
        if callable(value) or hasattr(value, "predict") or isinstance(value, Unsaved):
            text = value.text if isinstance(value, Unsaved) else getattr(value, "__name__", type(value).__name__)
            return {TAG: "code", "text": text}
        raise DataError(f"{where} is of the type {type(value).__name__}, which cannot be saved.")

    def _packers(self) -> list[tuple[Any, Callable[[Any, str], Any]]]:
        return [
            (list, lambda value, where: [self.pack(item, f"{where}[{i}]") for i, item in enumerate(value)]),
            (tuple, lambda value, where: self._many("tuple", value, where)),
            ((set, frozenset), lambda value, where: self._many("set", sorted(value, key=repr), where)),
            (xr.Dataset, self._dataset),
            (Mapping, self._dict),
            (range, lambda value, _: {TAG: "range", "ends": [value.start, value.stop, value.step]}),
            (slice, lambda value, _: {TAG: "slice", "ends": [value.start, value.stop, value.step]}),
            (np.ndarray, self._array),
            (pd.DataFrame, self._frame),
            (pd.Series, self._series),
            (pd.MultiIndex, lambda value, where: self._levels(value, where)),
            (pd.Index, self._index),
            (pd.api.extensions.ExtensionArray, self._column),
            (pd.Interval, lambda value, where: self._interval(value, where)),
            (pd.Timestamp, lambda value, _: {TAG: "time", "is": value.isoformat()}),
            (type(pd.NA), lambda *_: {TAG: "missing", "is": "NA"}),
            (type(pd.NaT), lambda *_: {TAG: "missing", "is": "NaT"}),
            (nx.DiGraph, self._graph),
        ]

    def _many(self, tag: str, value: Any, where: str) -> dict[str, Any]:
        return {TAG: tag, "items": [self.pack(item, f"{where}[{i}]") for i, item in enumerate(value)]}

    def _dict(self, value: Mapping[Any, Any], where: str) -> dict[str, Any]:
        items = [
            [self.pack(key, f"a key of {where}"), self.pack(item, f"{where}[{key!r}]")] for key, item in value.items()
        ]
        return {TAG: "dict", "items": items}

    def _array(self, value: np.ndarray, where: str) -> dict[str, Any]:
        if value.dtype.kind in "biufmM":
            name = f"array_{len(self.arrays)}"
            stored = np.ascontiguousarray(value).reshape(value.shape)
            stored = stored.view(STORED_AS[value.dtype.kind]) if value.dtype.kind in STORED_AS else stored
            # Arrays of the same length share a dimension: each one costs more to write than many numbers.
            self.arrays[name] = xr.Variable([f"axis{axis}_{size}" for axis, size in enumerate(value.shape)], stored)
            return {TAG: "array", "at": name, "dtype": value.dtype.str}
        if value.dtype.kind not in "OU":
            raise DataError(f"{where} is an array of {value.dtype}, which cannot be saved.")
        items = [self.pack(item, f"{where}[{i}]") for i, item in enumerate(value.ravel().tolist())]
        dtype = f"<U{max([1, *map(len, items)])}" if value.dtype.kind == "U" else "|O"
        return {TAG: "objects", "shape": list(value.shape), "items": items, "dtype": dtype}

    def _column(self, value: Any, where: str) -> dict[str, Any]:
        """Pack the values of a column: numbers as an array, categories and text as codes, others one by one."""
        if isinstance(value, pd.arrays.NumpyExtensionArray) and not isinstance(value.dtype, pd.StringDtype):
            return {TAG: "column", "values": self._array(value.to_numpy(), where)}
        if isinstance(value, pd.Categorical):
            codes = self._array(np.asarray(value.codes), where)
            categories = self.pack(value.categories, f"the categories of {where}")
            return {TAG: "category", "codes": codes, "categories": categories, "ordered": bool(value.ordered)}
        codes, levels = pd.factorize(value)
        packed = [self.pack(level, where) for level in levels.tolist()]
        return {TAG: "levels", "codes": self._array(codes, where), "levels": packed, "dtype": str(value.dtype)}

    def _index(self, value: "pd.Index[Any]", where: str) -> dict[str, Any]:
        if isinstance(value, pd.RangeIndex):
            return {
                TAG: "range index",
                "ends": [value.start, value.stop, value.step],
                "name": self.pack(value.name, where),
            }
        values = self._column(value.array, where)
        return {TAG: "index", "values": values, "name": self.pack(value.name, where)}

    def _levels(self, value: pd.MultiIndex, where: str) -> dict[str, Any]:
        levels = [self._index(value.levels[place], where) for place in range(value.nlevels)]
        codes = [self._array(np.asarray(part), where) for part in value.codes]
        names = [self.pack(name, where) for name in value.names]
        return {TAG: "multi-index", "levels": levels, "codes": codes, "names": names}

    def _series(self, value: "pd.Series[Any]", where: str) -> dict[str, Any]:
        parts = {"index": self.pack(value.index, f"the index of {where}"), "values": self._column(value.array, where)}
        return {TAG: "series", **parts, "name": self.pack(value.name, where)}

    def _frame(self, value: pd.DataFrame, where: str) -> dict[str, Any]:
        columns = [self._column(value.iloc[:, place].array, f"{where}[{name!r}]") for place, name in enumerate(value)]
        index, names = (self.pack(part, f"an index of {where}") for part in (value.index, value.columns))
        return {TAG: "frame", "index": index, "names": names, "columns": columns}

    def _interval(self, value: Any, where: str) -> dict[str, Any]:
        return {
            TAG: "interval",
            "ends": [self.pack(end, where) for end in (value.left, value.right)],
            "closed": value.closed,
        }

    def _dataset(self, value: xr.Dataset, where: str) -> dict[str, Any]:
        def variables(items: Mapping[Any, xr.DataArray]) -> list[Any]:
            return [
                [
                    str(name),
                    list(array.dims),
                    self._array(array.to_numpy(), f"{where}[{name!r}]"),
                    self._dict(array.attrs, where),
                ]
                for name, array in items.items()
            ]

        return {
            TAG: "dataset",
            "variables": variables(value.data_vars),
            "coords": variables(value.coords),
            "attributes": self._dict(value.attrs, where),
        }

    def _graph(self, value: "nx.DiGraph[Any]", where: str) -> dict[str, Any]:
        nodes = [[self.pack(node, where), self._dict(data, where)] for node, data in value.nodes(data=True)]
        edges = [[self.pack(cause, where), self.pack(effect, where)] for cause, effect in value.edges]
        return {TAG: "graph", "nodes": nodes, "edges": edges}

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        name = f"{type(value).__module__.removeprefix('causalaudit.')}.{type(value).__qualname__}"
        if name not in CLASSES:
            raise DataError(f"{where} is of the type {name}, which cannot be saved.")
        fields = {
            field.name: self.pack(getattr(value, field.name), f"{where}.{field.name}")
            for field in dataclasses.fields(value)
            if field.init
        }
        return {TAG: "object", "class": name, "fields": fields}
