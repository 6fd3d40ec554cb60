"""Follow the ridge of a density away from its maximum: where parameters trade off, posteriors are long and bent."""

from collections.abc import Iterator

import numpy as np
import torch
from scipy.linalg import null_space

from causalaudit.errors import InferenceError
from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.laplace.ascent import Objective
from causalaudit.inference.laplace.mode import Mode
from causalaudit.scm.execution import numerics

_STRIDE = 1.5  # of a step along the ridge, in standard deviations there
_LONGEST = 1.5  # the same in units of the prior's spread
_NEGLIGIBLE = 6.0  # by which the logarithm of the mass around a point is less than elsewhere, if it counts no more
_MOST = 10  # steps each way
_CORRECTIONS = 4  # Newton steps across the ridge after each step along it
_NEAR = 0.5  # expected rise in log-density that needs no further correction
_FLATTEST = 0.1  # curvature across the ridge, per squared spread of the prior


def walk_ridge(density: ProgramDensity, mode: Mode, spread: np.ndarray) -> list[Mode]:
    """Return points along the direction in which a density falls the slowest, both ways from its maximum.

    Each is a highest point across the direction of the walk, which turns with the ridge. The curvature along the ridge
    is at least that of a normal as wide as a step.

    Parameters
    ----------
    density
        The posterior in unconstrained space.
    mode
        Its maximum.
    spread
        That of the prior of each number: the units in which directions are compared.
    """
    if len(spread) < 2:
        return []
    found: list[Mode] = []
    with numerics():
        for sign in (1.0, -1.0):
            try:
                found.extend(_one_way(density.placed_at(mode.location), mode, spread, sign))
            except (InferenceError, ValueError, np.linalg.LinAlgError):
                continue  # where there is no density, there is no ridge
    return found


def _one_way(density: ProgramDensity, mode: Mode, spread: np.ndarray, sign: float) -> Iterator[Mode]:
    scale, units = torch.from_numpy(spread), np.outer(spread, spread)
    # Of the density as it is placed by then.
    objective = Objective(lambda at: (-term for term in density.terms(at * scale)))
    point, hessian = mode.location / spread, mode.hessian * units
    direction, most = sign * np.linalg.eigh(hessian)[1][:, 0], mode.log_mass
    for _ in range(_MOST):
        length = min(_STRIDE / np.sqrt(direction @ hessian @ direction), _LONGEST)
        point = point + length * direction
        for _ in range(_CORRECTIONS):
            density = density.moved_to(point * spread)
            step, gain, hessian = _across(objective, point, direction)
            point = point + step
            if gain < _NEAR:
                break
        curvatures, axes = np.linalg.eigh(hessian)
        hessian = axes * np.maximum(curvatures, length**-2) @ axes.T
        found = Mode(point * spread, hessian / units, -objective.slope(point)[0])
        if not found.log_mass > most - _NEGLIGIBLE:
            return
        yield found
        most = max(most, found.log_mass)  # a ridge may fall, and yet grow so wide that its mass is there
        direction = np.linalg.solve(hessian, direction)  # turned to where the density falls slowly
        direction = direction / np.linalg.norm(direction)


def _across(objective: Objective, point: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Return a Newton step at right angles to a direction, one long at most, the rise it promises, and the Hessian."""
    (_, gradient), hessian = objective.slope(point), objective.hessian(point)
    others = null_space(direction[None])
    curvatures, axes = np.linalg.eigh(others.T @ hessian @ others)
    axes = others @ axes
    step = -axes @ (axes.T @ gradient / np.maximum(np.abs(curvatures), _FLATTEST))
    gain = -float(gradient @ step) / 2
    return step / max(1.0, float(np.linalg.norm(step))), gain, hessian
