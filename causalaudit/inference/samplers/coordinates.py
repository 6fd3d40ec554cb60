"""Coordinates in which a posterior is nearly a standard normal."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class WhiteCoordinates:
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
    def of_parameters(cls, location: np.ndarray, root: np.ndarray, trusted: bool = False) -> "WhiteCoordinates":
        """Return coordinates without latents."""
        return cls(location, root, np.empty((0, len(root))), np.empty((0, 0, 0)), trusted)

    @property
    def size(self) -> int:
        """How many numbers are parameters."""
        return len(self.root)

    @property
    def latent_shape(self) -> tuple[int, int]:
        """How many latents a person has, and how many people there are."""
        return self.blocks.shape[1], len(self.blocks)

    def to_vectors(self, points: torch.Tensor) -> torch.Tensor:
        """Return the unconstrained vectors of points (the last axis)."""
        parameters, latents = points[..., : self.size], points[..., self.size :]
        moved = parameters @ torch.from_numpy(self.root).T
        if len(self.slopes):
            own = torch.einsum(
                "ikj,...ji->...ki", torch.from_numpy(self.blocks), latents.unflatten(-1, self.latent_shape)
            ).flatten(-2)
            moved = torch.cat([moved, own + parameters @ torch.from_numpy(self.slopes).T], -1)
        return torch.from_numpy(self.location) + moved

    def narrowed(self, centre: np.ndarray, root: np.ndarray, scales: np.ndarray) -> "WhiteCoordinates":
        """Return the coordinates of a normal in these ones, its latents being independent there."""
        by_person = scales.reshape(self.latent_shape).T
        return WhiteCoordinates(
            self.to_vectors(torch.from_numpy(centre)).numpy(),
            self.root @ root,
            self.slopes @ root,
            self.blocks * by_person[:, None, :],
        )

    @property
    def log_volume(self) -> float:
        """The logarithm of the map's determinant."""
        blocks = np.diagonal(self.blocks, axis1=1, axis2=2)
        return float(np.log(np.diag(self.root)).sum() + np.log(blocks).sum())

    def log_ratios(self, log_density: Callable[[np.ndarray], np.ndarray], points: np.ndarray) -> np.ndarray:
        """Return a log-density at points of these coordinates over that of a standard normal."""
        height = log_density(self.to_vectors(torch.from_numpy(points)).numpy()) + self.log_volume
        ratios: np.ndarray = height + 0.5 * (points**2).sum(-1) + 0.5 * points.shape[-1] * np.log(2 * np.pi)
        return ratios
