"""The curvature of a joint density, an arrowhead matrix: given the parameters, people are independent."""

import numpy as np
import torch

from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.samplers.coordinates import WhiteCoordinates
from causalaudit.scm.execution import numerics


def arrowhead_coordinates(density: ProgramDensity, origin: WhiteCoordinates) -> WhiteCoordinates:
    """Return the coordinates of the normal that has the curvature of the density at the origin of others.

    It knows how the latents of a person hang together and how they follow the parameters, at the cost of one
    second derivative for each parameter and each latent of a person. Where the density is not concave, the given ones
    come back.
    """
    parameters, cross, people = _curvature(density, origin.location)
    try:
        inverse = np.linalg.inv(people)
        blocks = np.linalg.cholesky((inverse + inverse.transpose(0, 2, 1)) / 2)
        # people x latents x parameters: how the latents move with the parameters
        follow = -inverse @ cross
        marginal = parameters + np.einsum("ikp,ikq->pq", cross, follow)
        root = np.linalg.cholesky(np.linalg.inv((marginal + marginal.T) / 2))
    except np.linalg.LinAlgError:
        return origin
    slopes = follow.transpose(1, 0, 2).reshape(-1, density.parameter_size) @ root
    found = WhiteCoordinates(origin.location, root, slopes, blocks)
    return found if np.isfinite(found.log_volume) and np.isfinite(slopes).all() else origin


def _curvature(density: ProgramDensity, location: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the negative Hessian: of the parameters, of each person's latents with them, and of these latents."""
    size, (latents, people) = density.parameter_size, density.latent_shape
    with numerics():
        point = torch.tensor(location, requires_grad=True)
        (slope,) = torch.autograd.grad(-density.total(point), point, create_graph=True)

        def along(direction: torch.Tensor) -> np.ndarray:
            (column,) = torch.autograd.grad(slope, point, direction, retain_graph=True)
            return np.asarray(column.numpy())

        unit = torch.eye(size)
        columns = [along(torch.cat([unit[at], torch.zeros(latents * people)])) for at in range(size)]
        # One latent of everybody at once: nobody's latents touch those of others.
        every = torch.eye(latents).repeat_interleave(people, dim=1)
        rows = [along(torch.cat([torch.zeros(size), every[at]]))[size:] for at in range(latents)]
    by_parameter = np.stack(columns, axis=-1) if size else np.empty((len(location), 0))
    cross = by_parameter[size:].reshape(latents, people, size).transpose(1, 0, 2)
    blocks = np.stack(rows, axis=-1).reshape(latents, people, latents).transpose(1, 0, 2)
    return by_parameter[:size], cross, blocks
