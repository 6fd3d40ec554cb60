"""Find the highest point of a density, and how it curves there."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import torch

from causalaudit.errors import InferenceError
from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.laplace.ascent import Objective, Optimum, maximise
from causalaudit.inference.laplace.mode import Mode, NoMaximumError, spread_of
from causalaudit.scm.execution import numerics

STARTS = 64
_HOPELESS = -1e6  # log-density of a person below which a start is of no use: slopes there say nothing
_CLOSEST = 12  # powers of ten by which starts come closer to the median of the prior
_PLACEMENTS = 6
_CHANCES = 2  # ascents that may end without a maximum, if a latent is integrated out
_NEAR = 0.05  # spreads of the prior that a rough maximum may be off
_FEW = 500  # people with whom the ascent begins if there are more than twice as many distinct rows
_FLAT = 1e-9  # smallest curvature, relative to the largest, of an identified posterior
# Curvatures of a likelihood, for a step as wide as the prior, between which it has a maximum.
_PLATEAU, _SPIKE = 1e-6, 1e24


@dataclass(frozen=True)
class Target:
    """What is maximised: a density, with or without the prior and the Jacobian of unconstrained space.

    Without the first it is the likelihood; with the first alone, the posterior density in the parameters' own units.
    """

    density: ProgramDensity
    prior: bool
    jacobian: bool

    def heights(self, vectors: np.ndarray) -> np.ndarray:
        """Return the heights of vectors, minus infinity where they are undefined."""
        parts = self.density.over(vectors)
        heights = parts.likelihood.copy()
        if self.prior:
            heights += parts.log_prior
        if self.jacobian:
            heights += parts.jacobian
        heights[~np.isfinite(heights)] = -np.inf
        return heights


@dataclass(frozen=True)
class Ground:
    """Where ascents start, and the units of their steps.

    Attributes
    ----------
    centre
        The median of the prior, zero where that is within its spread.
    share
        Of the distance from there of a draw from the prior, at which ascents start: one, unless all are hopeless.
    spread
        The units: the spread of the prior, or where that is hopeless, what the curvature says if that is less.
    best
        The highest start.
    """

    centre: np.ndarray
    share: float
    spread: np.ndarray
    best: np.ndarray

    @classmethod
    def of(cls, target: Target, seed: int) -> "Ground":
        """Look whether draws from the prior are of any use: where it is vague, in other units than the data's, none is.

        Then draws ever closer to its centre are tried, and steps are measured by the curvature there.

        Raises
        ------
        InferenceError
            If the data have probability zero under all draws, however close to the centre.
        """
        draws = target.density.prior_vectors(STARTS, seed)
        centre, spread = np.median(draws, axis=0), spread_of(draws)
        centre = np.where(np.abs(centre) < spread, 0.0, centre)  # of a slope, say, exactly
        hopeless = _HOPELESS * target.density.whole_size
        found = []
        for share in 10.0 ** -np.arange(_CLOSEST + 1):
            vectors = draws if share == 1.0 else centre + share * (draws - centre)
            heights = target.heights(vectors)
            found.append((heights.max(), share, vectors[int(np.argmax(heights))]))
            if share == 1.0 and heights.max() > hopeless:
                return cls(centre, share, spread, found[0][2])
        height, share, best = max(found, key=lambda one: one[0])
        if np.isfinite(height):
            return cls(centre, share, _units(target, best, spread), best)
        raise InferenceError(
            f"The data have probability zero under each of {STARTS} draws from the prior of {target.density.name!r}. "
            f"{target.density.impossible_people(draws[0])} Check that the priors are in the units of the data."
        )

    def starts(self, vectors: np.ndarray) -> np.ndarray:
        """Return starts from draws of the prior."""
        if self.share == 1.0:
            return vectors
        return self.centre + self.share * (vectors - self.centre)


def _units(target: Target, vector: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return steps of each number over which the slope at a vector changes by its inverse, at most the spread."""
    density, scale = target.density.placed_at(vector, "rough"), torch.from_numpy(spread)
    objective = Objective(lambda at: (-term for term in density.terms(at * scale, target.prior, target.jacobian)))
    curvature = np.abs(np.diag(objective.hessian(vector / spread)))
    return spread / np.sqrt(np.maximum(np.nan_to_num(curvature, nan=1.0), 1.0))


