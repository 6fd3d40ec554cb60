"""The people of an audit as small integers: one code for each value of each feature."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError, nearest
from causalaudit.people import check_table


@dataclass(frozen=True)
class People:
    """Everyone with one of the two protected levels, coded.

    Attributes
    ----------
    data
        The features and the protected column, in the order of the table that was given.
    features
        The names of the features, in the order of the columns of `codes`.
    levels
        For each feature its values, as an array of the column's own dtype; the position is the code.
    ordered
        For each feature, whether the order of its levels means something.
    codes
        People × features.
    protected
        The protected column.
    groups
        Its two levels, 0 and 1.
    group
        The level of each person: 0 or 1.
    """

    data: pd.DataFrame
    features: tuple[str, ...]
    levels: tuple[Any, ...]
    ordered: tuple[bool, ...]
    codes: np.ndarray
    protected: str
    groups: tuple[Any, Any]
    group: np.ndarray

    def value(self, feature: int, code: Any) -> Any:
        """Return the value behind a code, as a plain Python object where there is one."""
        value = self.levels[feature][code]
        return value.item() if isinstance(value, np.generic) else value

    def predicate(self, codes: np.ndarray) -> dict[str, Any]:
        """Return the codes of a predicate (-1: not in it) as feature → value."""
        return {self.features[place]: self.value(place, codes[place]) for place in np.flatnonzero(codes >= 0).tolist()}

    @property
    def group_levels(self) -> Any:
        """The two protected levels, as an array of the column's own dtype."""
        first = np.array([int(np.argmax(self.group == side)) for side in (0, 1)])
        return self.data[self.protected].array.take(first)

    def frame(self, codes: np.ndarray, group: np.ndarray) -> pd.DataFrame:
        """Return coded rows as a table with the user's columns, dtypes and levels."""
        columns = {name: self.levels[place].take(codes[:, place]) for place, name in enumerate(self.features)}
        columns[self.protected] = self.group_levels.take(group)
        return pd.DataFrame({name: columns[name] for name in self.data.columns})


def code_people(
    data: pd.DataFrame,
    protected: str | Mapping[str, Any],
    features: Sequence[str],
    orders: Mapping[str, Sequence[Any]] | None = None,
) -> People:
    """Code the people with one of the two protected levels.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "hours": ["full", "part", "full"], "years": [12, 9, 9]})
    >>> coded = code_people(people, "sex", ["hours", "years"], {"hours": ["part", "full"]})
    >>> coded.codes.tolist(), coded.groups
    ([[1, 1], [0, 0], [1, 0]], ('f', 'm'))
    """
    check_table(data)
    column, groups = _two_levels(data, protected)
    names = _check_features(data, features, column)
    _check_orders(orders or {}, names)
    for name in (*names, column):
        missing = int(data[name].isna().sum())
        if missing:
            raise DataError(
                f"Column {name!r} has missing values in {missing} of {len(data)} rows. Drop or impute these rows, or "
                "give the missing value a name; they are not dropped silently."
            )
    chosen = data[[name for name in data.columns if name in {*names, column}]]
    group = np.where(data[column] == groups[0], 0, np.where(data[column] == groups[1], 1, -1))
    chosen, group = chosen[group >= 0], group[group >= 0]
    coded = [_code(chosen[name], (orders or {}).get(name)) for name in names]
    codes = np.stack([part[0] for part in coded], axis=1).astype(np.int32)
    return People(
        chosen, tuple(names), tuple(part[1] for part in coded), tuple(part[2] for part in coded), codes, column, groups,
        group.astype(np.int8),
    )  # fmt: skip


def _code(column: "pd.Series[Any]", order: Sequence[Any] | None) -> tuple[np.ndarray, Any, bool]:
    """Return the codes of a column, its levels and whether their order means something."""
    categorical = isinstance(column.dtype, pd.CategoricalDtype)
    if order is not None:
        unknown = [value for value in column.unique() if value not in list(order)]
        if unknown:
            raise DataError(f"{column.name!r} has the value {unknown[0]!r}, which its order {list(order)} lacks.")
        present = [value for value in order if bool((column == value).any())]
    elif categorical:
        present = [value for value in column.cat.categories if bool((column == value).any())]
    else:
        distinct = column.unique()
        numbers = pd.api.types.is_numeric_dtype(column)
        present = sorted(distinct) if numbers else sorted(distinct, key=lambda value: (str(type(value)), value))
    codes = pd.Index(present, dtype=object).get_indexer(pd.Index(column, dtype=object))
    first = np.unique(codes, return_index=True)[1]
    natural = pd.api.types.is_numeric_dtype(column) or (categorical and bool(column.cat.ordered))
    return codes, column.array.take(first), order is not None or natural


def _two_levels(data: pd.DataFrame, protected: str | Mapping[str, Any]) -> tuple[str, tuple[Any, Any]]:
    """Return the protected column and the two levels that are compared."""
    if isinstance(protected, Mapping) and len(protected) != 1:
        raise DataError(f"protected must name one column, but names {len(protected)}: {list(protected)}.")
    column = next(iter(protected)) if isinstance(protected, Mapping) else protected
    if column not in data.columns:
        raise DataError(
            f"The protected column {column!r} is not in data: {nearest(str(column), [*map(str, data.columns)])}"
        )
    present = _code(data[column].dropna(), None)[1]
    levels = [value.item() if isinstance(value, np.generic) else value for value in present]
    if not isinstance(protected, Mapping):
        if len(levels) != 2:
            raise DataError(
                f"The protected column {column!r} has {len(levels)} levels ({', '.join(map(repr, levels[:6]))}), but "
                f"two are compared: name them, as in protected={{{column!r}: ({levels[0]!r}, {levels[-1]!r})}}."
            )
        return column, (levels[0], levels[1])
    pair = protected[column]
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2 or pair[0] == pair[1]:
        raise DataError(f"protected[{column!r}] is {pair!r}, but must be two different levels: (level0, level1).")
    for level in pair:
        if level not in levels:
            raise DataError(f"Nobody has {column!r} = {level!r}; there are {', '.join(map(repr, levels[:6]))}.")
    return column, (pair[0], pair[1])


def _check_features(data: pd.DataFrame, features: Sequence[str], protected: str) -> list[str]:
    if isinstance(features, str):
        raise DataError(f"features is {features!r}, but must be a list of columns: [{features!r}].")
    names = list(features)
    if not names:
        raise DataError("features is empty: there is nothing that an action could change.")
    for name in names:
        if name not in data.columns:
            raise DataError(f"The feature {name!r} is not in data: {nearest(str(name), [*map(str, data.columns)])}")
        if names.count(name) > 1:
            raise DataError(f"The feature {name!r} is given twice.")
        if isinstance(data[name], pd.DataFrame):
            raise DataError(f"The column {name!r} is in data twice.")
    if protected in names:
        raise DataError(
            f"features include the protected column {protected!r}, which never changes: leave it out. The classifier "
            "still sees it."
        )
    return names


def _check_orders(orders: Mapping[str, Sequence[Any]], names: list[str]) -> None:
    for name, order in orders.items():
        if name not in names:
            raise DataError(f"orders names {name!r}, which is not a feature: {nearest(str(name), names)}")
        if isinstance(order, str) or len(set(order)) != len(list(order)):
            raise DataError(f"The order of {name!r} must be a list of different values, but is {order!r}.")
