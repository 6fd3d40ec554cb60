"""The people of an audit as small integers: one code for each value of each feature."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_value
from causalaudit.errors import DataError, nearest
from causalaudit.people import Protected, check_features, check_table, codes_of, levels_of, read_protected
from causalaudit.recourse.question.items import items_of, ranges_of
from causalaudit.storage import storable

EVERYONE_ELSE = "everyone else"


@storable
@dataclass(frozen=True, eq=False)
class Vocabulary:
    """What codes mean.

    Attributes
    ----------
    features
        The names of the features.
    levels
        For each feature its values; the position is the code.
    protected
        The protected column.
    groups
        The two groups that are compared: 0, the reference (a level, or "everyone else" if there are several others),
        and 1, the protected level.
    thresholds
        The features of which subgroups may also say that they are at least, or at most, a value.
    """

    features: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    protected: str
    groups: tuple[Any, Any]
    thresholds: tuple[str, ...] = ()

    @cached_property
    def items(self) -> tuple[tuple[Any, ...], ...]:
        """For each feature what subgroups may say of it; the position is the code, values come first."""
        pairs = zip(self.features, self.levels, strict=True)
        return tuple(items_of(levels, name in self.thresholds) for name, levels in pairs)

    @cached_property
    def ranges(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """For each feature the lowest and the highest value (codes) of what may be said of it."""
        pairs = zip(self.features, self.levels, strict=True)
        return tuple(ranges_of(len(levels), name in self.thresholds) for name, levels in pairs)

    def inside(self, predicate: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return which rows of values (codes; -1: one that nobody has) fit the codes of a predicate.

        Both are arrays with the features along the last axis, and are broadcast along the others.
        """
        found = np.ones(np.broadcast_shapes(predicate.shape[:-1], rows.shape[:-1]), dtype=bool)
        for place, (low, high) in enumerate(self.ranges):
            item, code = predicate[..., place], rows[..., place]
            if (item >= 0).any():
                found &= (item < 0) | ((low[item] <= code) & (code <= high[item]))
        return found

    def predicate(self, codes: np.ndarray) -> dict[str, Any]:
        """Return the codes of a predicate (-1: not in it) as feature → value."""
        places = np.flatnonzero(codes >= 0).tolist()
        return {self.features[place]: self.items[place][codes[place]] for place in places}

    def codes(self, predicate: Mapping[str, Any]) -> np.ndarray:
        """Return a predicate, feature → value, as codes."""
        codes = np.full(len(self.features), -1)
        for name, value in predicate.items():
            if name not in self.features:
                raise DataError(f"{name!r} is not a feature; there are {', '.join(map(repr, self.features))}.")
            place = self.features.index(name)
            check_value(f"The value of {name!r}", value)
            if value not in self.items[place]:
                raise DataError(f"Nobody has {name!r} = {value!r}.")
            codes[place] = self.items[place].index(value)
        return codes


@dataclass(frozen=True, eq=False)
class CodedPeople:
    """Everyone who is compared, coded.

    Attributes
    ----------
    data
        The features and the protected column, in the order of the table that was given.
    vocabulary
        What codes mean.
    ordered
        For each feature, whether the order of its levels means something.
    codes
        People × features.
    status
        The code of each person's own protected level, those of group 0 first.
    group_of_status
        The group, 0 or 1, of each protected level.
    """

    data: pd.DataFrame
    vocabulary: Vocabulary
    ordered: tuple[bool, ...]
    codes: np.ndarray
    status: np.ndarray
    group_of_status: np.ndarray

    @cached_property
    def group(self) -> np.ndarray:
        """The group of each person: 0 or 1."""
        return self.group_of_status[self.status]

    @cached_property
    def typed_levels(self) -> tuple[Any, ...]:
        """For each feature its values, as an array of the column's own dtype."""
        names = self.vocabulary.features
        return tuple(_typed(self.data[name], self.codes[:, place]) for place, name in enumerate(names))

    @cached_property
    def typed_statuses(self) -> Any:
        """The protected levels, as an array of the column's own dtype."""
        return _typed(self.data[self.vocabulary.protected], self.status)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each column of a row: the features and, last, the protected column."""
        return (*map(len, self.vocabulary.levels), len(self.group_of_status))

    def frame(self, codes: np.ndarray, status: np.ndarray) -> pd.DataFrame:
        """Return coded rows as a table with the user's columns, dtypes and levels."""
        names = self.vocabulary.features
        columns = {name: self.typed_levels[place].take(codes[:, place]) for place, name in enumerate(names)}
        columns[self.vocabulary.protected] = self.typed_statuses.take(status)
        return pd.DataFrame({name: columns[name] for name in self.data.columns})


