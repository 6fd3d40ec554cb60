"""Importance sampling from several proposals, whose draws are weighed together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from causalaudit.arviz_versions import pareto_smoothed
from causalaudit.global_state import cached_property
from causalaudit.inference.density.log_density import DensityParts, ProgramDensity, joined, log_joint
from causalaudit.inference.laplace.interpolation import densities_of_draws
from causalaudit.inference.laplace.proposals import Proposal
from causalaudit.inference.posterior.diagnostics import TRUSTED_K, WORTHWHILE
from causalaudit.randomness import generator

_MANY, _PART = 1000, 250  # proposals; of more, a part is evaluated first
_LARGE = 2**27  # densities of a person with which a part of the proposals is computed first
_CHECKED = 8  # draws at which the nodes of a continuous latent are doubled as a check
_ROUNDING = 1e-9  # share of a number below which its spread is that of rounding
_COLDEST = 1e-6  # power of weights with which all are the same


@dataclass(frozen=True)
class FromPrior:
    """The prior as a proposal: it is as wide as the posterior, where data say little, and has its shape."""

    density: ProgramDensity
    seed: int
    seen: int = 0
    """How many of the draws have been taken before."""

    @property
    def locations(self) -> np.ndarray:
        """None around which nodes would have to suffice."""
        return np.empty((0, self.density.size))

    def draw(self, draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return the draws that the seed gives."""
        return self.density.prior_vectors(self.seen + draws, self.seed)[self.seen :]

    def log_density(self, vectors: np.ndarray) -> np.ndarray:
        """Return the log-density of the prior in unconstrained space."""
        parts = self.density.of_first().over(vectors)
        return np.asarray(parts.log_prior + parts.jacobian)


@dataclass(frozen=True)
class DensityByMaximum:
    """A density with the nodes of a continuous latent placed at each of several maxima; vectors use the closest.

    Attributes
    ----------
    maxima
        The proposal at the maxima.
    densities
        The density placed at each of them.
    """

    maxima: Proposal
    densities: tuple[ProgramDensity, ...]

    @classmethod
    def placed(cls, density: ProgramDensity, maxima: Proposal) -> "DensityByMaximum":
        """Place the nodes at each of the maxima."""
        return cls(maxima, tuple(density.placed_at(location) for location in maxima.locations))

    def closest(self, vectors: np.ndarray) -> np.ndarray:
        """Return the number of the maximum of each vector."""
        return self.maxima.components(vectors)

    def refined(self, vectors: np.ndarray) -> "DensityByMaximum":
        """Double nodes until they suffice at these vectors."""
        own = self.closest(vectors)
        refined = (density.refined(vectors[own == number]) for number, density in enumerate(self.densities))
        return replace(self, densities=tuple(refined))

    def differs_from(self, other: "DensityByMaximum") -> np.ndarray:
        """Tell at which of the maxima the nodes are not the same."""
        return np.array([one is not two for one, two in zip(self.densities, other.densities, strict=True)])

    def at_draws(
        self,
        vectors: np.ndarray,
        proposals: Sequence[tuple[Proposal | FromPrior, int]],
        log_proposed: np.ndarray,
        progress: bool,
    ) -> DensityParts[np.ndarray]:
        """Return the densities and values of vectors that were drawn from proposals.

        Around one maximum, many passes over a large table are spared (see `densities_of_draws`).
        """
        proposal, density = proposals[0][0], self.densities[0]
        if not isinstance(proposal, Proposal) or len(proposals) > 1 or len(proposal.locations) > 1:
            return self.over(vectors, progress)
        if density.whole_size * len(vectors) <= _LARGE:
            return self.over(vectors, progress)
        return densities_of_draws(density, vectors, proposal.standardised(vectors), log_proposed, progress)

    def over(self, vectors: np.ndarray, progress: bool) -> DensityParts[np.ndarray]:
        """Return the densities and values of vectors, as `ProgramDensity.over` does."""
        own = self.closest(vectors)
        order = np.argsort(own, kind="stable")
        parts = [
            density.over(vectors[own == number], progress)
            for number, density in enumerate(self.densities)
            if (own == number).any()
        ]
        back = np.argsort(order)
        return joined(parts).map(lambda values: values[back])


