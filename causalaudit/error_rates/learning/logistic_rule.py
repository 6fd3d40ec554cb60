"""Logistic regression whose decisions, not only their linear proxy, stay within limits on the terms."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.error_rates.learning.decision_limits import DecisionLimits
from causalaudit.error_rates.learning.encoding import Encoder
from causalaudit.error_rates.learning.limits import Limits
from causalaudit.error_rates.learning.linear_terms import LinearTerms
from causalaudit.error_rates.learning.logistic_loss import LogisticLoss
from causalaudit.randomness import generator

# Widths of the smooth step that stands for a decision, in standard deviations of the unbounded score: from a step that
# a solver can follow to one that is nearly the decision itself.
_WIDTHS = (0.3, 0.1, 0.03, 0.01)
_REPAIRS = 8  # rounds of tighter bounds
_LINE = 101  # points between a rule that misses the bounds and one that meets them
_POLISH = 2_000_000  # rows that one round of the random search evaluates
_NEIGHBOUR = 0.5  # the share of the limits whose solution is another start


@dataclass(frozen=True, eq=False)
class LogisticRule:
    """Decide 1 where the score is positive; `otherwise` is what most people get."""

    encoder: Encoder
    coefficients: np.ndarray
    loss: float
    otherwise: float

    def score(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the log-odds."""
        return self.encoder.design(rows) @ self.coefficients

    def decide(self, rows: pd.DataFrame) -> np.ndarray:
        """Return 1.0 where 1 is decided, else 0.0."""
        return (self.score(rows) > 0).astype(float)


def fit_logistic_rule(
    rows: pd.DataFrame,
    positive: np.ndarray,
    weights: np.ndarray,
    terms: LinearTerms | None,
    limits: Limits,
    *,
    penalty: float,
    basis: Any = None,
    starts: Sequence[np.ndarray] = (),
    fresh: bool = True,
) -> LogisticRule:
    """Minimise the penalised logistic loss with limits on the terms of the decisions (equation 9).

    The paper bounds the terms of the score instead of those of the decisions, which is convex, and is neither needed
    nor enough: the bounds on decisions are then met by far, or missed. Here its solution is one of the starting points,
    beside those of tighter bounds and of neighbours that are given. From each, the decision is replaced by a smooth
    step of shrinking width, and the bounds are tightened until the decisions themselves satisfy them. Of all solutions
    that do, the one of smallest loss is returned; a rule that decides alike for everybody is always one.

    Parameters
    ----------
    rows, positive, weights, terms, limits
        As for `fit_table_rule`.
    penalty
        Of half the squared norm of the coefficients of the standardised features, beside the mean loss.
    basis
        Basis functions: see `read_basis`.
    starts
        Coefficients of rules under neighbouring limits. The result is never worse than one that is within the limits.
    fresh
        Whether to search from elsewhere, too.
    """
    everyone = rows if terms is None else pd.concat([rows, terms.rows], ignore_index=True)
    encoder = Encoder.of(rows, weights, everyone, basis)
    loss = LogisticLoss.of(encoder.design(rows), positive, weights, penalty)
    found = loss.minimise()
    if terms is not None and limits.names:
        bounded = DecisionLimits.of(encoder.design(terms.rows), terms, limits)
        found = _bounded(loss, bounded, found, starts, fresh)
    return LogisticRule(encoder, found, loss.value(found), float(weights @ positive > 0.5))


def _bounded(
    loss: LogisticLoss, limits: DecisionLimits, free: np.ndarray, starts: Sequence[np.ndarray], fresh: bool
) -> np.ndarray:
    """Return the best coefficients found whose decisions satisfy the limits."""
    if limits.met(free):
        return free
    constant = np.append(np.zeros(len(free) - 1), loss.log_odds)
    proxy = loss.minimise_within(constant, limits.proxy())
    widths, anchors = [width * loss.spread(free) for width in _WIDTHS], (constant, proxy)

    def best_of(found: Sequence[np.ndarray]) -> np.ndarray:
        return min(filter(limits.met, [*starts, constant, proxy, *found]), key=loss.value)

    # Wide steps lead to one optimum, narrow ones to others: the chain of widths is entered at several places.
    found = _chains(loss, limits, starts, widths[-2:], anchors)
    if fresh:
        # So do solutions of tighter limits, which are within these, too.
        tighter = limits.scaled(_NEIGHBOUR)
        near = _chains(loss, tighter, [free, proxy], widths, anchors)
        found += [*near, *_chains(loss, limits, [free, proxy], widths, anchors)]
        best = min(filter(tighter.met, [constant, *near]), key=loss.value)
        found += _chains(loss, limits, [best], widths[-2:], anchors)
    return _polished(loss, limits, best_of(found), free)


def _chains(
    loss: LogisticLoss,
    limits: DecisionLimits,
    starts: Sequence[np.ndarray],
    widths: Sequence[float],
    anchors: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """Return coefficients that follow smooth steps of shrinking width from several starts, mended at the end."""
    found = []
    for start, first in product(starts, range(len(widths) - 1)):
        current = start
        for width in widths[first:]:
            current = loss.minimise_within(current, limits.smooth(width))
        found += _mended(loss, limits, current, widths[-1], anchors)
    return found


def _polished(loss: LogisticLoss, limits: DecisionLimits, best: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Search at random around coefficients, and towards those without bounds, for better ones within the limits.

    Decisions change person by person, which smooth steps do not see: in small data, a little is left to gain.
    """
    rng = generator(0, "polish")
    root = np.linalg.cholesky(np.linalg.pinv(loss.curvature(best), hermitian=True) + 1e-12 * np.eye(len(best)))
    count = int(np.clip(_POLISH // (len(loss.design) + len(limits.design)), 10, 300))
    scale, value = 0.1, loss.value(best)
    while scale > 1e-3:
        towards = rng.random((count, 1)) * scale * (free - best)
        others = best + towards + scale * rng.normal(size=(count, len(best))) @ root.T * np.sqrt(value)
        values = np.array([loss.value(other) for other in others])
        better = next((k for k in np.argsort(values) if values[k] >= value or limits.met(others[k])), None)
        if better is None or values[better] >= value:
            scale /= 2
        else:
            best, value = others[better], values[better]
    return best


def _mended(
    loss: LogisticLoss, limits: DecisionLimits, current: np.ndarray, width: float, anchors: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Return coefficients near the given ones whose decisions satisfy the limits: by tighter ones, or on a line."""
    tightened, before = limits, np.inf
    for _ in range(_REPAIRS):
        excess = limits.excess(current)
        if limits.met(current):
            return [current]
        if excess.sum() > 0.8 * before:
            break
        tightened, before = tightened.tightened(excess), excess.sum()
        current = loss.minimise_within(current, tightened.smooth(width))
    lines = [np.linspace(current, anchor, _LINE) for anchor in anchors if limits.met(anchor)]
    first = [next(point for point in line if limits.met(point)) for line in lines]
    return [*first, current]
