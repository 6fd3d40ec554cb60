"""Tables of people, checked once for all: columns, who is protected, features, codes, and what counts as discrete."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_name, check_names, check_value, shown
from causalaudit.errors import DataError, nearest
from causalaudit.randomness import label_places
from causalaudit.storage import storable

FEW_VALUES = 10  # distinct numbers, up to which a column counts as discrete unless it is declared
_MOST_CELLS = 2**12  # combinations of whole numbers that are told apart by counting
_LARGEST = 2.0**62  # the largest number that a row of codes may be written as

Protected = str | Mapping[str, Any]
FORMS = "{column: level} or {column: (level, reference)}, the protected level first"  # of `protected`


# Tables and columns


def check_table(data: pd.DataFrame) -> None:
    """Refuse what is not a table of people with a unique index."""
    if not isinstance(data, pd.DataFrame):
        raise DataError(f"data must be a pandas DataFrame, but is {type(data).__name__}.")
    if len(data) == 0:
        raise DataError("data has no rows: at least one person is needed.")
    if not data.index.is_unique:
        twice = data.index[data.index.duplicated()].tolist()[0]
        raise DataError(f"The index of data is not unique ({twice!r} occurs twice): use data.reset_index(drop=True).")


def find_column(data: pd.DataFrame, name: Any, role: str) -> "pd.Series[Any]":
    """Return a column, in which values may be missing; `role` says what it is to the reader of an error."""
    if check_name(role, name) not in data.columns:
        raise DataError(f"The {role} {name!r} is not in data: {nearest(str(name), [*map(str, data.columns)])}")
    column = data[name]
    if isinstance(column, pd.DataFrame):
        raise DataError(f"The column {name!r} is in data twice.")
    return column


def pick_column(data: pd.DataFrame, name: Any, role: str) -> "pd.Series[Any]":
    """Return a column without missing values; `role` says what it is to the reader of an error."""
    column = find_column(data, name, role)
    missing = int(column.isna().sum())
    if missing:
        raise DataError(
            f"The {role} {name!r} is missing for {missing} of {len(column)} people. Drop or impute them first, or give "
            "the missing value a name; they are not dropped silently. If a program models the column, its posterior "
            "completes them, draw by draw: `for people, worlds in ca.counterfactuals(posterior, do).completions()`."
        )
    check_cells(column, role)
    return column


def check_cells(column: "pd.Series[Any]", role: str) -> None:
    """Refuse cells that cannot be told apart or counted: lists, dicts, tables."""
    if column.dtype in (np.float16, np.complex128):
        raise DataError(f"The {role} {column.name!r} is of the type {column.dtype}: make it column.astype(float).")
    if column.dtype != object:
        return
    several = {kind for kind in set(map(type, column.array)) if kind.__hash__ is None or issubclass(kind, tuple)}
    for label, cell in column.items() if several else ():
        if type(cell) in several:
            raise DataError(
                f"The {role} {column.name!r} holds {shown(cell)} for the person {label!r}, but a cell must be a "
                "number, a text or another single value."
            )


def check_features(
    data: pd.DataFrame | Collection[str], features: Any, taken: Mapping[str, str] | None = None
) -> list[str]:
    """Return the features as a list: columns, each once, none of which has another role.

    Parameters
    ----------
    data
        The table, of which the features must be columns without missing values; or just the names that there are.
    features
        What the user gave.
    taken
        Columns with another role, and which.

    Examples
    --------
    >>> import pandas as pd
    >>> check_features(pd.DataFrame({"age": [30], "sex": ["f"]}), ["age"], {"sex": "protected column"})
    ['age']
    """
    if isinstance(features, str):
        raise DataError(f"features is the text {features!r}, but must be a list of columns: [{features!r}].")
    if not isinstance(features, Collection) or isinstance(features, Mapping):
        raise DataError(f"features is {features!r}, but must be a list of columns.")
    names = check_names("features", features)
    if not names:
        raise DataError("features is empty: list at least one column.")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"The feature {name!r} is given twice.")
        if name in (taken or {}):
            raise DataError(f"{name!r} is the {(taken or {})[name]}, so it cannot be a feature too: leave it out.")
        if isinstance(data, pd.DataFrame):
            pick_column(data, name, "feature")
        elif name not in data:
            raise DataError(f"The feature {name!r} is not there: {nearest(str(name), [*map(str, data)])}")
    return names


# Levels and codes


def levels_of(column: "pd.Series[Any]") -> list[Any]:
    """Return the levels that occur: in the order of its categories, else sorted; as plain Python values.

    Examples
    --------
    >>> import pandas as pd
    >>> levels_of(pd.Series(pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"]))), levels_of(pd.Series([2, 1]))
    (['lo', 'hi'], [1, 2])
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        used = np.bincount(column.cat.codes[column.cat.codes >= 0], minlength=len(column.cat.categories)) > 0
        return list(column.cat.categories[used])
    return sorted(column.dropna().unique().tolist(), key=lambda level: (str(type(level)), level))


def codes_of(column: "pd.Series[Any]", levels: Sequence[Any]) -> np.ndarray:
    """Return the position of each value among levels; -1 where it is none of them."""
    return pd.Index(list(levels), dtype=object).get_indexer(pd.Index(column, dtype=object))


def why_discrete(column: "pd.Series[Any]", declared: Collection[str] = ()) -> str | None:
    """Say why a column counts as discrete; None if it counts as continuous.

    It is discrete if it was declared to be, if it has levels (text, categories, booleans), or if it has at most ten
    different numbers, whole or not.

    Examples
    --------
    >>> import pandas as pd
    >>> why_discrete(pd.Series([0.5, 1.5, 2.5])), why_discrete(pd.Series(range(50)))
    ('few values', None)
    """
    if column.name in declared:
        return "declared"
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return "levels"
    return "few values" if column.nunique(dropna=False) <= FEW_VALUES else None


def kinds_of(data: pd.DataFrame, names: Collection[str], declared: Collection[str] | None = None) -> dict[str, str]:
    """Return for each column why it is "discrete (…)", or that it is "continuous", for the settings of a result."""
    for name in declared or ():
        if name not in names:
            raise DataError(f"discrete names {name!r}, which is not among {', '.join(map(repr, names))}.")
    reasons = {name: why_discrete(data[name], declared or ()) for name in names}
    return {name: "continuous" if reason is None else f"discrete ({reason})" for name, reason in reasons.items()}


# Distinct rows


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of a table, in ascending order.

    Attributes
    ----------
    first
        Where each is first.
    inverse
        Which one each row is.
    counts
        How many rows are each.
    """

    first: np.ndarray
    inverse: np.ndarray
    counts: np.ndarray

    def __len__(self) -> int:
        return len(self.first)


def distinct_rows(columns: Sequence[np.ndarray]) -> DistinctRows:
    """Find the distinct rows of columns of numbers or codes (not NaN), sorted by the first, then the second and so on.

    Examples
    --------
    >>> import numpy as np
    >>> found = distinct_rows([np.array([1, 0, 1]), np.array([2.5, 1.0, 2.5])])
    >>> found.first.tolist(), found.inverse.tolist(), found.counts.tolist()
    ([1, 0], [1, 0, 1], [1, 2])
    """
    few = distinct_on_grid(columns)
    if few is not None:
        return few
    parts = [np.unique(column, return_inverse=True) for column in columns]
    size = float(np.prod([float(len(values)) for values, _ in parts]))
    if size < _LARGEST:
        key = np.zeros(len(columns[0]), dtype=np.int64)
        for values, codes in parts:
            key = key * len(values) + codes.reshape(-1)
        _, first, inverse, counts = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    else:
        rows = np.stack([codes.reshape(-1) for _, codes in parts], axis=1)
        _, first, inverse, counts = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return DistinctRows(first, inverse.reshape(-1), counts)


def distinct_on_grid(columns: Sequence[np.ndarray]) -> DistinctRows | None:
    """Find the distinct rows of whole numbers without sorting; None if there are others, or too many combinations.

    Rows are counted on the grid of all combinations that are possible: where they are few, this is many times faster.

    Examples
    --------
    >>> import numpy as np
    >>> distinct_on_grid([np.array([1, 0, 1]), np.array([2, 7, 2])]).first.tolist()
    [1, 0]
    >>> distinct_on_grid([np.array([0.5])]) is None
    True
    """
    index, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        if not len(column) or column.dtype.kind not in "biuf":
            return None
        low, high = float(column.min()), float(column.max())
        size *= int(min(high - low + 1, _MOST_CELLS + 1))
        if size > _MOST_CELLS or (column.dtype.kind == "f" and (column != np.floor(column)).any()):
            return None
        index = index * int(high - low + 1) + (column - low).astype(np.int64)
    counts = np.bincount(index, minlength=size)
    first = np.empty(size, dtype=np.int64)
    first[index[::-1]] = np.arange(len(index) - 1, -1, -1)
    used = np.flatnonzero(counts)
    place = np.zeros(size, dtype=np.int64)
    place[used] = np.arange(len(used))
    return DistinctRows(first[used], place[index], counts[used])


def draw_part(strata: np.ndarray, share: float, rng: np.random.Generator, index: "pd.Index[Any]") -> np.ndarray:
    """Draw a share of the people of each stratum, by label, as flags: a part that is like the whole.

    Examples
    --------
    >>> part = draw_part(np.array([0, 0, 0, 0, 1, 1]), 0.5, np.random.default_rng(0), pd.RangeIndex(6))
    >>> int(part[:4].sum()), int(part[4:].sum())
    (2, 1)
    """
    order = np.argsort(label_places(index))[rng.permutation(len(strata))]
    chosen = np.zeros(len(order), dtype=bool)
    for stratum in np.unique(strata):
        people = order[strata[order] == stratum]
        chosen[people[: round(share * len(people))]] = True
    return chosen


# Who is protected


@storable
@dataclass(frozen=True, eq=False)
class Groups:
    """Who is protected, and whom they are compared with.

    Attributes
    ----------
    column
        The protected column.
    level
        The protected level: the contrast, x1.
    reference
        The level they are compared with: the baseline, x0; None for everyone else, if there are several levels.
    """

    column: Any
    level: Any
    reference: Any

    def protected(self, data: pd.DataFrame) -> np.ndarray:
        """Return who has the protected level."""
        return np.asarray((data[self.column] == self.level).to_numpy(dtype=bool))

    def compared(self, data: pd.DataFrame) -> np.ndarray:
        """Return whom they are compared with."""
        if self.reference is None:
            return ~self.protected(data)
        return np.asarray((data[self.column] == self.reference).to_numpy(dtype=bool))

    @property
    def setting(self) -> dict[str, Any]:
        """`protected` as it could have been asked for, in JSON: a pair is a list."""
        return {self.column: self.level if self.reference is None else [self.level, self.reference]}

    @property
    def words(self) -> str:
        """For titles: the column and the levels."""
        against = "everyone else" if self.reference is None else str(self.reference)
        return f"{self.column} = {self.level} against {against}"


def read_protected(
    data: pd.DataFrame,
    protected: Protected,
    *,
    bare: bool = False,
    one_reference: bool = False,
    levels: Sequence[Any] | None = None,
) -> Groups:
    """Read `protected` in the one way that all auditors share.

    ``{column: level}`` is that level against everyone else, ``{column: (level, reference)}`` against one other level,
    the protected one first. A bare column is possible where two levels are compared on equal footing: the second
    level is then the contrast, the first the baseline.

    Parameters
    ----------
    data
        The people.
    protected
        What the user gave.
    bare
        Whether a bare column is understood.
    one_reference
        Whether everyone else must be people of one level, because worlds are asked about in which people have it.
    levels
        The levels of the column in their order, where they are declared; default those that occur, see `levels_of`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"race": ["Black", "White", "Asian"]})
    >>> read_protected(people, {"race": ("Black", "White")}).words
    'race = Black against White'
    """
    if isinstance(protected, str) and not bare:
        shown = _shown_levels(data, protected)
        raise DataError(
            f"protected is the bare column {protected!r}, but must say which level is protected: {FORMS}{shown}."
        )
    if not isinstance(protected, str) and (not isinstance(protected, Mapping) or len(protected) != 1):
        raise DataError(f"protected is {protected!r}, but must be {FORMS}{' or a column of two levels' * bare}.")
    column: Any = protected if isinstance(protected, str) else next(iter(protected))
    values = pick_column(data, column, "protected column")
    found = levels_of(values) if levels is None else [level for level in levels if bool((values == level).any())]
    if isinstance(protected, str):
        if len(found) != 2:
            raise DataError(
                f"The protected column {column!r} has {len(found)} levels ({_listed(found)}), but two are compared: "
                f"name them, the protected one first, as in protected={{{column!r}: ({found[-1]!r}, {found[0]!r})}}."
            )
        return Groups(column, found[1], found[0])
    if isinstance(protected[column], tuple) and not protected[column]:
        raise DataError(f"protected is {protected!r}, but must be {FORMS}.")
    level, *reference = protected[column] if isinstance(protected[column], tuple) else (protected[column],)
    for name in (level, *reference):
        check_value(f"A level of {column!r} in protected", name)
    if len(reference) > 1 or reference == [level]:
        raise DataError(f"protected is {protected!r}, but must name one level, or it and one other: {FORMS}.")
    for name in (level, *reference):
        if name not in found:
            raise DataError(f"Nobody in data has {column!r} equal to {name!r}; its levels are {_listed(found)}.")
    others = [name for name in found if name != level]
    if not others:
        raise DataError(f"Everyone in data has {column!r} equal to {level!r}: there is nobody to compare them with.")
    if not reference and one_reference and len(others) > 1:
        raise DataError(
            f"protected is {protected!r}, but {column!r} has {len(others)} other levels ({_listed(others)}), and it is "
            "asked what people would be if they had one of them: name it, as in "
            f"protected={{{column!r}: ({level!r}, {others[0]!r})}}."
        )
    other = reference[0] if reference else others[0] if len(others) == 1 else None
    return Groups(column, _plain(level), _plain(other))


def _shown_levels(data: pd.DataFrame, column: str) -> str:
    if column not in data.columns or isinstance(data[column], pd.DataFrame):
        return ""
    return f"; its levels are {_listed(levels_of(data[column]))}"


def _listed(levels: Sequence[Any], most: int = 6) -> str:
    return ", ".join(map(repr, levels[:most])) + (", …" if len(levels) > most else "")


def _plain(level: Any) -> Any:
    return level.item() if isinstance(level, np.generic) else level
