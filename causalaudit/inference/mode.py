"""Find the highest point of a density, and how it curves there."""

from dataclasses import dataclass

import numpy as np
import torch

from causalaudit.errors import InferenceError
from causalaudit.inference.climb import Top, climb
from causalaudit.inference.density import Density
from causalaudit.inference.symmetry import loadings_of_some_child
from causalaudit.randomness import generator
from causalaudit.scm.execution import numerics

_STARTS = 64
_PLACEMENTS = 6
_CHANCES = 2  # climbs that may end without a maximum, if a latent is integrated out
_NEAR = 0.05  # spreads of the prior that a rough maximum may be off
_FEW = 1000  # rows; more are first climbed with half as many people
_FLAT = 1e-9  # smallest curvature, relative to the largest, of an identified posterior
# Curvatures of a likelihood, for a step as wide as the prior, between which it has a maximum.
_PLATEAU, _SPIKE = 1e-6, 1e24


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


def find_mode(density: Density, prior: bool, jacobian: bool, seed: int, rough: bool = False) -> Mode:
    """Return the highest of the maxima that `find_modes` finds."""
    return max(find_modes(density, prior, jacobian, seed, rough), key=lambda mode: mode.height)


def find_modes(density: Density, prior: bool, jacobian: bool, seed: int, rough: bool = False) -> list[Mode]:
    """Climb from the best of 64 draws from the prior; again from where a continuous latent has the other sign.

    Parameters
    ----------
    prior, jacobian
        Whether the density includes the prior, and the Jacobian of unconstrained space. Without the first
        it is the likelihood; with the first alone, the posterior density in the parameters' own units.
    rough
        Whether it is only for proposals, so that the nodes of a continuous latent may be few.

    Raises
    ------
    InferenceError
        If there is no finite start, no maximum, or a direction in which the density is flat.
    """
    starts = density.prior_vectors(_STARTS, seed)
    spread = spread_of(starts)
    mirror = _mirror(density)

    def mode(start: np.ndarray, warm: bool = False) -> Mode:
        with numerics():
            try:
                if warm and len(density.rows) > _FEW:
                    start = _warm_start(density, start, spread, prior, jacobian, seed)
                top = _climb_recentred(density, start, spread, prior, jacobian, rough)
            except (ValueError, np.linalg.LinAlgError) as error:
                raise NoMaximumError(_unbounded(density.space.labels)) from error
        _refuse_flat(top.hessian, density.space.labels, prior)
        if not prior:
            _refuse_plateau(top.hessian, density.space.labels)
        return Mode(top.location * spread, top.hessian / np.outer(spread, spread), -top.height)

    with numerics():
        start = _best_start(density, starts, prior, jacobian)
    if (mirror == 1).all():
        return [mode(start, warm=True)]
    try:
        first = mode(start, warm=True)
    except NoMaximumError:
        return [mode(start * mirror, warm=True)]
    try:
        second = mode(first.location * mirror)
    except InferenceError:
        return [first]
    return [first] if second.is_near(first) else [first, second]


def prior_spread(density: Density, seed: int) -> np.ndarray:
    """Return the spread of the prior of each number: steps are measured in it, because parameters have units."""
    return spread_of(density.prior_vectors(_STARTS, seed))


def spread_of(vectors: np.ndarray) -> np.ndarray:
    """Return half the width of the middle 68 % of each number, one where they are all the same."""
    spread = np.subtract(*np.quantile(vectors, [0.84, 0.16], axis=0)) / 2
    return np.where(spread > 0, spread, 1.0)


def _mirror(density: Density) -> np.ndarray:
    """Return the signs that unconstrained numbers change if a continuous latent changes its own."""
    quadrature = density.marginal.quadrature
    changed = set() if quadrature is None else set(loadings_of_some_child(density.scm, quadrature.name))
    signs = [np.full(size, -1.0 if name in changed else 1.0) for name, size in density.space.sizes.items()]
    return np.concatenate(signs) if signs else np.empty(0)


def _best_start(density: Density, starts: np.ndarray, prior: bool, jacobian: bool) -> np.ndarray:
    parts = density.over(starts)
    heights = parts["likelihood"].copy()
    if prior:
        heights += sum(value for name, value in parts.items() if name.startswith("prior "))
    if jacobian:
        heights += parts["jacobian"]
    heights[~np.isfinite(heights)] = -np.inf
    best: np.ndarray = starts[int(np.argmax(heights))]
    if np.isneginf(heights.max()):
        raise InferenceError(
            f"The data have probability zero under each of {_STARTS} draws from the prior of {density.scm.name!r}. "
            f"{_impossible_rows(density, best)} Check that the priors are in the units of the data."
        )
    return best


