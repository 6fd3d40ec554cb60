"""Features as they are scanned, by value or by bin, and as they enter the models (section 2.2: discretisation)."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_count
from causalaudit.errors import CausalAuditWarning, DataError, nearest
from causalaudit.people import FEW_VALUES, codes_of, levels_of, pick_column, why_discrete
from causalaudit.storage import storable

Bins = int | Sequence[float] | Mapping[str, int | Sequence[float]] | None
_QUANTILES = 4  # bins of a continuous number, unless `bins` says otherwise
_MANY = 100  # values of a feature, from which the cost is announced
_MOST = 1000  # and above which it is refused: models take memory and time by its square and its cube
_SHARED_BY = 10  # people for each value of a feature that is taken by default, if it has more than a few


@storable
@dataclass(frozen=True, eq=False)
class ScannedFeature:
    """A feature as it is scanned, by value or by bin, and as it enters the models.

    Attributes
    ----------
    name : str
        The column.
    values : tuple
        What a subgroup may list: values, or intervals of a number.
    codes : numpy.ndarray
        The position of each person's value.
    model_rows : numpy.ndarray
        Distinct values for the models × columns of the design: dummies without the first value in alphabetical order,
        or the number itself (standardised over everyone).
    model_codes : numpy.ndarray
        The row of `model_rows` of each person.
    scanned_by : str
        "value: discrete (…)" or "bin: …", with the reason.
    """

    name: str
    values: tuple[Any, ...]
    codes: np.ndarray
    model_rows: np.ndarray
    model_codes: np.ndarray
    scanned_by: str

    def of(self, people: np.ndarray) -> "ScannedFeature":
        """Return the same feature of some of the people."""
        return replace(self, codes=self.codes[people], model_codes=self.model_codes[people])


def read_feature(data: pd.DataFrame, name: str, bins: Bins) -> ScannedFeature:
    """Return a feature, its numbers binned for the scan only.

    Continuous numbers (see `causalaudit.people.why_discrete`) are cut at their quartiles, unless `bins` says otherwise.
    Numbers of more than two values stay numbers in the models.
    """
    values = pick_column(data, name, "feature")
    asked = bins.get(name) if isinstance(bins, Mapping) else bins
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values) and values.nunique() > 2:
        return _read_number(name, values, asked)
    if isinstance(bins, Mapping) and name in bins:
        raise DataError(f"bins names {name!r}, which is not a number of more than two values.")
    levels = levels_of(values)
    _announce_cost(name, len(levels))
    codes = codes_of(values, levels)
    alphabetical = sorted(range(len(levels)), key=lambda place: (str(levels[place]), place))
    dummies = np.eye(len(levels))[:, alphabetical[1:]]
    return ScannedFeature(name, tuple(levels), codes, dummies, codes, f"value: discrete ({why_discrete(values)})")


def _read_number(name: str, column: "pd.Series[Any]", bins: Any) -> ScannedFeature:
    numbers = column.to_numpy(dtype=float)
    if not np.isfinite(numbers).all():
        raise DataError(f"The feature {name!r} is infinite for {int((~np.isfinite(numbers)).sum())} people.")
    distinct, place = np.unique(numbers, return_inverse=True)
    spread = numbers.std()
    rows = ((distinct - numbers.mean()) / (spread if spread > 0 else 1.0))[:, None]
    reason = why_discrete(column)
    if bins is None and reason is not None:
        values = tuple(int(value) if value == int(value) else float(value) for value in distinct)
        return ScannedFeature(name, values, place, rows, place, f"value: discrete ({reason})")
    inner = _inner_edges(name, numbers, bins)
    codes = np.searchsorted(inner, numbers, side="left")
    present, codes = np.unique(codes, return_inverse=True)
    ends = np.concatenate([[-np.inf], inner, [np.inf]])
    # A bin without people is joined to the one below it, so that the bins cover every number.
    lows = np.concatenate([[-np.inf], ends[present[1:]]])
    highs = np.concatenate([lows[1:], [np.inf]])
    intervals = tuple(pd.Interval(low, high, closed="right") for low, high in zip(lows, highs, strict=True))
    _announce_cost(name, len(intervals))
    how = "bin: continuous, cut at quartiles" if bins is None else "bin: declared"
    return ScannedFeature(name, intervals, codes, rows, place, how)


def _inner_edges(name: str, numbers: np.ndarray, bins: Any) -> np.ndarray:
    if bins is None or np.ndim(bins) == 0:
        number = _QUANTILES if bins is None else bins
        check_count("bins", number, most=_MOST)
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


def plain_bins(bins: Bins) -> Any:
    """Return bins in plain values, for the settings of a result."""
    if isinstance(bins, Mapping):
        return {str(name): plain_bins(cut) for name, cut in bins.items()}
    return bins if bins is None else np.asarray(bins).tolist()


def default_features(people: pd.DataFrame, taken: Mapping[str, str]) -> list[str]:
    """Return all columns without another role, but those of texts or categories that hardly anybody shares.

    A name or an identifier has as many values as there are people: each would be a column of the models and a subgroup.
    They are left out with a warning that names them.

    Examples
    --------
    >>> people = pd.DataFrame({"sex": ["f", "m"], "age": [30, 40]})
    >>> default_features(people, {"sex": "protected column"})
    ['age']
    """
    others = [name for name in people.columns if name not in taken]
    if not others:
        roles = ", ".join(f"{name!r} is the {role}" for name, role in taken.items())
        raise DataError(f"There are no features to scan: {roles}, and data has no other columns.")
    values = {name: _values_of(people, name) for name in others}
    sparse = [name for name in others if values[name] > FEW_VALUES and len(people) < _SHARED_BY * values[name]]
    left = [name for name in others if name in sparse or values[name] > _MANY]
    if not left:
        return others
    listed = ", ".join(f"{name!r} ({values[name]:,} values)" for name in left)
    if len(left) == len(others):
        raise DataError(f"There are no features to scan: hardly anybody shares the values of {listed}. Group them.")
    warnings.warn(
        f"Left out of the features: {listed}, which have more than {_MANY} values, or fewer than {_SHARED_BY} people "
        "for each. Group their values, or list them in features=.",
        CausalAuditWarning,
        stacklevel=4,
    )
    return [name for name in others if name not in left]


def _values_of(people: pd.DataFrame, name: Any) -> int:
    """Return how many values a column of texts or categories has; numbers, which are cut into bins, have none."""
    column = pick_column(people, name, "feature")
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return 0
    return int(column.nunique())


def _announce_cost(name: str, values: int) -> None:
    if values > _MOST:
        raise DataError(
            f"The feature {name!r} has {values:,} values, but at most {_MOST:,} can be scanned: each is a column of "
            "the models. Group its values, or give it as a number with bins."
        )
    if values >= _MANY:
        warnings.warn(
            f"The feature {name!r} has {values} values: each step of the search scores some {3 * values} sets of them, "
            f"the models get {values - 1} columns, and there are 2^{values} subgroups to find one in by chance. Group "
            "its values, or give it as a number with bins.",
            CausalAuditWarning,
            stacklevel=5,
        )
