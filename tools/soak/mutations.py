"""How valid arguments are spoilt: other types, other values, and tables that are almost right."""

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

Rng = np.random.Generator
_HUGE = (10**6, 2**31, 2**63, 10**30, 1e300)
_NAMES: list[Any] = [
    "draw",
    "chain",
    "individual",
    "a/b",
    "$x_1$",
    "$",
    "",
    " ",
    "ü x",
    0,
    1.5,
    ("a", "b"),
    None,
    "U(a,b)",
]


def _nothing(*given: Any) -> None:
    """Return nothing, whatever is asked."""


def _one(*given: Any) -> int:
    """Return one number, whatever is asked."""
    return 1


def _echo(*given: Any) -> Any:
    """Return what was given."""
    return given[0] if given else None


def _no_numbers(table: Any, *more: Any) -> Any:
    """Return NaN for everybody."""
    return np.full(len(table), np.nan) if hasattr(table, "__len__") else np.nan


def _words(table: Any, *more: Any) -> Any:
    """Return a word for everybody."""
    return np.array(["yes"] * len(table)) if hasattr(table, "__len__") else "yes"


JUNK: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 1.5, -0.5, 0.0, 0.9, 1e-12, np.nan, np.inf, 1 + 2j, "", "nobody", "sex", "$x$",
    b"x", [], [[]], ["nobody"], ["sex"], [1], [[1, 2]], [None], (), ("sex", "job"), {}, {"nobody": 1}, {1: 2},
    {"sex": "f"}, {"sex": None}, {"sex": ["f"]}, {"skill": 1.0}, {"sex": ("f", "m", "x")}, set(), {"sex"},
    frozenset({"skill"}), object(), object, int, _nothing, _one, _echo, _no_numbers, _words, np.array([]),
    np.array([1.0]), np.zeros((2, 2)), np.zeros(48), np.ones(48, dtype=bool), np.arange(48), np.int64(1),
    np.float32(0.5), np.bool_(True), np.str_("sex"), pd.NA, pd.NaT, pd.Series([1.0, 2.0]), pd.Series(dtype=float),
    pd.DataFrame(), pd.DataFrame({"a": [1]}), pd.Index([1, 2]), pd.Timestamp("2020-01-01"), datetime.date(2020, 1, 1),
    range(3), slice(None), Path("nowhere"), Exception("x"), iter([1]), ..., *_HUGE,
]  # fmt: skip


def spoil(value: Any, rng: Rng, repeats: bool = False) -> tuple[Any, str]:
    """Return an argument that is spoilt, and what was done to it in words."""
    if isinstance(value, pd.DataFrame) and rng.random() < 0.85:
        return spoil_table(value, rng)
    if isinstance(value, pd.Series) and rng.random() < 0.5:
        table, done = spoil_table(value.to_frame("column"), rng)
        return (table["column"] if isinstance(table, pd.DataFrame) and "column" in table.columns else table), done
    if isinstance(value, dict) and value and rng.random() < 0.6:
        return _spoil_dict(value, rng, repeats)
    if isinstance(value, list) and rng.random() < 0.6:
        return _spoil_list(value, rng)
    if isinstance(value, tuple) and rng.random() < 0.4:
        spoilt, done = _spoil_list(list(value), rng)
        return tuple(spoilt), f"tuple: {done}"
    if isinstance(value, bool | int | float) and not isinstance(value, bool) and rng.random() < 0.4:
        return _spoil_number(value, rng, repeats)
    if isinstance(value, str) and rng.random() < 0.3:
        spoilt = [value + "x", value.upper(), f" {value}", [value], {value: 1}, (value, value)][rng.integers(6)]
        return spoilt, f"→ {spoilt!r}"
    junk = JUNK[rng.integers(len(JUNK))]
    if repeats and not isinstance(junk, bool) and isinstance(junk, int | float) and junk > 50:
        junk = -3
    return junk, f"→ {_short(junk)}"


def _short(value: Any) -> str:
    if isinstance(value, pd.DataFrame | pd.Series | np.ndarray):
        return f"{type(value).__name__}{getattr(value, 'shape', '')}"
    return repr(value)[:80]


def _spoil_number(value: float, rng: Rng, repeats: bool) -> tuple[Any, str]:
    others: list[Any] = [
        -value,
        value + 0.5,
        str(value),
        [value],
        [value, value],
        np.array(value),
        np.int8(1),
        np.float64(value),
        value * 0,
    ]
    others += [] if repeats else [value * 10**6, value * 1e-9]
    spoilt = others[rng.integers(len(others))]
    return spoilt, f"→ {spoilt!r}"


