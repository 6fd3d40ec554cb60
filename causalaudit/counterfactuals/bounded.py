"""Bounds of the probability of each value that people would have, over all couplings, by draw of the parameters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.counterfactuals.abduction import Abduction
from causalaudit.counterfactuals.coupling_bounds import CouplingBounds
from causalaudit.counterfactuals.finite_sites import Site, tabulate, too_many
from causalaudit.counterfactuals.group_bounds import GroupBounds, bound_group
from causalaudit.errors import DataError, InterventionError
from causalaudit.people import DistinctRows, distinct_rows
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Tensors

# The most numbers (draws x states) of one person: 128 MiB, a handful of such arrays are alive at once.
MOST_NUMBERS = 2**24
OTHERWISE = "ask without bounds=True"


@dataclass(frozen=True, eq=False)
class AnyCoupling:
    """What counterfactuals can be under any coupling of the worlds, of people whose variables are finite and known.

    Attributes
    ----------
    scm
        The program.
    numbers
        The draws of the posterior.
    everybody
        The people, with the law of every variable at each draw.
    labels
        The names of the people; None where they are kinds of people.
    weights
        How much each counts in a mean: by draw (or one row for all) and person; None if all count the same.
    """

    scm: SCM
    numbers: np.ndarray
    everybody: CouplingBounds
    labels: "pd.Index[Any] | None" = None
    weights: np.ndarray | None = None

    @classmethod
    def of(
        cls, asked: Abduction, numbers: np.ndarray | None = None, weights: np.ndarray | None = None
    ) -> "AnyCoupling":
        """Tabulate the program.

        Parameters
        ----------
        asked
            The counterfactual question.
        numbers
            The draws of its posterior; default those of the question.
        weights
            Of the people, by draw and person.

        Raises
        ------
        DataError
            If a variable of the program is not finite or not known of everybody, or if there are too many states.
        InterventionError
            If the intervention travels along some edges only.
        """
        _refuse(asked)
        numbers = asked.numbers if numbers is None else numbers
        parameters = {name: value[numbers] for name, value in asked.posterior.parameters().items()}
        sites = tabulate(asked.scm, parameters, len(numbers), {}, OTHERWISE)
        factual, do = _positions(asked, sites, asked.factual), _positions(asked, sites, asked.do)
        return cls(asked.scm, numbers, CouplingBounds(sites, factual, do), asked.people.index, weights)

    def __post_init__(self) -> None:
        states = len(self.numbers) * int(np.prod([float(size) for size in self.everybody.sizes]))
        if states > MOST_NUMBERS:
            raise too_many(f"{', '.join(self.reached)} have {states:,} joint states at all draws", OTHERWISE)

    @property
    def reached(self) -> tuple[str, ...]:
        """The variables that the intervention reaches."""
        return self.everybody.reached

    def values(self, name: str) -> np.ndarray:
        """Return the numbers (or codes) that a variable can be, ascending."""
        return self.everybody.sites[name].values

    def factual(self, name: str) -> np.ndarray:
        """Return the numbers (or codes) that people have."""
        return np.asarray(self.values(name)[self.everybody.factual[name]])

    def kind(self, names: Sequence[str]) -> Literal["sharp", "outer"]:
        """Return "sharp" where some coupling attains the bounds of each person, else "outer"."""
        return "sharp" if self.everybody.sharp(names) else "outer"

    def of_each(self, names: Sequence[str], worth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the greatest mean of a number of the counterfactual world, by draw and person.

        Parameters
        ----------
        names
            Variables that are reached.
        worth
            The number, by person (or one row for all) and value of each of `names`.
        """
        distinct, people, numbers = self._distinct(worth)
        low, high = people.mean(numbers, names)
        return low[:, distinct.inverse], high[:, distinct.inverse]

    def over_draws(
        self, names: Sequence[str], worth: np.ndarray, who: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the same averaged over draws, by person.

        Parameters
        ----------
        names, worth
            As in `of_each`.
        who
            The positions of the people; default everybody.
        """
        distinct, people, numbers = self._distinct(worth, who)
        low, high = (end.mean(axis=0) for end in people.mean(numbers, names))
        return low[distinct.inverse], high[distinct.inverse]

    def of_all(self, names: Sequence[str], worth: np.ndarray, *, progress: bool = False) -> GroupBounds:
        """Return the least and the greatest mean over people whom the same mechanisms serve, by draw.

        Parameters
        ----------
        names, worth
            As in `of_each`.
        progress
            Show a bar when it is long.
        """
        distinct, people, numbers = self._distinct(worth)
        return bound_group(people, names, numbers, self._shares(distinct), progress)

    def _shares(self, distinct: DistinctRows) -> np.ndarray:
        """Return how much each distinct person counts, by draw (or one row for all)."""
        if self.weights is None:
            return np.asarray(distinct.counts / distinct.counts.sum())
        sums = np.stack([np.bincount(distinct.inverse, row, len(distinct)) for row in self.weights])
        return np.asarray(sums / sums.sum(axis=1, keepdims=True))

    def _distinct(
        self, worth: np.ndarray, who: np.ndarray | None = None
    ) -> tuple[DistinctRows, CouplingBounds, np.ndarray]:
        """Return the distinct people of whom a number is asked, and the number."""
        people = self.everybody if who is None else self.everybody.take(who)
        asked = list(worth.reshape(len(worth), -1).T) if len(worth) > 1 else []
        distinct = distinct_rows([*people.factual.values(), *people.do.values(), *asked])
        return distinct, people.take(distinct.first), worth[distinct.first] if len(worth) > 1 else worth

    def personal(self) -> xr.Dataset:
        """Return the bounds of every value of the variables that are reached, by `bound`, `draw` and `individual`."""
        assert self.labels is not None
        coordinates = {**self._coordinates, "individual": self.labels.to_numpy()}
        parts = {}
        for name in self.reached:
            found = [self.of_each([name], event) for event in self._events(name)]
            numbers, attributes = np.stack(found, axis=-1), {"bounds": self.kind([name])}
            parts[name] = self._labelled(name, numbers, ("bound", "draw", "individual"), attributes)
        return xr.Dataset(parts, coords=coordinates)

    def shares(self) -> xr.Dataset:
        """Return the bounds of the share of everybody who has each value of a variable, by `bound` and `draw`."""
        parts = {}
        for name in self.reached:
            found = [self.of_all([name], event) for event in self._events(name)]
            numbers = np.stack([np.stack([one.low, one.high]) for one in found], axis=-1)
            outer = next((one for one in found if one.kind == "outer"), found[0])
            parts[name] = self._labelled(name, numbers, ("bound", "draw"), {"bounds": outer.kind, "why": outer.why})
        return xr.Dataset(parts, coords=self._coordinates)

    @property
    def _coordinates(self) -> dict[str, Any]:
        return {"bound": ["lower", "upper"], "draw": self.numbers}

    def _events(self, name: str) -> np.ndarray:
        """Return the events that a variable has each of its values: values × one row for all people × values."""
        return np.eye(len(self.values(name)))[:, None]

    def _labelled(self, name: str, numbers: np.ndarray, dims: tuple[str, ...], attributes: Any) -> xr.DataArray:
        labels = np.array(self.scm.codec.decode(name, self.values(name)).tolist())
        numbers = np.clip(numbers, 0.0, 1.0)
        return xr.DataArray(numbers, {f"{name}_value": labels}, (*dims, f"{name}_value"), attrs=attributes)


def _refuse(asked: Abduction) -> None:
    """Refuse what the recursion does not know: values that are not known, edges that are left out."""
    refuse_confounded(asked.scm)
    if asked.edges is not None:
        raise InterventionError("Bounds are of interventions along all edges: leave out edges, or bounds=True.")
    if asked.scm.latents:
        raise DataError(f"Bounds need every variable to be known, but {asked.scm.latents[0]!r} is latent: {OTHERWISE}.")
    if asked.missing:
        raise DataError(
            f"Bounds need every variable to be known, but {next(iter(asked.missing))!r} is missing of somebody: choose "
            f"others by rows, or {OTHERWISE}."
        )


def refuse_confounded(scm: SCM) -> None:
    """Refuse programs in which noises are not a site's own."""
    for pair in scm.confounding:
        raise DataError(
            f"Bounds take each variable to have a noise of its own, but {pair.first!r} and {pair.second!r} are "
            f"confounded: {OTHERWISE}."
        )


def _positions(asked: Abduction, sites: dict[str, Site], values: Tensors) -> dict[str, np.ndarray]:
    """Return where everybody's values are among those of their sites."""
    positions = {}
    for name, tensor in values.items():
        numbers, possible = asked.scm.codec.numbers(name, tensor), sites[name].values
        places = np.minimum(np.searchsorted(possible, numbers), len(possible) - 1)
        strange = possible[places] != numbers
        if strange.any():
            raise DataError(
                f"{name!r} is never {numbers[strange][0]} under the program; it is one of {possible.tolist()}."
            )
        positions[name] = places
    return positions
