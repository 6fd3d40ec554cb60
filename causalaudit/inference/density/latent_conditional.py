"""The distribution of each person's latent given the rest, on a grid."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class LatentConditional:
    """The distribution of each person's latent on a grid: by node (first axis) and person.

    Attributes
    ----------
    location, spread
        Of each person's conditional, in unconstrained space.
    points
        The grid; the latent in unconstrained space is ``location + spread * sinh(point)``.
    values
        The latent itself at the points.
    density, cumulative
        Its density along the grid, in units of the distance of its points, and the share of it below each point.
    """

    location: torch.Tensor
    spread: torch.Tensor
    points: torch.Tensor
    values: torch.Tensor
    density: torch.Tensor
    cumulative: torch.Tensor

    @classmethod
    def of(
        cls,
        location: torch.Tensor,
        spread: torch.Tensor,
        points: torch.Tensor,
        values: torch.Tensor,
        log_density: torch.Tensor,
    ) -> "LatentConditional":
        """Normalise a density along the grid."""
        density = log_density.softmax(0)
        slopes = torch.cat(
            [density[1:2] - density[:1], (density[2:] - density[:-2]) / 2, density[-1:] - density[-2:-1]]
        )
        # The trapezoidal rule with its first correction, which is exact for cubic densities.
        cells = ((density[1:] + density[:-1]) / 2 + (slopes[:-1] - slopes[1:]) / 12).clamp(min=0.0)
        total = cells.sum(0)
        cumulative = torch.cat([torch.zeros_like(cells[:1]), cells.cumsum(0)]) / total
        return cls(location, spread, points, values, density / total, cumulative / cumulative[-1:])

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
        share = _within_cell(uniform - below, above - below, self.density[cell, units], self.density[cell + 1, units])
        point = torch.lerp(self.points[cell, units], self.points[cell + 1, units], share)
        return self.location[units] + self.spread[units] * torch.sinh(point)


def _within_cell(part: torch.Tensor, mass: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return the place in a cell, between 0 and 1, below which a part of its mass lies.

    The distribution function in the cell is the cubic with the densities at its ends as slopes; it is solved by Newton
    steps from where it would be with a density that is linear.
    """
    share = (part / mass.clamp(min=1e-300)).clamp(0.0, 1.0)
    slope = (right - left) / (right + left).clamp(min=1e-300)  # between -1 and 1
    root = ((1 - slope) ** 2 + 4 * slope * share).clamp(min=0.0).sqrt()
    linear = torch.where(slope.abs() < 1e-6, share, 2 * share / ((1 - slope) + root).clamp(min=1e-300))
    place = linear
    for _ in range(2):
        square, cube = place**2, place**3
        below = mass * (3 * square - 2 * cube) + left * (place - 2 * square + cube) + right * (cube - square)
        density = 6 * mass * (place - square) + left * (1 - 4 * place + 3 * square) + right * (3 * square - 2 * place)
        place = (place - (below - part) / density.clamp(min=1e-300)).clamp(0.0, 1.0)
    rising = torch.maximum(left, right) <= 3 * mass  # else the density jumps in the cell, and the cubic is not monotone
    return torch.where(rising, place, linear)
