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

import numpy as np

from causalaudit.counterfactuals.finite_sites import Places, Site
from causalaudit.errors import DataError
from causalaudit.global_state import cached_property
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

    def __len__(self) -> int:
        return len(next(iter(self.factual.values())))

    def take(self, rows: np.ndarray) -> "CouplingBounds":
        """Return some of the people."""
        factual, do = ({name: codes[rows] for name, codes in part.items()} for part in (self.factual, self.do))
        return CouplingBounds(self.sites, factual, do)

    def scope(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the variables that are reached and decide on these, themselves among them, in causal order."""
        needed = set(names)
        for name in reversed(self.reached):
            if name in needed:
                needed.update(self.sites[name].parents)
        return tuple(name for name in self.reached if name in needed)

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
        return self.mean(np.asarray(inside, dtype=float)[None], names)

    def mean(self, worth: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the least and the greatest mean of a number that depends on the counterfactual world.

        Parameters
        ----------
        worth
            The number, by the value of each of `names` (an axis for each) after an axis for the people, which has
            length one where the number is the same for all.
        names
            Variables that are reached by the intervention.
        """
        draws, people = self.sites[self.reached[0]].cumulative.shape[0], len(self)
        found = np.empty((2, draws, people))
        asked = self._on_axes(np.asarray(worth, dtype=float), names)
        for part in pieces(people, each=draws * int(np.prod(self.sizes)), budget=_BUDGET):
            own = asked if asked.shape[1] == 1 else asked[:, part]
            for end, sign in enumerate((-1.0, 1.0)):
                found[end, :, part] = sign * self._greatest(sign * own, set(names), part)
        return found[0], found[1]

    def chance(self, names: Sequence[str], part: slice = slice(None)) -> np.ndarray:
        """Return how probable the values are that people have of some variables that are reached, by draw and person.

        Raises
        ------
        DataError
            If somebody has an impossible value.
        """
        chances = np.ones(1)
        for name in names:
            places: Places = tuple(self.factual[parent][part] for parent in self.sites[name].parents)
            had = self.law(name)[(slice(None), *places, self.factual[name][part])]
            if (had <= 0).any():
                raise DataError(
                    f"{int((had <= 0).any(axis=0).sum())} people have a value of {name!r} that is impossible under the "
                    "program, given its parents."
                )
            chances = chances * had
        return chances

    def law(self, name: str) -> np.ndarray:
        """Return the probability of each value of a site that is reached, by draw and state of its parents."""
        return self._laws[name]

    def _on_axes(self, worth: np.ndarray, names: Sequence[str]) -> np.ndarray:
        """Give an array of people and some variables an axis for each that is reached, and one before for the draws."""
        order = np.argsort([self.reached.index(name) for name in names])
        shape = [len(self.sites[name].values) if name in names else 1 for name in self.reached]
        return worth.transpose(0, *(1 + order)).reshape(1, len(worth), *shape)

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
        places, alike = self._parents(name, part)
        own, had = self.factual[name][part], self.chance([name], part)
        ahead = np.swapaxes(value[..., None], 2 + self.reached.index(name), -1)
        grid = (1,) * len(self.reached)
        with np.errstate(over="ignore"):  # more than everything is everything
            most = self.law(name)[(slice(None), *places)] / had.reshape(*had.shape, *grid, 1)
        best = _fill(ahead, most)
        kept = np.take_along_axis(ahead, own.reshape(1, -1, *grid, 1), axis=-1)[..., 0]
        return np.where(alike, kept, best)

    def _parents(self, name: str, part: slice) -> tuple[Places, np.ndarray]:
        """Return the states of the parents in the counterfactual world, and where they are those that people have.

        By person and state of the variables that are reached, after an axis for the draws.
        """
        grid, alike = (1,) * len(self.reached), np.ones((1, 1, *(1,) * len(self.reached)), dtype=bool)
        places = []
        for parent in self.sites[name].parents:
            was = self.factual[parent][part]
            if parent in self.reached:
                axis = self.reached.index(parent)
                now = np.arange(self.sizes[axis]).reshape([1, *(-1 if axis == i else 1 for i in range(len(grid)))])
            else:
                now = self.do.get(parent, self.factual[parent])[part].reshape(-1, *grid)
            alike = alike & (now == was.reshape(-1, *grid))[None]
            places.append(now)
        return tuple(places), alike

    @cached_property
    def _laws(self) -> dict[str, np.ndarray]:
        return {name: _by_value(self.sites[name]) for name in self.reached}

    def _computed(self, name: str) -> bool:
        """Tell whether a variable follows from its parents, without noise."""
        return bool(np.isin(self.law(name), (0.0, 1.0)).all())


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
