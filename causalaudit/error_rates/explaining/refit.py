"""Parameters refitted to weighted people: one Newton step from the mode, for many sets of weights at once."""

import arviz as az
import numpy as np
import torch
import xarray as xr

from causalaudit.errors import InferenceError
from causalaudit.inference import Posterior
from causalaudit.inference.density import Density
from causalaudit.inference.latents import continuous_latents
from causalaudit.inference.mode import find_mode
from causalaudit.scm.execution import numerics

# Numbers (rows x parameters x directions) that one pass of the second derivatives holds: 16 MiB, a few dozen at once.
_BUDGET = 2**21
_MOST_STEPS = 10  # to the mode, before it is searched from the prior
_LEVEL = 1e-2  # a shorter step ends nearer to the mode than it matters: the next step makes up for it
Derivatives = tuple[np.ndarray, np.ndarray]


def refit(posterior: Posterior, weights: np.ndarray, seed: int) -> Posterior:
    """Return a posterior whose draws are the parameters refitted under each row of weights (mean one).

    The step is that of Newton's method for the weighted log-likelihood plus the log-prior in unconstrained space,
    taken from the maximum at equal weights.

    Raises
    ------
    InferenceError
        If several continuous latents of each person would have to be integrated out.
    """
    scm, draws = posterior.scm, len(weights)
    settings = {**posterior.settings, "chains": 1, "draws": draws}
    if not scm.parameters:
        return Posterior(scm, posterior.data, posterior.idata, settings)
    if len(continuous_latents(scm)) > 1:
        raise InferenceError(
            "Several latents of each person are continuous, and cannot be integrated out: the parameters cannot be "
            'refitted to weighted people. Use population="simulate".'
        )
    density = Density(scm, scm.encode(posterior.data))
    location, derivatives = _mode(density, posterior, seed)
    by_row = np.zeros((draws, len(density.rows)))
    np.add.at(by_row.T, density.rows.inverse, weights.T)
    values = density.over(location + _steps(density, derivatives, by_row))
    parameters = {
        name: (("chain", "draw", *_axes(name, values)), values[f"value {name}"][None]) for name in scm.parameters
    }
    group = xr.Dataset(parameters, coords={"chain": [0], "draw": np.arange(draws)})
    return Posterior(scm, posterior.data, az.InferenceData(posterior=group), settings)


def _axes(name: str, values: dict[str, np.ndarray]) -> list[str]:
    return [f"{name}_dim_{axis}" for axis in range(values[f"value {name}"].ndim - 1)]


def _mode(density: Density, posterior: Posterior, seed: int) -> tuple[np.ndarray, Derivatives]:
    """Return the maximum at equal weights, by Newton steps from the posterior mean, and the derivatives there."""
    means = {name: np.asarray(value.mean(axis=0)) for name, value in posterior.parameters().items()}
    location = density.space.inverse(means)
    for _ in range(_MOST_STEPS):
        density.recentre(location)
        derivatives = _derivatives(density, location)
        step = _steps(density, derivatives, density.rows.counts.numpy()[None])[0]
        if np.abs(step).max() < _LEVEL:
            return location, derivatives
        location = location + step
    found = find_mode(density, prior=True, jacobian=True, seed=seed).location
    return found, _derivatives(density, found)


def _steps(density: Density, derivatives: Derivatives, weights: np.ndarray) -> np.ndarray:
    """Return the Newton step of each set of weights of the distinct rows."""
    slopes, curves = derivatives
    gradient = weights @ slopes[:-1] + slopes[-1]
    curvature = -(np.einsum("dr,rjk->djk", weights, curves[:-1], optimize=True) + curves[-1])
    # Where weights leave too few people for a maximum, the curvature at equal weights is used.
    equal = -(np.einsum("r,rjk->jk", density.rows.counts.numpy(), curves[:-1]) + curves[-1])
    curvature[np.linalg.eigvalsh(curvature)[:, 0] <= 0] = equal
    return np.asarray(np.linalg.solve(curvature, gradient[..., None])[..., 0])


def _derivatives(density: Density, location: np.ndarray) -> Derivatives:
    """Return gradients and Hessians of the log-likelihood of each distinct row and, last, of the log-prior."""

    def heights(vector: torch.Tensor) -> torch.Tensor:
        # A second derivative of zero must be a number: torch cannot add in place to one that it knows to vanish.
        parts = density.parts(density.space.split(vector + 0.0 * vector**2))
        prior = parts["jacobian"] + sum(value for name, value in parts.items() if name.startswith("prior "))
        return torch.cat([parts["likelihood"].expand(len(density.rows)), prior.reshape(1)])

    def along(direction: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        slope, bend, *_ = torch.func.jvp(torch.func.jacfwd(heights), (at,), (direction,))
        return slope, bend

    with numerics(), torch.no_grad():
        at = torch.from_numpy(location)
        size = max(1, _BUDGET // ((1 + len(density.rows)) * len(location)))
        slopes, bends = torch.func.vmap(along, chunk_size=size)(torch.eye(len(location)))
    return slopes[0].numpy(), bends.permute(1, 2, 0).numpy()
