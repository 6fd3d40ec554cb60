"""Parameters refitted to weighted people: one Newton step from the mode, for many sets of weights at once."""

import arviz as az
import numpy as np
import torch

from causalaudit.errors import InferenceError
from causalaudit.inference.density.latent_states import continuous_latents
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.laplace.mode_search import find_mode
from causalaudit.inference.posterior.arrangement import chained
from causalaudit.inference.posterior.posterior import Posterior
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
    density = MarginalDensity(scm, scm.encode(posterior.data))
    location, derivatives = _mode(density, posterior, seed)
    by_row = np.zeros((draws, len(density.rows)))
    np.add.at(by_row.T, density.rows.inverse, weights.T)
    values = density.constrain(location + _steps(density, derivatives, by_row))
    group = chained(scm, (1, draws), {name: values[name] for name in scm.parameters})
    return Posterior(scm, posterior.data, az.InferenceData(posterior=group), settings)


def _mode(density: MarginalDensity, posterior: Posterior, seed: int) -> tuple[np.ndarray, Derivatives]:
    """Return the maximum at equal weights, by Newton steps from the posterior mean, and the derivatives there."""
    means = {name: np.asarray(value.mean(axis=0)) for name, value in posterior.parameters().items()}
    location = density.parameters.inverse(means)
    for _ in range(_MOST_STEPS):
        derivatives = _derivatives(density.placed_at(location), location)
        step = _steps(density, derivatives, density.rows.counts.numpy()[None])[0]
        if np.abs(step).max() < _LEVEL:
            return location, derivatives
        location = location + step
    found = find_mode(density, prior=True, jacobian=True, seed=seed).location
    return found, _derivatives(density.placed_at(found), found)


def _steps(density: MarginalDensity, derivatives: Derivatives, weights: np.ndarray) -> np.ndarray:
    """Return the Newton step of each set of weights of the distinct rows."""
    slopes, curves = derivatives
    gradient = weights @ slopes[:-1] + slopes[-1]
    curvature = -(np.einsum("dr,rjk->djk", weights, curves[:-1], optimize=True) + curves[-1])
    # Where weights leave too few people for a maximum, the curvature at equal weights is used.
    equal = -(np.einsum("r,rjk->jk", density.rows.counts.numpy(), curves[:-1]) + curves[-1])
    curvature[np.linalg.eigvalsh(curvature)[:, 0] <= 0] = equal
    return np.asarray(np.linalg.solve(curvature, gradient[..., None])[..., 0])


def _derivatives(density: MarginalDensity, location: np.ndarray) -> Derivatives:
    """Return gradients and Hessians of the log-likelihood of each distinct row and, last, of the log-prior."""

    def heights(vector: torch.Tensor) -> torch.Tensor:
        # A second derivative of zero must be a number: torch cannot add in place to one that it knows to vanish.
        parts = density.by_row(density.parameters.split(vector + 0.0 * vector**2))
        prior = parts.jacobian + parts.log_prior
        return torch.cat([parts.likelihood.expand(len(density.rows)), prior.reshape(1)])

    def along(direction: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        slope, bend, *_ = torch.func.jvp(torch.func.jacfwd(heights), (at,), (direction,))
        return slope, bend

    with numerics(), torch.no_grad():
        at = torch.from_numpy(location)
        size = max(1, _BUDGET // ((1 + len(density.rows)) * len(location)))
        slopes, bends = torch.func.vmap(along, chunk_size=size)(torch.eye(len(location)))
    return slopes[0].numpy(), bends.permute(1, 2, 0).numpy()
