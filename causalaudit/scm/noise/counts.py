"""Counts with many values: Poisson, Binomial, Geometric, negative binomial, and what is compounded of them.

The noise is a uniform quantile, ``x = F^{-1}(u)``; abduction draws it from Uniform(F(x - 1), F(x)].
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyro.distributions as pyro_dist
import torch
import torch.distributions as dist
from scipy import special
from torch.distributions import Distribution

from causalaudit.scm.noise import tails
from causalaudit.scm.noise.elementwise import elementwise

_GREAT = 1e300  # count at which the search begins if the mean is greater


@dataclass(frozen=True)
class Count:
    """Quantile noise of a count; numpy functions of a count and the parameters.

    `below` is P(X <= k), `above` is P(X > k), `moments` are mean, variance and skewness (they only
    start the search), `largest` the greatest count possible.
    """

    parameters: Callable[[Any], tuple[torch.Tensor, ...]]
    below: Callable[..., np.ndarray]
    above: Callable[..., np.ndarray]
    moments: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]
    largest: Callable[..., np.ndarray | float] = lambda *parameters: np.inf
    randomised: bool = True

    def width(self, law: Distribution) -> None:
        return None

    def abduct(self, law: Distribution, value: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        return elementwise(self._abduct, value, uniform, *self.parameters(law))

    def _abduct(self, value: np.ndarray, uniform: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        # One tail is computed, the one in which the value lies; there the other is one minus it.
        upper = value > self.moments(*parameters)[0]
        low, high = (self._one_tail(value - shift, upper, *parameters) for shift in (1, 0))
        below = [np.where(upper, 1 - tail, tail) for tail in (low, high)]
        above = [np.where(upper, tail, 1 - tail) for tail in (low, high)]
        as_torch = [torch.from_numpy(part) for part in (*below, *above)]
        step = tails.inside_step(
            (as_torch[0], as_torch[1]), (as_torch[2], as_torch[3]), torch.from_numpy(uniform.copy())
        )
        return step.numpy()

    def _one_tail(self, value: np.ndarray, upper: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        tail = np.empty(value.shape)
        for mask, function in ((upper, self.above), (~upper, self.below)):
            tail[mask] = function(value[mask], *(parameter[mask] for parameter in parameters))
        return tail

    def push(self, law: Distribution, noise: torch.Tensor) -> torch.Tensor:
        return elementwise(self._push, noise, *self.parameters(law))

    def _push(self, noise: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        shape = noise.shape
        columns = [np.ravel(column) for column in (noise, *parameters)]
        usable = np.isfinite(columns).all(axis=0)
        result = np.full(usable.shape, np.nan)
        result[usable] = self._search(*(column[usable] for column in columns))
        return result.reshape(shape)

    def _search(self, noise: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        """Return the smallest count whose distribution function reaches the noise."""
        top = np.broadcast_to(np.asarray(self.largest(*parameters), dtype=float), noise.shape)

        def reached(count: np.ndarray, rows: np.ndarray) -> np.ndarray:
            chosen = [parameter[rows] for parameter in parameters]
            quantile = noise[rows]
            enough = np.empty(count.shape, dtype=bool)
            lower = quantile > 0
            enough[lower] = self.below(count[lower], *(c[lower] for c in chosen)) >= quantile[lower]
            upper = ~lower
            enough[upper] = self.above(count[upper], *(c[upper] for c in chosen)) <= -quantile[upper]
            return enough | (count >= top[rows])

        everyone = np.arange(noise.size)
        # No number is more than infinity, from which there is no way down.
        start = np.clip(np.nan_to_num(self._guess(noise, *parameters), nan=0.0, posinf=_GREAT), 0, top)
        enough = reached(start, everyone)
        # `high` is reached, `low` is not: gallop away from the guess, then halve the gap.
        high, low = np.where(enough, start, np.inf), np.where(enough, -1.0, start)
        for direction, rows in ((-1.0, everyone[enough]), (1.0, everyone[~enough])):
            stride, front = 1.0, start[rows]
            while rows.size:
                front = np.clip(front + direction * stride, -1.0, top[rows])
                hit = np.where(front < 0, False, reached(np.maximum(front, 0), rows))
                high[rows[hit]], low[rows[~hit]] = front[hit], front[~hit]
                going = hit if direction < 0 else ~hit
                rows, front, stride = rows[going], front[going], 2 * stride

        def apart(rows: np.ndarray) -> np.ndarray:  # beyond 2**53 not every whole number is a double
            return rows[(high[rows] - low[rows] > 1) & (np.nextafter(low[rows], np.inf) < high[rows])]

        rows = apart(everyone)
        while rows.size:
            middle = np.floor((high[rows] + low[rows]) / 2)
            hit = reached(middle, rows)
            high[rows[hit]], low[rows[~hit]] = middle[hit], middle[~hit]
            rows = apart(rows)
        return high + 0.0  # no minus zero

    def _guess(self, noise: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        """Return a Cornish-Fisher guess of the quantile."""
        mean, variance, skewness = self.moments(*parameters)
        normal = np.where(noise > 0, special.ndtri(np.abs(noise)), -special.ndtri(np.abs(noise)))
        normal = np.clip(normal, -38, 38)
        return np.rint(mean + np.sqrt(variance) * (normal + skewness * (normal**2 - 1) / 6))

    def fresh(self, law: Distribution, uniform: torch.Tensor) -> torch.Tensor:
        return tails.from_uniform(uniform)

    def readable(self, noise: torch.Tensor) -> torch.Tensor:
        return tails.to_uniform(noise)


def _both_probabilities(law: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return p and 1 - p without cancellation, however the law was written."""
    if "probs" in law.__dict__:
        return law.probs, 1 - law.probs
    return torch.sigmoid(law.logits), torch.sigmoid(-law.logits)


