"""Bounds of what a person would have been, over all couplings of finite sites.

The data say how probable each value of a site is for every state of its parents, but not how the values for two states
go together: that is the coupling. Of somebody who had the value y at a state where it has the probability p, the value
at another state, where a set B has the probability P', is in B with a probability between max(0, p + P' - 1) / p and
min(p, P') / p, and every distribution over the values of which no value exceeds its P' / p is that of some coupling.
Sites own their noise, so that these bounds are chained: the last site is decided first, for every state that it can be
in, and the sites before it choose between the states to which they lead (backward recursion).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from causalaudit.counterfactuals.finite_sites import Places, Site
from causalaudit.errors import DataError
from causalaudit.progress import pieces

# Numbers (draws x people x states) that one pass holds, 16 MiB; a handful of such arrays are alive at once.
_BUDGET = 2**21


@dataclass(frozen=True, eq=False)
class CouplingBounds:
    """What every coupling says of some people.

    Attributes
    ----------
    sites
        The variables of a finite program, in causal order.
    factual
        For each variable the position of everybody's value among the values of its site.
    do
        For each variable that is set, the position of everybody's new value.
    """

    sites: Mapping[str, Site]
    factual: Mapping[str, np.ndarray]
    do: Mapping[str, np.ndarray]

    @cached_property
    def reached(self) -> tuple[str, ...]:
        """The variables that follow from those that are set, in causal order."""
        moved = set(self.do)
        for name, site in self.sites.items():
            if moved.intersection(site.parents):
                moved.add(name)
        return tuple(name for name in self.sites if name in moved and name not in self.do)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each variable that is reached."""
        return tuple(len(self.sites[name].values) for name in self.reached)

    def sharp(self, names: Sequence[str]) -> bool:
        """Tell whether the bounds of an event of these variables are attained by a coupling.

        They are where each site that is decided sees all that is left to decide: if not, the recursion lets it answer
        one state of its parents in two ways, and the bounds are outer ones.
        """
        scope = set(names).intersection(self.reached)
        for name in reversed(self.reached):
            if name not in scope:
                continue
            scope.remove(name)
            seen = set(self.sites[name].parents).intersection(self.reached)
            if not scope <= seen and not self._computed(name):
                return False
            scope |= seen
        return True

    def probability(self, inside: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the greatest probability of an event of the counterfactual world, by draw and person.

        Parameters
        ----------
        inside
            Whether the event happens, by the value of each of `names`: an axis for each.
        names
            Variables that are reached by the intervention.
        """
        draws = self.sites[self.reached[0]].cumulative.shape[0]
        people = len(next(iter(self.factual.values())))
        found = np.empty((2, draws, people))
        event = self._on_axes(np.asarray(inside, dtype=float), names)
        for part in pieces(people, each=draws * int(np.prod(self.sizes)), budget=_BUDGET):
            for end, sign in enumerate((-1.0, 1.0)):
                found[end, :, part] = sign * self._greatest(sign * event, set(names), part)
        return found[0], found[1]

    def _on_axes(self, inside: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """Give an array of some of the variables an axis for each that is reached, and two before them."""
        order = np.argsort([self.reached.index(name) for name in names])
        shape = [len(self.sites[name].values) if name in names else 1 for name in self.reached]
        return inside.transpose(order).reshape(1, 1, *shape)

    def _greatest(self, value: np.ndarray, scope: set[str], part: slice) -> np.ndarray:
        """Return the greatest mean, over couplings, of a value of the variables in `scope`."""
        for name in reversed(self.reached):
            if name in scope:
                value = self._decide(name, value, part)
                scope = (scope - {name}) | set(self.sites[name].parents).intersection(self.reached)
        draws, people = self.sites[self.reached[0]].cumulative.shape[0], part.stop - part.start
        return np.broadcast_to(value.reshape(value.shape[:2]), (draws, people))

    def _decide(self, name: str, value: np.ndarray, part: slice) -> np.ndarray:
        """Return the greatest mean of a value over the couplings of one site, by the state of what comes before it."""
        factual, places, alike = self._parents(name, part)
        own = self.factual[name][part]
        had = self._law[name][(slice(None), *factual, own)]
        if (had <= 0).any():
            raise DataError(
                f"{int((had <= 0).any(axis=0).sum())} people have a value of {name!r} that is impossible under the "
                "program, given its parents."
            )
        ahead = np.swapaxes(value[..., None], 2 + self.reached.index(name), -1)
        grid = (1,) * len(self.reached)
        with np.errstate(over="ignore"):  # more than everything is everything
            most = self._law[name][(slice(None), *places)] / had.reshape(*had.shape, *grid, 1)
        best = _fill(ahead, most)
        kept = np.take_along_axis(ahead, own.reshape(1, -1, *grid, 1), axis=-1)[..., 0]
        return np.where(alike, kept, best)

    def _parents(self, name: str, part: slice) -> tuple[Places, Places, np.ndarray]:
        """Return the states of the parents in both worlds, and where they are the same.

        In the counterfactual one by person and state of the variables that are reached, after an axis for the draws.
        """
        grid, alike = (1,) * len(self.reached), np.ones((1, 1, *(1,) * len(self.reached)), dtype=bool)
        factual, places = [], []
        for parent in self.sites[name].parents:
            was = self.factual[parent][part]
            if parent in self.reached:
                axis = self.reached.index(parent)
                now = np.arange(self.sizes[axis]).reshape([1, *(-1 if axis == i else 1 for i in range(len(grid)))])
            else:
                now = self.do.get(parent, self.factual[parent])[part].reshape(-1, *grid)
            alike = alike & (now == was.reshape(-1, *grid))[None]
            factual.append(was)
            places.append(now)
        return tuple(factual), tuple(places), alike

    @cached_property
    def _law(self) -> dict[str, np.ndarray]:
        """The probability of each value of a site that is reached, by draw and state of the parents."""
        return {name: _by_value(self.sites[name]) for name in self.reached}

    def _computed(self, name: str) -> bool:
        """Tell whether a variable follows from its parents, without noise."""
        return bool(np.isin(self._law[name], (0.0, 1.0)).all())


def _by_value(site: Site) -> np.ndarray:
    """Return the probability of each value (last axis) by draw and state of the parents."""
    states = np.indices(site.base.shape, sparse=True)
    chances = np.diff(site.cumulative, axis=-1)[(slice(None), *states[:-1], np.maximum(site.base, 0))]
    return np.where(site.base >= 0, chances, 0.0)


def _fill(value: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return the greatest mean of values (last axis) under distributions none of whose chances exceeds `most`."""
    value, most = np.broadcast_arrays(value, most)
    order = np.argsort(-value, axis=-1, kind="stable")
    upto = np.minimum(np.cumsum(np.take_along_axis(most, order, axis=-1), axis=-1), 1.0)
    taken = np.diff(upto, axis=-1, prepend=0.0)
    return np.asarray((taken * np.take_along_axis(value, order, axis=-1)).sum(axis=-1))
