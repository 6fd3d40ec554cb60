"""Abduction, action and prediction over all draws and people, in vectorised passes of bounded memory."""

import hashlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import torch
import xarray as xr

from causalaudit.errors import InterventionError
from causalaudit.global_state import cached_property
from causalaudit.inference import Posterior
from causalaudit.inference.density.joint_latents import JointLatents
from causalaudit.inference.density.marginal import Marginal, Marginals, marginal_of
from causalaudit.progress import parallel, pieces, watched
from causalaudit.randomness import uniforms
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics, over_draws
from causalaudit.scm.handlers import ANEW, Abduct, Complete, Intervene, Mechanisms, Record, Replay, Tensors, run
from causalaudit.scm.missing import filled, missing_in
from causalaudit.scm.noise import Coupling

# Numbers (draws x people) that one pass holds for each variable: 4 MiB, a few dozen of which are alive at once.
_BUDGET = 2**19
_LATENTS, _LATENT = "latents", "latent "  # the names of their uniforms, and of those that are drawn already
_MISSING = "missing "  # the name of the uniforms of missing values of which nothing that follows is observed
_FACTUAL = "factual "


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
    stations: np.ndarray | None = None
    """Where the random numbers of all who were asked about are, by label; None if in their order."""

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
    def observed(self) -> Tensors:
        """The columns of the people, NaN where a value is missing."""
        return self.scm.encode_observed(self.people)

    @cached_property
    def missing(self) -> Tensors:
        """Of whom each column is missing that is missing of anyone."""
        return missing_in(self.observed)

    @cached_property
    def factual(self) -> Tensors:
        """The columns of the people; what stands in place of missing values means nothing."""
        return filled(self.scm, self.observed)

    @cached_property
    def mechanisms(self) -> Mechanisms:
        return self.scm.mechanisms(self.coupling)

    @cached_property
    def marginal(self) -> Marginal | Marginals | JointLatents:
        """What gives the latents their conditionals; its nodes are placed at the posterior mean."""
        if self._joint:
            return JointLatents(self.scm, self.factual)
        with numerics(), torch.no_grad():
            return marginal_of(self.scm, self.observed).placed_at(Intervene(self._mean()))

    @property
    def _unknown(self) -> bool:
        """Whether there is anything to draw: latents, or missing values."""
        return bool(self.scm.latents or self.missing)

    @cached_property
    def _simulated(self) -> Tensors:
        """Of whom each variable is not known and follows from what is: nothing that follows from it is observed."""
        if not isinstance(self.marginal, Marginals):
            return {}
        computed = {name: mask for name, mask in self.missing.items() if name not in self.mechanisms.noises}
        return {name: mask for name, mask in (computed | self.marginal.simulated).items() if self._is_drawn(name)}

    def _is_drawn(self, name: str) -> bool:
        """Tell whether a variable is not computed anew whenever the program is run."""
        return name in self.scm.columns or name in self.mechanisms.noises

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

    def tasks(self, numbers: np.ndarray | None = None) -> list[np.ndarray]:
        """Cut the draws, or some of them, into passes."""
        numbers = self.numbers if numbers is None else numbers
        heaviest = max(len(self.people), self.marginal.drawing_size if self._unknown else 0)
        size = self.chunk or max(1, _BUDGET // heaviest)
        return [numbers[part] for part in pieces(len(numbers), budget=size)]

    def touched(self) -> "Abduction | None":
        """Return the same question about the people whom the intervention changes at all; None if there are none."""
        if not self.shortcut or not set(self.do) <= set(self.scm.columns):
            return self
        changed = torch.zeros(len(self.people), dtype=torch.bool)
        for name, value in self.do.items():
            difference = value != self.factual[name]
            changed |= difference.any(-1) if name in self.mechanisms.vectors else difference
        for mask in self.missing.values():
            changed |= mask  # what is drawn is another value in every draw
        positions = changed.nonzero().flatten().numpy()
        if not len(positions):
            return None
        chosen = {name: value[changed] for name, value in self.do.items()}
        return replace(self, people=self.people.iloc[positions], do=chosen, positions=positions, total=len(self.people))

    def datasets(self, progress: bool) -> tuple[xr.Dataset, xr.Dataset]:
        """Return the counterfactual values of every draw, and the factual ones of columns that are missing of anyone.

        People whom nothing changes keep their factual values.
        """
        ((arrays, completed),) = self.blocks(len(self.numbers), progress)
        return self.labelled(arrays), self.labelled(completed)

    def blocks(self, draws: int, progress: bool) -> Iterator[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
        """Yield the same, as arrays, of so many consecutive draws at a time."""
        parts = pieces(len(self.numbers), budget=draws)
        asked = self.touched()
        for part in watched(parts, len(parts), "Counterfactuals", progress):
            yield self._block(asked, self.numbers[part], progress and len(parts) == 1)

    def _block(
        self, asked: "Abduction | None", numbers: np.ndarray, progress: bool
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        factual = {name: self.scm.codec.numbers(name, value) for name, value in self.factual.items()}
        factual |= {_FACTUAL + name: factual[name] for name in self.missing}
        arrays = {name: np.empty((len(numbers), len(value)), dtype=value.dtype) for name, value in factual.items()}
        for name, value in factual.items():
            arrays[name][:] = value
        if asked is not None:
            positions, start = slice(None) if asked.positions is None else asked.positions, 0
            for part in parallel(asked.both_worlds, asked.tasks(numbers), "Counterfactuals", progress):
                size = len(next(iter(part.values())))
                for name, values in part.items():
                    arrays[name][start : start + size][:, positions] = values
                start += size
        completed = {name: arrays.pop(_FACTUAL + name) for name in self.missing}
        self._refuse_infinite(arrays)
        self._refuse_infinite(completed)
        return arrays, completed

    def _refuse_infinite(self, arrays: dict[str, np.ndarray]) -> None:
        for name, values in arrays.items():
            broken = ~np.isfinite(values).all(axis=0)
            if broken.any():
                raise InterventionError(
                    f"The counterfactual {name!r} is not finite for {int(broken.sum())} people, the first being "
                    f"{self.people.index[broken].tolist()[0]!r}: the program is undefined where the intervention leads."
                )

    def labelled(self, arrays: dict[str, np.ndarray]) -> xr.Dataset:
        """Return values of all draws by draw and person, with levels."""
        variables = {
            name: (("draw", "individual"), values, self.scm.codec.attributes(name)) for name, values in arrays.items()
        }
        return xr.Dataset(variables, coords={"draw": self.numbers, "individual": self.people.index.to_numpy()})

    def _uniforms(self, names: Collection[str], numbers: np.ndarray) -> Tensors:
        """Draw the randomness of the noise that is not determined by the values.

        A person's numbers do not depend on who else is computed.
        """
        needed: Tensors = {}
        n, own = self.total or len(self.people), slice(None) if self.positions is None else self.positions
        places = self.positions if self.stations is None else self.stations[own]

        def mine(name: str, shape: tuple[int, ...], axis: int) -> torch.Tensor:
            drawn = uniforms(self.seed, name, numbers, shape)
            return torch.from_numpy(drawn if places is None else drawn.take(places, axis=axis))

        for name in names:
            noise = self.mechanisms.noises[name]
            if noise.randomised or self.coupling[name] == "independent":
                width = noise.width(self.scm.structure.laws[name])
                needed[name] = mine(name, (n,) if width is None else (n, width), axis=1)
        for name in self._simulated if self._unknown else ():
            if name in self.mechanisms.noises:
                width = self.mechanisms.noises[name].width(self.scm.structure.laws[name])
                needed[_MISSING + name] = mine(_MISSING + name, (n,) if width is None else (n, width), axis=1)
        if self._unknown:
            needed[_LATENTS] = mine(_LATENTS, (self.marginal.uniforms, n), axis=2)
        shared = [name for name in names if name in self.mechanisms.degrees]
        return needed | {name + ANEW: mine(name + ANEW, (n,), axis=1) for name in shared}

    def worlds(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Return the counterfactual variables of some draws."""
        return {name: values for name, values in self.both_worlds(numbers).items() if name in self.scm.columns}

    def both_worlds(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Return the same, and the factual values of columns that are missing of anyone."""
        values = self._over(self.world, numbers, self.affected)
        factual = {_FACTUAL + name: self.scm.codec.numbers(name, values[_FACTUAL + name]) for name in self.missing}
        return {name: self.scm.codec.numbers(name, values[name]) for name in self.scm.columns} | factual

    def _over(
        self, function: Callable[[Tensors, Tensors], Tensors], numbers: np.ndarray, names: Collection[str]
    ) -> Tensors:
        chosen = self.posterior.parameters()
        if self._unknown:
            _ = self.marginal, self._simulated  # found once, outside of the passes
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
        factual = self._known(theta, uniform)
        independent = [name for name in names if self.coupling[name] == "independent"]
        messenger = Abduct(self.mechanisms, names, uniform, independent)
        record = Record()
        run(self.scm.program, len(self.people), record, messenger, Intervene({**theta, **factual}))
        return messenger.noise, {name: record.values[name] for name in self.scm.variables}

    def _known(self, theta: Tensors, uniform: Tensors) -> Tensors:
        """Return the factual values at one draw: the columns, missing values of which are drawn, and the latents."""
        values = dict(self.factual)
        for name, drawn in self._latents(theta, uniform).items():
            values[name] = torch.where(self._mask(name), drawn, values[name]) if name in self.missing else drawn
        if not self._unknown or not self._simulated:
            return values
        drawn_by = {name: uniform.get(_MISSING + name) for name in self._simulated}
        ready = {name: value for name, value in drawn_by.items() if value is not None}
        values |= {name: self._nobody(name) for name in self._simulated if name not in values}
        complete = Complete(self.mechanisms, values, self._simulated, ready if _LATENTS in uniform else None)
        known = {name: value for name, value in values.items() if name not in self._simulated}
        run(self.scm.program, len(self.people), complete, Intervene({**theta, **known}))
        return values | complete.values

    def _mask(self, name: str) -> torch.Tensor:
        return self.missing[name].unsqueeze(-1) if name in self.mechanisms.vectors else self.missing[name]

    def _nobody(self, name: str) -> torch.Tensor:
        """Return zeros for a latent that is drawn for nobody."""
        shape = (len(self.people), *self.scm.structure.laws[name].event_shape)
        return torch.zeros(shape, dtype=self.scm.structure.dtypes[name])

    def _latents(self, theta: Tensors, uniform: Tensors) -> Tensors:
        """Draw latents and missing values from their conditional."""
        if not self._unknown:
            return {}
        own = uniform.get(_LATENTS)
        if isinstance(self.marginal, JointLatents):
            continuous = {name: uniform[_LATENT + name] for name in self._joint}
            return self.marginal.draw(theta, continuous, None if own is None else own[0])
        return self.marginal.draw(theta, None if own is None else tuple(own))

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
        counterfactual = {name: torch.broadcast_tensors(values[name], factual[name])[0] for name in self.scm.variables}
        return counterfactual | {_FACTUAL + name: factual[name] for name in self.missing}

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
        return self.labelled(
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
            of_noise = {name + suffix for name in self.affected for suffix in ("", ANEW)}
            middle = {name: torch.full_like(value[0], 0.5) for name, value in drawn.items() if name in of_noise}
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
