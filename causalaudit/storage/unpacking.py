"""Values from JSON beside arrays, as `pack` took them apart; nothing is believed that was not checked.

No value takes more memory than a small multiple of what the file holds of it: sizes that are only claimed (of an index
that is a range, of texts of a fixed length) are compared with it first, and an array is used once.
"""

import math
import re
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.errors import SavedFileError
from causalaudit.storage.claims import check_fields
from causalaudit.storage.values import CLASSES, STORED_AS, TAG, Unsaved

_TYPES = re.compile(r"[<>|=](?:[biufOU]\d+|O|[mM]8\[\d*[a-zA-Z]+\]|[mM]8)")
_NOT_FINITE = {repr(value): value for value in (float("nan"), float("inf"), -float("inf"))}
_LONGEST_RANGE = 2**40
_LARGEST_EMPTY = 2**24  # of an array without values, the product of the axes that are not zero


def unpack(skeleton: Any, arrays: xr.Dataset) -> Any:
    """Return the value that `pack` took apart.

    Raises
    ------
    SavedFileError
        If it refers to something that is not there, or claims a size or a type that it does not have.
    """
    return _Unpacker(arrays).unpack(skeleton)


class _Unpacker:
    def __init__(self, arrays: xr.Dataset) -> None:
        self.arrays = {str(name): array.variable for name, array in arrays.items()}
        self._known = {
            "float": lambda value: _NOT_FINITE[value["is"]],
            "code": lambda value: Unsaved(_text(value["text"])),
            "tuple": lambda value: tuple(self._items(value)),
            "set": lambda value: frozenset(self._items(value)),
            "dict": self._dict,
            "range": lambda value: range(*_ends(value)),
            "slice": lambda value: slice(*_ends(value)),
            "array": self._array,
            "objects": self._objects,
            "column": lambda value: pd.arrays.NumpyExtensionArray(self._column(value)),
            "category": self._column,
            "levels": self._column,
            "range index": lambda value: pd.RangeIndex(*_ends(value)).rename(self.unpack(value["name"])),
            "index": self._index,
            "multi-index": self._multi_index,
            "series": self._series,
            "frame": self._frame,
            "interval": self._interval,
            "time": lambda value: pd.Timestamp(_text(value["is"])),
            "missing": lambda value: {"NA": pd.NA, "NaT": pd.NaT}[value["is"]],
            "dataset": self._dataset,
            "graph": self._graph,
            "object": self._object,
        }

    def unpack(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.unpack(item) for item in value]
        if not isinstance(value, dict):
            return value
        tag = value.get(TAG)
        if not isinstance(tag, str) or tag not in self._known:
            raise SavedFileError(f"The file holds a {tag!r}, which this version does not know.")
        return self._known[tag](value)

    def _items(self, value: dict[str, Any]) -> list[Any]:
        return [self.unpack(item) for item in _list(value["items"])]

    def _dict(self, value: dict[str, Any]) -> dict[Any, Any]:
        found = {self.unpack(key): self.unpack(item) for key, item in map(_list, _list(value["items"]))}
        if len(found) < len(value["items"]):
            raise SavedFileError("The file holds a key twice.")
        return found

    def _array(self, value: dict[str, Any]) -> np.ndarray:
        stored = self.arrays.pop(value["at"]).to_numpy()  # no array is used twice: it would be copied each time
        dtype = _dtype(value["dtype"])
        if stored.dtype != STORED_AS.get(dtype.kind, dtype) or dtype.itemsize != stored.dtype.itemsize:
            raise SavedFileError(f"The file claims an array of {dtype}, but holds {stored.dtype}.")
        if dtype.kind == "b" and stored.size and stored.max() > 1:
            raise SavedFileError("The file claims an array of true and false, but holds other values.")
        return stored.view(dtype) if dtype.kind in STORED_AS else stored.astype(dtype, copy=False)

    def _objects(self, value: dict[str, Any]) -> np.ndarray:
        items, dtype = self._items(value), _dtype(value["dtype"])
        longest = max([1, *(len(item) for item in items if isinstance(item, str))])
        if dtype.kind not in "OU" or (dtype.kind == "U" and dtype.itemsize > 4 * longest):
            raise SavedFileError(f"The file claims an array of {dtype}, but its texts have at most {longest} letters.")
        shape = _list(value["shape"])
        if math.prod(shape) != len(items) or math.prod(size or 1 for size in shape) > max(_LARGEST_EMPTY, len(items)):
            raise SavedFileError(f"The file claims {str(shape)[:80]} values, but holds {len(items)}.")
        flat = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):  # all at once, numpy would open tuples
            flat[place] = item
        return flat.reshape(shape).astype(dtype)

    def _numbers_or_objects(self, value: dict[str, Any]) -> np.ndarray:
        return self._objects(value) if value[TAG] == "objects" else self._array(value)

    def _column(self, value: dict[str, Any]) -> Any:
        if value[TAG] == "column":
            return self._numbers_or_objects(value["values"])
        codes = self._array(value["codes"])
        if value[TAG] == "category":
            return pd.Categorical.from_codes(codes, self.unpack(value["categories"]), ordered=value["ordered"])
        dtype, known = pd.api.types.pandas_dtype(_text(value["dtype"])), [*map(self.unpack, _list(value["levels"]))]
        if isinstance(dtype, np.dtype) and dtype.kind not in "mM":
            raise SavedFileError(f"The file claims levels of the type {dtype}, which are saved as arrays.")
        if isinstance(dtype, pd.StringDtype):
            known = [*map(_text, known)]
        _check_codes(codes, len(known))
        if len({*known}) < len(known) or (pd.unique(codes[codes >= 0]) != np.arange(len(known))).any():
            raise SavedFileError("The file holds levels that are not in the order in which they are first met.")
        levels = np.empty(len(known) + 1, dtype=object)
        levels[:] = [*known, None]
        return pd.array(levels[codes], dtype=dtype)

    def _index(self, value: dict[str, Any]) -> "pd.Index[Any]":
        values = self._column(value["values"])
        return pd.Index(values, dtype=values.dtype, name=self.unpack(value["name"]))

    def _multi_index(self, value: dict[str, Any]) -> pd.MultiIndex:
        levels: list[Any] = [self._index(level) for level in _list(value["levels"])]
        codes: Any = [self._array(part) for part in _list(value["codes"])]
        for level, part in zip(levels, codes, strict=True):
            _check_codes(part, len(level))
        if len({len(part) for part in codes}) > 1:
            raise SavedFileError("The file holds an index of several levels that are not equally long.")
        names = [level.name for level in levels]
        if names != self._items({"items": value["names"]}):
            raise SavedFileError(f"The file holds an index of the levels {str(names)[:80]}, but calls them otherwise.")
        return pd.MultiIndex(levels, codes, names=names, verify_integrity=False)

    def _series(self, value: dict[str, Any]) -> "pd.Series[Any]":
        index, values = self._labels(value["index"]), self._column(value["values"])
        return pd.Series(values, index=index, name=self.unpack(value["name"]))

    def _frame(self, value: dict[str, Any]) -> pd.DataFrame:
        index = self._labels(value["index"])
        columns = [self._column(column) for column in _list(value["columns"])]
        if any(len(column) != len(index) for column in columns):
            raise SavedFileError("The file holds a table whose columns are not as long as its index.")
        frame = pd.DataFrame({at: _series(column, index) for at, column in enumerate(columns)}, index=index)
        frame.columns = self._labels(value["names"])
        return frame

    def _labels(self, value: dict[str, Any]) -> "pd.Index[Any]":
        index = self.unpack(value)
        if not isinstance(index, pd.Index):
            raise SavedFileError(f"The file holds a {type(index).__name__} where an index should be.")
        return index

    def _interval(self, value: dict[str, Any]) -> Any:
        left, right = self.unpack(value["ends"])
        return pd.Interval(left, right, closed=value["closed"])

    def _dataset(self, value: dict[str, Any]) -> xr.Dataset:
        def variables(items: list[Any]) -> dict[str, Any]:
            return {
                _text(name): (list(map(_text, _list(dims))), self.unpack(array), self.unpack(attrs))
                for name, dims, array, attrs in _list(items)
            }

        attributes = self.unpack(value["attributes"])
        return xr.Dataset(variables(value["variables"]), variables(value["coords"]), attributes)

    def _graph(self, value: dict[str, Any]) -> "nx.DiGraph[Any]":
        graph: nx.DiGraph[Any] = nx.DiGraph()
        graph.add_nodes_from((self.unpack(node), self.unpack(data)) for node, data in _list(value["nodes"]))
        graph.add_edges_from(tuple(self.unpack(edge)) for edge in _list(value["edges"]))
        return graph

    def _object(self, value: dict[str, Any]) -> Any:
        if value["class"] not in CLASSES:
            raise SavedFileError(f"The file holds a {value['class']!r}, which this version does not know.")
        fields = {name: self.unpack(field) for name, field in value["fields"].items()}
        check_fields(CLASSES[value["class"]], fields)
        return CLASSES[value["class"]](**fields)