@dataclass(frozen=True)
class ImportancePool:
    """Vectors from several proposals, weighed as if drawn from the mixture of all of them.

    Attributes
    ----------
    proposals
        The proposals, and how many vectors come from each.
    vectors, log_proposed
        The vectors, and their log-density under the mixture, times their number.
    target
        The density they are weighed by.
    parts
        Their densities and values, as `ProgramDensity.over` returns them.
    """

    proposals: list[tuple[Proposal | FromPrior, int]]
    vectors: np.ndarray
    log_proposed: np.ndarray
    target: DensityByMaximum
    parts: DensityParts[np.ndarray]

    @cached_property
    def log_weights(self) -> np.ndarray:
        """The log-weights."""
        return log_joint(self.parts) - self.log_proposed + np.log(len(self.vectors))

    @cached_property
    def _pareto(self) -> tuple[np.ndarray, float]:
        smoothed, pareto_k = pareto_smoothed(self.log_weights)
        return smoothed - logsumexp(smoothed), float(pareto_k)

    @property
    def smoothed(self) -> np.ndarray:
        """The normalised Pareto-smoothed log-weights."""
        return self._pareto[0]

    @property
    def pareto_k(self) -> float:
        """The shape of the tail of the weights."""
        return self._pareto[1]

    @property
    def worth(self) -> float:
        """The effective number of vectors."""
        return _worth(self.smoothed)

    @property
    def efficiency(self) -> float:
        """The same as a share."""
        return self.worth / len(self.smoothed)

    @property
    def log_evidence(self) -> float:
        """The logarithm of the mean weight."""
        return float(logsumexp(self.log_weights) - np.log(len(self.log_weights)))

    @property
    def log_evidence_error(self) -> float:
        """The standard error of this logarithm."""
        relative = np.exp(self.log_weights - self.log_weights.max())
        return float(relative.std(ddof=1) / relative.mean() / np.sqrt(len(relative)))

    @property
    def merit(self) -> tuple[bool, float]:
        """By which pools are compared."""
        trusted = self.pareto_k < TRUSTED_K and self.efficiency >= WORTHWHILE
        return trusted, self.worth if trusted else -self.pareto_k

    def shift_to(self, other: "ImportancePool") -> float:
        """Return by how much the other's moments differ: means in standard deviations, or spreads as a share.

        The greatest of all numbers and of all values of parameters.
        """
        (mean, sd), (means, sds) = self._moments, other._moments
        # What other parameters determine is the same in all draws, but for rounding.
        moving = np.minimum(sd, sds) > _ROUNDING * np.abs(means)
        by_mean = np.abs(means - mean)[moving] / sds[moving]
        by_spread = np.abs(np.log(sds[moving] / sd[moving]))
        return float(max(by_mean.max(initial=0.0), by_spread.max(initial=0.0)))

    @property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        count = len(self.vectors)
        values = [value.reshape(count, -1) for value in self.parts.values.values()]
        numbers, weights = np.concatenate([self.vectors, *values], axis=1), np.exp(self.smoothed)
        used = weights > 0
        numbers, weights = numbers[used], weights[used]
        mean = weights @ numbers
        return mean, np.sqrt(weights @ (numbers - mean) ** 2)

    @property
    def typical(self) -> np.ndarray:
        """Some of the vectors, by their weights."""
        return self.vectors[systematic(np.exp(self.smoothed), _CHECKED, generator(0, "check"))]


def draw_more(
    target: DensityByMaximum,
    earlier: ImportancePool | None,
    proposal: Proposal | FromPrior,
    number: int,
    rng: np.random.Generator,
    progress: bool,
) -> ImportancePool:
    """Draw from a proposal, and weigh the draws together with earlier ones."""
    proposals = [*(earlier.proposals if earlier else []), (proposal, number)]
    vectors = proposal.draw(number, rng)
    log_proposed = logsumexp([np.log(size) + one.log_density(vectors) for one, size in proposals], axis=0)
    # The nodes of a continuous latent must suffice where the proposals are, and then where the draws are.
    finer = target.refined(proposal.locations) if len(proposal.locations) else target
    # A part of the vectors shows whether they do, at a part of the cost.
    if number > _MANY and finer.densities[0].integrates:
        part = slice(None, None, number // _PART)
        pilot = ImportancePool(proposals, vectors[part], log_proposed[part], finer, finer.over(vectors[part], progress))
        finer = finer.refined(pilot.typical)
    pool = ImportancePool(
        proposals, vectors, log_proposed, finer, finer.at_draws(vectors, proposals, log_proposed, progress)
    )
    if earlier is not None:
        before = np.logaddexp(earlier.log_proposed, np.log(number) + proposal.log_density(earlier.vectors))
        pool = _join(_again(earlier, target, finer, progress), before, pool)
    while (finer := pool.target.refined(pool.typical)).differs_from(pool.target).any():
        pool = _again(pool, pool.target, finer, progress)
    return pool


def _again(pool: ImportancePool, known: DensityByMaximum, target: DensityByMaximum, progress: bool) -> ImportancePool:
    """Evaluate the vectors at maxima where nodes have been doubled since they were known to suffice."""
    stale = target.differs_from(known)[target.closest(pool.vectors)]
    if not stale.any():
        return replace(pool, target=target)
    if stale.all():
        parts = target.at_draws(pool.vectors, pool.proposals, pool.log_proposed, progress)
        return replace(pool, target=target, parts=parts)
    flat = pool.parts.map(np.copy).flat()
    for name, values in target.over(pool.vectors[stale], progress).flat().items():
        flat[name][stale] = values
    return replace(pool, target=target, parts=DensityParts.of_flat(flat))


def _join(earlier: ImportancePool, log_proposed: np.ndarray, new: ImportancePool) -> ImportancePool:
    """Put two pools together, given the densities of the earlier one's vectors under the mixture of all proposals."""
    return ImportancePool(
        new.proposals,
        np.concatenate([earlier.vectors, new.vectors]),
        np.concatenate([log_proposed, new.log_proposed]),
        new.target,
        joined([earlier.parts, new.parts]),
    )


def _worth(log_weights: np.ndarray) -> float:
    """Return the effective number of normalised weights."""
    return float(1 / np.sum(np.exp(2 * log_weights)))


def tempered(log_weights: np.ndarray, worth: float) -> np.ndarray:
    """Return weights to the greatest power, at most one, with which they are worth a number of draws."""

    def powered(power: float) -> np.ndarray:
        return power * log_weights - logsumexp(power * log_weights)

    def excess(power: float) -> float:
        return _worth(powered(power)) - worth

    worth = min(worth, np.isfinite(log_weights).sum() / 2)
    return np.exp(powered(1.0 if excess(1.0) >= 0 else brentq(excess, _COLDEST, 1.0)))


def systematic(weights: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Resample with the smallest noise: evenly spaced positions with one random offset, shuffled."""
    positions = (rng.random() + np.arange(draws)) / draws
    edges = np.cumsum(weights)
    chosen = np.searchsorted(edges / edges[-1], positions)
    return rng.permutation(np.minimum(chosen, len(weights) - 1))