def _spoil_list(value: list[Any], rng: Rng) -> tuple[Any, str]:
    junk = JUNK[rng.integers(len(JUNK))]
    kinds: list[Callable[[], Any]] = [
        lambda: [],
        lambda: [*value, junk],
        lambda: [*value, *value[:1]],
        lambda: [*value[1:], junk],
        lambda: value[::-1],
        lambda: [value],
        lambda: tuple(value),
        lambda: np.array(value, dtype=object),
        lambda: pd.Series(value, dtype=object),
        lambda: dict.fromkeys(map(str, value), 1),
        lambda: iter(value),
    ]
    spoilt = kinds[rng.integers(len(kinds))]()
    return spoilt, f"→ {_short(spoilt)}"


def _spoil_dict(value: dict[Any, Any], rng: Rng, repeats: bool) -> tuple[Any, str]:
    name = list(value)[rng.integers(len(value))]
    spoilt, kind = dict(value), rng.integers(4)
    if kind == 0:
        other = _NAMES[rng.integers(len(_NAMES))]
        spoilt[other] = spoilt.pop(name)
        return spoilt, f"the key {name!r} is {other!r}"
    if kind == 1:
        spoilt[_NAMES[rng.integers(len(_NAMES))]] = spoilt[name]
        return spoilt, "one more key"
    spoilt[name], done = spoil(spoilt[name], rng, repeats)
    return spoilt, f"[{name!r}] {done}"


# Tables


def _cells(table: pd.DataFrame, name: Any, cell: Any, share: float, rng: Rng) -> pd.DataFrame:
    values = table[name].astype(object).to_list()
    chosen = rng.random(len(values)) < share
    chosen[:1] |= True
    return table.assign(**{"__": pd.Series([cell if hit else old for hit, old in zip(chosen, values, strict=True)],
                                           index=table.index, dtype=object)})  # fmt: skip


def _put(table: pd.DataFrame, name: Any, column: Any) -> pd.DataFrame:
    """Return the table with another column in its place."""
    spoilt = table.copy()
    spoilt[name] = column
    return spoilt


_CELLS: list[Any] = [
    None, np.nan, np.inf, -np.inf, 1e300, -1, 0.5, "$x_{$", "", "nobody", [1, 2], {"a": 1}, (1, 2), pd.NA, pd.NaT, b"x",
    10**30, True, 1j, pd.Timestamp("2020-01-01"), object(),
]  # fmt: skip
_TYPES = [
    "Int64", "Float64", "boolean", "string", "category", "object", "float32", "int8", "bool", "str", "complex",
    "datetime64[ns]", "timedelta64[ns]", "uint8", "float16", "string[pyarrow]", "int64[pyarrow]", "double[pyarrow]",
]  # fmt: skip
_INDEXES: list[Callable[[int], Any]] = [
    lambda n: pd.Index([0] * n),
    lambda n: pd.date_range("2020-01-01", periods=n),
    lambda n: pd.MultiIndex.from_arrays([range(n), range(n)]),
    lambda n: pd.Index([f"person {i}" for i in range(n)]),
    lambda n: pd.Index([np.nan, *range(1, n)]),
    lambda n: pd.Index([None, *map(str, range(1, n))]),
    lambda n: pd.Index(np.arange(n) * 0.5),
    lambda n: pd.Index(range(5, n + 5), name="sex"),
    lambda n: pd.Index([(i,) for i in range(n)], tupleize_cols=False),
    lambda n: pd.CategoricalIndex([str(i) for i in range(n)]),
    lambda n: pd.Index([i if i % 2 else str(i) for i in range(n)], dtype=object),
    lambda n: pd.interval_range(0, n),
]  # fmt: skip


def spoil_table(table: pd.DataFrame, rng: Rng) -> tuple[Any, str]:
    """Return a table that is almost right, or none at all, and what was done in words."""
    if not len(table.columns) or not len(table):
        return table, "left alone"
    name = table.columns[rng.integers(len(table.columns))]
    kinds = [
        _spoil_cells,
        _spoil_cells,
        _spoil_type,
        _spoil_type,
        _spoil_column,
        _spoil_rows,
        _spoil_index,
        _spoil_whole,
    ]
    try:
        return kinds[rng.integers(len(kinds))](table, name, rng)
    except (TypeError, ValueError, OverflowError, AttributeError, NotImplementedError) as error:  # pandas could not
        return table, f"left alone ({type(error).__name__})"


