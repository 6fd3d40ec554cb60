"""Similarity of people: Gower's distance, or any other."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_choice, check_number, check_types
from causalaudit.errors import DataError, nearest
from causalaudit.people import check_cells, find_column
from causalaudit.situation_testing.geometry import ComparedFeature, Geometry

SCALES = ("range", "std", "authors")
_NUMBERS_AS_OBJECTS = ("integer", "floating", "mixed-integer-float", "decimal")
Distance = Callable[[pd.DataFrame, pd.DataFrame], Any]


@dataclass(frozen=True)
class Gower:
    """Gower's distance: the weighted mean over the features of how much two people differ in each.

    Numbers and ordered categories (by position) differ by their distance in units of the scale, other features by 0 or
    1. A feature that is missing for either person is left out of their mean; an audit refuses missing values.

    Parameters
    ----------
    scale
        "range": the range of the feature in the data (equation 4 of the paper). "std": the standard deviation in the
        data; a test with this scale compares the difference of the groups and its Wald bounds, from rounded normal
        quantiles, after rounding to 3 decimals. "authors": what the published code does, which is needed to reproduce
        its tables and for nothing else: as "std", but the counterfactuals are standardised by a *second* scaler, fitted
        on the counterfactual table (which pulls them back towards where they came from), and ties go to the later row.
    categorical
        Features to compare by 0 or 1. Default: all that are neither numbers nor ordered categories.
    weights
        The weight of each feature; default 1.

    References
    ----------
    Gower (1971), A general coefficient of similarity and some of its properties. Alvarez and Ruggieri (2025),
    equations 3, 4 and 5 (5, 3 and 4 in the preliminary paper of 2023).

    Examples
    --------
    >>> import pandas as pd, causalaudit as ca
    >>> people = pd.DataFrame({"salary": [10.0, 30.0, 50.0], "region": ["north", "north", "south"]})
    >>> ca.Gower().matrix(people)
    array([[0.  , 0.25, 1.  ],
           [0.25, 0.  , 0.75],
           [1.  , 0.75, 0.  ]])
    """

    scale: str = "range"
    categorical: Collection[str] | None = None
    weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        check_choice("scale", self.scale, SCALES)
        check_types(Gower, vars(self))
        for name, weight in (self.weights or {}).items():
            check_number(f"The weight of {name!r}", weight, low=0)

    @property
    def decimals(self) -> int | None:
        """To how many decimals a test with this distance rounds before it compares."""
        return None if self.scale == "range" else 3

    @property
    def setting(self) -> dict[str, Any]:
        """How it was made, in plain values."""
        categorical = None if self.categorical is None else [str(name) for name in self.categorical]
        weights = None if self.weights is None else {str(name): float(self.weights[name]) for name in self.weights}
        return {"scale": self.scale, "categorical": categorical, "weights": weights}

    def matrix(self, people: pd.DataFrame, others: pd.DataFrame | None = None) -> np.ndarray:
        """Return the distances of people (rows) from others (columns), by default from one another.

        The scales are those of the people.
        """
        check_types(Gower.matrix, locals())
        for table in (people, people if others is None else others):
            for name in people.columns:
                check_cells(find_column(table, name, "feature"), "feature")
        geometry = self.geometry(people)
        coordinates = geometry.encode(people)
        return geometry.matrix(coordinates, coordinates if others is None else geometry.encode(others))

    def geometry(self, data: pd.DataFrame) -> Geometry:
        """Return the geometry in which people with these features are compared."""
        for name in (*(self.categorical or ()), *(self.weights or {})):
            if name not in data.columns:
                raise DataError(
                    f"The distance names {name!r}, which is not a feature: {nearest(name, list(data.columns))}"
                )
        weights = np.array([float((self.weights or {}).get(name, 1.0)) for name in data.columns])
        if not weights.sum() > 0:
            raise DataError("All features have weight 0: there is nothing to compare.")
        features = tuple(self._feature(name, data[name]) for name in data.columns)
        raw = np.stack([feature.codes(data[feature.name]) for feature in features], axis=1)
        unknown = [feature.name for feature, values in zip(features, raw.T, strict=True) if np.isnan(values).all()]
        if unknown:
            raise DataError(f"The feature {unknown[0]!r} is missing for everybody: there is nothing to compare.")
        shift, scale = _range(raw) if self.scale == "range" else _moments(raw)
        return Geometry(features, weights / weights.sum(), shift, scale)

    def _feature(self, name: str, column: "pd.Series[Any]") -> ComparedFeature:
        if name in (self.categorical or ()):
            return ComparedFeature(name, pd.Index(column.dropna().unique()), overlap=True)
        return plain_feature(name, column)


def plain_feature(name: str, column: "pd.Series[Any]") -> ComparedFeature:
    """Return how a column is compared if nothing is said: as a number, by position, or by 0 or 1."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return ComparedFeature(name, pd.Index(column.cat.categories), overlap=not column.cat.ordered)
    if pd.api.types.is_bool_dtype(column):
        return ComparedFeature(name, pd.Index(column.dropna().unique()), overlap=True)
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.infer_dtype(column) in _NUMBERS_AS_OBJECTS:
        return ComparedFeature(name, None, overlap=False)
    return ComparedFeature(name, pd.Index(column.dropna().unique()), overlap=True)


def custom_geometry(data: pd.DataFrame, distance: Distance) -> Geometry:
    """Return the geometry of a distance given as a function of two tables."""
    features = tuple(plain_feature(name, data[name]) for name in data.columns)
    ones = np.ones(len(features))
    return Geometry(features, ones, 0 * ones, ones, distance, data.dtypes.to_dict())


def _range(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(raw.shape[1]), np.nanmax(raw, axis=0) - np.nanmin(raw, axis=0)


def _moments(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.nanmean(raw, axis=0), np.nanstd(raw, axis=0)
