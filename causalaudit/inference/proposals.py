"""Proposals of importance sampling: a heavy-tailed distribution at each maximum of the posterior."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_t

from causalaudit.inference.mode import Mode

_DEGREES_OF_FREEDOM = 10
_FEWEST = 0.05  # share of the draws at a maximum, however little mass it seems to have
_NEGLIGIBLE = 1e-6  # share of the mass that is left out
_KEPT = 0.1  # share of the last spread in the next: a degenerate set of weights has no spread of its own


@dataclass(frozen=True)
class Proposal:
    """A mixture of multivariate t distributions.

    Attributes
    ----------
    locations, covariances
        Of the components, the greatest first; covariances are scales.
    shares
        The share of the draws that each gets.
    """

    locations: np.ndarray
    covariances: np.ndarray
    shares: np.ndarray

    @classmethod
    def at(cls, modes: Sequence[Mode]) -> "Proposal":
        """Return the proposal of the inverse Hessians at maxima, with shares by the mass around them."""
        shares = softmax([mode.log_mass for mode in modes])
        kept = [place for place in np.argsort(-shares) if shares[place] > _NEGLIGIBLE]
        return cls(
            np.stack([modes[place].location for place in kept]),
            np.stack([modes[place].covariance for place in kept]),
            _not_too_few(shares[kept]),
        )

    def draw(self, draws: int, rng: np.random.Generator) -> list[np.ndarray]:
        """Draw vectors, those of each component together."""
        ends = np.round(np.cumsum(self.shares) * draws).astype(int)
        numbers = np.diff(ends, prepend=0)
        return [
            location + _points(number, rng, len(location)) @ _root(covariance).T
            for location, covariance, number in zip(self.locations, self.covariances, numbers, strict=True)
        ]

    def log_density(self, vectors: np.ndarray) -> np.ndarray:
        """Return the log-density of vectors."""
        return np.asarray(logsumexp(self._by_component(vectors), axis=0))

    def _by_component(self, vectors: np.ndarray) -> np.ndarray:
        size = vectors.shape[1]
        standard = multivariate_t(np.zeros(size), np.eye(size), df=_DEGREES_OF_FREEDOM)
        logs = []
        for location, covariance, share in zip(self.locations, self.covariances, self.shares, strict=True):
            root = _root(covariance)
            points = np.linalg.solve(root, (vectors - location).T).T
            logs.append(np.log(share) + np.atleast_1d(standard.logpdf(points)) - np.log(np.diag(root)).sum())
        return np.stack(logs)

    def matched(self, vectors: np.ndarray, weights: np.ndarray) -> "Proposal":
        """Return the proposal with the moments of weighted draws, each counted where it may come from."""
        own = weights * softmax(self._by_component(vectors), axis=0)
        mass = own.sum(axis=1)
        own = own / mass[:, None]
        locations = own @ vectors
        covariances = np.empty_like(self.covariances)
        for place, (location, part) in enumerate(zip(locations, own, strict=True)):
            centred = vectors - location
            covariances[place] = (1 - _KEPT) * (centred.T * part) @ centred + _KEPT * self.covariances[place]
        return Proposal(locations, covariances, _not_too_few(mass))


def _not_too_few(shares: np.ndarray) -> np.ndarray:
    shares = np.maximum(shares / shares.sum(), _FEWEST)
    return np.asarray(shares / shares.sum())


def _points(number: int, rng: np.random.Generator, size: int) -> np.ndarray:
    standard = multivariate_t(np.zeros(size), np.eye(size), df=_DEGREES_OF_FREEDOM, seed=rng)
    return np.asarray(standard.rvs(number)).reshape(number, size)


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return the triangular root of a covariance, standardised first because parameters have units."""
    units = np.sqrt(np.diag(covariance))
    return units[:, None] * np.linalg.cholesky(covariance / np.outer(units, units))
