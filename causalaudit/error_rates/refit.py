"""Parameters refitted to weighted people: one Newton step from the mode, for many sets of weights at once."""

from collections.abc import Callable

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
    mode = find_mode(density, prior=True, jacobian=True, seed=seed)
    by_row = np.zeros((draws, len(density.rows)))
    np.add.at(by_row.T, density.rows.inverse, weights.T)
    values = density.over(mode.location + _steps(density, mode.location, by_row))
    parameters = {
        name: (("chain", "draw", *_axes(name, values)), values[f"value {name}"][None]) for name in scm.parameters
    }
    group = xr.Dataset(parameters, coords={"chain": [0], "draw": np.arange(draws)})
    return Posterior(scm, posterior.data, az.InferenceData(posterior=group), settings)


def _axes(name: str, values: dict[str, np.ndarray]) -> list[str]:
    return [f"{name}_dim_{axis}" for axis in range(values[f"value {name}"].ndim - 1)]


def _steps(density: Density, location: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the Newton step of each set of weights of the distinct rows."""
    rows, prior = _derivatives(density, location, _likelihood), _derivatives(density, location, _prior)
    gradient = weights @ rows[0] + prior[0].sum(axis=0)
    curvature = -(np.einsum("dr,rjk->djk", weights, rows[1], optimize=True) + prior[1].sum(axis=0))
    equal = -(np.einsum("r,rjk->jk", density.rows.counts.numpy(), rows[1]) + prior[1].sum(axis=0))
    # Where weights leave too few people for a maximum, the curvature at equal weights is used.
    bad = np.linalg.eigvalsh(curvature)[:, 0] <= 0
    curvature[bad] = equal
    return np.linalg.solve(curvature, gradient[..., None])[..., 0]


def _likelihood(density: Density, vector: torch.Tensor) -> torch.Tensor:
    likelihood = density.parts(density.space.split(vector))["likelihood"]
    return likelihood.expand(len(density.rows))


def _prior(density: Density, vector: torch.Tensor) -> torch.Tensor:
    parts = density.parts(density.space.split(vector))
    return (parts["jacobian"] + sum(value for name, value in parts.items() if name.startswith("prior "))).reshape(1)


def _derivatives(
    density: Density, location: np.ndarray, function: Callable[[Density, torch.Tensor], torch.Tensor]
) -> Derivatives:
    """Return the gradient and the Hessian of each output of a function, a direction at a time to bound the memory."""

    def slope(vector: torch.Tensor) -> torch.Tensor:
        return torch.func.jacfwd(lambda at: function(density, at))(vector)

    with numerics(), torch.no_grad():
        at = torch.from_numpy(location)
        directions = torch.eye(len(location))
        columns = [torch.func.jvp(slope, (at,), (direction,)) for direction in directions]
    return columns[0][0].numpy(), np.stack([column[1].numpy() for column in columns], axis=-1)
