"""The maximum of a weighted posterior: how it curves there, and how each person pulls at it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from causalaudit.errors import InferenceError
from causalaudit.inference.density.chunked_density import ChunkedDensity
from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.density.marginal_density import MarginalDensity
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
        if not isinstance(density, MarginalDensity | ChunkedDensity):
            raise InferenceError(
                "The latents of this program are drawn together with its parameters, so that people have no likelihood "
                "of their own to be weighted: leave out weights, or use one continuous latent."
            )
        here, mode = maximum_near(density, vectors.mean(axis=0), vectors.std(axis=0), seed)
        root = np.linalg.cholesky(mode.covariance)
        pieces = here.parts if isinstance(here, ChunkedDensity) else [here]
        with numerics():
            scores = np.concatenate([_scores(piece, mode.location) for piece in pieces]) @ root
            prior = root.T @ _prior_curvature(here.of_first().placed_at(mode.location), mode.location) @ root
        return cls(mode.location, root, scores, here.rows.inverse, prior)

    @cached_property
    def people(self) -> int:
        """How many there are."""
        return len(self.inverse)

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
    density: MarginalDensity | ChunkedDensity, start: np.ndarray, spread: np.ndarray, seed: int
) -> tuple[MarginalDensity | ChunkedDensity, Mode]:
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


def _scores(density: MarginalDensity, location: np.ndarray) -> np.ndarray:
    """Return the gradient of the log-likelihood of each distinct row (rows).

    The gradient of a weighted sum is linear in the weights, and its derivative with respect to these has the gradients
    of the rows: one backward pass for each number, as for a Hessian, whatever the number of rows.
    """
    vector = torch.tensor(location, requires_grad=True)
    weights = torch.ones(len(density.rows), requires_grad=True)
    likelihood = density.by_row(density.parameters.split(vector), following=True).likelihood
    total = (likelihood * weights).sum() + 0.0 * vector.sum()
    (slope,) = torch.autograd.grad(total, vector, create_graph=True)
    return np.stack([_derivative(number, weights) for number in slope], axis=1)


def _derivative(number: torch.Tensor, weights: torch.Tensor) -> np.ndarray:
    if not number.requires_grad:
        return np.zeros(len(weights))
    (found,) = torch.autograd.grad(number, weights, retain_graph=True, allow_unused=True)
    return np.zeros(len(weights)) if found is None else np.asarray(found.numpy())


def _prior_curvature(first: MarginalDensity, location: np.ndarray) -> np.ndarray:
    """Return the Hessian of the negative log-prior, with the Jacobian; of the first person nothing is left."""

    def negative(vector: torch.Tensor) -> Sequence[torch.Tensor]:
        return (-first.total(vector), first.total(vector, prior=False, jacobian=False))

    return Objective(negative).hessian(location)
