"""The no-U-turn sampler of Pyro, one chain a task."""

from dataclasses import dataclass
from typing import Any

import arviz as az
import joblib
import numpy as np
import torch
from pyro.infer import NUTS

from causalaudit.errors import InferenceError
from causalaudit.inference.compiled import compiled
from causalaudit.inference.frame import AnyDensity, Frame, find_frame, log_density
from causalaudit.inference.joint import JointDensity
from causalaudit.inference.laplace import ImportanceDraws
from causalaudit.inference.svi import variational_frame
from causalaudit.progress import parallel, watched
from causalaudit.randomness import generator, seeded
from causalaudit.scm.execution import numerics

_WARMUP, _LONG_WARMUP = 200, 600  # steps: in a trusted frame of a density with a maximum, otherwise
_ACCEPTANCE, _HIGH_ACCEPTANCE = 0.8, 0.95  # aimed at by the step size, likewise
_DEPTH = 8  # of the tree of a trajectory: at most 255 steps
_DISPERSION = 1.5  # of the starts, in standard deviations of the frame
_TRIES = 100
_TRIED, _COMPARED = 3, 100  # points, and draws, at which the compiled density is compared with the program's
_CHECKED = 8  # points at which the nodes of a continuous latent are doubled as a check
_FIRST, _ENDLESS = 100, 64  # draws after which a chain without a maximum is given up if each took so many steps
_HOPELESS = 1.1  # r-hat at which a posterior without a maximum counts as none

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class ChainDraws:
    """Draws of several chains.

    Attributes
    ----------
    vectors
        Unconstrained draws, one chain after the other.
    by_draw
        Statistics of each draw: `diverging`, `energy`, `acceptance_rate`, `n_steps`, `lp`.
    statistics
        Statistics of all: r-hat, bulk and tail effective sizes of the worst parameter, divergences.
    """

    vectors: np.ndarray
    by_draw: Arrays
    statistics: dict[str, Any]


def nuts_draws(
    density: AnyDensity,
    draws: int,
    chains: int,
    seed: int,
    progress: bool = False,
    laplace: ImportanceDraws | None = None,
) -> ChainDraws:
    """Sample chains by NUTS, started and whitened by the Laplace fit.

    Where that cannot be trusted, or there is none, a variational fit takes its place, and the chains warm up
    longer. Each chain has its own seed: results do not depend on the number of workers.

    Parameters
    ----------
    laplace
        The Laplace fit, if it is there already.

    Raises
    ------
    InferenceError
        If the posterior is flat, or has no maximum and the chains do not agree either.
    """
    frame, no_maximum = find_frame(density, seed, progress, laplace)
    if not frame.trusted:
        better = variational_frame(density, frame, seed, progress)
        if better is None and no_maximum is not None:
            raise no_maximum
        frame = better or frame
    try:
        arrays = _run(density, frame, draws, chains, seed, progress, wary=no_maximum is not None)
    except _Lost:
        assert no_maximum is not None
        raise no_maximum from None
    vectors = arrays.pop("vectors")
    statistics = _judge(density, vectors) | {"divergences": int(arrays["diverging"].sum())}
    if no_maximum is not None and not statistics["r_hat"] < _HOPELESS:
        raise InferenceError(
            f"{no_maximum} (The chains do not agree either: r-hat is {statistics['r_hat']:.2f}. If it is the scale of "
            "other parameters, write these as the scale times parameters with a fixed one.)"
        )
    by_draw = {name: value.reshape(chains * draws) for name, value in arrays.items()}
    return ChainDraws(vectors.reshape(chains * draws, -1), by_draw, statistics)


class _Lost(Exception):
    """A chain needs endless trajectories."""


