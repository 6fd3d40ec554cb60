"""Search centres of the test groups: where the counterfactual people are."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.errors import DataError, nearest
from causalaudit.situation_testing.space import Feature, Space


@dataclass(frozen=True)
class Centres:
    """The counterfactuals of the complainants, as places.

    Attributes
    ----------
    space
        Where people are compared.
    worlds
        The counterfactuals.
    data
        Everyone, as they are.
    complainants
        Whose counterfactuals are asked for.
    second_scaler
        Standardise the counterfactuals by scalers fitted on the counterfactual table: a fault of the published code.
    """

    space: Space
    worlds: CounterfactualDraws
    data: pd.DataFrame
    complainants: "pd.Index[Any]"
    second_scaler: bool = False

    def check(self) -> None:
        """Refuse counterfactuals of other people, or without the features."""
        lacking = int((self.columns < 0).sum())
        if lacking:
            raise DataError(
                f"The counterfactuals lack {lacking} of the {len(self.complainants)} complainants (by index): ask for "
                "the counterfactuals of everyone with the protected level."
            )
        known = list(map(str, self.worlds.factual.columns))
        for name in self.space.names:
            if name not in self.worlds.factual.columns:
                raise DataError(f"The counterfactuals lack the feature {name!r}: {nearest(name, known)}")
        if not self.worlds.settings:
            return
        was = self.space.raw(self.worlds.factual.loc[self.complainants])
        if not np.array_equal(was, self.space.raw(self.data.loc[self.complainants]), equal_nan=True):
            raise DataError("The counterfactuals are of other people: their factual features are not those of data.")

    @cached_property
    def columns(self) -> np.ndarray:
        """Where the complainants are among the people of the counterfactuals."""
        return pd.Index(self.worlds.dataset["individual"].to_numpy()).get_indexer(self.complainants)

    @property
    def draws(self) -> int:
        """The number of draws."""
        return int(self.worlds.dataset.sizes["draw"])

    def point(self) -> np.ndarray:
        """Return the coordinates at the point counterfactuals: people × features."""
        point = self.worlds.point
        space = self.space
        if self.second_scaler:
            everyone = space.raw(self.data)
            rows, inside = self._rows()
            everyone[rows] = space.raw(point)[inside]
            space = space.rescaled(everyone.mean(axis=0), everyone.std(axis=0))
        return space.encode(point.loc[self.complainants])

    def over_draws(self, people: slice) -> np.ndarray:
        """Return the coordinates of some complainants at all draws: people × draws × features."""
        columns = self.columns[people]
        raw = np.stack([self._raw(feature, columns).T for feature in self.space.features], axis=-1)
        return self._draw_space.place(raw)

    def _raw(self, feature: Feature, columns: np.ndarray) -> np.ndarray:
        """Return a feature, draws × people; one that the program does not model keeps its factual values."""
        if feature.name not in self.worlds.dataset:
            factual = feature.codes(self.worlds.factual[feature.name])[columns]
            return np.broadcast_to(factual, (self.draws, len(columns)))
        array = self.worlds.dataset[feature.name]
        values = array.to_numpy()[:, columns]
        if feature.levels is None:
            return values
        if "levels" in array.attrs:
            return feature.positions(array.attrs["levels"])[values.astype(int)]
        distinct, places = np.unique(values, return_inverse=True)
        typed = pd.Series(distinct).astype(self.data[feature.name].dtype)
        return feature.positions(typed)[places.reshape(values.shape)]

    @cached_property
    def _draw_space(self) -> Space:
        """The space, with a second scaler for each draw if there is to be one."""
        if not self.second_scaler:
            return self.space
        rows, inside = self._rows()
        rest = np.delete(self.space.raw(self.data), rows, axis=0)
        moments = [
            _moments(self._raw(feature, np.flatnonzero(inside)), rest[:, place])
            for place, feature in enumerate(self.space.features)
        ]
        shift, scale = (np.stack(parts, axis=-1) for parts in zip(*moments, strict=True))
        return self.space.rescaled(shift, scale)

    def _rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the people of the counterfactuals are in the data, and which of them are there."""
        rows = self.data.index.get_indexer(pd.Index(self.worlds.dataset["individual"].to_numpy()))
        return rows[rows >= 0], rows >= 0


def _moments(draws: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation, by draw, of people who vary with the draw together with the rest."""
    number = draws.shape[1] + len(rest)
    mean = (draws.sum(axis=1) + rest.sum()) / number
    squares = ((draws - mean[:, None]) ** 2).sum(axis=1) + ((rest - mean[:, None]) ** 2).sum(axis=1)
    return mean, np.sqrt(squares / number)
