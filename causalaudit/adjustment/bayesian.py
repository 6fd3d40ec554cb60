"""A Bayesian regression of events or probabilities on rows of covariates: draws of its expectations."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import multivariate_t

from causalaudit.adjustment.propensity import SMALLEST, log_odds
from causalaudit.errors import CausalAuditWarning
from causalaudit.progress import pieces
from causalaudit.randomness import generator
from causalaudit.storage import storable

_BASE_SCALE = 5.0  # of the prior of the base
_DEGREES = 8  # of freedom of the proposals, whose tails must be the heavier ones
_FEWEST, _TIMES = 4000, 4  # proposals: at least, and for each draw
_TRUSTED_K = 0.7
_GRID, _MASS = np.polynomial.hermite_e.hermegauss(15)


@storable
@dataclass(frozen=True, eq=False)
class RegressionDraws:
    """Draws of the coefficients of a regression, and the rows at which it is expected something.

    Attributes
    ----------
    base, effects : numpy.ndarray
        Draws, and draws × columns.
    spread : numpy.ndarray or None
        Draws of the spread of log-odds, if the event is a probability.
    rows : numpy.ndarray
        Rows × columns.
    """

    base: np.ndarray
    effects: np.ndarray
    spread: np.ndarray | None
    rows: np.ndarray

    @property
    def number(self) -> int:
        """How many draws there are."""
        return len(self.base)

    def chance(self, draws: slice) -> np.ndarray:
        """Return the probability of an event, or the middle of probabilities on the scale of log-odds: draws × rows."""
        return np.clip(expit(self._eta(draws, self.rows)), SMALLEST, 1 - SMALLEST)

    def mean(self, draws: slice, which: np.ndarray) -> np.ndarray:
        """Return the expected mean event at some of the rows: draws × rows."""
        eta = self._eta(draws, self.rows[which])
        if self.spread is None:
            return np.clip(expit(eta), SMALLEST, 1 - SMALLEST)
        # The mean of a probability whose log-odds are normal.
        spread = self.spread[draws, None]
        mean: np.ndarray = sum(mass * expit(eta + node * spread) for node, mass in zip(_GRID, _MASS, strict=True))
        return mean / _MASS.sum()

    def _eta(self, draws: slice, rows: np.ndarray) -> np.ndarray:
        return self.base[draws, None] + self.effects[draws] @ rows.T


def draw_regression(
    rows: np.ndarray,
    place: np.ndarray,
    event: np.ndarray,
    *,
    probabilities: bool,
    draws: int,
    seed: int = 0,
) -> RegressionDraws:
    """Draw from the posterior of a regression with the priors that the default penalty amounts to.

    Importance resampling around the mode, on counts and sums of the distinct rows.

    The event is ``Bernoulli(logits=η)`` with η = base + Σ effect · x; the log-odds of a probability are ``Normal(η,
    spread)``. Priors: base ~ Normal(0, 5), effects ~ Normal(0, 1) as the L2 penalty with C = 1, spread ~ HalfNormal(1).
    People are not weighted: given their covariates, weights would only change how much the data are worth.

    Parameters
    ----------
    rows
        Distinct rows × columns, in units of their spread (see `standardise`).
    place, event
        Of each person: which row, and what happened.
    probabilities
        Whether events are probabilities.
    draws
        How many to make.
    seed
        Same seed, same draws.

    Warns
    -----
    CausalAuditWarning
        If Pareto k says that the draws are not to be trusted.

    Examples
    --------
    >>> import numpy as np
    >>> rows, place = np.array([[-1.0], [1.0]]), np.repeat([0, 1], 200)
    >>> event = (np.arange(400) % 4 < np.where(place, 3, 1)).astype(float)
    >>> drawn = draw_regression(rows, place, event, probabilities=False, draws=200)
    >>> (drawn.chance(slice(None)).mean(axis=0) > 0.5).tolist()
    [False, True]
    """
    density = (_LogOddsDensity if probabilities else _EventDensity).of(rows, place, event)
    vectors = _resampled(density, draws, seed)
    spread = np.exp(vectors[:, -1]) if probabilities else None
    return RegressionDraws(vectors[:, 0], vectors[:, 1 : 1 + rows.shape[1]], spread, rows)


@dataclass(frozen=True, eq=False)
class _EventDensity:
    """The log-density of base and effects (columns) given counts of people and of events at each distinct row."""

    design: np.ndarray
    people: np.ndarray
    events: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, place: np.ndarray, event: np.ndarray) -> "_EventDensity":
        people, events = (np.bincount(place, weights, len(rows)) for weights in (None, event))
        return cls(_with_base(rows), people.astype(float), events)

    @property
    def size(self) -> int:
        return self.design.shape[1]

    def value(self, vectors: np.ndarray) -> np.ndarray:
        eta = vectors @ self.design.T
        return np.asarray(eta @ self.events - np.logaddexp(0, eta) @ self.people + _log_prior(vectors, self.size))

    def gradient(self, vector: np.ndarray) -> np.ndarray:
        chance = expit(self.design @ vector)
        return self.design.T @ (self.events - self.people * chance) - _precision(self.size) * vector

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        chance = expit(self.design @ vector)
        curvature = (self.people * chance * (1 - chance))[:, None]
        return -(self.design.T @ (curvature * self.design)) - np.diag(_precision(self.size))


@dataclass(frozen=True, eq=False)
class _LogOddsDensity:
    """The log-density of base, effects and the log of the spread, given sums of log-odds and of their squares."""

    design: np.ndarray
    people: np.ndarray
    sums: np.ndarray
    squares: float

    @classmethod
    def of(cls, rows: np.ndarray, place: np.ndarray, event: np.ndarray) -> "_LogOddsDensity":
        odds = log_odds(event)
        people, sums = (np.bincount(place, weights, len(rows)) for weights in (None, odds))
        return cls(_with_base(rows), people.astype(float), sums, float(odds @ odds))

    @property
    def size(self) -> int:
        return self.design.shape[1] + 1

    def _rest(self, eta: np.ndarray) -> np.ndarray:
        """Return the sum of squared residuals."""
        return np.asarray(self.squares - 2 * eta @ self.sums + eta**2 @ self.people)

    def value(self, vectors: np.ndarray) -> np.ndarray:
        effects, log_spread = vectors[:, :-1], vectors[:, -1]
        rest = self._rest(effects @ self.design.T)
        likelihood = -self.people.sum() * log_spread - rest / (2 * np.exp(2 * log_spread))
        prior = _log_prior(effects, self.size - 1) - np.exp(2 * log_spread) / 2 + log_spread
        return np.asarray(likelihood + prior)

    def gradient(self, vector: np.ndarray) -> np.ndarray:
        effects, variance = vector[:-1], np.exp(2 * vector[-1])
        eta = self.design @ effects
        slope = self.design.T @ (self.sums - self.people * eta) / variance - _precision(self.size - 1) * effects
        return np.append(slope, -self.people.sum() + self._rest(eta) / variance - variance + 1)

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        effects, variance = vector[:-1], np.exp(2 * vector[-1])
        eta = self.design @ effects
        inner = self.design.T @ (self.people[:, None] * self.design) / variance + np.diag(_precision(self.size - 1))
        mixed = 2 * self.design.T @ (self.sums - self.people * eta) / variance
        corner = 2 * self._rest(eta) / variance + 2 * variance
        return -np.block([[inner, mixed[:, None]], [mixed[None], np.array([[corner]])]])


def _with_base(rows: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(rows)), rows])


def _precision(size: int) -> np.ndarray:
    return np.append(1 / _BASE_SCALE**2, np.ones(size - 1))


def _log_prior(vectors: np.ndarray, size: int) -> np.ndarray:
    return -(vectors**2) @ _precision(size) / 2


def _resampled(density: "_EventDensity | _LogOddsDensity", draws: int, seed: int) -> np.ndarray:
    """Draw by importance resampling from a multivariate t at the mode; both densities have one."""
    import arviz as az  # heavy: only those who draw pay for it

    found = minimize(
        lambda vector: -density.value(vector[None])[0],
        np.zeros(density.size),
        jac=lambda vector: -density.gradient(vector),
        hess=lambda vector: -density.hessian(vector),
        method="trust-exact",
    )
    proposal = multivariate_t(found.x, np.linalg.inv(-density.hessian(found.x)), df=_DEGREES)
    rng = generator(seed, "regression")
    vectors = np.atleast_2d(proposal.rvs(max(_FEWEST, _TIMES * draws), random_state=rng).reshape(-1, density.size))
    height = np.concatenate([density.value(vectors[part]) for part in pieces(len(vectors), len(density.design))])
    weights, pareto_k = az.psislw(height - proposal.logpdf(vectors))
    if float(pareto_k) > _TRUSTED_K:
        warnings.warn(
            f"The draws of the regression are not to be trusted: Pareto k is {float(pareto_k):.2f}, above "
            f"{_TRUSTED_K}. Its events may hardly depend on the covariates, or be all alike: use fewer covariates.",
            CausalAuditWarning,
            stacklevel=2,
        )
    return vectors[rng.choice(len(vectors), size=draws, p=np.exp(weights) / np.exp(weights).sum())]
