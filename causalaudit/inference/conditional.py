"""Where each person's latent lies given the rest, and its distribution on a grid."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Centres:
    """Where the conditional of each person's latent lies, in unconstrained space."""

    location: torch.Tensor
    spread: torch.Tensor

    def of(self, people: torch.Tensor) -> "Centres":
        """Return those of some people."""
        return Centres(self.location[people], self.spread[people])


@dataclass(frozen=True)
class Conditional:
    """The distribution of each person's latent on a grid: by node (first axis) and person.

    Attributes
    ----------
    points
        The grid; the latent in unconstrained space is ``centre + spread * sinh(point)``.
    values
        The latent itself at the points.
    density, cumulative
        Its density along the grid, and the share of it below each point.
    """

    centres: Centres
    points: torch.Tensor
    values: torch.Tensor
    density: torch.Tensor
    cumulative: torch.Tensor

    def mean(self) -> torch.Tensor:
        """Return the mean of each person's latent."""
        return torch.where(self.density > 0, self.values * self.density, 0.0).sum(0) / self.density.sum(0)

    def quantile(self, uniform: torch.Tensor, units: torch.Tensor) -> torch.Tensor:
        """Return quantiles of the latents at `units`, in unconstrained space."""
        # One search for everybody: the cumulative shares of unit j, plus j, follow on those of unit j - 1.
        nodes = len(self.points)
        ladder = (self.cumulative + torch.arange(self.cumulative.shape[1])).T.reshape(-1)
        place = torch.searchsorted(ladder, units + uniform)
        cell = (place - 1 - units * nodes).clamp(0, nodes - 2)
        below, above = self.cumulative[cell, units], self.cumulative[cell + 1, units]
        share = ((uniform - below) / (above - below).clamp(min=1e-300)).clamp(0.0, 1.0)
        share = _within_cell(share, self.density[cell, units], self.density[cell + 1, units])
        point = torch.lerp(self.points[cell, units], self.points[cell + 1, units], share)
        return self.centres.location[units] + self.centres.spread[units] * torch.sinh(point)


def _within_cell(share: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return the place in a cell below which a share of its probability lies, the density being linear in it."""
    slope = (right - left) / (right + left).clamp(min=1e-300)  # between -1 and 1
    root = ((1 - slope) ** 2 + 4 * slope * share).clamp(min=0.0).sqrt()
    return torch.where(slope.abs() < 1e-6, share, 2 * share / ((1 - slope) + root).clamp(min=1e-300))
