"""Importance sampling from several proposals, whose draws are weighed together."""

from dataclasses import dataclass, replace
from functools import cached_property

import arviz as az
import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from causalaudit.inference.density import Density, log_joint
from causalaudit.inference.diagnostics import TRUSTED_K, WORTHWHILE
from causalaudit.inference.proposals import Proposal
from causalaudit.randomness import generator

_MANY, _PART = 1000, 250  # proposals; of more, a part is evaluated first
_CHECKED = 8  # draws at which the nodes of a continuous latent are doubled as a check
_COLDEST = 1e-6  # power of weights with which all are the same


class Places:
    """A density with the nodes of a continuous latent placed at each of several maxima; vectors use the closest."""

    def __init__(self, density: Density, maxima: Proposal) -> None:
        self._maxima = maxima
        self._densities = [density, *(density.placed_at(location) for location in maxima.locations[1:])]

    def of(self, vectors: np.ndarray) -> np.ndarray:
        """Return the place of each vector."""
        return self._maxima.components(vectors)

    def refine(self, vectors: np.ndarray) -> np.ndarray:
        """Double nodes until they suffice at these vectors; tell at which places it was needed."""
        place = self.of(vectors)
        return np.array([own.refine(vectors[place == number]) for number, own in enumerate(self._densities)])

    def over(self, vectors: np.ndarray, progress: bool) -> dict[str, np.ndarray]:
        """Return the densities and values of vectors, as `Density.over` does."""
        place = self.of(vectors)
        order = np.argsort(place, kind="stable")
        parts = [
            own.over(vectors[place == number], progress)
            for number, own in enumerate(self._densities)
            if (place == number).any()
        ]
        return {name: np.concatenate([part[name] for part in parts])[np.argsort(order)] for name in parts[0]}


@dataclass(frozen=True)
class Pool:
    """Vectors from several proposals, weighed as if drawn from the mixture of all of them.

    Attributes
    ----------
    proposals
        The proposals, and how many vectors come from each.
    vectors, log_proposed
        The vectors, and their log-density under the mixture, times their number.
    parts
        Their densities and values, as `Density.over` returns them.
    """

    proposals: list[tuple[Proposal, int]]
    vectors: np.ndarray
    log_proposed: np.ndarray
    parts: dict[str, np.ndarray]

    @cached_property
    def log_weights(self) -> np.ndarray:
        """The log-weights."""
        return log_joint(self.parts) - self.log_proposed + np.log(len(self.vectors))

    @cached_property
    def _pareto(self) -> tuple[np.ndarray, float]:
        smoothed, pareto_k = az.psislw(self.log_weights.copy())
        return np.asarray(smoothed) - logsumexp(smoothed), float(pareto_k)

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

    @property
    def typical(self) -> np.ndarray:
        """Some of the vectors, by their weights."""
        return self.vectors[systematic(np.exp(self.smoothed), _CHECKED, generator(0, "check"))]


def draw_more(
    places: Places,
    earlier: Pool | None,
    proposal: Proposal,
    number: int,
    rng: np.random.Generator,
    progress: bool,
) -> Pool:
    """Draw from a proposal, and weigh the draws together with earlier ones."""
    proposals = [*(earlier.proposals if earlier else []), (proposal, number)]
    vectors = proposal.draw(number, rng)
    log_proposed = logsumexp([np.log(size) + one.log_density(vectors) for one, size in proposals], axis=0)
    # The nodes of a continuous latent must suffice where the proposals are, and then where the draws are.
    refined = places.refine(proposal.locations)
    if number > _MANY:  # a part of the vectors shows whether they do, at a part of the cost
        part = slice(None, None, number // _PART)
        pilot = Pool(proposals, vectors[part], log_proposed[part], places.over(vectors[part], progress))
        refined = refined | places.refine(pilot.typical)
    pool = Pool(proposals, vectors, log_proposed, places.over(vectors, progress))
    if earlier is not None:
        before = np.logaddexp(earlier.log_proposed, np.log(number) + proposal.log_density(earlier.vectors))
        pool = _join(_again(places, earlier, refined, progress), before, pool)
    while (refined := places.refine(pool.typical)).any():
        pool = _again(places, pool, refined, progress)
    return pool


def _again(places: Places, pool: Pool, refined: np.ndarray, progress: bool) -> Pool:
    """Evaluate the vectors at places where nodes have been doubled."""
    stale = refined[places.of(pool.vectors)]
    if not stale.any():
        return pool
    parts = {name: values.copy() for name, values in pool.parts.items()}
    for name, values in places.over(pool.vectors[stale], progress).items():
        parts[name][stale] = values
    return replace(pool, parts=parts)


def _join(earlier: Pool, log_proposed: np.ndarray, new: Pool) -> Pool:
    """Put two pools together, given the densities of the earlier one's vectors under the mixture of all proposals."""
    return Pool(
        new.proposals,
        np.concatenate([earlier.vectors, new.vectors]),
        np.concatenate([log_proposed, new.log_proposed]),
        {name: np.concatenate([earlier.parts[name], values]) for name, values in new.parts.items()},
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
