"""Laplace approximation, corrected by importance resampling."""

from dataclasses import dataclass

import arviz as az
import numpy as np
from scipy.special import logsumexp

from causalaudit.inference.density import Density
from causalaudit.inference.diagnostics import TRUSTED_K, WORTHWHILE
from causalaudit.inference.mode import find_modes
from causalaudit.inference.proposals import Proposal
from causalaudit.randomness import generator

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
    """Draw from the posterior through heavy-tailed Gaussian approximations at its maxima.

    The proposal is a multivariate t at the mode in unconstrained space, with the inverse Hessian as its
    scale; if a latent with the other sign gives a second maximum that counts, a mixture of two. While the
    Pareto-smoothed weights are not to be trusted, or few proposals count, it is moved to their moments, up to three
    times. The draws of the best round are then resampled by their weights.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling. JMLR 25.
    Cappé, Douc, Guillin, Marin and Robert (2008), Adaptive importance sampling in general mixture classes. Statistics
    and Computing 18.
    """
    proposal = Proposal.at(find_modes(density, prior=True, jacobian=True, seed=seed, rough=True))
    density.recentre(proposal.locations[0])
    best: _Weighted | None = None
    for attempt in range(_ROUNDS + 1):
        round_ = _weigh(density, proposal, max(draws, _FEWEST), generator(seed, "proposals", attempt), progress)
        if best is None or round_.merit > best.merit:
            best = round_
        if round_.pareto_k < TRUSTED_K and round_.efficiency > _EFFICIENT:
            break
        proposal = proposal.matched(round_.vectors, np.exp(round_.smoothed))
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


def _weigh(density: Density, proposal: Proposal, draws: int, rng: np.random.Generator, progress: bool) -> _Weighted:
    """Draw from the proposal and weigh the draws, each maximum with nodes of its own."""
    groups = proposal.draw(draws, rng)
    found = []
    for location, vectors in zip(proposal.locations, groups, strict=True):
        if len(groups) > 1:
            density.recentre(location)
        found.append(_evaluate(density, vectors, proposal.log_density(vectors), progress))
    parts = {name: np.concatenate([part[name] for part, _ in found]) for name in found[0][0]}
    log_weights = np.concatenate([weights for _, weights in found])
    return _Weighted(np.concatenate(groups), parts, log_weights, *_smoothed(log_weights))


def _evaluate(
    density: Density, vectors: np.ndarray, log_proposal: np.ndarray, progress: bool
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the densities of draws and their log-weights, with nodes of a continuous latent that suffice."""
    while True:
        parts = density.over(vectors, progress)
        log_weights = _log_joint(parts) - log_proposal
        typical = _systematic(np.exp(_smoothed(log_weights)[0]), _CHECKED, generator(0, "check"))
        if not density.refine(vectors[typical]):  # else the nodes did not suffice where the draws are
            return parts, log_weights


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