def code_people(
    data: pd.DataFrame,
    protected: Protected,
    features: Sequence[str],
    orders: Mapping[str, Sequence[Any]] | None = None,
    thresholds: Collection[str] = (),
) -> CodedPeople:
    """Code the people who are compared; those with other protected levels are left out.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "m", "m"], "hours": ["full", "part", "full"], "years": [12, 9, 9]})
    >>> coded = code_people(people, {"sex": "f"}, ["hours", "years"], {"hours": ["part", "full"]})
    >>> coded.codes.tolist(), coded.vocabulary.groups, coded.group.tolist()
    ([[1, 1], [0, 0], [1, 0]], ('m', 'f'), [1, 0, 0])
    """
    check_table(data)
    groups = read_protected(data, protected, bare=True)
    names = check_features(data, features, {groups.column: "protected column"})
    for name in names:
        _refuse_infinite(data[name])
    inside = groups.protected(data) | groups.compared(data)
    chosen = data.loc[inside, [name for name in data.columns if name in {*names, groups.column}]]
    coded = [_code(chosen[name], (orders or {}).get(name)) for name in names]
    _check_thresholds(thresholds, names, [part[2] for part in coded])
    others = [level for level in levels_of(chosen[groups.column]) if level != groups.level]
    status = codes_of(chosen[groups.column], [*others, groups.level])
    reference = EVERYONE_ELSE if groups.reference is None else groups.reference
    levels = tuple(part[1] for part in coded)
    return CodedPeople(
        chosen,
        Vocabulary(tuple(names), levels, groups.column, (reference, groups.level), tuple(thresholds)),
        tuple(part[2] for part in coded),
        np.stack([part[0] for part in coded], axis=1).astype(np.int32),
        status.astype(np.int32),
        np.array([0] * len(others) + [1], dtype=np.int8),
    )


def _refuse_infinite(column: "pd.Series[Any]") -> None:
    infinite = column.isin([np.inf, -np.inf])
    if infinite.any():
        one = column.index[infinite.to_numpy()].tolist()[0]
        raise DataError(
            f"The feature {column.name!r} is infinite for {int(infinite.sum())} of {len(column)} people, for example "
            f"{one!r}: what a change costs is not known. Give the value that is meant, or bin the feature."
        )


def _check_thresholds(thresholds: Any, names: list[str], ordered: list[bool]) -> None:
    if isinstance(thresholds, str) or not isinstance(thresholds, Collection):
        raise DataError(f"thresholds is {thresholds!r}, but must be a list of features.")
    for name in thresholds:
        if name not in names:
            raise DataError(f"thresholds names {name!r}, which is not a feature: {nearest(str(name), names)}")
        if not ordered[names.index(name)]:
            raise DataError(
                f"thresholds names {name!r}, whose values have no order: give it, lowest first, as in "
                f"Actions(orders={{{name!r}: [...]}})."
            )


def _code(column: "pd.Series[Any]", order: Sequence[Any] | None) -> tuple[np.ndarray, tuple[Any, ...], bool]:
    """Return the codes of a column, its levels and whether their order means something."""
    present = levels_of(column)
    if order is not None:
        unknown = [value for value in present if value not in list(order)]
        if unknown:
            raise DataError(f"{column.name!r} has the value {unknown[0]!r}, which its order {list(order)} lacks.")
        present = [value for value in order if value in present]
    codes = codes_of(column, present)
    levels = tuple(value.item() if isinstance(value, np.generic) else value for value in _typed(column, codes))
    categorical = isinstance(column.dtype, pd.CategoricalDtype) and bool(column.cat.ordered)
    return codes, levels, order is not None or categorical or pd.api.types.is_numeric_dtype(column)


def _typed(column: "pd.Series[Any]", codes: np.ndarray) -> Any:
    """Return the values behind codes, all of which occur, as an array of the column's dtype."""
    return column.array.take(np.unique(codes, return_index=True)[1])
