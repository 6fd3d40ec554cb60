"""Laplace approximation, corrected by importance resampling."""

from dataclasses import dataclass

import arviz as az
import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from causalaudit.inference.density import Density
from causalaudit.inference.diagnostics import TRUSTED_K
from causalaudit.inference.mode import find_mode
from causalaudit.randomness import generator

_DEGREES_OF_FREEDOM = 10
_ROUNDS = 3
_FEWEST = 1000  # proposals, whatever number of draws is asked for: the tail of the weights must be seen


@dataclass(frozen=True)
class ImportanceDraws:
    """Equally weighted draws, and how well the proposal they come from fits.

    Attributes
    ----------
    vectors
        Unconstrained draws.
    pareto_k
        The shape of the tail of the importance weights: below 0.7 the draws can be trusted.
    ess
        Effective sample size 1 / sum(w^2), at most the number of draws.
    log_evidence, log_evidence_error
        The log of the mean weight and its standard error.
    """

    vectors: np.ndarray
    pareto_k: float
    ess: float
    log_evidence: float
    log_evidence_error: float


def laplace_draws(density: Density, draws: int, seed: int, progress: bool = False) -> ImportanceDraws:
    """Draw from the posterior through a heavy-tailed Gaussian approximation at its mode.

    The proposal is a multivariate t at the mode in unconstrained space, with the inverse Hessian as its
    scale. While the Pareto-smoothed weights are not to be trusted it is moved to their moments, up to three
    times. The draws are then resampled by their weights.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling. JMLR 25.
    """
    mode = find_mode(density, prior=True, jacobian=True, seed=seed)
    location, covariance = mode.location, mode.covariance
    best: tuple[float, np.ndarray, np.ndarray, np.ndarray] | None = None
    for attempt in range(_ROUNDS + 1):
        proposals = max(draws, _FEWEST)
        vectors, log_proposal = _propose(location, covariance, proposals, generator(seed, "proposals", attempt))
        log_weights = _log_joint(density, vectors, progress) - log_proposal
        smoothed, pareto_k = _smoothed(log_weights)
        if best is None or pareto_k < best[0]:
            best = (pareto_k, vectors, log_weights, smoothed)
        if pareto_k < TRUSTED_K:
            break
        weights = np.exp(smoothed)
        location = weights @ vectors
        centred = vectors - location
        # A degenerate set of weights has no spread of its own: keep some of the last one.
        covariance = 0.9 * (centred.T * weights) @ centred + 0.1 * covariance
    assert best is not None
    pareto_k, vectors, log_weights, smoothed = best
    chosen = _systematic(np.exp(smoothed), draws, generator(seed, "resampling"))
    relative = np.exp(log_weights - log_weights.max())
    return ImportanceDraws(
        vectors[chosen],
        pareto_k,
        min(draws, float(1 / np.sum(np.exp(2 * smoothed)))),
        float(logsumexp(log_weights) - np.log(len(vectors))),
        float(relative.std(ddof=1) / relative.mean() / np.sqrt(len(vectors))),
    )


def _propose(
    location: np.ndarray, covariance: np.ndarray, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw from a multivariate t and return its log-density, standardised because parameters have units."""
    size = len(location)
    units = np.sqrt(np.diag(covariance))
    root = units[:, None] * np.linalg.cholesky(covariance / np.outer(units, units))
    standard = multivariate_t(np.zeros(size), np.eye(size), df=_DEGREES_OF_FREEDOM, seed=rng)
    points = np.asarray(standard.rvs(draws)).reshape(draws, size)
    return location + points @ root.T, standard.logpdf(points) - np.log(np.diag(root)).sum()


def _log_joint(density: Density, vectors: np.ndarray, progress: bool) -> np.ndarray:
    parts = density.over(vectors, progress)
    total = parts["likelihood"] + parts["jacobian"]
    total = total + sum(value for name, value in parts.items() if name.startswith("prior "))
    return np.where(np.isfinite(total), total, -np.inf)


def _smoothed(log_weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Return normalised Pareto-smoothed log-weights and k-hat."""
    smoothed, pareto_k = az.psislw(log_weights.copy())
    smoothed = np.asarray(smoothed)
    return smoothed - logsumexp(smoothed), float(pareto_k)


def _systematic(weights: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Resample with the smallest noise: evenly spaced positions with one random offset, shuffled."""
    positions = (rng.random() + np.arange(draws)) / draws
    edges = np.cumsum(weights)
    chosen = np.searchsorted(edges / edges[-1], positions)
    return rng.permutation(np.minimum(chosen, len(weights) - 1))
