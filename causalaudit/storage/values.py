"""Nested values as JSON beside arrays, and back: only types that are known here, and classes that say `storable`."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

import networkx as nx
import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.errors import DataError, SavedFileError

_TAG = "~"
_STORED_AS: dict[str, Any] = {"b": np.uint8, "m": np.int64, "M": np.int64}  # types that netCDF has no word for
_CLASSES: dict[str, type] = {}
Class = TypeVar("Class", bound=type)


def storable(cls: Class) -> Class:
    """Let the instances of a dataclass be saved: its fields must be storable themselves."""
    _CLASSES[f"{cls.__module__.removeprefix('causalaudit.')}.{cls.__qualname__}"] = cls
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
    >>> skeleton, arrays = pack({"level": 0.05, "draws": np.arange(3.0)})
    >>> unpack(skeleton, arrays)
    {'level': 0.05, 'draws': array([0., 1., 2.])}
    """
    packer = _Packer()
    skeleton = packer.pack(value, "the value")
    return skeleton, xr.Dataset(packer.arrays)


def unpack(skeleton: Any, arrays: xr.Dataset) -> Any:
    """Return the value that `pack` took apart."""
    return _Unpacker(arrays).unpack(skeleton)


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
            return value if np.isfinite(value) else {_TAG: "float", "is": repr(value)}
        for kinds, packer in self._known:
            if isinstance(value, kinds):
                return packer(value, where)
        if dataclasses.is_dataclass(value):
            return self._object(value, where)
        if callable(value) or hasattr(value, "predict") or isinstance(value, Unsaved):
            text = value.text if isinstance(value, Unsaved) else getattr(value, "__name__", type(value).__name__)
            return {_TAG: "code", "text": text}
        raise DataError(f"{where} is of the type {type(value).__name__}, which cannot be saved.")

    def _packers(self) -> list[tuple[Any, Callable[[Any, str], Any]]]:
        return [
            (list, lambda value, where: [self.pack(item, f"{where}[{i}]") for i, item in enumerate(value)]),
            (tuple, lambda value, where: self._many("tuple", value, where)),
            ((set, frozenset), lambda value, where: self._many("set", sorted(value, key=repr), where)),
            (xr.Dataset, self._dataset),
            (Mapping, self._dict),
            (range, lambda value, _: {_TAG: "range", "ends": [value.start, value.stop, value.step]}),
            (slice, lambda value, _: {_TAG: "slice", "ends": [value.start, value.stop, value.step]}),
            (np.ndarray, self._array),
            (pd.DataFrame, self._frame),
            (pd.Series, self._series),
            (pd.MultiIndex, lambda value, where: self._levels(value, where)),
            (pd.Index, self._index),
            (pd.api.extensions.ExtensionArray, self._column),
            (pd.Interval, lambda value, where: self._interval(value, where)),
            (pd.Timestamp, lambda value, _: {_TAG: "time", "is": value.isoformat()}),
            (type(pd.NA), lambda *_: {_TAG: "missing", "is": "NA"}),
            (type(pd.NaT), lambda *_: {_TAG: "missing", "is": "NaT"}),
            (nx.DiGraph, self._graph),
        ]

    def _many(self, tag: str, value: Any, where: str) -> dict[str, Any]:
        return {_TAG: tag, "items": [self.pack(item, f"{where}[{i}]") for i, item in enumerate(value)]}

    def _dict(self, value: Mapping[Any, Any], where: str) -> dict[str, Any]:
        items = [
            [self.pack(key, f"a key of {where}"), self.pack(item, f"{where}[{key!r}]")] for key, item in value.items()
        ]
        return {_TAG: "dict", "items": items}

    def _array(self, value: np.ndarray, where: str) -> dict[str, Any]:
        if value.dtype.kind in "biufmM":
            name = f"array_{len(self.arrays)}"
            stored = np.ascontiguousarray(value).reshape(value.shape)
            stored = stored.view(_STORED_AS[value.dtype.kind]) if value.dtype.kind in _STORED_AS else stored
            # Arrays of the same length share a dimension: each one costs more to write than many numbers.
            self.arrays[name] = xr.Variable([f"axis{axis}_{size}" for axis, size in enumerate(value.shape)], stored)
            return {_TAG: "array", "at": name, "dtype": value.dtype.str}
        if value.dtype.kind not in "OU":
            raise DataError(f"{where} is an array of {value.dtype}, which cannot be saved.")
        items = [self.pack(item, f"{where}[{i}]") for i, item in enumerate(value.ravel().tolist())]
        return {_TAG: "objects", "shape": list(value.shape), "items": items, "dtype": value.dtype.str}

    def _column(self, value: Any, where: str) -> dict[str, Any]:
        """Pack the values of a column: numbers as an array, categories and text as codes, others one by one."""
        if isinstance(value, pd.arrays.NumpyExtensionArray) and not isinstance(value.dtype, pd.StringDtype):
            return {_TAG: "column", "values": self._array(value.to_numpy(), where)}
        if isinstance(value, pd.Categorical):
            codes = self._array(np.asarray(value.codes), where)
            categories = self.pack(value.categories, f"the categories of {where}")
            return {_TAG: "category", "codes": codes, "categories": categories, "ordered": bool(value.ordered)}
        codes, levels = pd.factorize(value)
        packed = [self.pack(level, where) for level in levels.tolist()]
        return {_TAG: "levels", "codes": self._array(codes, where), "levels": packed, "dtype": str(value.dtype)}

    def _index(self, value: "pd.Index[Any]", where: str) -> dict[str, Any]:
        if isinstance(value, pd.RangeIndex):
            return {
                _TAG: "range index",
                "ends": [value.start, value.stop, value.step],
                "name": self.pack(value.name, where),
            }
        values = self._column(value.array, where)
        return {_TAG: "index", "values": values, "name": self.pack(value.name, where)}

    def _levels(self, value: pd.MultiIndex, where: str) -> dict[str, Any]:
        levels = [self._index(value.levels[place], where) for place in range(value.nlevels)]
        codes = [self._array(np.asarray(part), where) for part in value.codes]
        names = [self.pack(name, where) for name in value.names]
        return {_TAG: "multi-index", "levels": levels, "codes": codes, "names": names}

    def _series(self, value: "pd.Series[Any]", where: str) -> dict[str, Any]:
        parts = {"index": self.pack(value.index, f"the index of {where}"), "values": self._column(value.array, where)}
        return {_TAG: "series", **parts, "name": self.pack(value.name, where)}

    def _frame(self, value: pd.DataFrame, where: str) -> dict[str, Any]:
        columns = [self._column(value.iloc[:, place].array, f"{where}[{name!r}]") for place, name in enumerate(value)]
        index, names = (self.pack(part, f"an index of {where}") for part in (value.index, value.columns))
        return {_TAG: "frame", "index": index, "names": names, "columns": columns}

    def _interval(self, value: Any, where: str) -> dict[str, Any]:
        return {
            _TAG: "interval",
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
            _TAG: "dataset",
            "variables": variables(value.data_vars),
            "coords": variables(value.coords),
            "attributes": self._dict(value.attrs, where),
        }

    def _graph(self, value: "nx.DiGraph[Any]", where: str) -> dict[str, Any]:
        nodes = [[self.pack(node, where), self._dict(data, where)] for node, data in value.nodes(data=True)]
        edges = [[self.pack(cause, where), self.pack(effect, where)] for cause, effect in value.edges]
        return {_TAG: "graph", "nodes": nodes, "edges": edges}

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        name = f"{type(value).__module__.removeprefix('causalaudit.')}.{type(value).__qualname__}"
        if name not in _CLASSES:
            raise DataError(f"{where} is of the type {name}, which cannot be saved.")
        fields = {
            field.name: self.pack(getattr(value, field.name), f"{where}.{field.name}")
            for field in dataclasses.fields(value)
            if field.init
        }
        return {_TAG: "object", "class": name, "fields": fields}


