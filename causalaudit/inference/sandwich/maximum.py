"""The maximum of a weighted posterior: how it curves there, and how each person pulls at it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.laplace.ascent import Objective, Optimum
from causalaudit.inference.laplace.mode import Mode
from causalaudit.inference.laplace.mode_search import find_mode
from causalaudit.scm.execution import numerics

_PLACEMENTS = 6  # of the nodes of a continuous latent
_NEAR = 1e-4  # of a unit, that a maximum may still move when they are placed anew
_UNIT = 10.0  # standard deviations of the draws: a Newton search takes steps that are small in these


@dataclass(frozen=True, eq=False)
class AtMaximum:
    """A log-density at its maximum, in coordinates (`root`) in which its curvature there is one.

    Attributes
    ----------
    location
        The unconstrained vector.
    root
        L, with L Lᵀ the inverse Hessian.
    scores
        The gradient of the log-likelihood of each distinct row, in the coordinates.
    inverse
        The distinct row of each person.
    prior
        The curvature that is not of the people, in the coordinates.
    """

    location: np.ndarray
    root: np.ndarray
    scores: np.ndarray
    inverse: np.ndarray
    prior: np.ndarray

    @classmethod
    def of(cls, density: ProgramDensity, vectors: np.ndarray, seed: int) -> "AtMaximum":
        """Find the maximum near draws.

        Raises
        ------
        InferenceError
            If people have no likelihood of their own, or if there is no maximum.
        """
        here, mode = maximum_near(density, vectors.mean(axis=0), vectors.std(axis=0), seed)
        root = np.linalg.cholesky(mode.covariance)
        scores, inverse = here.scores(mode.location)
        with numerics():
            prior = root.T @ _prior_curvature(here.of_first().placed_at(mode.location), mode.location) @ root
        return cls(mode.location, root, scores @ root, inverse, prior)

    def pulls(self, who: slice) -> np.ndarray:
        """Return the gradient of the log-likelihood of some people (rows), in the coordinates."""
        return np.asarray(self.scores[self.inverse[who]])

    def standardised(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors in the coordinates."""
        return np.asarray(np.linalg.solve(self.root, (vectors - self.location).T).T)

    def vectors(self, points: np.ndarray) -> np.ndarray:
        """Return the vectors of points of the coordinates."""
        return np.asarray(self.location + points @ self.root.T)


def maximum_near(
    density: ProgramDensity, start: np.ndarray, spread: np.ndarray, seed: int
) -> tuple[ProgramDensity, Mode]:
    """Return the maximum by Newton steps from the mean of draws, or else from the prior, and the density placed there.

    `spread` has the standard deviations of the draws.
    """
    units = _UNIT * spread
    if np.isfinite(units).all() and (units > 0).all():
        location = start / units
        for _ in range(_PLACEMENTS):
            here = density.placed_at(location * units)
            top = _polished(here, location, units)
            if top is None or not top.is_maximum:
                break
            moved, location = float(np.abs(top.location - location).max()), top.location
            if not density.integrates or moved < _NEAR:
                return here, Mode(location * units, top.hessian / np.outer(units, units), -top.height)
    mode = find_mode(density, prior=True, jacobian=True, seed=seed)
    return density.placed_at(mode.location), mode


def _polished(density: ProgramDensity, point: np.ndarray, units: np.ndarray) -> Optimum | None:
    scale = torch.from_numpy(units)

    def negative(vector: torch.Tensor) -> Iterator[torch.Tensor]:
        return (-term for term in density.terms(vector * scale))

    with numerics():
        return Objective(negative).polished(point)


def _prior_curvature(first: ProgramDensity, location: np.ndarray) -> np.ndarray:
    """Return the Hessian of the negative log-prior, with the Jacobian; of the first person nothing is left."""

    def negative(vector: torch.Tensor) -> Sequence[torch.Tensor]:
        return (-first.total(vector), first.total(vector, prior=False, jacobian=False))

    return Objective(negative).hessian(location)