def _bounded(inside: Callable[..., np.ndarray], before: float, after: float) -> Callable[..., np.ndarray]:
    """Guard a formula that holds for counts between zero and the last but one."""

    def guarded(count: np.ndarray, total: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        safe = np.clip(count, 0, np.maximum(total - 1, 0))
        middle = inside(safe, np.maximum(total, 1), p, q)
        return np.where(count < 0, before, np.where(count >= total, after, middle))

    return guarded


def _binomial_of_beta(count: np.ndarray, total: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return P(X <= count) of a beta-binomial: its probabilities are added up, each following from the one before."""
    largest = np.floor(np.nanmax(count, initial=-1.0))
    log_chance = special.betaln(a, total + b) - special.betaln(a, b)
    reached = np.zeros(np.shape(count))
    for k in np.arange(largest + 1):
        reached += np.where((k <= count) & (k <= total), np.exp(log_chance), 0.0)
        log_chance = log_chance + np.log(np.maximum(total - k, 0) / (k + 1) * (k + a) / np.abs(total - k - 1 + b))
    return np.minimum(reached, 1.0)


_NEGATIVE_BINOMIAL = Count(
    lambda law: (law.total_count, *_both_probabilities(law)),
    below=lambda k, total, p, q: np.where(k < 0, 0.0, special.betainc(total, np.maximum(k, 0) + 1, q)),
    above=lambda k, total, p, q: np.where(k < 0, 1.0, special.betainc(np.maximum(k, 0) + 1, total, p)),
    moments=lambda total, p, q: (total * p / q, total * p / q**2, (1 + p) / np.sqrt(np.maximum(total * p, 1e-300))),
)

COUNTS: dict[type[Distribution], Count] = {
    dist.Poisson: Count(
        lambda law: (law.rate,),
        below=lambda k, rate: special.gammaincc(k + 1, rate),
        above=lambda k, rate: special.gammainc(k + 1, rate),
        moments=lambda rate: (rate, rate, 1 / np.sqrt(rate)),
    ),
    dist.Binomial: Count(
        lambda law: (law.total_count, *_both_probabilities(law)),
        below=_bounded(lambda k, total, p, q: special.betainc(total - k, k + 1, q), 0.0, 1.0),
        above=_bounded(lambda k, total, p, q: special.betainc(k + 1, total - k, p), 1.0, 0.0),
        moments=lambda total, p, q: (total * p, total * p * q, (q - p) / np.sqrt(np.maximum(total * p * q, 1e-300))),
        largest=lambda total, p, q: total,
    ),
    dist.Geometric: Count(
        lambda law: _both_probabilities(law),
        below=lambda k, p, q: -np.expm1((k + 1) * _log_failure(p, q)),
        above=lambda k, p, q: np.exp((k + 1) * _log_failure(p, q)),
        moments=lambda p, q: (q / p, q / p**2, (1 + q) / np.sqrt(np.maximum(q, 1e-300))),
    ),
    dist.NegativeBinomial: _NEGATIVE_BINOMIAL,
    pyro_dist.GammaPoisson: replace(
        _NEGATIVE_BINOMIAL, parameters=lambda law: (law.concentration, 1 / (1 + law.rate), law.rate / (1 + law.rate))
    ),
    pyro_dist.BetaBinomial: Count(
        lambda law: (law.total_count, law.concentration1, law.concentration0),
        below=_binomial_of_beta,
        above=lambda k, total, a, b: _binomial_of_beta(total - k - 1, total, b, a),  # that many failures, or fewer
        moments=lambda total, a, b: (
            total * a / (a + b),
            total * a * b * (a + b + total) / (a + b) ** 2 / (a + b + 1),
            np.zeros_like(a),
        ),
        largest=lambda total, a, b: total,
    ),
}


def _log_failure(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return log(1 - p) from whichever of p and 1 - p is small."""
    return np.where(p < 0.5, np.log1p(-np.minimum(p, 0.5)), np.log(q))
