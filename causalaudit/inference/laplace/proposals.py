"""Proposals of importance sampling: mixtures of heavy-tailed distributions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp, softmax
from scipy.stats import chi2, multivariate_t, norm
from sklearn.cluster import kmeans_plusplus

from causalaudit.inference.laplace.mode import Mode

_DEGREES_OF_FREEDOM = 10
_FEWEST = 0.05  # share of the draws that a component gets, however little mass it seems to have
_NEGLIGIBLE = 1e-6  # share of the mass, and of the greatest weight, that is left out
_COMPONENTS = 8  # at most, of a proposal that is fitted to draws
_BY_NUMBER = 4  # effective draws for each number of a location that a component needs
_STEPS = 15  # of the expectation-maximisation algorithm
_RADII = 1000  # at which two densities are compared
_WIDER, _FEW = 4.0, 16  # times as wide; numbers along each of which it is looked farther out
_ALIKE = 2  # draws for each number of a location that the common spread counts for in that of a component


@dataclass(frozen=True)
class Proposal:
    """A mixture of multivariate t distributions.

    Attributes
    ----------
    locations, covariances
        Of the components; covariances are scales.
    shares
        The share of the draws that each gets.
    """

    locations: np.ndarray
    covariances: np.ndarray
    shares: np.ndarray

    @classmethod
    def at(cls, modes: Sequence[Mode]) -> "Proposal":
        """Return the proposal of the inverse Hessians at maxima, the greatest first, with shares by their mass."""
        shares = softmax([mode.log_mass for mode in modes])
        kept = [place for place in np.argsort(-shares) if shares[place] > _NEGLIGIBLE]
        return cls(
            np.stack([modes[place].location for place in kept]),
            np.stack([modes[place].covariance for place in kept]),
            _not_too_few(shares[kept]),
        )

    @classmethod
    def fitted(cls, vectors: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> "Proposal":
        """Fit a mixture to weighted vectors by expectation-maximisation (Peel and McLachlan 2000).

        There are at most eight components, fewer if the weights are worth few vectors. The spread of each is drawn
        towards the common one.
        """
        kept = weights > _NEGLIGIBLE * weights.max()
        weights = weights[kept] / weights[kept].sum()
        centre = weights @ vectors[kept]
        root = _root(_spread(vectors[kept] - centre, weights))
        points = np.linalg.solve(root, (vectors[kept] - centre).T).T  # in which all together are round
        worth, size = 1 / np.sum(weights**2), points.shape[1]
        count = int(np.clip(worth // (_BY_NUMBER * size), 1, _COMPONENTS))
        seeds, _ = kmeans_plusplus(points, count, sample_weight=weights, random_state=int(rng.integers(2**31)))
        own = np.eye(count)[cdist(points, seeds).argmin(axis=1)].T * weights  # by component and point
        pull = own
        for _ in range(_STEPS):
            locations = pull @ points / pull.sum(axis=1, keepdims=True)
            spreads = np.stack([_spread(points - at, part) for at, part in zip(locations, pull, strict=True)])
            common, likeness = spreads.sum(axis=0), _ALIKE * size / worth
            mass = own.sum(axis=1)
            spreads = (spreads + likeness * common) / (mass + likeness)[:, None, None]
            found = cls(locations, spreads, _not_too_few(mass))
            logs, distances = found._by_component(points)
            own = weights * softmax(logs, axis=0)
            pull = own * (_DEGREES_OF_FREEDOM + size) / (_DEGREES_OF_FREEDOM + distances)  # far ones pull less
        return cls(centre + found.locations @ root.T, root @ found.covariances @ root.T, found.shares)

    def widened(self) -> "Proposal":
        """Return a proposal that looks farther out: wider in all directions, or much wider along one number."""
        size = self.locations.shape[1]
        places, spreads, shares = [], [], []
        for location, covariance, share in zip(self.locations, self.covariances, self.shares, strict=True):
            places.append(location)
            spreads.append((1 + (_WIDER - 1) / np.sqrt(size)) ** 2 * covariance)
            shares.append(share)
            for at in range(size if size <= _FEW else 0):
                along = covariance[at] / np.sqrt(covariance[at, at])  # the others follow
                places.append(location)
                spreads.append(covariance + (_WIDER**2 - 1) * np.outer(along, along))
                shares.append(0.5 * share / size)
        return Proposal(np.stack(places), np.stack(spreads), np.array(shares) / np.sum(shares))

    def draw(self, draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draw vectors, those of each component together."""
        ends = np.round(np.cumsum(self.shares) * draws).astype(int)
        numbers = np.diff(ends, prepend=0)
        groups = [
            location + _points(number, rng, len(location)) @ _root(covariance).T
            for location, covariance, number in zip(self.locations, self.covariances, numbers, strict=True)
        ]
        return np.concatenate(groups)

    def log_density(self, vectors: np.ndarray) -> np.ndarray:
        """Return the log-density of vectors."""
        return np.asarray(logsumexp(self._by_component(vectors)[0], axis=0))

    def components(self, vectors: np.ndarray) -> np.ndarray:
        """Return the component that each vector comes from most probably."""
        return np.asarray(self._by_component(vectors)[0].argmax(axis=0))

    def standardised(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors in units of the scale of the first component, from its location."""
        points: np.ndarray = np.linalg.solve(_root(self.covariances[0]), (vectors - self.locations[0]).T).T
        return points

    def _by_component(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log-densities times shares, and squared distances in units of the scales."""
        size = vectors.shape[1]
        standard = _standard(size)
        logs, distances = [], []
        for location, covariance, share in zip(self.locations, self.covariances, self.shares, strict=True):
            root = _root(covariance)
            points = np.linalg.solve(root, (vectors - location).T).T
            logs.append(np.log(share) + np.atleast_1d(standard.logpdf(points)) - np.log(np.diag(root)).sum())
            distances.append(np.sum(points**2, axis=1))
        return np.stack(logs), np.stack(distances)


def efficiency_for_normal(size: int) -> float:
    """Return the share of the draws of a t distribution that count if the target is the normal with its scale.

    It is ``1 / E(p / q)``, the mean being over the normal p.

    Examples
    --------
    >>> [round(efficiency_for_normal(size), 2) for size in (1, 10, 100)]
    [0.98, 0.85, 0.41]
    """
    lengths = np.sqrt(chi2(size).ppf((np.arange(_RADII) + 0.5) / _RADII))
    points = np.zeros((_RADII, size))
    points[:, 0] = lengths
    ratios = norm.logpdf(points).sum(axis=1) - _standard(size).logpdf(points)
    return float(1 / np.exp(ratios).mean())


def _standard(size: int, rng: np.random.Generator | None = None) -> Any:
    return multivariate_t(np.zeros(size), np.eye(size), df=_DEGREES_OF_FREEDOM, seed=rng)


def _spread(centred: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return (centred.T * weights) @ centred


def _not_too_few(shares: np.ndarray) -> np.ndarray:
    shares = np.maximum(shares / shares.sum(), _FEWEST)
    return np.asarray(shares / shares.sum())


def _points(number: int, rng: np.random.Generator, size: int) -> np.ndarray:
    return np.asarray(_standard(size, rng).rvs(number)).reshape(number, size)


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return the triangular root of a covariance, standardised first because parameters have units."""
    units = np.sqrt(np.diag(covariance))
    return units[:, None] * np.linalg.cholesky(covariance / np.outer(units, units))
