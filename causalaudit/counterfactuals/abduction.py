"""Abduction, action and prediction over all draws and people, in vectorised passes of bounded memory."""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import torch
import xarray as xr

from causalaudit.errors import InterventionError
from causalaudit.inference import Posterior
from causalaudit.inference.density.joint_latents import JointLatents
from causalaudit.inference.density.marginal import Marginal
from causalaudit.progress import parallel
from causalaudit.randomness import uniforms
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics, over_draws
from causalaudit.scm.handlers import ANEW, Abduct, Intervene, Mechanisms, Record, Replay, Tensors, run
from causalaudit.scm.noise import Coupling

# Numbers (draws x people) that one pass holds for each variable: 4 MiB, a few dozen of which are alive at once.
_BUDGET = 2**19
_LATENTS, _LATENT = "latents", "latent "  # the names of their uniforms, and of those that are drawn already


@dataclass(frozen=True, eq=False)
class Abduction:
    """One counterfactual question, ready to be answered for any part of the draws."""

    posterior: Posterior
    people: pd.DataFrame
    do: Tensors
    draws: int | None
    coupling: dict[str, Coupling]
    edges: frozenset[tuple[str, str]] | None
    seed: int
    chunk: int | None
    shortcut: bool = True
    positions: np.ndarray | None = None
    """The places of these people among all who were asked about, None if they are all."""
    total: int | None = None

    def __post_init__(self) -> None:
        for group in self.scm.vectors:
            missing = [name for name in group if name not in self.do]
            if 0 < len(missing) < len(group):
                raise InterventionError(
                    f"{', '.join(map(repr, group))} are one vector with a common noise, of which {missing[0]!r} is not "
                    "set: set all of its numbers, or write them as sites of their own, which says what causes what."
                )

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
    def marginal(self) -> Marginal | JointLatents:
        """What gives the latents their conditionals; its nodes are placed at the posterior mean."""
        if self._joint:
            return JointLatents(self.scm, self.factual)
        with numerics(), torch.no_grad():
            return Marginal(self.scm, self.factual).placed_at(Intervene(self._mean()))

    @cached_property
    def _joint(self) -> Tensors:
        """All draws of the latents that were drawn together with the parameters."""
        return {name: torch.from_numpy(value) for name, value in self.posterior.latents(self.people.index).items()}

    def _mean(self) -> Tensors:
        means = {name: np.asarray(value.mean(axis=0)) for name, value in self.posterior.parameters().items()}
        return {name: torch.from_numpy(value) for name, value in means.items()}

    @cached_property
    def affected(self) -> tuple[str, ...]:
        """Variables that the intervention can reach, and that have noise to abduct, with those confounded with them."""
        if not self.shortcut:
            return tuple(name for name in self.scm.variables if name in self.mechanisms.noises)
        reached = set().union(*(nx.descendants(self.scm.graph, name) for name in self.do)) if self.do else set()
        wanted = self.scm.with_partners(reached)
        return tuple(name for name in self.scm.variables if name in wanted and name in self.mechanisms.noises)

    @property
    def numbers(self) -> np.ndarray:
        return self.posterior.draw_numbers(self.draws)

    @property
    def settings(self) -> dict[str, Any]:
        """What the answer rests on, in plain values."""
        hidden = [[pair.first, pair.second, pair.rho] for pair in self.scm.confounding]
        return {
            **({"confounding": hidden} if hidden else {}),
            "coupling": self.coupling,
            "edges": None if self.edges is None else sorted(map(list, self.edges)),
            "seed": self.seed,
            "draws": len(self.numbers),
            "posterior": _digest(self.posterior),
        }

    def tasks(self) -> list[np.ndarray]:
        """Cut the draws into passes."""
        heaviest = max(len(self.people), self.marginal.drawing_size if self.scm.latents else 0)
        size = self.chunk or max(1, _BUDGET // heaviest)
        return [self.numbers[start : start + size] for start in range(0, len(self.numbers), size)]

    def touched(self) -> "Abduction | None":
        """Return the same question about the people whom the intervention changes at all; None if there are none."""
        if not self.shortcut or not set(self.do) <= set(self.scm.columns):
            return self
        changed = torch.zeros(len(self.people), dtype=torch.bool)
        for name, value in self.do.items():
            difference = value != self.factual[name]
            changed |= difference.any(-1) if name in self.mechanisms.vectors else difference
        positions = changed.nonzero().flatten().numpy()
        if not len(positions):
            return None
        chosen = {name: value[changed] for name, value in self.do.items()}
        return replace(self, people=self.people.iloc[positions], do=chosen, positions=positions, total=len(self.people))

    def dataset(self, progress: bool) -> xr.Dataset:
        """Return the counterfactual values of every draw; people whom nothing changes keep their factual values."""
        shape = (len(self.numbers), len(self.people))
        factual = {name: self.scm.codec.numbers(name, value) for name, value in self.factual.items()}
        arrays = {name: np.empty(shape, dtype=value.dtype) for name, value in factual.items()}
        for name, value in factual.items():
            arrays[name][:] = value
        asked, start = self.touched(), 0
        if asked is not None:
            positions = slice(None) if asked.positions is None else asked.positions
            for part in parallel(asked.worlds, asked.tasks(), "Counterfactuals", progress):
                size = len(next(iter(part.values())))
                for name, values in part.items():
                    arrays[name][start : start + size][:, positions] = values
                start += size
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
        """Draw the randomness of the noise that is not determined by the values.

        A person's numbers do not depend on who else is computed.
        """
        needed: Tensors = {}
        n = self.total or len(self.people)

        def mine(name: str, shape: tuple[int, ...], axis: int) -> torch.Tensor:
            drawn = uniforms(self.seed, name, numbers, shape)
            return torch.from_numpy(drawn if self.positions is None else drawn.take(self.positions, axis=axis))

        for name in names:
            noise = self.mechanisms.noises[name]
            if noise.randomised or self.coupling[name] == "independent":
                width = noise.width(self.scm.structure.laws[name])
                needed[name] = mine(name, (n,) if width is None else (n, width), axis=1)
        if self.scm.latents:
            needed[_LATENTS] = mine(_LATENTS, (2, n), axis=2)
        shared = [name for name in names if name in self.mechanisms.degrees]
        return needed | {name + ANEW: mine(name + ANEW, (n,), axis=1) for name in shared}

    def worlds(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Return the counterfactual variables of some draws."""
        values = self._over(self.world, numbers, self.affected)
        return {name: self.scm.codec.numbers(name, values[name]) for name in self.scm.columns}

    def _over(
        self, function: Callable[[Tensors, Tensors], Tensors], numbers: np.ndarray, names: Collection[str]
    ) -> Tensors:
        chosen = self.posterior.parameters()
        if self.scm.latents:
            _ = self.marginal  # found once, outside of the passes
        _ = self.factual
        with numerics(), torch.no_grad():
            theta = {name: torch.from_numpy(np.array(value[numbers], dtype=float)) for name, value in chosen.items()}
            joint = {_LATENT + name: value[numbers] for name, value in self._joint.items()}
            return over_draws(
                function,
                theta,
                {**self._uniforms(names, numbers), **joint},
                len(numbers),
                check=numbers[0] == self.numbers[0],
            )

    def abduct(self, theta: Tensors, uniform: Tensors, names: Collection[str]) -> tuple[Tensors, Tensors]:
        """Return the noise of `names` at one draw, and the factual values including the latents."""
        factual = {**self.factual, **self._latents(theta, uniform)}
        independent = [name for name in names if self.coupling[name] == "independent"]
        messenger = Abduct(self.mechanisms, names, uniform, independent)
        record = Record()
        run(self.scm.program, len(self.people), record, messenger, Intervene({**theta, **factual}))
        return messenger.noise, {name: record.values[name] for name in self.scm.variables}

    def _latents(self, theta: Tensors, uniform: Tensors) -> Tensors:
        if not self.scm.latents:
            return {}
        two = uniform.get(_LATENTS)
        if isinstance(self.marginal, JointLatents):
            continuous = {name: uniform[_LATENT + name] for name in self._joint}
            return self.marginal.draw(theta, continuous, None if two is None else two[0])
        return self.marginal.draw(theta, None if two is None else (two[0], two[1]))

    def world(self, theta: Tensors, uniform: Tensors) -> Tensors:
        """Abduct, act and predict at one draw of the parameters."""
        noise, factual = self.abduct(theta, uniform, self.affected)
        n, anew = len(self.people), {name: uniform[name + ANEW] for name in noise if name in self.mechanisms.degrees}
        if self.edges is None:
            replay = Replay(self.mechanisms, noise, factual, self.shortcut, anew)
            run(self.scm.program, n, replay, Intervene({**theta, **self.do}))
            values = replay.values
        else:
            values = self._along_edges(theta, noise, factual, anew)
        return {name: torch.broadcast_tensors(values[name], factual[name])[0] for name in self.scm.variables}

    def _along_edges(self, theta: Tensors, noise: Tensors, factual: Tensors, anew: Tensors) -> Tensors:
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
            values[name] = self.mechanisms.respond(name, record.laws[name], noise, factual, moved, anew)
        return values

    def latents(self) -> xr.Dataset:
        """Return the latents of everybody, drawn given each draw of the parameters: they are what the worlds share."""
        names = self.scm.latents

        def one_draw(theta: Tensors, uniform: Tensors) -> Tensors:
            _, values = self.abduct(theta, uniform, ())
            return {name: values[name] for name in names}

        parts = [self._over(one_draw, numbers, ()) for numbers in self.tasks()] if names else []
        return self._labelled(
            {name: np.concatenate([self.scm.codec.numbers(name, part[name]) for part in parts]) for name in names}
        )

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
        result = {name: self.scm.codec.numbers(name, value).copy() for name, value in self.factual.items()}
        asked = self.touched()
        if asked is not None:
            positions = slice(None) if asked.positions is None else asked.positions
            for name, values in asked._point().items():
                result[name][positions] = values
        return result

    def _point(self) -> dict[str, np.ndarray]:
        with numerics(), torch.no_grad():
            drawn = self._uniforms(self.affected, self.numbers[:1])
            middle = {name: torch.full_like(value[0], 0.5) for name, value in drawn.items() if name != _LATENTS}
            joint = {_LATENT + name: value.mean(0) for name, value in self._joint.items()}
            values = self.world(self._mean(), {**middle, **joint})
        return {name: self.scm.codec.numbers(name, values[name]) for name in self.scm.columns}


def _digest(posterior: Posterior) -> str:
    """Return what tells posteriors apart."""
    digest = hashlib.sha256(str(posterior.scm.name).encode())
    for assumed in sorted(posterior.scm.coupling.items()):
        digest.update(repr(assumed).encode())
    for pair in posterior.scm.confounding:
        digest.update(repr(pair).encode())
    for name, values in posterior.parameters().items():
        digest.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
