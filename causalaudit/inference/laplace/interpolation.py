"""Log-likelihoods of many proposals from those of a part of them, where a table is large.

The more people, the smoother the log-likelihood is across the posterior: in units of its spread it is a parabola with
corrections that shrink as their number grows. Thousands of passes over a large table then find what a few hundred have
found already.
"""

import itertools
from dataclasses import replace

import numpy as np

from causalaudit.inference.density.log_density import DensityParts, ProgramDensity, joined, log_joint

_LEAST, _BY_TERM = 320, 3  # proposals at which the log-likelihood is computed: at least, and for each term
_DEGREES = (3, 4, 5)  # of the polynomial, one after the other
_HELD_OUT = 4  # one of so many is not fitted, but checks the fit
_CLOSE = 0.005  # root mean square error of the weights there, in units of their mean


def densities_of_draws(
    density: ProgramDensity, vectors: np.ndarray, points: np.ndarray, log_proposed: np.ndarray, progress: bool
) -> DensityParts[np.ndarray]:
    """Return the densities and values of vectors that were drawn from a proposal, in as few passes as will do.

    The log-likelihood is computed at some of the vectors, and a polynomial in the units of the proposal is fitted to it
    by weighted least squares. It stands for the others if the importance weights that it gives to vectors that were
    not fitted have a root mean square error below 0.005 of the mean weight: then the posterior mean of no function is
    off by more than that share of the function's standard deviation (Cauchy-Schwarz). Otherwise the degree rises, and
    in the end all are computed. Vectors with greater weights than any that was computed are computed as well.

    What is assumed is that the log-likelihood is no rougher between the vectors at which it is known than at them;
    these are drawn from all over the posterior.

    Parameters
    ----------
    density
        The posterior.
    vectors, points
        The vectors, independent draws of one distribution, and the same in the units of that distribution.
    log_proposed
        Their log-density under the proposal, up to a constant.
    """
    pieces: list[DensityParts[np.ndarray]] = []
    done = 0
    for degree in _DEGREES:
        terms = _terms(points, degree)
        needed = max(_LEAST, _BY_TERM * terms.shape[1])
        if needed > len(vectors) // 2:
            break
        if needed > done:
            pieces.append(density.over(vectors[done:needed], progress))
            done = needed
        likelihood = _interpolated(terms, joined(pieces), log_proposed[:needed])
        if likelihood is not None:
            cheap = replace(density.of_first().over(vectors), likelihood=likelihood)
            return _with_great_weights(density, vectors, cheap, log_proposed, needed)
    return joined([*pieces, density.over(vectors[done:], progress)])


def _interpolated(terms: np.ndarray, known: DensityParts[np.ndarray], log_proposed: np.ndarray) -> np.ndarray | None:
    """Return the log-likelihood of all vectors from the first ones; None if it cannot be told from them."""
    likelihood, logs = known.likelihood, log_joint(known) - log_proposed
    if not np.isfinite(logs).all():
        return None
    weights = np.exp(logs - logs.max())
    weights = weights / weights.mean()
    fitted, check = np.arange(len(logs)) % _HELD_OUT != 0, np.arange(len(logs)) % _HELD_OUT == 0
    roots, level = np.sqrt(weights[fitted]), likelihood.mean()
    own = terms[: len(logs)]
    found, *_ = np.linalg.lstsq(own[fitted] * roots[:, None], (likelihood[fitted] - level) * roots, rcond=None)
    with np.errstate(over="ignore"):
        errors = weights[check] * np.expm1(own[check] @ found + level - likelihood[check])
        if not np.sqrt(np.mean(errors**2)) < _CLOSE:
            return None
    return np.concatenate([likelihood, terms[len(logs) :] @ found + level])


def _with_great_weights(
    density: ProgramDensity,
    vectors: np.ndarray,
    parts: DensityParts[np.ndarray],
    log_proposed: np.ndarray,
    known: int,
) -> DensityParts[np.ndarray]:
    """Compute the densities of vectors whose weights are greater than those that are known."""
    weights = log_joint(parts) - log_proposed
    great = known + np.flatnonzero(weights[known:] > weights[:known].max())
    if not len(great):
        return parts
    likelihood = parts.likelihood.copy()
    likelihood[great] = density.over(vectors[great]).likelihood
    return replace(parts, likelihood=likelihood)


def _terms(points: np.ndarray, degree: int) -> np.ndarray:
    """Return the products of numbers up to a degree: the terms of a polynomial (columns) at each point."""
    orders = (itertools.combinations_with_replacement(range(points.shape[1]), order) for order in range(degree + 1))
    return np.stack([np.prod(points[:, list(term)], axis=1) for term in itertools.chain(*orders)], axis=1)
