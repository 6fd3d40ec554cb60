"""Nested counterfactual rates of any SCM, over people who are simulated at each draw of the parameters.

X and Y are set in every world that matters, so that their own noise only decides who has X = x and Y = y. It is
integrated out: everybody is simulated under do(X = x) and counts with the probability of X = x and Y = y there. The
other noise is spread evenly (a Sobol net with a random digital shift for each draw), and is the same in all worlds.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import torch
from scipy.stats import qmc

from causalaudit.error_rates.explaining.frames import People
from causalaudit.error_rates.explaining.question import nobody
from causalaudit.error_rates.explaining.terms import EVERYBODY, SHAPE
from causalaudit.errors import DataError
from causalaudit.progress import parallel
from causalaudit.randomness import generator
from causalaudit.scm.execution import numerics, over_draws
from causalaudit.scm.handlers import Intervene, Mechanisms, Record, Simulate, Tensors, run
from causalaudit.scm.score import log_probability

_HALVES = 2  # independent shifts for each draw, whose difference is the Monte-Carlo error
_FEWEST, _MOST = 2**10, 2**15  # people at each draw: a power of two near the number in the data
_BITS = 32
# Numbers (draws x people) that one pass holds for each variable: 4 MiB, a few dozen of which are alive at once.
_BUDGET = 2**19


def simulated_rates(people: People, draws: int | None, seed: int, progress: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return N(xd, xi | x, y) and its version for everybody at each draw, from all people and from two halves of them.

    Raises
    ------
    DataError
        If nobody has X = x and Y = y.
    """
    simulation = Simulation(people, seed)
    numbers = people.posterior.draw_numbers(draws)
    size = max(1, _BUDGET // simulation.number)
    tasks = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    parts = list(parallel(simulation.rates, tasks, "Simulated people", progress))
    both = np.concatenate(parts, axis=1)
    return both[0], both[1:]


@dataclass(frozen=True)
class Simulation:
    """One question, ready to be answered for any part of the draws."""

    people: People
    seed: int

    @cached_property
    def number(self) -> int:
        """How many people are simulated at each draw."""
        near = 2 ** round(np.log2(len(self.people.posterior.data)))
        return int(np.clip(near, _FEWEST, _MOST))

    @cached_property
    def _mechanisms(self) -> Mechanisms:
        return self.people.scm.mechanisms()

    @cached_property
    def _widths(self) -> dict[str, int | None]:
        laws = self.people.scm.structure.laws
        return {name: noise.width(laws[name]) for name, noise in self._mechanisms.noises.items()}

    @cached_property
    def _net(self) -> np.ndarray:
        """A Sobol net, as whole numbers: people × dimensions of the noise."""
        dimensions = sum(width or 1 for width in self._widths.values())
        points = qmc.Sobol(dimensions, scramble=False, bits=_BITS).random_base2(round(np.log2(self.number // _HALVES)))
        return (points * 2.0**_BITS).astype(np.uint32)

    def _uniforms(self, numbers: np.ndarray) -> Tensors:
        """Return the noise of each site as uniforms, by draw and person."""
        shifts = np.stack([self._shift(int(draw)) for draw in numbers])

        def spread(dimension: int) -> torch.Tensor:
            shifted = self._net[:, dimension] ^ shifts[..., dimension, None]
            return torch.from_numpy((shifted.reshape(len(numbers), self.number) + 0.5) / 2.0**_BITS)

        uniforms, start = {}, 0
        for name, width in self._widths.items():
            columns = [spread(start + place) for place in range(width or 1)]
            uniforms[name] = columns[0] if width is None else torch.stack(columns, -1)
            start += len(columns)
        return uniforms

    def _shift(self, draw: int) -> np.ndarray:
        size = (_HALVES, self._net.shape[1])
        return generator(self.seed, "people", draw).integers(2**_BITS, size=size, dtype=np.uint32)

    def _one_draw(self, theta: Tensors, uniforms: Tensors) -> Tensors:
        """Simulate everybody as x0 and as x1: their features, and how much they count as X = x and Y = y."""
        question, result = self.people.question, {}
        outcome = self.people.tensor(question.outcome, question.y, self.number)
        unchanged: Tensors = {}
        for x, level in enumerate(question.levels):
            do = {question.protected: self.people.tensor(question.protected, level, self.number)}
            free = self._world(theta, {**unchanged, **do}, uniforms)
            unchanged = {name: free.values[name] for name in self._unaffected}
            chance = log_probability(free.laws[question.protected], do[question.protected])
            chance = chance + log_probability(free.laws[question.outcome], outcome)
            result[f"weight {x}"] = chance.exp().expand(self.number)
            result |= {f"free {x} {name}": free.values[name] for name in question.features}
            if self.people.follows_outcome:
                held = self._world(theta, {**unchanged, **do, question.outcome: outcome}, uniforms)
                result |= {f"held {x} {name}": held.values[name] for name in question.features}
        return result

    @cached_property
    def _unaffected(self) -> list[str]:
        """The variables that follow neither from X nor from Y: the same in all worlds."""
        graph: nx.DiGraph[Any] = self.people.scm.graph
        set_ones = (self.people.question.protected, self.people.question.outcome)
        changed = set(set_ones).union(*(nx.descendants(graph, name) for name in set_ones))
        return [name for name in self.people.scm.variables if name not in changed]

    def _world(self, theta: Tensors, do: Tensors, uniforms: Tensors) -> Record:
        record = Record()
        run(
            self.people.scm.program,
            self.number,
            record,
            Simulate(self._mechanisms, uniforms),
            Intervene({**theta, **do}),
        )
        return record

    def rates(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rates of some draws: of all people, and of each half."""
        chosen = self.people.posterior.parameters()
        with numerics(), torch.no_grad():
            theta = {name: torch.from_numpy(np.array(value[numbers], dtype=float)) for name, value in chosen.items()}
            found = over_draws(self._one_draw, theta, self._uniforms(numbers), len(numbers), check=numbers[0] == 0)
        free = self._thetas(found, "free")
        held = self._thetas(found, "held") if self.people.follows_outcome else free
        weights = np.stack([found[f"weight {x}"].numpy() for x in (0, 1)], axis=1)
        return self._average(free, held, weights)

    def _thetas(self, found: Tensors, world: str) -> np.ndarray:
        """Return P(ŷ) by draw, level read, level that makes the features, and person."""
        features, scm = self.people.question.features, self.people.scm
        draws, number = found["weight 0"].shape
        thetas = np.empty((draws, 2, 2, number))
        for xi in (0, 1):
            values = {name: scm.codec.numbers(name, found[f"{world} {xi} {name}"]) for name in features}
            thetas[:, :, xi] = self.people.rates(values, (draws, number)).swapaxes(0, 1)
        return thetas

    def _average(self, free: np.ndarray, held: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the rates of all people, and of each half of them, along a first axis."""
        free, held, weights = (array.reshape(*array.shape[:-1], _HALVES, -1) for array in (free, held, weights))
        sums = np.einsum("dabhn,dghn->hdabg", held, weights, optimize=True)
        shares = weights.sum(axis=-1).transpose(2, 0, 1)
        sums, shares = (np.concatenate([parts.sum(axis=0)[None], parts]) for parts in (sums, shares))
        if not (shares > 0).all():
            question = self.people.question
            raise DataError(nobody(question, question.levels[int(np.argmin(shares.min(axis=(0, 1))))]))
        means = np.moveaxis(free.mean(axis=-1), -1, 0)
        rates = np.empty((1 + _HALVES, len(free), *SHAPE))
        rates[..., :EVERYBODY] = sums / shares[:, :, None, None]
        rates[..., EVERYBODY] = np.concatenate([means.mean(axis=0)[None], means])
        return rates
