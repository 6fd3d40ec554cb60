"""The no-U-turn sampler of Pyro, one chain a task."""

from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import torch
from pyro.infer import NUTS

from causalaudit.errors import InferenceError
from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.samplers.chains import chain_statistics, some_of
from causalaudit.inference.samplers.compiled import compiled
from causalaudit.inference.samplers.coordinates import WhiteCoordinates
from causalaudit.inference.samplers.registry import MethodDraws
from causalaudit.progress import parallel, watched
from causalaudit.randomness import generator, seeded
from causalaudit.scm.execution import numerics

_WARMUP, _LONG_WARMUP = 200, 600  # steps: in trusted coordinates of a density with a maximum, otherwise
_ACCEPTANCE, _HIGH_ACCEPTANCE = 0.8, 0.95  # aimed at by the step size, likewise
_DEPTH = 8  # of the tree of a trajectory: at most 255 steps
_DISPERSION = 1.5  # of the starts, in standard deviations of the coordinates
_TRIES = 100
_TRIED, _COMPARED = 3, 100  # points, and draws, at which the compiled density is compared with the program's
_CHECKED = 8  # points at which the nodes of a continuous latent are doubled as a check
_FIRST, _ENDLESS = 100, 64  # draws after which a chain without a maximum is given up if each took so many steps
_HOPELESS = 1.1  # r-hat at which a posterior without a maximum counts as none

Arrays = dict[str, np.ndarray]


def nuts_draws(
    density: ProgramDensity,
    coordinates: WhiteCoordinates,
    draws: int,
    chains: int,
    seed: int,
    progress: bool = False,
    no_maximum: InferenceError | None = None,
) -> MethodDraws:
    """Sample chains by NUTS in coordinates that should make the posterior round.

    Where these cannot be trusted the chains warm up longer. Each chain has its own seed: results do not depend on the
    number of workers.

    Parameters
    ----------
    density
        The posterior, placed where the coordinates are.
    coordinates
        Those in which chains start and step.
    no_maximum
        Why the density has no highest point, if it has none: raised if the chains get lost.

    Returns
    -------
    MethodDraws
        With `diverging`, `energy`, `acceptance_rate`, `n_steps` and `lp` of each draw.

    Raises
    ------
    InferenceError
        If the density has no maximum and the chains do not agree either.
    """
    try:
        density, arrays = _run(density, coordinates, draws, chains, seed, progress, wary=no_maximum is not None)
    except _Lost:
        assert no_maximum is not None
        raise no_maximum from None
    vectors = arrays.pop("vectors")
    statistics = chain_statistics(density, vectors) | {"divergences": int(arrays["diverging"].sum())}
    if no_maximum is not None and not statistics["r_hat"] < _HOPELESS:
        raise InferenceError(
            f"{no_maximum} (The chains do not agree either: r-hat is {statistics['r_hat']:.2f}. If it is the scale of "
            "other parameters, write these as the scale times parameters with a fixed one.)"
        )
    by_draw = {name: value.reshape(chains * draws) for name, value in arrays.items()}
    vectors = vectors.reshape(chains * draws, -1)
    return MethodDraws("nuts", vectors, density.over(vectors, progress), statistics, by_draw)


class _Lost(Exception):
    """A chain needs endless trajectories."""


def _run(
    density: ProgramDensity,
    coordinates: WhiteCoordinates,
    draws: int,
    chains: int,
    seed: int,
    progress: bool,
    wary: bool,
) -> tuple[ProgramDensity, Arrays]:
    """Run the chains; again, should the density have been wrong at some of the draws.

    The nodes of a continuous latent may turn out to be too few there, or the compiled density to be another one.
    Returns the density with enough nodes, and what the chains gave.
    """
    spread = _DISPERSION * generator(seed, "nodes").standard_normal((_CHECKED, density.size))
    density = density.refined(coordinates.to_vectors(torch.from_numpy(spread)).numpy())
    alone, fast = joblib.effective_n_jobs(None) == 1, True
    while True:
        sampler = ChainSampler(density, coordinates, draws, seed, progress and alone, fast, wary)
        found = list(parallel(sampler.chain, range(chains), "Chains", progress and not alone))
        arrays = {name: np.stack([chain[name] for chain in found]) for name in found[0]}
        finer = density.refined(some_of(arrays["vectors"], _CHECKED))
        expected = finer.value(some_of(arrays["vectors"], _COMPARED))
        known = some_of(arrays["lp"][..., None], _COMPARED)[:, 0]
        if finer is density and np.allclose(known, expected, rtol=1e-6, atol=1e-6):
            return density, arrays
        # If nodes sufficed, the compiled density is not that of the program everywhere.
        density, fast = finer, fast and finer is not density


