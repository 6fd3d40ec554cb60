"""Laplace approximation, corrected by importance resampling."""

from dataclasses import dataclass

import arviz as az
import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from causalaudit.inference.density import Density
from causalaudit.inference.diagnostics import TRUSTED_K, WORTHWHILE
from causalaudit.inference.mode import find_mode
from causalaudit.randomness import generator

_DEGREES_OF_FREEDOM = 10
_ROUNDS = 3
_EFFICIENT = 0.25  # share of the proposals that count with which a round is good enough
_CHECKED = 8  # draws at which the nodes of a continuous latent are doubled as a check
_FEWEST = 1000  # proposals, whatever number of draws is asked for: the tail of the weights must be seen


@dataclass(frozen=True)
class ImportanceDraws:
    """Equally weighted draws, and how well the proposal they come from fits.

    Attributes
    ----------
    vectors
        Unconstrained draws.
    parts
        Their densities and values, as `Density.over` returns them.
    pareto_k
        The shape of the tail of the importance weights: below 0.7 the draws can be trusted.
    ess
        Effective sample size 1 / sum(w^2), at most the number of draws.
    efficiency
        The same as a share of the proposals. A proposal that misses a part of the posterior can have weights with a
        light tail, but not an efficient one.
    log_evidence, log_evidence_error
        The log of the mean weight and its standard error.
    """

    vectors: np.ndarray
    parts: dict[str, np.ndarray]
    pareto_k: float
    ess: float
    efficiency: float
    log_evidence: float
    log_evidence_error: float

    @property
    def trusted(self) -> bool:
        """Whether the draws can stand for the posterior."""
        return self.pareto_k < TRUSTED_K and self.efficiency >= WORTHWHILE


def laplace_draws(density: Density, draws: int, seed: int, progress: bool = False) -> ImportanceDraws:
    """Draw from the posterior through a heavy-tailed Gaussian approximation at its mode.

    The proposal is a multivariate t at the mode in unconstrained space, with the inverse Hessian as its
    scale. While the Pareto-smoothed weights are not to be trusted, or few proposals count, it is moved to their
    moments, up to three times. The draws of the best round are then resampled by their weights.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling. JMLR 25.
    """
    mode = find_mode(density, prior=True, jacobian=True, seed=seed, rough=True)
    density.recentre(mode.location)
    location, covariance = mode.location, mode.covariance
    best: _Weighted | None = None
    for attempt in range(_ROUNDS + 1):
        rng = generator(seed, "proposals", attempt)
        round_ = _weigh(density, *_propose(location, covariance, max(draws, _FEWEST), rng), progress)
        if best is None or round_.merit > best.merit:
            best = round_
        if round_.pareto_k < TRUSTED_K and round_.efficiency > _EFFICIENT:
            break
        weights = np.exp(round_.smoothed)
        location = weights @ round_.vectors
        centred = round_.vectors - location
        # A degenerate set of weights has no spread of its own: keep some of the last one.
        covariance = 0.9 * (centred.T * weights) @ centred + 0.1 * covariance
    assert best is not None
    chosen = _systematic(np.exp(best.smoothed), draws, generator(seed, "resampling"))
    relative = np.exp(best.log_weights - best.log_weights.max())
    return ImportanceDraws(
        best.vectors[chosen],
        {name: values[chosen] for name, values in best.parts.items()},
        best.pareto_k,
        min(draws, best.efficiency * len(best.vectors)),
        best.efficiency,
        float(logsumexp(best.log_weights) - np.log(len(relative))),
        float(relative.std(ddof=1) / relative.mean() / np.sqrt(len(relative))),
    )


@dataclass(frozen=True)
class _Weighted:
    """Proposals with their densities, log-weights, and normalised Pareto-smoothed log-weights."""

    vectors: np.ndarray
    parts: dict[str, np.ndarray]
    log_weights: np.ndarray
    smoothed: np.ndarray
    pareto_k: float

    @property
    def efficiency(self) -> float:
        """The share of the proposals that count."""
        return float(1 / np.sum(np.exp(2 * self.smoothed)) / len(self.smoothed))

    @property
    def merit(self) -> tuple[bool, float]:
        """By which rounds are compared."""
        trusted = self.pareto_k < TRUSTED_K
        return trusted, self.efficiency if trusted else -self.pareto_k


def _weigh(density: Density, vectors: np.ndarray, log_proposal: np.ndarray, progress: bool) -> _Weighted:
    while True:
        parts = density.over(vectors, progress)
        log_weights = _log_joint(parts) - log_proposal
        smoothed, pareto_k = _smoothed(log_weights)
        typical = _systematic(np.exp(smoothed), _CHECKED, generator(0, "check"))
        if not density.refine(vectors[typical]):  # else the nodes did not suffice where the draws are
            return _Weighted(vectors, parts, log_weights, smoothed, pareto_k)


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


def _log_joint(parts: dict[str, np.ndarray]) -> np.ndarray:
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
