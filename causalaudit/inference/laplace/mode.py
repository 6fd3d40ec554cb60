"""A maximum of a density, and how the density curves there."""

from dataclasses import dataclass

import numpy as np

from causalaudit.errors import InferenceError


class NoMaximumError(InferenceError):
    """A density without a highest point; it may be a posterior nevertheless."""


@dataclass(frozen=True)
class Mode:
    """The maximum of a density in unconstrained space, and the Hessian of its negative logarithm there."""

    location: np.ndarray
    hessian: np.ndarray
    height: float

    @property
    def log_mass(self) -> float:
        """The logarithm of the integral around it, up to a constant, if the density is Gaussian there."""
        return self.height + np.linalg.slogdet(self.covariance)[1] / 2

    def is_near(self, other: "Mode") -> bool:
        """Tell whether another maximum is the same, to within a standard deviation."""
        apart = self.location - other.location
        return bool(apart @ self.hessian @ apart < 1)

    @property
    def covariance(self) -> np.ndarray:
        """The inverse Hessian."""
        units = 1 / np.sqrt(np.diag(self.hessian))
        inverse = np.linalg.inv(self.hessian * np.outer(units, units))
        return (inverse + inverse.T) / 2 * np.outer(units, units)


def spread_of(vectors: np.ndarray) -> np.ndarray:
    """Return half the width of the middle 68 % of each number, one where they are all the same."""
    spread = np.subtract(*np.quantile(vectors, [0.84, 0.16], axis=0)) / 2
    return np.where(spread > 0, spread, 1.0)
