"""Draws from a variational guide, checked by importance weights."""

from dataclasses import replace

import numpy as np
import torch

from causalaudit.arviz_versions import pareto_smoothed
from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.posterior.diagnostics import EQUAL, TRUSTED_K
from causalaudit.inference.samplers.coordinates import WhiteCoordinates
from causalaudit.inference.samplers.registry import MethodDraws
from causalaudit.inference.samplers.variational import WINDOW, variational_fit
from causalaudit.randomness import generator

_FEWEST = 1000  # draws by which a guide is checked
_CHECKED = 8  # draws at which the nodes of a continuous latent are doubled as a check


def svi_draws(
    density: ProgramDensity, start: WhiteCoordinates, draws: int, seed: int, progress: bool = False
) -> MethodDraws:
    """Fit a normal guide by stochastic gradients, check it by importance weights, and draw from it.

    The guide is a full normal over the parameters; latents that are not integrated out follow the parameters as the
    curvature of the density says.

    References
    ----------
    Yao, Vehtari, Simpson and Gelman (2018), Yes, but did it work? Evaluating variational inference. ICML.
    """
    guide = variational_fit(density, start, seed, progress)
    points = _points(density, draws, seed)
    density, pareto_k, efficiency = _fits(guide.density, guide.coordinates, points, progress)
    statistics = {
        "pareto_k": pareto_k,
        "ess": draws * efficiency,
        "elbo": float(guide.elbo[-WINDOW:].mean()),
        "elbo_converged": int(guide.converged),
    }
    vectors = guide.coordinates.to_vectors(torch.from_numpy(points[:draws])).numpy()
    return MethodDraws("svi", vectors, density.over(vectors, progress), statistics, by_step={"elbo": guide.elbo})


def variational_coordinates(
    density: ProgramDensity, start: WhiteCoordinates, seed: int, progress: bool = False
) -> tuple[ProgramDensity, WhiteCoordinates | None]:
    """Return coordinates that fit the posterior better than the given ones; None if the bound did not converge.

    The density comes back with the nodes of a continuous latent placed there.
    """
    guide = variational_fit(density, start, seed, progress)
    if not guide.converged:
        return guide.density, None
    density, pareto_k, efficiency = _fits(guide.density, guide.coordinates, _points(density, 0, seed), progress)
    return density, replace(guide.coordinates, trusted=pareto_k < TRUSTED_K or efficiency >= EQUAL)


def _points(density: ProgramDensity, draws: int, seed: int) -> np.ndarray:
    points: np.ndarray = generator(seed, "guide").standard_normal((max(draws, _FEWEST), density.size))
    return points


def _fits(
    density: ProgramDensity, coordinates: WhiteCoordinates, points: np.ndarray, progress: bool
) -> tuple[ProgramDensity, float, float]:
    """Return the density with enough nodes, Pareto k of the importance weights of points, and their efficiency."""
    density = density.refined(coordinates.to_vectors(torch.from_numpy(points[:_CHECKED])).numpy())
    smoothed, pareto_k = pareto_smoothed(coordinates.log_ratios(lambda at: density.value(at, progress), points))
    weights = np.exp(smoothed - np.max(smoothed))
    return density, float(pareto_k), float(weights.mean() ** 2 / (weights**2).mean())
