"""People simulated at each draw of the parameters, in several worlds that share their noise.

The noise is spread evenly: a Sobol net with a random digital shift for each draw. It is the same in all worlds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import networkx as nx
import numpy as np
import torch
from scipy.stats import qmc

from causalaudit.counterfactuals.tabled import Tabled
from causalaudit.global_state import cached_property
from causalaudit.progress import pieces
from causalaudit.randomness import generator
from causalaudit.scm.confounding import pair_of
from causalaudit.scm.execution import numerics, over_draws
from causalaudit.scm.handlers import ANEW, Intervene, Mechanisms, Record, Simulate, Tensors, run
from causalaudit.scm.noise import Coupling
from causalaudit.scm.noise.copula import log_given, log_pair
from causalaudit.scm.noise.normal_scores import scores_of
from causalaudit.scm.score import log_probability
from causalaudit.scm.simulation import ROWS, drawn_rows, given_people

_FEWEST, _MOST = 2**10, 2**15  # people at each draw: a power of two near the number in the data
_BITS = 32
# Numbers (draws x people) that one pass holds for each variable: 4 MiB, a few dozen of which are alive at once.
_BUDGET = 2**19


@dataclass(frozen=True, eq=False)
class World:
    """What is asked about a world: what is set in it, and of which values the probability is wanted there.

    Attributes
    ----------
    do
        Variable → the value that everybody has.
    chance_of
        Variable → a value; it may be one that is set, and its probability is then that of its own law there.
    departs_from
        The place, among the worlds that are asked about, of the world from which noise that is not shared in full is
        drawn anew, independently or to a degree, wherever a parent differs. None: all noise is that of the others.
    """

    do: Mapping[str, Any]
    chance_of: Mapping[str, Any]
    departs_from: int | None = None


@dataclass(frozen=True, eq=False)
class SimulatedWorld:
    """Simulated people in a world, by draw (rows) and person: the first half of the people, then the second.

    Attributes
    ----------
    values
        Variable → numbers (codes for levels).
    chance
        The joint probability of the values that were asked about, given the other variables.
    """

    values: dict[str, np.ndarray]
    chance: np.ndarray


@dataclass(frozen=True, eq=False)
class SimulatedPeople(Tabled):
    """People drawn from the program at each draw of its parameters, as many in each, in two independent halves."""

    draws: int | None
    seed: int
    coupling: dict[str, Coupling]
    HALVES: ClassVar[int] = 2
    """Independent shifts of the noise at each draw; the difference of the halves is the Monte-Carlo error."""

    @cached_property
    def number_of_people(self) -> int:
        """How many people are simulated at each draw."""
        near = 2 ** round(np.log2(len(self.posterior.data)))
        return int(np.clip(near, _FEWEST, _MOST))

    def tasks(self) -> list[np.ndarray]:
        """Cut the draws into passes, by their numbers in the posterior."""
        numbers = self.posterior.draw_numbers(self.draws)
        return [numbers[part] for part in pieces(len(numbers), self.number_of_people, _BUDGET)]

    def worlds(self, numbers: np.ndarray, asked: Sequence[World], names: Sequence[str]) -> list[SimulatedWorld]:
        """Return some variables of the people in several worlds, at some draws.

        Parameters
        ----------
        numbers
            The draws.
        asked
            The worlds. What none of their interventions can reach is computed once.
        names
            The variables that are returned.
        """
        chosen = self.posterior.parameters()
        unaffected = self._unaffected(asked)

        def one_draw(theta: Tensors, uniforms: Tensors) -> Tensors:
            result: Tensors = {}
            unchanged: Tensors = {}
            records: list[Record] = []
            for place, world in enumerate(asked):
                do = self._set(world.do, self.number_of_people)
                left = None if world.departs_from is None else records[world.departs_from].values
                record = self._run(theta, {**unchanged, **do}, uniforms, left)
                records.append(record)
                unchanged = {name: record.values[name] for name in unaffected}
                result |= {f"{place} {name}": record.values[name] for name in names}
                if world.chance_of:
                    result[f"{place} chance"] = self._chance(record, world, uniforms).expand(self.number_of_people)
            return result

        with numerics(), torch.no_grad():
            theta = {name: torch.from_numpy(np.array(value[numbers], dtype=float)) for name, value in chosen.items()}
            found = over_draws(one_draw, theta, self._uniforms(numbers), len(numbers), check=numbers[0] == 0)
        everybody = torch.ones(len(numbers), self.number_of_people, dtype=torch.float64)
        return [
            SimulatedWorld(
                {name: self.scm.codec.numbers(name, found[f"{place} {name}"]) for name in names},
                found.get(f"{place} chance", everybody).numpy(),
            )
            for place in range(len(asked))
        ]

    def _chance(self, record: Record, world: World, uniforms: Tensors) -> torch.Tensor:
        values = self._set(world.chance_of, self.number_of_people)
        chance = torch.zeros(())
        for name, value in values.items():
            pair = pair_of(self.scm.confounding, name)
            if pair is None:
                chance = chance + log_probability(record.laws[name], value)
            elif pair.partner_of(name) not in values:
                # Its own noise is integrated out, given that of the other variable.
                partner = torch.special.ndtri(uniforms[pair.partner_of(name)])
                chance = chance + log_given(scores_of(record.laws[name], value), partner, pair.rho)
            elif name == pair.second:
                partners = scores_of(record.laws[pair.first], values[pair.first])
                chance = chance + log_pair(partners, scores_of(record.laws[name], value), pair.rho)
        return chance.exp()

    def _unaffected(self, asked: Sequence[World]) -> list[str]:
        """Return the variables that follow from nothing that is set in any world: the same in all."""
        graph: nx.DiGraph[Any] = self.scm.graph
        named = {name for world in asked for name in world.do}
        changed = named.union(*(nx.descendants(graph, name) for name in named))
        return [name for name in self.scm.variables if name not in changed]

    @cached_property
    def drawn_anew(self) -> list[str]:
        """The variables whose noise is drawn anew in another world, in full or to a degree."""
        return [name for name, chosen in self.coupling.items() if chosen not in ("monotone", "gumbel")]

    def _run(self, theta: Tensors, do: Tensors, uniforms: Tensors, left: Tensors | None) -> Record:
        record = Record()
        anew = {} if left is None else {name: uniforms[name + ANEW] for name in self.drawn_anew}
        simulate = Simulate(self._mechanisms, uniforms, anew, left)
        rows = drawn_rows(self._given, uniforms, self.posterior.weights)
        run(self.scm.program, self.number_of_people, record, simulate, Intervene({**theta, **rows, **do}))
        return record

    # The noise

    @cached_property
    def _mechanisms(self) -> Mechanisms:
        return self.scm.mechanisms(self.coupling)

    @cached_property
    def _widths(self) -> dict[str, int | None]:
        laws = self.scm.structure.laws
        widths = {name: noise.width(laws[name]) for name, noise in self._mechanisms.noises.items()}
        rows = {ROWS: None} if self._given else {}
        return {**widths, **{name + ANEW: widths[name] for name in self.drawn_anew}, **rows}

    @cached_property
    def _given(self) -> Tensors:
        """The covariates of the data that the program conditions on: people are drawn from their rows."""
        return given_people(self.scm, self.posterior.data)

    @cached_property
    def _net(self) -> np.ndarray:
        """A Sobol net, as whole numbers: people × dimensions of the noise."""
        dimensions = sum(width or 1 for width in self._widths.values())
        size = round(np.log2(self.number_of_people // self.HALVES))
        points = qmc.Sobol(dimensions, scramble=False, bits=_BITS).random_base2(size)
        return (points * 2.0**_BITS).astype(np.uint32)

    def _uniforms(self, numbers: np.ndarray) -> Tensors:
        """Return the noise of each site as uniforms, by draw and person."""
        shifts = np.stack([self._shift(int(draw)) for draw in numbers])

        def spread(dimension: int) -> torch.Tensor:
            shifted = self._net[:, dimension] ^ shifts[..., dimension, None]
            return torch.from_numpy((shifted.reshape(len(numbers), self.number_of_people) + 0.5) / 2.0**_BITS)

        uniforms, start = {}, 0
        for name, width in self._widths.items():
            columns = [spread(start + place) for place in range(width or 1)]
            uniforms[name] = columns[0] if width is None else torch.stack(columns, -1)
            start += len(columns)
        for pair in self.scm.confounding:
            uniforms = pair.coupled(uniforms)
        return uniforms

    def _shift(self, draw: int) -> np.ndarray:
        size = (self.HALVES, self._net.shape[1])
        return generator(self.seed, "people", draw).integers(2**_BITS, size=size, dtype=np.uint32)
