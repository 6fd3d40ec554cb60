"""The people of the data with weights: their own, or random ones to which the parameters are refitted."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from causalaudit.counterfactuals.abduction import Abduction
from causalaudit.counterfactuals.bounded import AnyCoupling
from causalaudit.counterfactuals.tabled import Tabled
from causalaudit.global_state import cached_property
from causalaudit.inference import Posterior
from causalaudit.inference.influence import posterior_influence
from causalaudit.inference.reweighting import refit
from causalaudit.progress import pieces
from causalaudit.randomness import dirichlet_weights, label_places
from causalaudit.scm.handlers import Tensors
from causalaudit.scm.noise import Coupling

# Numbers (draws x people) that one pass holds for each variable: 4 MiB, a few dozen of which are alive at once.
_BUDGET = 2**19
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101)


@dataclass(frozen=True, eq=False)
class ReweightedPeople(Tabled):
    """The people of the data with weights, and parameters that go with these, at each draw.

    Random weights that do not know of the parameters would be incoherent once abduction depends on them: parameters are
    refitted to them. With the weights of the posterior (its survey weights, or equal ones) the parameters are its own.

    Attributes
    ----------
    persons : pandas.DataFrame
        The people, those who are alike beside one another, so that they share noise evenly.
    place : numpy.ndarray
        Where each of them is in the data.
    weights : numpy.ndarray
        Draws × people; each set adds up to the number of people who have a weight that is not zero.
    numbers : numpy.ndarray
        The draw of the posterior that goes with each set of weights.
    """

    persons: pd.DataFrame
    place: np.ndarray
    weights: np.ndarray
    numbers: np.ndarray
    seed: int
    coupling: dict[str, Coupling]
    refits: bool = False
    """Whether the weights are random, and the parameters refitted to them."""

    @classmethod
    def refitted(
        cls, posterior: Posterior, draws: int | None, alike: Sequence[str], seed: int, coupling: dict[str, Coupling]
    ) -> "ReweightedPeople":
        """Draw Dirichlet weights, times survey weights if there are some, and refit the parameters under each set."""
        data, place = posterior.data, _order(posterior, alike)
        weights = dirichlet_weights(seed, "weights", range(len(posterior.draw_numbers(draws))), len(data))
        weights = weights[:, label_places(data.index)]
        if posterior.weights is not None:
            weights = weights * posterior.weights
            weights = weights * (posterior.weights.sum() / weights.sum(axis=1, keepdims=True))
        refitted = refit(posterior, weights, seed)
        numbers = np.arange(len(weights))
        return cls(refitted, data.iloc[place], place, weights[:, place], numbers, seed, coupling, refits=True)

    @classmethod
    def as_they_are(
        cls, posterior: Posterior, draws: int | None, alike: Sequence[str], seed: int, coupling: dict[str, Coupling]
    ) -> "ReweightedPeople":
        """Give everybody the survey weight, or all the same, at each draw of the posterior."""
        place, numbers = _order(posterior, alike), posterior.draw_numbers(draws)
        own: Any = 1.0 if posterior.weights is None else posterior.weights[place]
        weights = np.broadcast_to(own, (len(numbers), len(place)))
        return cls(posterior, posterior.data.iloc[place], place, weights, numbers, seed, coupling)

    def tasks(self) -> list[np.ndarray]:
        """Cut the sets of weights into passes."""
        draws, people = self.weights.shape
        return [np.arange(part.start, part.stop) for part in pieces(draws, people, _BUDGET)]

    @cached_property
    def factual(self) -> dict[str, np.ndarray]:
        """The people as they are: variable → numbers (codes for levels)."""
        encoded = self.scm.encode(self.persons)
        return {name: self.scm.codec.numbers(name, value) for name, value in encoded.items()}

    def under(self, do: Mapping[str, Any], who: np.ndarray, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Return the variables of some people under an intervention, at some draws.

        Parameters
        ----------
        do
            Variable → the value that everybody has.
        who
            A mask of the people.
        numbers
            The sets of weights.

        Returns
        -------
        dict
            Variable → numbers (codes for levels), draws × people.
        """
        return _EvenAbduction(
            self.posterior, self.persons[who], self._set(do, int(who.sum())), None, self.coupling, None, self.seed, None
        ).worlds(self.numbers[numbers])  # fmt: skip

    def any_coupling(self, do: Mapping[str, Any], given: Mapping[str, Any], names: Sequence[str]) -> AnyCoupling:
        """Return the people who have some values, and what they can be under an intervention and any coupling.

        Parameters
        ----------
        do
            What is set in the counterfactual world.
        given
            Factual values.
        names
            The variables that are asked about; all are known of these people.

        Raises
        ------
        DataError
            If a variable of the program is not finite, or not known of somebody.
        """
        who = np.ones(len(self.persons), dtype=bool)
        for name, value in given.items():
            who &= self.factual[name] == self.number(name, value)
        asked = Abduction(
            self.posterior, self.persons[who], self._set(do, int(who.sum())), None, self.coupling, None, self.seed, None
        )
        return AnyCoupling.of(asked, self.numbers, self.weights[:, who])

    def influence(self, figures: np.ndarray) -> np.ndarray:
        """Return how much each person (rows) moves the means of figures, by draw, through the parameters.

        See `posterior_influence`; of people with the weights of the posterior.
        """
        return posterior_influence(self.posterior, figures, self.numbers)[self.place]


def _order(posterior: Posterior, alike: Sequence[str]) -> np.ndarray:
    """Return the order in which people who are alike are beside one another."""
    scm = posterior.scm
    numbers = {name: scm.codec.numbers(name, value) for name, value in scm.encode(posterior.data).items()}
    names = [*alike, *(name for name in scm.columns if name not in alike)]
    return np.lexsort([numbers[name] for name in reversed(names)])


class _EvenAbduction(Abduction):
    """An abduction whose uniforms fill the unit interval evenly over people, from a random start for each draw."""

    def _uniforms(self, names: Collection[str], numbers: np.ndarray) -> Tensors:
        even = {}
        for place, (name, drawn) in enumerate(super()._uniforms(names, numbers).items()):
            axis = 2 if drawn.ndim == 3 and drawn.shape[1] != len(self.people) else 1
            shape = [1] * drawn.ndim
            shape[axis] = drawn.shape[axis]
            step = float(np.sqrt(_PRIMES[place % len(_PRIMES)])) % 1
            walk = (torch.arange(drawn.shape[axis], dtype=torch.float64) * step).reshape(shape)
            even[name] = ((drawn.narrow(axis, 0, 1) + walk) % 1).clamp(min=2.0**-54, max=1 - 2.0**-53)
        return even