def _series(values: Any, index: "pd.Index[Any]") -> "pd.Series[Any]":
    """Return a series of exactly this type: pandas makes text of objects otherwise."""
    return pd.Series(values, index=index, dtype=values.dtype)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise SavedFileError(f"The file holds a {type(value).__name__} where a text should be.")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise SavedFileError(f"The file holds a {type(value).__name__} where a list should be.")
    return value


def _dtype(text: Any) -> "np.dtype[Any]":
    if not isinstance(text, str) or not _TYPES.fullmatch(text):
        raise SavedFileError(f"The file claims values of the type {str(text)[:40]!r}.")
    return np.dtype(text)


def _ends(value: dict[str, Any]) -> list[Any]:
    """Return the three numbers of a range or a slice."""
    ends = value["ends"]
    if not isinstance(ends, list) or len(ends) != 3 or not all(end is None or type(end) is int for end in ends):
        raise SavedFileError(f"The file holds a {value[TAG]} from {str(ends)[:80]}.")
    if any(abs(end or 0) > _LONGEST_RANGE for end in ends):
        raise SavedFileError(f"The file holds a {value[TAG]} that is too long: {str(ends)[:80]}.")
    return ends


def _check_codes(codes: np.ndarray, levels: int) -> None:
    if codes.dtype.kind not in "iu" or codes.ndim != 1:
        raise SavedFileError("The file holds codes that are no list of whole numbers.")
    if codes.size and (codes.min() < -1 or codes.max() >= levels):
        raise SavedFileError(f"The file holds codes from {codes.min()} to {codes.max()} of {levels} levels.")