def _spoil_cells(table: pd.DataFrame, name: Any, rng: Rng) -> tuple[Any, str]:
    cell = _CELLS[rng.integers(len(_CELLS))]
    share = (0.0, 0.3, 1.0)[rng.integers(3)]
    spoilt = _cells(table, name, cell, share, rng)
    column = spoilt.pop("__")
    if rng.random() < 0.7:
        column = column.infer_objects()
    return _put(table, name, column), f"cells of {name!r} are {cell!r} ({share:g}, {column.dtype})"


def _spoil_type(table: pd.DataFrame, name: Any, rng: Rng) -> tuple[Any, str]:
    kind = _TYPES[rng.integers(len(_TYPES))]
    column = table[name].astype(kind)
    if kind in ("Int64", "Float64", "boolean", "string", "category") and rng.random() < 0.4:
        column = column.where(rng.random(len(column)) < 0.8)
    if kind == "category" and rng.random() < 0.5:
        column = column.cat.add_categories(["unused"]).cat.as_ordered()
    return _put(table, name, column), f"{name!r} is {kind}, {int(column.isna().sum())} missing"


def _spoil_column(table: pd.DataFrame, name: Any, rng: Rng) -> tuple[Any, str]:
    kind = int(rng.integers(9))
    if kind == 0:
        return table.drop(columns=[name]), f"without {name!r}"
    if kind == 1:
        return pd.concat([table, table[[name]]], axis=1), f"{name!r} is there twice"
    if kind == 2:
        other = _NAMES[rng.integers(len(_NAMES))]
        return table.rename(columns={name: other}), f"{name!r} is named {other!r}"
    if kind == 3:
        return _put(table, name, table[name].iloc[0]), f"{name!r} is constant"
    if kind == 4:
        return _put(table, name, [f"id {place}" for place in range(len(table))]), f"{name!r} is an id"
    if kind == 5:
        return _put(table, name, rng.normal(size=len(table)) * 10.0 ** rng.integers(-300, 300)), f"{name!r} is noise"
    if kind == 6:
        other = _NAMES[rng.integers(len(_NAMES))]
        return _put(table, other, table[name]), f"one more column {other!r}"
    if kind == 7:
        texts = table[name].map(lambda value: f"$\\level_{{{value}")
        return _put(table, name, texts), f"{name!r} has dollars"
    return table[table.columns[::-1]], "columns in another order"


def _spoil_rows(table: pd.DataFrame, name: Any, rng: Rng) -> tuple[Any, str]:
    kind = int(rng.integers(6))
    if kind == 0:
        return table.iloc[:0], "no rows"
    if kind == 1:
        return table.iloc[:1], "one row"
    if kind == 2:
        return table[(table[name] == table[name].iloc[0]).to_numpy(dtype=bool)], f"one level of {name!r}"
    if kind == 3:
        return table.iloc[rng.permutation(len(table))], "rows permuted"
    if kind == 4:
        return table.iloc[: int(rng.integers(2, 12))], "few rows"
    return pd.concat([table.iloc[:3]] * 5), "copies of three rows"


def _spoil_index(table: pd.DataFrame, name: Any, rng: Rng) -> tuple[Any, str]:
    place = int(rng.integers(len(_INDEXES)))
    return table.set_axis(_INDEXES[place](len(table))), f"index {place}"


def _spoil_whole(table: pd.DataFrame, name: Any, rng: Rng) -> tuple[Any, str]:
    kinds: list[Callable[[], Any]] = [
        lambda: table.to_dict("list"),
        lambda: table.to_numpy(),
        lambda: table[name],
        lambda: table.T,
        lambda: table.set_axis(pd.MultiIndex.from_product([["a"], table.columns]), axis=1),
        lambda: table.astype(object),
        lambda: table.convert_dtypes(),
        lambda: table.astype("category"),
        lambda: table.set_axis([name] * table.shape[1], axis=1),
        lambda: table.set_axis(range(table.shape[1]), axis=1),
        lambda: table.apply(lambda column: pd.arrays.SparseArray(column.to_numpy())),
        lambda: list(table.itertuples()),
    ]
    place = int(rng.integers(len(kinds)))
    return kinds[place](), f"whole table {place}"