def _impossible_rows(density: Density, vector: np.ndarray) -> str:
    values = {name: density.over(vector[None])[f"value {name}"] for name in density.scm.parameters}
    bad = torch.from_numpy(~np.isfinite(density.likelihood_by_row(values, 1)[0]))
    if not bad.any():
        return "Each person alone is possible."
    example = {name: value[bad][0].tolist() for name, value in density.rows.values.items()}
    return f"{int(density.rows.counts[bad].sum())} people are impossible, for example {example}."


def _warm_start(
    density: Density, start: np.ndarray, spread: np.ndarray, prior: bool, jacobian: bool, seed: int
) -> np.ndarray:
    """Climb with a few hundred of the people first, which is cheap, and start from there if it is better."""
    people = generator(seed, "warm start").choice(density.rows.inverse, _FEW // 2, replace=False)
    few = Density(density.scm, {name: value[people] for name, value in density.rows.values.items()})
    try:
        location = _climb_recentred(few, start, spread, prior, jacobian, rough=True).location
    except (InferenceError, ValueError, np.linalg.LinAlgError):
        return start
    return location * spread if np.isfinite(location).all() else start


def _climb_recentred(
    density: Density, start: np.ndarray, spread: np.ndarray, prior: bool, jacobian: bool, rough: bool
) -> Top:
    """Climb, with the nodes of a continuous latent placed anew where the last climb ended, until that is the same.

    Returns the maximum in units of the spread.
    """

    def negative(vector: torch.Tensor) -> torch.Tensor:
        return -density.total(vector * torch.from_numpy(spread), prior, jacobian)

    location, chances = start / spread, 1 if density.marginal.quadrature is None else _CHANCES
    for _ in range(_PLACEMENTS):
        density.recentre(location * spread, "rough" if rough else "good")
        last = location
        top = climb(negative, last, lambda point: density.follow(point * spread))
        location = top.location
        if not top.is_level and (chances := chances - 1):
            continue  # narrow conditionals may have left their nodes behind
        if not top.is_level:
            worst = density.space.labels[int(np.argmax(np.abs(location - last)))]
            raise NoMaximumError(
                f"No maximum was found: the density still rises after hundreds of steps, the farthest along {worst!r} "
                "(in unconstrained space). It may be unbounded: give the parameter a proper, narrower prior, or more "
                "data."
            )
        if density.marginal.quadrature is None or np.abs(location - last).max() < (_NEAR if rough else 1e-3):
            break
    return top


def _unbounded(names: list[str]) -> str:
    return (
        f"The density has no maximum that can be found: it is unbounded, or flat, along {', '.join(map(repr, names))} "
        "(in unconstrained space). Use a method with priors, give these parameters narrower priors, or more data."
    )


def _refuse_plateau(hessian: np.ndarray, labels: list[str]) -> None:
    """Refuse a likelihood that is nearly flat, or a spike, on the scale of the prior: it has no maximum nearby."""
    curvature = np.diag(hessian)
    bad = [label for label, size in zip(labels, curvature, strict=True) if not _PLATEAU < size < _SPIKE]
    if bad:
        raise NoMaximumError(_unbounded(bad))


def _refuse_flat(hessian: np.ndarray, labels: list[str], prior: bool) -> None:
    scale = np.sqrt(np.abs(np.diag(hessian)))
    if not len(scale):
        return
    if (scale == 0).any() or not np.isfinite(hessian).all():
        flat = [label for label, width in zip(labels, scale, strict=True) if not width > 0] or labels
    else:
        curvatures, directions = np.linalg.eigh(hessian / np.outer(scale, scale))
        if curvatures[0] > _FLAT * curvatures[-1]:
            return
        weight = np.abs(directions[:, 0])
        flat = [label for label, share in zip(labels, weight, strict=True) if share > 0.3 * weight.max()]
    raise InferenceError(
        f"The {'posterior' if prior else 'likelihood'} is flat along {', '.join(map(repr, flat))}: "
        "the data do not tell them apart. "
        + ("Give them proper priors." if prior else "Use a method with priors (map, laplace), or drop one.")
    )