class _Kernel(NUTS):
    """Pyro's kernel, which also remembers the energy at which a trajectory began."""

    energy: float = np.nan

    def _sample_r(self, name: str) -> tuple[Any, Any]:
        momenta, unscaled = super()._sample_r(name)
        self.energy = float(self._kinetic_energy(unscaled) + self._potential_energy_last)
        return momenta, unscaled


@dataclass(frozen=True)
class ChainSampler:
    """What a chain needs, wherever it runs."""

    density: ProgramDensity
    coordinates: WhiteCoordinates
    draws: int
    seed: int
    progress: bool
    fast: bool = True
    wary: bool = False

    def potential(self, point: torch.Tensor) -> torch.Tensor:
        """Return the negative log-density of a point of the coordinates."""
        return -self.density.total(self.coordinates.to_vectors(point))

    def chain(self, number: int) -> Arrays:
        """Run one chain."""
        trusted, calls = self.coordinates.trusted and not self.wary, 0

        def counted(points: dict[str, torch.Tensor]) -> torch.Tensor:
            nonlocal calls
            calls += 1
            return potential(points["point"])

        warmup = _WARMUP if trusted else _LONG_WARMUP
        with numerics(), seeded(self.seed, "chain", number):
            start = self._start()
            others = torch.randn(_TRIED, len(start))
            potential = compiled(self.potential, [start, *others]) if self.fast else self.potential
            acceptance = _ACCEPTANCE if trusted else _HIGH_ACCEPTANCE
            kernel: Any = _Kernel(
                potential_fn=counted,
                max_tree_depth=_DEPTH,
                adapt_mass_matrix=not trusted,
                target_accept_prob=acceptance,
            )
            state = kernel.initial_params = {"point": start}
            kernel.setup(warmup)
            rows, points = [], []
            for step in watched(range(warmup + self.draws), warmup + self.draws, f"Chain {number + 1}", self.progress):
                before = calls
                state = kernel.sample(state)
                if self.wary and step >= _FIRST and calls > _ENDLESS * step:
                    raise _Lost
                if step >= warmup:
                    points.append(state["point"])
                    height = -float(kernel._potential_energy_last)
                    rows.append((kernel.energy, kernel._mean_accept_prob, calls - before, height))
            vectors = self.coordinates.to_vectors(torch.stack(points)).numpy()
        energy, mean_acceptance, steps, heights = np.array(rows).T
        diverging = np.zeros(self.draws, dtype=bool)
        diverging[kernel.diagnostics()["divergences"]] = True
        return {
            "vectors": vectors,
            "diverging": diverging,
            "energy": energy,
            "acceptance_rate": np.diff(mean_acceptance * np.arange(1, self.draws + 1), prepend=0.0),
            "n_steps": steps.astype(int),
            "lp": heights,
        }

    def _start(self) -> torch.Tensor:
        """Draw an over-dispersed start, closer to the origin if the density is zero there."""
        for attempt in range(_TRIES):
            point = torch.randn(self.density.size) * _DISPERSION * 0.9**attempt
            point.requires_grad_(True)
            height = self.potential(point)
            (slope,) = torch.autograd.grad(height, point)
            if torch.isfinite(height) and torch.isfinite(slope).all():
                return point.detach()
        raise InferenceError(
            f"The density of {self.density.name!r} or its slope is not finite at any of {_TRIES} starts near "
            "its centre. Check the program for divisions by zero and logarithms of zero."
        )
