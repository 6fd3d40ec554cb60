"""Laplace approximation, corrected by importance resampling."""

from dataclasses import dataclass, replace
from functools import cached_property

import arviz as az
import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from causalaudit.inference.density import Density
from causalaudit.inference.diagnostics import TRUSTED_K, WORTHWHILE, is_trusted
from causalaudit.inference.mode import find_modes, prior_spread
from causalaudit.inference.proposals import Proposal, efficiency_for_normal
from causalaudit.inference.ridge import walk_ridge
from causalaudit.randomness import generator

_ROUNDS = 7
_EFFICIENT = 0.6  # share of the proposals that count, of those that do for a normal, with which they are good enough
_PLENTY = 2  # times the draws asked for that proposals are worth, with which they are good enough too
_TEMPERED, _BY_NUMBER = 200, 10  # effective draws to which proposals are fitted: at least, and for each parameter
_PART = 250  # proposals of many
_CHECKED = 8  # draws at which the nodes of a continuous latent are doubled as a check
_FEWEST = 1000  # proposals, whatever number of draws is asked for: the tail of the weights must be seen
_COLDEST = 1e-6  # power of weights with which all are the same


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
    first_share
        The share of the mass that was found by the first proposal, that at the maxima. If it is small, the posterior is
        not of their kind (a funnel), and the other proposals may miss a part of it as well.
    log_evidence, log_evidence_error
        The log of the mean weight and its standard error.
    """

    vectors: np.ndarray
    parts: dict[str, np.ndarray]
    pareto_k: float
    ess: float
    efficiency: float
    first_share: float
    log_evidence: float
    log_evidence_error: float

    @property
    def trusted(self) -> bool:
        """Whether the draws can stand for the posterior."""
        return is_trusted(self.pareto_k, self.efficiency, self.first_share)


def laplace_draws(density: Density, draws: int, seed: int, progress: bool = False) -> ImportanceDraws:
    """Draw from the posterior through heavy-tailed approximations of it.

    The first proposal is a multivariate t at the mode in unconstrained space, with the inverse Hessian as its
    scale; if a latent with the other sign gives a second maximum that counts, a mixture of two. If the
    Pareto-smoothed weights are not to be trusted, or few proposals count, the second is a mixture along the ridge of
    the posterior. While it is still so, further mixtures are fitted to the weighted draws. All proposals are weighed
    together, as if drawn from the mixture of all rounds, and resampled by their weights.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling. JMLR 25.
    Cornuet, Marin, Mira and Robert (2012), Adaptive multiple importance sampling. Scandinavian Journal of Statistics
    39.
    """
    modes = find_modes(density, prior=True, jacobian=True, seed=seed, rough=True)
    first, enough = Proposal.at(modes), _EFFICIENT * efficiency_for_normal(density.space.size)
    density.recentre(first.locations[0])
    places = _Places(density, first)
    pools = [_pool(places, None, first, max(draws, _FEWEST), generator(seed, "proposals", 0), progress)]
    for attempt in range(1, _ROUNDS + 1):
        last, rng = pools[-1], generator(seed, "proposals", attempt)
        if last.pareto_k < TRUSTED_K and (last.efficiency > enough or last.worth > _PLENTY * draws):
            break
        if attempt == 1:
            spread = prior_spread(density, seed)
            proposal = Proposal.at([*modes, *(point for mode in modes for point in walk_ridge(density, mode, spread))])
        else:
            weights = _tempered(last.smoothed, max(_TEMPERED, _BY_NUMBER * density.space.size))
            proposal = Proposal.fitted(last.vectors, weights, rng)
        pools.append(_pool(places, last, proposal, max(draws // 4, _FEWEST), rng, progress))
    pool = max(pools, key=lambda one: one.merit)
    chosen = _systematic(np.exp(pool.smoothed), draws, generator(seed, "resampling"))
    relative = np.exp(pool.log_weights - pool.log_weights.max())
    return ImportanceDraws(
        pool.vectors[chosen],
        {name: values[chosen] for name, values in pool.parts.items()},
        pool.pareto_k,
        min(draws, pool.worth),
        pool.efficiency,
        float(np.exp(min(0.0, pools[0].log_evidence - pool.log_evidence))),
        pool.log_evidence,
        float(relative.std(ddof=1) / relative.mean() / np.sqrt(len(relative))),
    )


class _Places:
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
class _Pool:
    """Vectors from several proposals, weighed as if drawn from the mixture of all of them.

    Attributes
    ----------
    proposals
        The proposals, and how many vectors come from each.
    vectors, log_proposed
        The vectors, and their log-density under the mixture, times their number.
    parts
        Their densities and values, as `Density.over` returns them.
    log_weights, smoothed
        Their log-weights, and normalised Pareto-smoothed ones.
    pareto_k
        The shape of the tail of the weights.
    """

    proposals: list[tuple[Proposal, int]]
    vectors: np.ndarray
    log_proposed: np.ndarray
    parts: dict[str, np.ndarray]

    @cached_property
    def log_weights(self) -> np.ndarray:
        total = self.parts["likelihood"] + self.parts["jacobian"]
        total = total + sum(value for name, value in self.parts.items() if name.startswith("prior "))
        return np.where(np.isfinite(total), total, -np.inf) - self.log_proposed + np.log(len(self.vectors))

    @cached_property
    def _pareto(self) -> tuple[np.ndarray, float]:
        smoothed, pareto_k = az.psislw(self.log_weights.copy())
        return np.asarray(smoothed) - logsumexp(smoothed), float(pareto_k)

    @property
    def smoothed(self) -> np.ndarray:
        return self._pareto[0]

    @property
    def pareto_k(self) -> float:
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
    def merit(self) -> tuple[bool, float]:
        """By which pools are compared."""
        trusted = self.pareto_k < TRUSTED_K and self.efficiency >= WORTHWHILE
        return trusted, self.worth if trusted else -self.pareto_k

    @property
    def typical(self) -> np.ndarray:
        """Some of the vectors, by their weights."""
        return self.vectors[_systematic(np.exp(self.smoothed), _CHECKED, generator(0, "check"))]


def _pool(
    places: _Places,
    earlier: _Pool | None,
    proposal: Proposal,
    number: int,
    rng: np.random.Generator,
    progress: bool,
) -> _Pool:
    """Draw from a proposal, and weigh the draws together with earlier ones."""
    proposals = [*(earlier.proposals if earlier else []), (proposal, number)]
    vectors = proposal.draw(number, rng)
    log_proposed = logsumexp([np.log(size) + one.log_density(vectors) for one, size in proposals], axis=0)
    # The nodes of a continuous latent must suffice where the proposals are, and then where the draws are.
    refined = places.refine(proposal.locations)
    if number > _FEWEST:  # a part of the vectors shows whether they do, at a part of the cost
        part = slice(None, None, number // _PART)
        pilot = _Pool(proposals, vectors[part], log_proposed[part], places.over(vectors[part], progress))
        refined = refined | places.refine(pilot.typical)
    pool = _Pool(proposals, vectors, log_proposed, places.over(vectors, progress))
    if earlier is not None:
        before = np.logaddexp(earlier.log_proposed, np.log(number) + proposal.log_density(earlier.vectors))
        pool = _join(_again(places, earlier, refined, progress), before, pool)
    while (refined := places.refine(pool.typical)).any():
        pool = _again(places, pool, refined, progress)
    return pool


def _again(places: _Places, pool: _Pool, refined: np.ndarray, progress: bool) -> _Pool:
    """Evaluate the vectors at places where nodes have been doubled."""
    stale = refined[places.of(pool.vectors)]
    if not stale.any():
        return pool
    parts = {name: values.copy() for name, values in pool.parts.items()}
    for name, values in places.over(pool.vectors[stale], progress).items():
        parts[name][stale] = values
    return replace(pool, parts=parts)


def _join(earlier: _Pool, log_proposed: np.ndarray, new: _Pool) -> _Pool:
    """Put two pools together, given the densities of the earlier one's vectors under the mixture of all proposals."""
    return _Pool(
        new.proposals,
        np.concatenate([earlier.vectors, new.vectors]),
        np.concatenate([log_proposed, new.log_proposed]),
        {name: np.concatenate([earlier.parts[name], values]) for name, values in new.parts.items()},
    )


def _worth(log_weights: np.ndarray) -> float:
    """Return the effective number of normalised weights."""
    return float(1 / np.sum(np.exp(2 * log_weights)))


def _tempered(log_weights: np.ndarray, worth: float) -> np.ndarray:
    """Return weights to the greatest power, at most one, with which they are worth a number of draws."""

    def powered(power: float) -> np.ndarray:
        return power * log_weights - logsumexp(power * log_weights)

    def excess(power: float) -> float:
        return _worth(powered(power)) - worth

    worth = min(worth, np.isfinite(log_weights).sum() / 2)
    return np.exp(powered(1.0 if excess(1.0) >= 0 else brentq(excess, _COLDEST, 1.0)))


def _systematic(weights: np.ndarray, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Resample with the smallest noise: evenly spaced positions with one random offset, shuffled."""
    positions = (rng.random() + np.arange(draws)) / draws
    edges = np.cumsum(weights)
    chosen = np.searchsorted(edges / edges[-1], positions)
    return rng.permutation(np.minimum(chosen, len(weights) - 1))
