"""The columns of a scan, checked: who is protected, probabilities, 0/1 values, features and their bins."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import CausalAuditWarning, DataError, check_count, nearest

Bins = int | Sequence[float] | Mapping[str, int | Sequence[float]] | None
_FEW = 10  # distinct numbers, up to which a feature is scanned number by number
_QUANTILES = 4  # bins of a number with more values, unless `bins` says otherwise
_MANY = 100  # values of a feature, from which the cost is announced


@dataclass(frozen=True)
class Feature:
    """A feature as it is scanned, by value or by bin, and as it enters the models.

    Attributes
    ----------
    name : str
        The column.
    values : tuple
        What a subgroup may list: values, or intervals of a number.
    codes : numpy.ndarray
        The position of each person's value.
    kinds : numpy.ndarray
        Distinct values for the models × columns of the design: dummies without the first value, or the number itself
        (standardised over everyone).
    kind : numpy.ndarray
        The row of `kinds` of each person.
    columns : tuple of str
        The names of the columns of the design.
    """

    name: str
    values: tuple[Any, ...]
    codes: np.ndarray
    kinds: np.ndarray
    kind: np.ndarray
    columns: tuple[str, ...]


def column(data: pd.DataFrame, name: str, role: str) -> "pd.Series[Any]":
    """Return a column without missing values."""
    if name not in data.columns:
        raise DataError(f"The {role} {name!r} is not in data: {nearest(str(name), list(map(str, data.columns)))}")
    values = data[name]
    if isinstance(values, pd.DataFrame):
        raise DataError(f"The column {name!r} is in data twice.")
    missing = int(values.isna().sum())
    if missing:
        raise DataError(
            f"The {role} {name!r} is missing for {missing} of {len(values)} people. Drop or impute them first; they "
            "are not dropped silently."
        )
    return values


def protected_people(data: pd.DataFrame, protected: Mapping[str, Any]) -> tuple[str, np.ndarray]:
    """Return the protected column, and who has its protected level."""
    if not isinstance(protected, Mapping) or len(protected) != 1:
        raise DataError(f"protected is {protected!r}, but must be {{column: level}}.")
    ((name, level),) = protected.items()
    values = column(data, name, "protected column")
    ours = (values == level).to_numpy(dtype=bool)
    if not ours.any():
        found = ", ".join(map(repr, values.unique()[:10]))
        raise DataError(f"Nobody in data has {name!r} equal to {level!r}: there is nobody to audit. It has {found}.")
    if ours.all():
        raise DataError(f"Everyone in data has {name!r} equal to {level!r}: there is nobody to compare them with.")
    return str(name), ours


def binary(data: pd.DataFrame, name: str, role: str) -> np.ndarray:
    """Return a column of 0 and 1 as numbers."""
    values = column(data, name, role)
    found = values.unique()
    numbers = pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)
    if not numbers or not set(found.tolist()) <= {0, 1}:
        shown = ", ".join(repr(value) for value in found[:5].tolist())
        raise DataError(
            f"The {role} {name!r} must be 0 or 1, but has {len(found)} values: {shown}{', …' * (len(found) > 5)}. "
            "Recode it, for instance by (data[column] == value).astype(int)."
        )
    return values.to_numpy(dtype=float)


def probability(data: pd.DataFrame, name: str) -> np.ndarray:
    """Return a column of probabilities."""
    values = column(data, name, "prediction")
    if not pd.api.types.is_numeric_dtype(values):
        raise DataError(f"The prediction {name!r} must be a probability, but holds {values.iloc[0]!r}.")
    numbers = values.to_numpy(dtype=float)
    outside = (numbers < 0) | (numbers > 1)
    if outside.any():
        raise DataError(
            f"The prediction {name!r} must be a probability, but {int(outside.sum())} of {len(numbers)} values are "
            f"outside [0, 1], such as {numbers[outside][0]:g}. A score must be turned into a probability first."
        )
    return numbers


def choose_features(data: pd.DataFrame, features: Sequence[str] | None, taken: Mapping[str, str]) -> list[str]:
    """Return the features: those asked for, or all columns that have no other role."""
    if features is None:
        chosen = [name for name in data.columns if name not in taken]
    else:
        chosen = [features] if isinstance(features, str) else list(features)
    for name in chosen:
        if name in taken:
            raise DataError(f"{name!r} is the {taken[name]}, so it cannot be a feature too.")
    if len(set(chosen)) < len(chosen):
        raise DataError(f"features names a column twice: {', '.join(map(repr, chosen))}.")
    if not chosen:
        raise DataError("There are no features to scan: give the columns that may describe a subgroup.")
    return chosen


def read_feature(data: pd.DataFrame, name: str, bins: Bins) -> Feature:
    """Return a feature, its numbers binned for the scan only.

    Numbers with more than ten distinct values are cut at their quartiles, unless `bins` says otherwise. They stay
    numbers in the models.
    """
    values = column(data, name, "feature")
    asked = bins.get(name) if isinstance(bins, Mapping) else bins
    number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    kind, levels = pd.factorize(values, sort=False)
    if number and len(levels) > 2:
        return _number(name, values.to_numpy(dtype=float), asked)
    if isinstance(bins, Mapping) and name in bins:
        raise DataError(f"bins names {name!r}, which is not a number.")
    order = sorted(range(len(levels)), key=lambda place: (str(levels[place]), place))
    rank = np.argsort(order)
    ordered = [levels[place] for place in order]
    _announce_cost(name, len(ordered))
    dummies = np.eye(len(ordered))[:, 1:]
    columns = tuple(f"{name} = {level}" for level in ordered[1:])
    return Feature(name, tuple(map(_plain, ordered)), rank[kind], dummies, rank[kind], columns)


def _number(name: str, numbers: np.ndarray, bins: Any) -> Feature:
    if not np.isfinite(numbers).all():
        raise DataError(f"The feature {name!r} is infinite for {int((~np.isfinite(numbers)).sum())} people.")
    distinct, kind = np.unique(numbers, return_inverse=True)
    spread = numbers.std()
    kinds = ((distinct - numbers.mean()) / (spread if spread > 0 else 1.0))[:, None]
    if bins is None and len(distinct) <= _FEW:
        values = tuple(int(value) if value == int(value) else float(value) for value in distinct)
        return Feature(name, values, kind, kinds, kind, (name,))
    inner = _inner_edges(name, numbers, bins)
    codes = np.searchsorted(inner, numbers, side="left")
    present, codes = np.unique(codes, return_inverse=True)
    ends = np.concatenate([[-np.inf], inner, [np.inf]])
    # A bin without people is joined to the one below it, so that the bins cover every number.
    lows = np.concatenate([[-np.inf], ends[present[1:]]])
    highs = np.concatenate([lows[1:], [np.inf]])
    intervals = tuple(pd.Interval(low, high, closed="right") for low, high in zip(lows, highs, strict=True))
    _announce_cost(name, len(intervals))
    return Feature(name, intervals, codes, kinds, kind, (name,))


def _inner_edges(name: str, numbers: np.ndarray, bins: Any) -> np.ndarray:
    if bins is None or np.ndim(bins) == 0:
        number = _QUANTILES if bins is None else bins
        check_count("bins", number)
        quantiles = np.quantile(numbers, np.arange(1, number) / number, method="inverted_cdf")
        return np.unique(quantiles[quantiles < numbers.max()])
    edges = np.asarray(bins, dtype=float)
    if edges.ndim != 1 or not len(edges) or not (np.diff(edges) > 0).all() or np.isnan(edges).any():
        raise DataError(f"bins of {name!r} are {bins!r}, but must be a number of bins or ascending edges.")
    return edges[np.isfinite(edges)]


def check_bins(bins: Bins, features: Sequence[str]) -> None:
    """Refuse bins of what is not a feature."""
    unknown = [name for name in bins if name not in features] if isinstance(bins, Mapping) else []
    if unknown:
        raise DataError(f"bins names {unknown[0]!r}, which is not a feature: {nearest(str(unknown[0]), features)}")


def _announce_cost(name: str, values: int) -> None:
    if values >= _MANY:
        warnings.warn(
            f"The feature {name!r} has {values} values: each step of the search scores some {3 * values} sets of them, "
            f"the models get {values - 1} columns, and there are 2^{values} subgroups to find one in by chance. Group "
            "its values, or give it as a number with bins.",
            CausalAuditWarning,
            stacklevel=5,
        )


def _plain(level: Any) -> Any:
    return level.item() if isinstance(level, np.generic) else level
