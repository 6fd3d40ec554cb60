"""Coordinates in which a posterior is nearly a standard normal: where samplers start, and how far they step."""

from dataclasses import dataclass

import numpy as np
import torch

from causalaudit.errors import InferenceError
from causalaudit.inference.density import Density, log_joint
from causalaudit.inference.joint import JointDensity
from causalaudit.inference.laplace import ImportanceDraws, laplace_draws
from causalaudit.inference.mode import NoMaximumError, spread_of
from causalaudit.randomness import generator

AnyDensity = Density | JointDensity
_PROPOSALS = 1000  # importance draws whose moments are the frame
_STARTS = 64
_TRIALS = 100  # draws by which two frames are compared
_NARROW = 0.1  # of the prior's spread: a first guess of the posterior's


@dataclass(frozen=True)
class Frame:
    """An affine map from coordinates in which the posterior should be standard normal to unconstrained space.

    Parameters come first, then each latent of all people. A person's latents depend on the parameters, and given
    them on one another, but not on those of others.

    Attributes
    ----------
    location
        The unconstrained vector at the origin.
    root
        The lower triangular map of the parameters.
    slopes
        By which the latents follow the coordinates of the parameters.
    blocks
        The lower triangular map of each person's latents.
    trusted
        Whether the posterior is known to be close to a normal here.
    """

    location: np.ndarray
    root: np.ndarray
    slopes: np.ndarray
    blocks: np.ndarray
    trusted: bool = False

    @classmethod
    def of_parameters(cls, location: np.ndarray, root: np.ndarray, trusted: bool = False) -> "Frame":
        """Return a frame without latents."""
        return cls(location, root, np.empty((0, len(root))), np.empty((0, 0, 0)), trusted)

    @property
    def size(self) -> int:
        """How many numbers are parameters."""
        return len(self.root)

    @property
    def latent_shape(self) -> tuple[int, int]:
        """How many latents a person has, and how many people there are."""
        return self.blocks.shape[1], len(self.blocks)

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        """Return the unconstrained vectors of points (the last axis)."""
        parameters, latents = points[..., : self.size], points[..., self.size :]
        moved = parameters @ torch.from_numpy(self.root).T
        if len(self.slopes):
            own = torch.einsum(
                "ikj,...ji->...ki", torch.from_numpy(self.blocks), latents.unflatten(-1, self.latent_shape)
            ).flatten(-2)
            moved = torch.cat([moved, own + parameters @ torch.from_numpy(self.slopes).T], -1)
        return torch.from_numpy(self.location) + moved

    def narrowed(self, centre: np.ndarray, root: np.ndarray, scales: np.ndarray, trusted: bool = False) -> "Frame":
        """Return the frame of a normal in the coordinates of this one, its latents being independent there."""
        by_person = scales.reshape(self.latent_shape).T
        return Frame(
            self(torch.from_numpy(centre)).numpy(),
            self.root @ root,
            self.slopes @ root,
            self.blocks * by_person[:, None, :],
            trusted,
        )

    @property
    def log_volume(self) -> float:
        """The logarithm of the map's determinant."""
        blocks = np.diagonal(self.blocks, axis1=1, axis2=2)
        return float(np.log(np.diag(self.root)).sum() + np.log(blocks).sum())

    def log_ratios(self, density: AnyDensity, points: np.ndarray, progress: bool = False) -> np.ndarray:
        """Return the log-density at points of the frame over that of a standard normal."""
        height = log_density(density, self(torch.from_numpy(points)).numpy(), progress) + self.log_volume
        ratios: np.ndarray = height + 0.5 * (points**2).sum(-1) + 0.5 * points.shape[-1] * np.log(2 * np.pi)
        return ratios


def log_density(density: AnyDensity, vectors: np.ndarray, progress: bool = False) -> np.ndarray:
    """Return the log-density of unconstrained vectors, minus infinity where it is undefined."""
    return log_joint(density.over(vectors, progress))


def find_frame(
    density: AnyDensity, seed: int, progress: bool = False, found: ImportanceDraws | None = None
) -> tuple[Frame, InferenceError | None]:
    """Return the frame of the Laplace fit if it can be trusted, else that or the prior's, whichever fits better.

    Parameters
    ----------
    found
        The Laplace fit, if it is there already.

    Returns
    -------
    Frame, InferenceError or None
        The error says why there is no Laplace fit.

    Raises
    ------
    InferenceError
        If the posterior is flat, or the data have probability zero under every draw from the prior.
    """
    if isinstance(density, JointDensity):
        return _of_prior(density, seed), None
    try:
        laplace = found or laplace_draws(density, _PROPOSALS, seed, progress)
    except NoMaximumError as error:  # a density may be a posterior without having a highest point
        return _of_prior(density, seed), error
    frame = _of_draws(laplace)
    if frame.trusted:
        return frame, None
    points = generator(seed, "frames").standard_normal((_TRIALS, density.space.size))
    frames = (frame, _of_prior(density, seed))
    return max(frames, key=lambda one: float(np.median(one.log_ratios(density, points)))), None


def _of_draws(laplace: ImportanceDraws) -> Frame:
    """Return the frame of the first two moments of the importance draws."""
    vectors = laplace.vectors
    units = vectors.std(axis=0)
    units = np.where(units > 0, units, 1.0)
    correlation = np.atleast_2d(np.cov(vectors / units, rowvar=False)) * 0.99 + 0.01 * np.eye(len(units))
    root = units[:, None] * np.linalg.cholesky(correlation)
    return Frame.of_parameters(vectors.mean(axis=0), root, laplace.trusted)


def _of_prior(density: AnyDensity, seed: int) -> Frame:
    """Return a frame at the best of 64 draws from the prior, a tenth as wide as they are."""
    starts = density.prior_vectors(_STARTS, seed)
    heights = log_density(density, starts)
    if np.isneginf(heights.max()):
        raise InferenceError(
            f"The data have probability zero under each of {_STARTS} draws from the prior of {density.scm.name!r}. "
            "Check that the priors are in the units of the data."
        )
    spread = _NARROW * spread_of(starts)
    best = starts[int(np.argmax(heights))]
    if not isinstance(density, JointDensity):
        return Frame.of_parameters(best, np.diag(spread))
    return _independent(density, best, spread)


def _independent(density: JointDensity, location: np.ndarray, spread: np.ndarray) -> Frame:
    """Return a frame in which all numbers are independent."""
    size = density.parameter_count
    by_person = spread[size:].reshape(-1, density.people).T
    blocks = by_person[:, :, None] * np.eye(by_person.shape[1])
    return Frame(location, np.diag(spread[:size]), np.zeros((len(location) - size, size)), blocks)
