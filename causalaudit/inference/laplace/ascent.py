"""Maximise a function that can be differentiated twice."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import minimize

Terms = Callable[[torch.Tensor], Iterable[torch.Tensor]]
_FIRST_STEPS = 100  # of a quasi-Newton method, before second derivatives are used
_NEAR = 1e-2  # longest Newton step at a maximum
_STEPS = 500  # in a trust region, with second derivatives


@dataclass(frozen=True)
class Optimum:
    """Where an ascent ended, and the slope and the Hessian of the negative function there."""

    location: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    height: float
    step: float
    """The length of the next Newton step: great on a plateau, which is level too."""

    @property
    def is_level(self) -> bool:
        """Whether the function rises no more, neither here nor far off."""
        slope = np.abs(self.gradient).max(initial=0.0)
        return bool(slope <= 1e-3 * max(1.0, abs(self.height) * 1e-9)) and self.step < _NEAR

    @property
    def is_maximum(self) -> bool:
        """Whether the function rises no more, and falls off in every direction."""
        return self.is_level and bool((np.linalg.eigvalsh(self.hessian) > 0).all())


def maximise(negative: Terms, start: np.ndarray, follow: Callable[[np.ndarray], None]) -> Optimum:
    """Minimise a function by a quasi-Newton method, in a trust region where that fails, and Newton steps at the end.

    Parameters
    ----------
    negative
        The function, of one vector: it yields numbers whose sum is its value.
    start
        Where to begin; steps of order one should matter.
    follow
        Called with every point on the way.

    Raises
    ------
    ValueError, numpy.linalg.LinAlgError
        If the function or its derivatives are not numbers on the way.
    """
    objective = Objective(negative)
    # Second derivatives are dear, and seldom needed far from the maximum.
    options = {"maxiter": _FIRST_STEPS, "maxcor": 20, "ftol": 1e-13}
    with np.errstate(all="ignore"):  # it may try points where the function is infinite
        near = minimize(objective.slope, start, jac=True, method="L-BFGS-B", callback=follow, options=options)
    if np.isfinite(near.fun):
        start = near.x
        optimum = objective.polished(start)
        if optimum is not None and optimum.is_maximum:
            return optimum
    limits = {"maxiter": _STEPS, "gtol": 1e-6, "max_trust_radius": 1e3}
    with np.errstate(all="ignore"):
        found = minimize(
            objective.slope,
            start,
            jac=True,
            hess=objective.hessian,
            method="trust-exact",
            callback=follow,
            options=limits,
        )
    optimum = objective.polished(np.asarray(found.x))
    if optimum is None:
        raise ValueError("The second derivatives are not numbers.")
    return optimum


@dataclass(frozen=True)
class Objective:
    """A function of one vector, given by terms that add up to it, and its derivatives.

    The derivatives of a term are computed before the next: no more than one is in memory.
    """

    negative: Terms

    def slope(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the function and its gradient."""
        vector = torch.tensor(point, requires_grad=True)
        height, slope = 0.0, np.zeros(len(point))
        for value in self.negative(vector):
            (gradient,) = torch.autograd.grad(
                value, vector, retain_graph=True
            )  # terms share what is made of the vector
            height, slope = height + value.item(), slope + gradient.numpy()
            del value
        return (height if np.isfinite(height) else np.inf), np.nan_to_num(slope)

    def hessian(self, point: np.ndarray) -> np.ndarray:
        """Return the second derivatives."""
        vector = torch.tensor(point, requires_grad=True)
        total = np.zeros((len(point), len(point)))
        for value in self.negative(vector):
            (gradient,) = torch.autograd.grad(value, vector, create_graph=True)
            if gradient.requires_grad:  # else it is the same everywhere
                rows = [torch.autograd.grad(number, vector, retain_graph=True)[0] for number in gradient]
                total += torch.stack(rows).numpy() if rows else 0.0
            del value, gradient
        return total

    def polished(self, point: np.ndarray) -> Optimum | None:
        """Go on by Newton steps to rounding of the location: others stop at rounding of the height."""
        length = 0.2
        while True:
            (height, gradient), hessian = self.slope(point), self.hessian(point)
            if not np.isfinite(hessian).all():
                return None
            step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
            size = np.abs(step).max(initial=0.0)
            if not size < length / 2:
                return Optimum(point, gradient, hessian, height, size)
            point, length = point - step, size