def _run(density: AnyDensity, frame: Frame, draws: int, chains: int, seed: int, progress: bool, wary: bool) -> Arrays:
    """Run the chains; again, should the density have been wrong at some of the draws.

    The nodes of a continuous latent may turn out to be too few there, or the compiled density to be another one.
    """
    density.refine(frame(_DISPERSION * torch.from_numpy(_spread_points(density, seed))).numpy())
    alone, fast = joblib.effective_n_jobs(None) == 1, True
    while True:
        sampler = Sampler(density, frame, draws, seed, progress and alone, fast, wary)
        found = list(parallel(sampler.chain, range(chains), "Chains", progress and not alone))
        arrays = {name: np.stack([chain[name] for chain in found]) for name in found[0]}
        finer = density.refine(_some(arrays["vectors"], _CHECKED))
        expected = log_density(density, _some(arrays["vectors"], _COMPARED))
        if not finer and np.allclose(_some(arrays["lp"][..., None], _COMPARED)[:, 0], expected, rtol=1e-6, atol=1e-6):
            return arrays
        fast = fast and finer  # else the compiled density is not that of the program everywhere


def _some(by_chain: np.ndarray, count: int) -> np.ndarray:
    """Return some of the draws, from all over the chains."""
    flat = by_chain.reshape(-1, by_chain.shape[-1])
    return flat[np.linspace(0, len(flat) - 1, min(count, len(flat))).round().astype(int)]


def _spread_points(density: AnyDensity, seed: int) -> np.ndarray:
    points: np.ndarray = generator(seed, "nodes").standard_normal((_CHECKED, density.space.size))
    return points


class _Kernel(NUTS):
    """Pyro's kernel, which also remembers the energy at which a trajectory began."""

    energy: float = np.nan

    def _sample_r(self, name: str) -> tuple[Any, Any]:
        momenta, unscaled = super()._sample_r(name)
        self.energy = float(self._kinetic_energy(unscaled) + self._potential_energy_last)
        return momenta, unscaled


@dataclass(frozen=True)
class Sampler:
    """What a chain needs, wherever it runs."""

    density: AnyDensity
    frame: Frame
    draws: int
    seed: int
    progress: bool
    fast: bool = True
    wary: bool = False

    def potential(self, point: torch.Tensor) -> torch.Tensor:
        """Return the negative log-density of a point of the frame."""
        return -self.density.total(self.frame(point), prior=True, jacobian=True)

    def chain(self, number: int) -> Arrays:
        """Run one chain."""
        trusted, calls = self.frame.trusted and not self.wary, 0

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
            vectors = self.frame(torch.stack(points)).numpy()
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
            point = torch.randn(self.density.space.size) * _DISPERSION * 0.9**attempt
            point.requires_grad_(True)
            height = self.potential(point)
            (slope,) = torch.autograd.grad(height, point)
            if torch.isfinite(height) and torch.isfinite(slope).all():
                return point.detach()
        raise InferenceError(
            f"The density of {self.density.scm.name!r} or its slope is not finite at any of {_TRIES} starts near "
            "its centre. Check the program for divisions by zero and logarithms of zero."
        )


def _judge(density: AnyDensity, vectors: np.ndarray) -> dict[str, Any]:
    """Return r-hat and the effective sizes of the worst parameter; they do not depend on its scale."""
    size = density.parameter_count if isinstance(density, JointDensity) else density.space.size
    size = size or density.space.size  # a program without parameters has latents alone
    chains, draws = vectors.shape[:2]
    if chains == 1 and draws >= 2:  # compare the halves of a single chain
        halves = np.split(vectors[:, : draws // 2 * 2], 2, axis=1)
        split = np.concatenate(halves)
    else:
        split = vectors
    r_hat = np.array([az.rhat(split[..., at]) if split.shape[1] >= 4 else np.nan for at in range(size)])
    bulk, tail = (
        np.array([az.ess(vectors[..., at], method=kind) if draws >= 4 else np.nan for at in range(size)])
        for kind in ("bulk", "tail")
    )
    labels = density.space.labels
    return {
        "r_hat": float(r_hat.max()),
        "ess": float(bulk.min()),
        "ess_tail": float(tail.min()),
        "worst": labels[int(np.nanargmax(r_hat))] if np.isfinite(r_hat).any() else labels[0],
    }
