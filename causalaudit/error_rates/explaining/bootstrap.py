"""Nested counterfactual rates of the people of the data, with random weights under which parameters are refitted."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import torch

from causalaudit.counterfactuals.abduction import Abduction
from causalaudit.error_rates.explaining.frames import People
from causalaudit.error_rates.explaining.terms import EVERYBODY, SHAPE
from causalaudit.inference import Posterior
from causalaudit.inference.reweighting import refit
from causalaudit.progress import parallel
from causalaudit.randomness import generator
from causalaudit.scm.handlers import Tensors

# Numbers (draws x people) that one pass holds for each variable: 4 MiB, a few dozen of which are alive at once.
_BUDGET = 2**19


def bootstrap_rates(people: People, draws: int | None, seed: int, progress: bool) -> np.ndarray:
    """Return N(xd, xi | x, y) and its version for everybody, at each draw of Dirichlet weights of the people.

    The parameters are refitted under the same weights: weights that do not know of the parameters would be
    incoherent once abduction depends on them, and equal weights would cover nothing.
    """
    posterior = people.posterior
    number = len(posterior.draw_numbers(draws))
    weights = np.stack(
        [generator(seed, "weights", draw).standard_exponential(len(posterior.data)) for draw in range(number)]
    )
    weights /= weights.mean(axis=1, keepdims=True)
    place = _like_beside_like(people)
    crowd = Crowd(people, posterior.data.iloc[place], refit(posterior, weights, seed), weights[:, place], seed)
    size = max(1, _BUDGET // len(place))
    tasks = [np.arange(start, min(start + size, number)) for start in range(0, number, size)]
    return np.concatenate(list(parallel(crowd.rates, tasks, "Weighted people", progress)))


def _like_beside_like(people: People) -> np.ndarray:
    """Return an order of the people in which those who are alike are neighbours, so that they share noise evenly."""
    scm = people.scm
    numbers = {name: scm.codec.numbers(name, value) for name, value in scm.encode(people.posterior.data).items()}
    first = [people.question.outcome, people.question.protected]
    return np.lexsort(
        [numbers[name] for name in [*(name for name in reversed(scm.columns) if name not in first), *first]]
    )


class EvenAbduction(Abduction):
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


_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)


@dataclass(frozen=True)
class Crowd:
    """The people of the data in a chosen order, their weights at each draw, and the parameters that go with these."""

    people: People
    data: pd.DataFrame
    refitted: Posterior
    weights: np.ndarray
    seed: int

    @cached_property
    def _numbers(self) -> dict[str, np.ndarray]:
        scm = self.people.scm
        return {name: scm.codec.numbers(name, value) for name, value in scm.encode(self.data).items()}

    @cached_property
    def _groups(self) -> np.ndarray:
        """Who has each of the two levels (rows), and the outcome that is asked about."""
        question = self.people.question
        own = self._numbers[question.outcome] == self.people.number(question.outcome, question.y)
        levels = [self.people.number(question.protected, level) for level in question.levels]
        return np.stack([(self._numbers[question.protected] == level) & own for level in levels])

    @cached_property
    def _factual(self) -> np.ndarray:
        """P(ŷ) of everybody as they are, but for the level that the classifier reads (rows)."""
        question = self.people.question
        values = {name: self._numbers[name] for name in question.features}
        return self.people.rates(values, (len(self.data),))

    def _thetas(self, numbers: np.ndarray, who: np.ndarray, xi: int, held: bool) -> np.ndarray:
        """Return P(ŷ) of some people under do(X = xi), Y being held or not, by draw, level read and person."""
        question, scm = self.people.question, self.people.scm
        do = {question.protected: question.levels[xi], **({question.outcome: question.y} if held else {})}
        tensors = {name: self.people.tensor(name, value, int(who.sum())) for name, value in do.items()}
        abduction = EvenAbduction(self.refitted, self.data[who], tensors, None, scm.couplings(), None, self.seed, None)
        worlds = abduction.worlds(numbers)
        values = {name: worlds[name] for name in question.features}
        shape = (len(numbers), int(who.sum()))
        return self.people.rates(values, shape).swapaxes(0, 1)

    def rates(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rates of some draws."""
        rates = np.empty((len(numbers), *SHAPE))
        weights = self.weights[numbers]
        for xi in (0, 1):
            others = self._numbers[self.people.question.protected] != self.people.number(
                self.people.question.protected, self.people.question.levels[xi]
            )
            thetas = np.broadcast_to(self._factual, (len(numbers), *self._factual.shape)).copy()
            thetas[..., others] = self._thetas(numbers, others, xi, held=False)
            rates[:, :, xi, EVERYBODY] = np.einsum("dln,dn->dl", thetas, weights) / weights.sum(axis=1)[:, None]
            if self.people.follows_outcome:
                thetas[..., self._groups[1 - xi]] = self._thetas(numbers, self._groups[1 - xi], xi, held=True)
            for x, group in enumerate(self._groups):
                own = weights[:, group]
                rates[:, :, xi, x] = np.einsum("dln,dn->dl", thetas[..., group], own) / own.sum(axis=1)[:, None]
        return rates
