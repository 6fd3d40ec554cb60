"""The centres around which test groups are searched: where the counterfactual people are."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.errors import DataError, nearest
from causalaudit.situation_testing.geometry import ComparedFeature, Geometry


@dataclass(frozen=True, eq=False)
class CounterfactualCentres:
    """The counterfactuals of the complainants, as places: the test search centres (Definition 4.3).

    They come from the counterfactual data set (Definition 4.2; Definition 3.1 of the preliminary paper).

    Attributes
    ----------
    geometry
        How people are compared.
    data
        Everyone, as they are: the features.
    complainants
        Whose counterfactuals are asked for.
    factual, point
        The people of the counterfactuals as they are, and at the point counterfactual.
    dataset
        The features that the program models, by draw and person.
    numbers
        Which draws of the posterior there are.
    origin
        The posterior and the seed of the draws; empty if they were computed elsewhere.
    second_scaler
        Standardise the counterfactuals by scalers fitted on the counterfactual table: a fault of the published code.
    """

    geometry: Geometry
    data: pd.DataFrame
    complainants: "pd.Index[Any]"
    factual: pd.DataFrame
    point: pd.DataFrame
    dataset: xr.Dataset
    numbers: np.ndarray
    origin: dict[str, Any]
    second_scaler: bool = False

    @classmethod
    def of(
        cls,
        worlds: CounterfactualDraws,
        geometry: Geometry,
        data: pd.DataFrame,
        complainants: "pd.Index[Any]",
        second_scaler: bool = False,
    ) -> "CounterfactualCentres":
        """Take what is needed from counterfactuals; refuse those of other people, or without the features."""
        names = geometry.names
        for name in names:
            if name not in worlds.factual.columns:
                known = list(map(str, worlds.factual.columns))
                raise DataError(f"The counterfactuals lack the feature {name!r}: {nearest(str(name), known)}")
        modelled = worlds.dataset[[name for name in names if name in worlds.dataset]]
        centres = cls(
            geometry=geometry,
            data=data[names],
            complainants=complainants,
            factual=worlds.factual[names],
            point=worlds.point[names],
            dataset=modelled,
            numbers=worlds.dataset["draw"].to_numpy(),
            origin={name: worlds.settings[name] for name in ("posterior", "seed") if name in worlds.settings},
            second_scaler=second_scaler,
        )
        centres._check()
        return centres

    def _check(self) -> None:
        lacking = int((self.columns < 0).sum())
        if lacking:
            raise DataError(
                f"The counterfactuals lack {lacking} of the {len(self.complainants)} complainants (by index): ask for "
                "the counterfactuals of everyone with the protected level."
            )
        for name in self.geometry.names:
            missing = int(self.point.loc[self.complainants, name].isna().sum())
            if missing:
                raise DataError(f"The counterfactual feature {name!r} is missing for {missing} complainants.")
        if not self.origin:
            return
        was = self.geometry.raw(self.factual.loc[self.complainants])
        if not np.array_equal(was, self.geometry.raw(self.data.loc[self.complainants])):
            raise DataError("The counterfactuals are of other people: their factual features are not those of data.")

    @cached_property
    def columns(self) -> np.ndarray:
        """Where the complainants are among the people of the counterfactuals."""
        return self.factual.index.get_indexer(self.complainants)

    def at_point(self) -> np.ndarray:
        """Return the coordinates at the point counterfactuals: complainants × features."""
        geometry = self.geometry
        if self.second_scaler:
            everyone = geometry.raw(self.data)
            rows, inside = self._rows()
            everyone[rows] = geometry.raw(self.point)[inside]
            geometry = geometry.rescaled(everyone.mean(axis=0), everyone.std(axis=0))
        return geometry.encode(self.point.loc[self.complainants])

    def over_draws(self, people: np.ndarray) -> np.ndarray:
        """Return the coordinates of some complainants at all draws: complainants × draws × features."""
        columns = self.columns[people]
        raw = np.stack([self._raw(feature, columns).T for feature in self.geometry.features], axis=-1)
        return self._draw_geometry.place(raw)

    def of_complainants(self) -> xr.Dataset:
        """Return what the program models, by draw and complainant."""
        if np.array_equal(self.columns, np.arange(len(self.factual))):
            return self.dataset
        return self.dataset.isel(individual=self.columns, missing_dims="ignore")

    def _raw(self, feature: ComparedFeature, columns: np.ndarray) -> np.ndarray:
        """Return a feature, draws × people; one that the program does not model keeps its factual values."""
        if feature.name not in self.dataset:
            factual = feature.codes(self.factual[feature.name])[columns]
            return np.broadcast_to(factual, (len(self.numbers), len(columns)))
        array = self.dataset[feature.name]
        values = array.isel(individual=columns).to_numpy()  # of draws on disk, these people alone are read
        if feature.levels is None:
            return values
        if "levels" in array.attrs:
            return feature.positions(array.attrs["levels"])[values.astype(int)]
        distinct, places = np.unique(values, return_inverse=True)
        typed = pd.Series(distinct).astype(self.data[feature.name].dtype)
        return feature.positions(typed)[places.reshape(values.shape)]

    @cached_property
    def _draw_geometry(self) -> Geometry:
        """The geometry, with a second scaler for each draw if there is to be one."""
        if not self.second_scaler:
            return self.geometry
        rows, inside = self._rows()
        rest = np.delete(self.geometry.raw(self.data), rows, axis=0)
        moments = [
            _moments(self._raw(feature, np.flatnonzero(inside)), rest[:, place])
            for place, feature in enumerate(self.geometry.features)
        ]
        shift, scale = (np.stack(parts, axis=-1) for parts in zip(*moments, strict=True))
        return self.geometry.rescaled(shift, scale)

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the people of the counterfactuals are in the data, and which of them are there."""
        rows = self.data.index.get_indexer(self.factual.index)
        return rows[rows >= 0], rows >= 0


def _moments(draws: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation, by draw, of people who vary with the draw together with the rest."""
    number = draws.shape[1] + len(rest)
    mean = (draws.sum(axis=1) + rest.sum()) / number
    squares = ((draws - mean[:, None]) ** 2).sum(axis=1) + ((rest - mean[:, None]) ** 2).sum(axis=1)
    return mean, np.sqrt(squares / number)