class _Unpacker:
    def __init__(self, arrays: xr.Dataset) -> None:
        self.arrays = arrays

    def unpack(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.unpack(item) for item in value]
        if not isinstance(value, dict):
            return value
        known = {
            "float": lambda: float(value["is"]),
            "code": lambda: Unsaved(value["text"]),
            "tuple": lambda: tuple(self.unpack(value["items"])),
            "set": lambda: frozenset(self.unpack(value["items"])),
            "dict": lambda: {self.unpack(key): self.unpack(item) for key, item in value["items"]},
            "range": lambda: range(*value["ends"]),
            "slice": lambda: slice(*value["ends"]),
            "array": lambda: self._array(value),
            "objects": lambda: self._objects(value),
            "column": lambda: self._column(value),
            "category": lambda: self._column(value),
            "levels": lambda: self._column(value),
            "range index": lambda: pd.RangeIndex(*value["ends"]).rename(self.unpack(value["name"])),
            "index": lambda: self._index(value),
            "multi-index": lambda: self._multi_index(value),
            "series": lambda: self._series(value),
            "frame": lambda: self._frame(value),
            "interval": lambda: self._interval(value),
            "time": lambda: pd.Timestamp(value["is"]),
            "missing": lambda: pd.NA if value["is"] == "NA" else pd.NaT,
            "dataset": lambda: self._dataset(value),
            "graph": lambda: self._graph(value),
            "object": lambda: self._object(value),
        }
        if value.get(_TAG) not in known:
            raise SavedFileError(f"The file holds a {value.get(_TAG)!r}, which this version does not know.")
        return known[value[_TAG]]()

    def _array(self, value: dict[str, Any]) -> np.ndarray:
        stored = self.arrays[value["at"]].to_numpy()
        dtype = np.dtype(value["dtype"])
        return stored.view(dtype) if dtype.kind in _STORED_AS else stored.astype(dtype, copy=False)

    def _objects(self, value: dict[str, Any]) -> np.ndarray:
        flat = np.empty(len(value["items"]), dtype=object)
        for place, item in enumerate(self.unpack(value["items"])):  # all at once, numpy would open tuples
            flat[place] = item
        return flat.reshape(value["shape"]).astype(np.dtype(value["dtype"]))

    def _column(self, value: dict[str, Any]) -> Any:
        if value[_TAG] == "column":
            return self.unpack(value["values"])
        codes = self._array(value["codes"])
        if value[_TAG] == "category":
            return pd.Categorical.from_codes(codes, self.unpack(value["categories"]), ordered=value["ordered"])
        levels = np.empty(len(value["levels"]) + 1, dtype=object)
        levels[:] = [*self.unpack(value["levels"]), None]
        return pd.array(levels[codes], dtype=value["dtype"])

    def _index(self, value: dict[str, Any]) -> "pd.Index[Any]":
        values = self._column(value["values"])
        return pd.Index(values, dtype=values.dtype, name=self.unpack(value["name"]))

    def _multi_index(self, value: dict[str, Any]) -> pd.MultiIndex:
        levels = [self.unpack(level) for level in value["levels"]]
        codes: Any = [self._array(part) for part in value["codes"]]
        return pd.MultiIndex(levels, codes, names=self.unpack(value["names"]), verify_integrity=False)

    def _series(self, value: dict[str, Any]) -> "pd.Series[Any]":
        return pd.Series(
            self._column(value["values"]), index=self.unpack(value["index"]), name=self.unpack(value["name"])
        )

    def _frame(self, value: dict[str, Any]) -> pd.DataFrame:
        index = self.unpack(value["index"])
        columns = (self._column(column) for column in value["columns"])
        frame = pd.DataFrame({at: _series(column, index) for at, column in enumerate(columns)}, index=index)
        frame.columns = self.unpack(value["names"])
        return frame

    def _interval(self, value: dict[str, Any]) -> Any:
        left, right = self.unpack(value["ends"])
        return pd.Interval(left, right, closed=value["closed"])

    def _dataset(self, value: dict[str, Any]) -> xr.Dataset:
        def variables(items: list[Any]) -> dict[str, Any]:
            return {name: (dims, self.unpack(array), self.unpack(attrs)) for name, dims, array, attrs in items}

        attributes = self.unpack(value["attributes"])
        return xr.Dataset(variables(value["variables"]), variables(value["coords"]), attributes)

    def _graph(self, value: dict[str, Any]) -> "nx.DiGraph[Any]":
        graph: nx.DiGraph[Any] = nx.DiGraph()
        graph.add_nodes_from((self.unpack(node), self.unpack(data)) for node, data in value["nodes"])
        graph.add_edges_from(tuple(self.unpack(edge)) for edge in value["edges"])
        return graph

    def _object(self, value: dict[str, Any]) -> Any:
        if value["class"] not in _CLASSES:
            raise SavedFileError(f"The file holds a {value['class']!r}, which this version does not know.")
        return _CLASSES[value["class"]](**{name: self.unpack(field) for name, field in value["fields"].items()})


def _series(values: Any, index: "pd.Index[Any]") -> "pd.Series[Any]":
    """Return a series of exactly this type: pandas makes text of objects otherwise."""
    return pd.Series(values, index=index, dtype=values.dtype)
