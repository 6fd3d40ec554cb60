"""Where the conditional of each person's two latents lies, and the steps that find it."""

from dataclasses import dataclass

import torch

STEP = 0.5  # of the differences that find slopes and curvatures of a conditional, in its own spreads


@dataclass(frozen=True)
class PairCentres:
    """Where the conditional of each person's two latents lies, in unconstrained space.

    Attributes
    ----------
    first, second
        The centres of the two.
    spread
        Of the first.
    tilt
        By how much the second is farther where the first is one spread farther.
    rest
        The spread of the second, given the first.
    """

    first: torch.Tensor
    second: torch.Tensor
    spread: torch.Tensor
    tilt: torch.Tensor
    rest: torch.Tensor

    def of(self, people: torch.Tensor) -> "PairCentres":
        """Return those of some people."""
        parts = (self.first, self.second, self.spread, self.tilt, self.rest)
        return PairCentres(*(part[people] for part in parts))

    def at(self, one: torch.Tensor, two: torch.Tensor) -> list[torch.Tensor]:
        """Return the unconstrained numbers of the two latents so many spreads away."""
        return [self.first + self.spread * one, self.second + self.tilt * one + self.rest * two]

    def is_close_to(self, other: "PairCentres") -> torch.Tensor:
        """Tell of each person whether two centres are the same, in units of the spreads."""
        one = (self.first - other.first).abs() < 1e-3 * other.spread
        return one & ((self.second - other.second).abs() < 1e-3 * other.rest)


def newton_step(centres: PairCentres, values: torch.Tensor) -> PairCentres:
    """One damped Newton step from nine values of each log-density, along the axes of its curvature."""
    bend_one = (2 * values[1, 1] - values[2, 1] - values[0, 1]) / STEP**2
    bend_two = (2 * values[1, 1] - values[1, 2] - values[1, 0]) / STEP**2
    cross = (values[2, 0] + values[0, 2] - values[2, 2] - values[0, 0]) / (4 * STEP**2)
    slope_one, slope_two = (values[2, 1] - values[0, 1]) / (2 * STEP), (values[1, 2] - values[1, 0]) / (2 * STEP)
    angle = 0.5 * torch.atan2(2 * cross, bend_one - bend_two).nan_to_num(0.0)
    cosine, sine = angle.cos(), angle.sin()
    middle, half = (bend_one + bend_two) / 2, torch.hypot((bend_one - bend_two) / 2, cross)
    jump, factor = _along(cosine * slope_one + sine * slope_two, middle + half)
    jump_across, factor_across = _along(cosine * slope_two - sine * slope_one, middle - half)
    one, two = cosine * jump - sine * jump_across, sine * jump + cosine * jump_across
    first, second = centres.at(one, two)
    # The covariance that the curvature gives, in spreads, and its Cholesky factor times that of before.
    of_one = (cosine * factor) ** 2 + (sine * factor_across) ** 2
    of_both = cosine * sine * (factor**2 - factor_across**2)
    width = of_one.sqrt()
    return PairCentres(
        first,
        second,
        (centres.spread * width).clamp(1e-8, 1e4),
        centres.tilt * width + centres.rest * of_both / width,
        (centres.rest * factor * factor_across / width).clamp(1e-8, 1e4),
    )


def _along(slope: torch.Tensor, bend: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the step along an axis, and the factor of the spread along it, from the slope and the curvature."""
    concave, steepness = bend > 1e-3, bend.clamp(min=1e-3)
    uphill = torch.where(slope < 0, -2.0, 2.0)  # from the saddle between two equal peaks, to either
    jump = torch.where(concave, slope / steepness, uphill).nan_to_num(0.0).clamp(-4.0, 4.0)
    return jump, torch.where(concave, steepness.rsqrt(), 1.5).nan_to_num(1.0).clamp(0.25, 4.0)
