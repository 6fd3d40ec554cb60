"""Where people are and how far apart: coordinates, distances, and where possible an embedding for a tree."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError

# Beyond so many dimensions a k-d tree does not pay.
_MOST_DIMENSIONS = 8


@dataclass(frozen=True)
class ComparedFeature:
    """A column, and how it becomes a number: as it is, or by the position of its level."""

    name: str
    levels: "pd.Index[Any] | None"
    overlap: bool

    def codes(self, column: "pd.Series[Any]") -> np.ndarray:
        """Return the column as floats; missing values are NaN."""
        if self.levels is None:
            try:
                codes = column.to_numpy(dtype=float, na_value=np.nan)
            except (TypeError, ValueError) as error:
                raise DataError(f"The feature {self.name!r} is a number in data, but not elsewhere.") from error
            if np.isinf(codes).any():
                raise DataError(f"The feature {self.name!r} has infinite values.")
            return codes
        codes = self.positions(column)
        return np.where(column.isna().to_numpy(), np.nan, codes)

    def positions(self, levels: Any) -> np.ndarray:
        """Return the positions of levels; -1, which is like nothing else, for one that the data lack."""
        assert self.levels is not None
        positions = self.levels.get_indexer(pd.Index(levels)).astype(float)
        if not self.overlap and (positions[~pd.isna(np.asarray(levels, dtype=object))] < 0).any():
            raise DataError(f"The ordered feature {self.name!r} has a level that is not among {list(self.levels)}.")
        return positions


@dataclass(frozen=True)
class Geometry:
    """Coordinates and distances of people. All distances are computed here, and in one way.

    Attributes
    ----------
    features
        The columns that are compared.
    weights
        What each counts, summing to one.
    shift, scale
        What is taken off a feature, and the unit that it is then measured in; they may differ by draw (first axis).
    metric
        A distance given as a function of two tables; None for Gower's.
    dtypes
        Of the columns, where a metric is to be given tables.
    """

    features: tuple[ComparedFeature, ...]
    weights: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    metric: Callable[[pd.DataFrame, pd.DataFrame], Any] | None = None
    dtypes: dict[Any, Any] | None = None

    @property
    def names(self) -> list[str]:
        """The features."""
        return [feature.name for feature in self.features]

    def raw(self, frame: pd.DataFrame) -> np.ndarray:
        """Return people (rows) by features, in the data's own units; levels as positions."""
        return np.stack([feature.codes(frame[feature.name]) for feature in self.features], axis=1)

    def encode(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the coordinates of people."""
        return self.place(self.raw(frame))

    def place(self, raw: np.ndarray) -> np.ndarray:
        """Return coordinates, features along the last axis; a feature that never varies counts for nothing."""
        out = np.empty(raw.shape)
        for place, feature in enumerate(self.features):
            values = raw[..., place]
            if not feature.overlap and self.metric is None:
                scale = self.scale[..., place]
                values = (values - self.shift[..., place]) / np.where(scale > 0, scale, np.inf)
                values = values * self.weights[place]
            out[..., place] = values
        return out

    def rescaled(self, shift: np.ndarray, scale: np.ndarray) -> "Geometry":
        """Return the same geometry with other scalers, for example one for each draw."""
        return replace(self, shift=shift, scale=scale)

    def matrix(self, centres: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the distances of centres (rows) from others (columns)."""
        if self.metric is None:
            return self.gaps(centres[:, None], others[None])
        answer = np.array(self.metric(self.decode(centres), self.decode(others)), dtype=float)
        if answer.shape != (len(centres), len(others)):
            raise DataError(
                f"The distance returned shape {answer.shape} for {len(centres)} and {len(others)} people; "
                f"expected {(len(centres), len(others))}."
            )
        if np.isnan(answer).any() or (answer < 0).any():
            raise DataError("The distance returned missing or negative values.")
        return answer

    def gaps(self, centres: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return Gower's distances of coordinates that broadcast (equation 3); features along the last axis.

        Numbers differ by equation 4, levels by equation 5; in the preliminary paper these are 5, 3 and 4, of which 4 is
        printed the wrong way round.
        """
        shape = np.broadcast_shapes(centres.shape[:-1], others.shape[:-1])
        total: Any = 0.0
        known = np.zeros(shape) if np.isnan(centres).any() or np.isnan(others).any() else None
        for place, feature in enumerate(self.features):
            gap = centres[..., place] - others[..., place]
            part = self.weights[place] * (gap != 0) if feature.overlap else np.abs(gap, out=gap)
            if known is not None:
                here = ~np.isnan(centres[..., place]) & ~np.isnan(others[..., place])
                part = np.where(here, part, 0.0)
                known += self.weights[place] * here
            total = np.add(total, part, out=part if part.dtype == float else None)
        if known is not None:
            total = np.divide(total, known, out=np.full(shape, np.inf), where=known > 0)
        return total

    def embed(self, coordinates: np.ndarray) -> np.ndarray:
        """Return points whose Manhattan distances are these distances: levels become corners."""
        parts = []
        for place, feature in enumerate(self.features):
            values = coordinates[..., place]
            if feature.overlap:
                assert feature.levels is not None
                corners = values[..., None] == np.arange(-1, len(feature.levels))
                parts.append(corners * (self.weights[place] / 2))
            else:
                parts.append(values[..., None])
        return np.concatenate(parts, axis=-1)

    @property
    def embeddable(self) -> bool:
        """Whether there is an embedding of few enough dimensions for a tree."""
        sizes = (
            len(feature.levels) + 1 if feature.overlap and feature.levels is not None else 1
            for feature in self.features
        )
        return self.metric is None and sum(sizes) <= _MOST_DIMENSIONS

    def decode(self, coordinates: np.ndarray) -> pd.DataFrame:
        """Return coordinates as a table, for a distance given as a function."""
        assert self.dtypes is not None
        columns = {}
        for place, feature in enumerate(self.features):
            values = coordinates[:, place]
            if feature.levels is not None:
                codes = np.where(np.isnan(values), -1, values).astype(int)
                if (values < 0).any():
                    raise DataError(f"A counterfactual has a level of {feature.name!r} that nobody in data has.")
                taken = np.asarray(feature.levels, dtype=object)[codes]
                values = pd.array(np.where(codes < 0, None, taken), dtype=self.dtypes[feature.name])
            columns[feature.name] = values
        return pd.DataFrame(columns)
