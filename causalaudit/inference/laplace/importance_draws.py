"""Laplace approximation, corrected by importance resampling."""

from dataclasses import dataclass

import numpy as np

from causalaudit.inference.density.log_density import DensityParts, ProgramDensity
from causalaudit.inference.laplace.importance_pool import (
    DensityByMaximum,
    FromPrior,
    ImportancePool,
    draw_more,
    systematic,
    tempered,
)
from causalaudit.inference.laplace.mode_search import prior_spread
from causalaudit.inference.laplace.other_modes import ModeSearch, search_modes
from causalaudit.inference.laplace.proposals import Proposal, efficiency_for_normal
from causalaudit.inference.laplace.ridge import walk_ridge
from causalaudit.inference.posterior.diagnostics import SHIFTED, TRUSTED_K, is_trusted
from causalaudit.randomness import generator

_ROUNDS = 7
_EFFICIENT = 0.6  # share of the proposals that count, of those that do for a normal, with which they are good enough
_PLENTY = 2  # times the draws asked for that proposals are worth, with which they are good enough too
_TEMPERED, _BY_NUMBER = 200, 10  # effective draws to which proposals are fitted: at least, and for each parameter
_WIDER, _LARGE = 1000, 2**22  # proposals that look farther out, unless they take so many densities of a person
_FROM_PRIOR = 256  # draws of the prior among them
_TELLING, _NOISE = 0.05, 2.0  # shift that tells of a tail, beyond the noise of so many standard errors
_REPAIRS = 3  # rounds after a look farther out that has found more
_FEWEST = 1000  # proposals, whatever number of draws is asked for: the tail of the weights must be seen


@dataclass(frozen=True)
class ImportanceDraws:
    """Equally weighted draws, and how well the proposal they come from fits.

    Attributes
    ----------
    vectors
        Unconstrained draws.
    parts
        Their densities and values, as `ProgramDensity.over` returns them.
    density
        The density, with the nodes of a continuous latent placed at the maximum with the greatest mass.
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
    search
        The modes that the first proposal is at, and how they were searched.
    shift
        By how many posterior standard deviations wider proposals moved a mean, or by what share a spread.
    """

    vectors: np.ndarray
    parts: DensityParts[np.ndarray]
    density: ProgramDensity
    pareto_k: float
    ess: float
    efficiency: float
    first_share: float
    log_evidence: float
    log_evidence_error: float
    search: ModeSearch
    shift: float = 0.0

    @property
    def trusted(self) -> bool:
        """Whether the draws can stand for the posterior, as far as its modes are known."""
        return is_trusted(self.pareto_k, self.efficiency, self.first_share) and self.shift < SHIFTED


def laplace_draws(density: ProgramDensity, draws: int, seed: int, progress: bool = False) -> ImportanceDraws:
    """Draw from the posterior through heavy-tailed approximations of it.

    The first proposal is a multivariate t at the mode in unconstrained space, with the inverse Hessian as its
    scale; if there are several that count, a mixture of such, each with a share by its mass. If the
    Pareto-smoothed weights are not to be trusted, or few proposals count, the second is a mixture along the ridge of
    the posterior. While it is still so, further mixtures are fitted to the weighted draws. All proposals are weighed
    together, as if drawn from the mixture of all rounds, and resampled by their weights.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao and Gabry (2024), Pareto smoothed importance sampling. JMLR 25.
    Cornuet, Marin, Mira and Robert (2012), Adaptive multiple importance sampling. Scandinavian Journal of Statistics
    39.
    """
    search = search_modes(density, seed)
    modes = search.modes
    first, enough = Proposal.at(modes), _EFFICIENT * efficiency_for_normal(density.size)
    target = DensityByMaximum.placed(density, first)
    pools = [draw_more(target, None, first, max(draws, _FEWEST), generator(seed, "proposals", 0), progress)]
    for attempt in range(1, _ROUNDS + 1):
        last, rng = pools[-1], generator(seed, "proposals", attempt)
        if last.pareto_k < TRUSTED_K and (last.efficiency > enough or last.worth > _PLENTY * draws):
            break
        if attempt == 1:
            spread = prior_spread(density, seed)
            proposal = Proposal.at([*modes, *(point for mode in modes for point in walk_ridge(density, mode, spread))])
        else:
            weights = tempered(last.smoothed, max(_TEMPERED, _BY_NUMBER * density.size))
            proposal = Proposal.fitted(last.vectors, weights, rng)
        pools.append(draw_more(last.target, last, proposal, max(draws // 4, _FEWEST), rng, progress))
    pool, shift = _looked_farther(max(pools, key=lambda one: one.merit), density, first, draws, seed, progress)
    chosen = systematic(np.exp(pool.smoothed), draws, generator(seed, "resampling"))
    return ImportanceDraws(
        pool.vectors[chosen],
        pool.parts.map(lambda values: values[chosen]),
        pools[-1].target.densities[0],
        pool.pareto_k,
        min(draws, pool.worth),
        pool.efficiency,
        float(np.exp(min(0.0, pools[0].log_evidence - pool.log_evidence))),
        pool.log_evidence,
        pool.log_evidence_error,
        search,
        shift,
    )


def _looked_farther(
    pool: ImportancePool, density: ProgramDensity, first: Proposal, draws: int, seed: int, progress: bool
) -> tuple[ImportancePool, float]:
    """Look for mass where the proposals do not come, and by how much it moves the draws.

    Weights cannot tell of a tail that no proposal reaches. Where a wider one finds nothing the pool comes back as it
    is; otherwise further mixtures are fitted to all, and it is looked again. Where people are many posteriors are
    nearly normal, and it is not looked.
    """
    if not pool.merit[0] or density.whole_size * _WIDER > _LARGE:
        return pool, 0.0
    wider = draw_more(pool.target, pool, first.widened(), _WIDER, generator(seed, "wider", 0), progress)
    wider = draw_more(wider.target, wider, FromPrior(density, seed), _FROM_PRIOR, generator(seed, "wider", 0), progress)
    if (shift := pool.shift_to(wider)) < _TELLING + _NOISE / np.sqrt(pool.worth):
        return pool, shift
    for attempt in range(1, _REPAIRS + 1):
        rng = generator(seed, "wider", attempt)
        weights = tempered(wider.smoothed, max(_TEMPERED, _BY_NUMBER * density.size))
        proposal = Proposal.fitted(wider.vectors, weights, rng)
        wider = draw_more(wider.target, wider, proposal, max(draws // 2, _FEWEST), rng, progress)
    rng = generator(seed, "wider", _REPAIRS + 1)
    again = draw_more(wider.target, wider, proposal.widened(), _WIDER, rng, progress)
    again = draw_more(again.target, again, FromPrior(density, seed, _FROM_PRIOR), _WIDER, rng, progress)
    return again, wider.shift_to(again)
