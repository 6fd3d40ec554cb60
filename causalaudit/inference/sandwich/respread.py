"""Draws of a weighted posterior with the spread that a survey gives: the sandwich."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.samplers.registry import MethodDraws
from causalaudit.inference.sandwich.maximum import AtMaximum
from causalaudit.progress import pieces

_EVIDENCE = ("log_evidence", "log_evidence_error")  # which a pseudo-likelihood does not have


def respread(
    densities: Sequence[ProgramDensity], found: Sequence[MethodDraws], weights: np.ndarray, seed: int
) -> list[MethodDraws]:
    """Move the draws of weighted posteriors so that their covariance is the sandwich.

    A log-likelihood in which people count as often as their weights say has its maximum where the population has it,
    but its curvature H takes weights for people, and is not the inverse of the variance of that maximum. This is
    H⁻¹ J H⁻¹, with J the variance of the sum of the weighted scores of people, drawn independently, to which the
    curvature of the prior is added: where the people say nothing, the posterior is the prior. Draws θ become
    θ̂ + R (θ − θ̂), with θ̂ the maximum and R the map by which a normal distribution with the covariance H⁻¹ comes to
    the sandwich by the shortest way, in coordinates in which H is one. It does not depend on the parameters' units.

    Parts of a posterior that are independent given the people are not so in a survey: their scores are of the same
    people, and J joins them.

    Parameters
    ----------
    densities, found
        The weighted density of each independent part, and its draws; those of all parts are as many. Points stay.
    weights
        Of the people, all positive.
    seed
        Of the search of a maximum that is not near the draws.

    Returns
    -------
    list of MethodDraws
        Their likelihood, and all numbers about each draw, are still those of the draws that were moved. They have no
        evidence, but `beyond_curvature`: how many times as wide as their curvature says they were.

    References
    ----------
    Ribatet, Cooley and Davison (2012), Bayesian inference from composite likelihoods. Statistica Sinica 22.
    Shaby (2014), The open-faced sandwich adjustment for MCMC using estimating functions. JCGS 23.
    Williams and Savitsky (2021), Uncertainty estimation for pseudo-Bayesian inference under complex sampling.
    International Statistical Review 89.
    """
    if not all(one.statistics for one in found):
        return list(found)
    places = [AtMaximum.of(density, one.vectors, seed) for density, one in zip(densities, found, strict=True)]
    points = [place.standardised(one.vectors) for place, one in zip(places, found, strict=True)]
    moved = np.concatenate(points, axis=1) @ square_root(sandwich(places, weights))
    ends = np.cumsum([len(place.location) for place in places])[:-1]
    return [
        _moved(density, one, place.vectors(part), _width(before))
        for density, one, place, part, before in zip(
            densities, found, places, np.split(moved, ends, axis=1), points, strict=True
        )
    ]


def sandwich(places: Sequence[AtMaximum], weights: np.ndarray) -> np.ndarray:
    """Return J, which is the sandwich where H is one: the variance of the weighted scores, and the prior's curvature.

    Of a prior that does not curve down (far in the tail of a Cauchy) nothing is added.
    """
    people, size = len(weights), sum(len(place.location) for place in places)
    squares, total = np.zeros((size, size)), np.zeros(size)
    for who in pieces(people, size):
        scores = np.concatenate([place.pulls(who) for place in places], axis=1) * weights[who, None]
        squares += scores.T @ scores
        total += scores.sum(axis=0)
    sampling = (squares - np.outer(total, total) / people) * (people / max(1, people - 1))
    return np.asarray(sampling + block_diag(*(_positive(place.prior) for place in places)))


def square_root(matrix: np.ndarray) -> np.ndarray:
    """Return the symmetric square root of a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> square_root(np.diag([4.0, 9.0])).tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def _positive(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def _width(points: np.ndarray) -> float:
    """Return the greatest spread of points around the origin in any direction, less what their number explains."""
    second = points.T @ points / len(points)
    return float(np.sqrt(np.linalg.eigvalsh(second)[-1]) / (1 + np.sqrt(points.shape[1] / len(points))))


def _moved(density: ProgramDensity, draws: MethodDraws, vectors: np.ndarray, width: float) -> MethodDraws:
    statistics = {name: value for name, value in draws.statistics.items() if name not in _EVIDENCE}
    parts = density.of_first().over(vectors)  # of which the values do not depend on people
    return replace(
        draws,
        vectors=vectors,
        parts=replace(parts, likelihood=draws.parts.likelihood),
        statistics={**statistics, "beyond_curvature": width},
    )
