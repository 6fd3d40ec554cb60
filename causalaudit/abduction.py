"""Abduction, action and prediction over all draws and people, in vectorised passes of bounded memory."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np
import pandas as pd
import torch
import xarray as xr

from causalaudit.errors import InterventionError
from causalaudit.inference import Posterior
from causalaudit.inference.latents import LatentStates
from causalaudit.progress import parallel
from causalaudit.randomness import uniforms
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics, over_draws
from causalaudit.scm.handlers import Abduct, Intervene, Mechanisms, Record, Replay, Tensors, run

# Numbers (draws x people) that one pass holds for each variable: 2 MiB, a few dozen of which are alive at once.
_BUDGET = 2**18
_LATENT_STREAM = "latent state"


@dataclass(frozen=True)
class Abduction:
    """One counterfactual question, ready to be answered for any part of the draws."""

    posterior: Posterior
    people: pd.DataFrame
    do: Tensors
    draws: int | None
    coupling: dict[str, str]
    edges: frozenset[tuple[str, str]] | None
    seed: int
    chunk: int | None
    shortcut: bool = True

    @cached_property
    def scm(self) -> SCM:
        return self.posterior.scm

    @cached_property
    def factual(self) -> Tensors:
        return self.scm.encode(self.people)

    @cached_property
    def mechanisms(self) -> Mechanisms:
        return self.scm.mechanisms(self.coupling)

    @cached_property
    def states(self) -> LatentStates:
        return LatentStates(self.scm)

    @cached_property
    def affected(self) -> tuple[str, ...]:
        """Variables that the intervention can reach, and that have noise to abduct."""
        if not self.shortcut:
            return tuple(name for name in self.scm.variables if name in self.mechanisms.noises)
        reached = set().union(*(nx.descendants(self.scm.graph, name) for name in self.do)) if self.do else set()
        return tuple(name for name in self.scm.variables if name in reached and name in self.mechanisms.noises)

    @property
    def numbers(self) -> np.ndarray:
        return self.posterior.draw_numbers(self.draws)

    def tasks(self) -> list[np.ndarray]:
        """Cut the draws into passes."""
        size = self.chunk or max(1, _BUDGET // len(self.people))
        return [self.numbers[start : start + size] for start in range(0, len(self.numbers), size)]

    def dataset(self, progress: bool) -> xr.Dataset:
        """Return the counterfactual values of every draw."""
        shape = (len(self.numbers), len(self.people))
        arrays: dict[str, np.ndarray] = {}
        start = 0
        for part in parallel(self.worlds, self.tasks(), "Counterfactuals", progress):
            for name, values in part.items():
                if name not in arrays:
                    arrays[name] = np.empty(shape, dtype=values.dtype)
                arrays[name][start : start + len(values)] = values
            start += len(next(iter(part.values())))
        self._refuse_infinite(arrays)
        return self._labelled(arrays)

    def _refuse_infinite(self, arrays: dict[str, np.ndarray]) -> None:
        for name, values in arrays.items():
            broken = ~np.isfinite(values).all(axis=0)
            if broken.any():
                raise InterventionError(
                    f"The counterfactual {name!r} is not finite for {int(broken.sum())} people, the first being "
                    f"{self.people.index[broken].tolist()[0]!r}: the program is undefined where the intervention leads."
                )

    def _labelled(self, arrays: dict[str, np.ndarray]) -> xr.Dataset:
        variables = {
            name: (("draw", "individual"), values, self.scm.codec.attributes(name)) for name, values in arrays.items()
        }
        return xr.Dataset(variables, coords={"draw": self.numbers, "individual": self.people.index.to_numpy()})

    def _uniforms(self, names: Collection[str], numbers: np.ndarray) -> Tensors:
        """Draw the randomness of the noise that is not determined by the values."""
        needed = {}
        n = len(self.people)
        for name in names:
            noise = self.mechanisms.noises[name]
            if noise.randomised or self.coupling[name] == "independent":
                width = noise.width(self.scm.structure.laws[name])
                shape = (n,) if width is None else (n, width)
                needed[name] = torch.from_numpy(uniforms(self.seed, name, numbers, shape))
        if self.states.values:
            needed[_LATENT_STREAM] = torch.from_numpy(uniforms(self.seed, _LATENT_STREAM, numbers, (n,)))
        return needed

    def worlds(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Return the counterfactual variables of some draws."""
        values = self._over(self.world, numbers, self.affected)
        return {name: self.scm.codec.numbers(name, values[name]) for name in self.scm.variables}

    def _over(
        self, function: Callable[[Tensors, Tensors], Tensors], numbers: np.ndarray, names: Collection[str]
    ) -> Tensors:
        chosen = self.posterior.parameters()
        with numerics(), torch.no_grad():
            theta = {name: torch.from_numpy(np.array(value[numbers], dtype=float)) for name, value in chosen.items()}
            return over_draws(
                function, theta, self._uniforms(names, numbers), len(numbers), check=numbers[0] == self.numbers[0]
            )

    def abduct(self, theta: Tensors, uniform: Tensors, names: Collection[str]) -> tuple[Tensors, Tensors]:
        """Return the noise of `names` at one draw, and the factual values including the latents."""
        factual = {**self.factual, **self.states.draw(theta, self.factual, uniform.get(_LATENT_STREAM))}
        independent = [name for name in names if self.coupling[name] == "independent"]
        messenger = Abduct(self.mechanisms, names, uniform, independent)
        record = Record()
        run(self.scm.program, len(self.people), record, messenger, Intervene({**theta, **factual}))
        return messenger.noise, {name: record.values[name] for name in self.scm.variables}

    def world(self, theta: Tensors, uniform: Tensors) -> Tensors:
        """Abduct, act and predict at one draw of the parameters."""
        noise, factual = self.abduct(theta, uniform, self.affected)
        n = len(self.people)
        if self.edges is None:
            replay = Replay(self.mechanisms, noise, factual, self.shortcut)
            run(self.scm.program, n, replay, Intervene({**theta, **self.do}))
            values = replay.values
        else:
            values = self._along_edges(theta, noise, factual)
        return {name: torch.broadcast_tensors(values[name], factual[name])[0] for name in self.scm.variables}

    def _along_edges(self, theta: Tensors, noise: Tensors, factual: Tensors) -> Tensors:
        """Let each variable see the new value of a parent along the chosen edges, and the factual one elsewhere."""
        assert self.edges is not None
        values = {**factual, **self.do}
        for name in self.scm.variables:
            if name in self.do:
                continue
            seen = {
                parent: values[parent] if (parent, name) in self.edges else factual[parent]
                for parent in self.mechanisms.parents[name]
            }
            record = Record()
            run(self.scm.program, len(self.people), record, Intervene({**theta, **factual, **seen}))
            moved = self.mechanisms.moved({**factual, **seen}, factual, name)
            values[name] = self.mechanisms.respond(name, record.laws[name], noise, factual, moved)
        return values

    def noise(self) -> xr.Dataset:
        """Return the abducted noise of every draw and variable, on the scale that people read."""
        names = tuple(self.mechanisms.noises)

        def one_draw(theta: Tensors, uniform: Tensors) -> Tensors:
            found, _ = self.abduct(theta, uniform, names)
            return {name: self.mechanisms.noises[name].readable(value) for name, value in found.items()}

        parts = [self._over(one_draw, numbers, names) for numbers in self.tasks()]
        arrays = {name: np.concatenate([part[name].numpy() for part in parts]) for name in names}
        dims = {name: ("draw", "individual", f"{name}_value")[: values.ndim] for name, values in arrays.items()}
        return xr.Dataset(
            {name: (dims[name], values) for name, values in arrays.items()},
            coords={"draw": self.numbers, "individual": self.people.index.to_numpy()},
        )

    def point(self) -> dict[str, np.ndarray]:
        """Return the counterfactuals at the posterior mean, discrete noise in the middle of its interval."""
        means = {name: np.asarray(value.mean(axis=0)) for name, value in self.posterior.parameters().items()}
        with numerics(), torch.no_grad():
            theta = {name: torch.from_numpy(value) for name, value in means.items()}
            drawn = self._uniforms(self.affected, self.numbers[:1])
            middle = {name: torch.full_like(value[0], 0.5) for name, value in drawn.items() if name != _LATENT_STREAM}
            values = self.world(theta, middle)
        return {name: self.scm.codec.numbers(name, values[name]) for name in self.scm.columns}