@dataclass(frozen=True)
class Climber:
    """Climbs to a maximum, in steps of the prior's spread.

    Attributes
    ----------
    target
        What is maximised.
    spread
        That of the prior of each number.
    rough
        Whether the nodes of a continuous latent may be few.
    """

    target: Target
    spread: np.ndarray
    rough: bool

    def mode(self, start: np.ndarray, warm_seed: int | None = None) -> Mode:
        """Climb from a start; with a seed, with a few of many people first.

        Raises
        ------
        InferenceError
            If there is no maximum, or a direction in which the density is flat.
        """
        density, prior = self.target.density, self.target.prior
        with numerics():
            try:
                if warm_seed is not None:
                    start = _warm_start(self.target, start, self.spread, warm_seed)
                top = _ascend(self.target, start, self.spread, self.rough)
            except (ValueError, np.linalg.LinAlgError) as error:
                raise NoMaximumError(_unbounded(density.labels)) from error
        _refuse_flat(top.hessian, density.labels, prior)
        if not prior:
            _refuse_plateau(top.hessian, density.labels)
        return Mode(top.location * self.spread, top.hessian / np.outer(self.spread, self.spread), -top.height)


def find_mode(density: ProgramDensity, prior: bool, jacobian: bool, seed: int, rough: bool = False) -> Mode:
    """Return the highest of the maxima that `find_modes` finds."""
    return max(find_modes(density, prior, jacobian, seed, rough), key=lambda mode: mode.height)


def find_modes(
    density: ProgramDensity, prior: bool, jacobian: bool, seed: int, rough: bool = False, ground: Ground | None = None
) -> list[Mode]:
    """Climb from the best of 64 draws from the prior; again from where a continuous latent has the other sign.

    If all draws are hopeless, it begins closer to the centre of the prior. A density with a start is climbed from there
    alone.

    Parameters
    ----------
    prior, jacobian
        Whether the density includes the prior, and the Jacobian of unconstrained space. Without the first
        it is the likelihood; with the first alone, the posterior density in the parameters' own units.
    rough
        Whether it is only for proposals, so that the nodes of a continuous latent may be few.
    ground
        Where to start, if that is known.

    Raises
    ------
    InferenceError
        If there is no finite start, no maximum, or a direction in which the density is flat.
    """
    target = Target(density, prior, jacobian)
    if density.start is not None:
        known = Climber(target, prior_spread(density, seed), rough)
        with suppress(InferenceError):  # else from the prior
            return [known.mode(density.start)]
    with numerics():
        ground = ground or Ground.of(target, seed)
    start, climber, mirror = ground.best, Climber(target, ground.spread, rough), density.mirror_signs()
    if (mirror == 1).all():
        return [climber.mode(start, seed)]
    try:
        first = climber.mode(start, seed)
    except NoMaximumError:
        return [climber.mode(start * mirror, seed)]
    try:
        second = climber.mode(first.location * mirror)
    except InferenceError:
        return [first]
    return [first] if second.is_near(first) else [first, second]


def prior_spread(density: ProgramDensity, seed: int) -> np.ndarray:
    """Return the spread of the prior of each number: steps are measured in it, because parameters have units."""
    return spread_of(density.prior_vectors(STARTS, seed))


def _warm_start(target: Target, start: np.ndarray, spread: np.ndarray, seed: int) -> np.ndarray:
    """Climb with a few hundred of many people first, which is cheap, and start from there if it is better."""
    few = target.density.of_few(_FEW, seed)
    if few is None:
        return start
    try:
        location = _ascend(replace(target, density=few), start, spread, rough=True).location
    except (InferenceError, ValueError, np.linalg.LinAlgError):
        return start
    return location * spread if np.isfinite(location).all() else start


def _ascend(target: Target, start: np.ndarray, spread: np.ndarray, rough: bool) -> Optimum:
    """Climb, with the nodes of a continuous latent placed anew where the last ascent ended, until that is the same.

    Returns the maximum in units of the spread.
    """
    density, scale = target.density, torch.from_numpy(spread)
    here = density

    def negative(vector: torch.Tensor) -> Iterator[torch.Tensor]:
        return (-term for term in here.terms(vector * scale, target.prior, target.jacobian))

    def follow(point: np.ndarray) -> None:
        nonlocal here  # the nodes of the density go along with the ascent
        here = here.moved_to(point * spread)

    location, chances = start / spread, _CHANCES if density.integrates else 1
    for _ in range(_PLACEMENTS):
        here, last = density.placed_at(location * spread, "rough" if rough else "good"), location
        top = maximise(negative, last, follow)
        location = top.location
        if not top.is_level and (chances := chances - 1):
            continue  # narrow conditionals may have left their nodes behind
        if not top.is_level:
            worst = density.labels[int(np.argmax(np.abs(location - last)))]
            raise NoMaximumError(
                f"No maximum was found: the density still rises after hundreds of steps, the farthest along {worst!r} "
                "(in unconstrained space). It may be unbounded: give the parameter a proper, narrower prior, or more "
                "data."
            )
        if not density.integrates or np.abs(location - last).max() < (_NEAR if rough else 1e-3):
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
