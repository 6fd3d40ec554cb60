"""Adjustment for an explaining set: saturated, by cells of its values, or logistic, by a regression on them.

Both give the rates N(xd, xi | x, y) with xi ≠ x, for many sets of weights of the people at once, and the influence of
each person on them. In the saturated case plug-in (Lemma 6) and inverse propensity weights (Lemma 7) are the same.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from causalaudit.error_rates.explaining.sample import Sample
from causalaudit.errors import DataError

_RIDGE = 1e-8  # per person: keeps a separated regression finite
_NEWTON_STEPS = 4  # of regressions that start close to their solution
_IMPOSSIBLE = 1e-6  # a fitted propensity below it is none


class Adjustment(Protocol):
    """What every adjustment can do."""

    @property
    def propensity(self) -> np.ndarray:
        """P(contrast | covariates, y), among the two levels, of each person."""

    def crossed(self, weights: np.ndarray) -> np.ndarray:
        """Return N(xd, xi | x, y), x being the other level than xi, by set of weights, xd and xi."""

    def influence(self, rates: np.ndarray) -> np.ndarray:
        """Return the influence of each person (first axis) on these rates."""


@dataclass(frozen=True)
class Saturated:
    """Every combination of values of the covariates is a cell with probabilities of its own."""

    sample: Sample

    @cached_property
    def cells(self) -> np.ndarray:
        covariates = self.sample.covariates
        if covariates.shape[1] == 0:
            return np.zeros(len(self.sample), dtype=int)
        return covariates.groupby(list(covariates.columns), observed=True, sort=True).ngroup().to_numpy()

    @cached_property
    def _member(self) -> sparse.csr_array:
        rows = np.arange(len(self.sample))
        return sparse.csr_array((np.ones(len(rows)), (rows, self.cells)), shape=(len(rows), self.cells.max() + 1))

    def _by_cell(self, values: np.ndarray) -> np.ndarray:
        """Sum over the people (last axis) of each cell."""
        sums = self._member.T @ values.reshape(-1, values.shape[-1]).T
        return np.asarray(sums).T.reshape(*values.shape[:-1], -1)

    @cached_property
    def propensity(self) -> np.ndarray:
        counts = self._by_cell(self.sample.has)
        return (counts[1] / counts.sum(axis=0))[self.cells]

    def _parts(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weight of each level in each cell, and the mean of P(ŷ) by xd and level in each cell."""
        has, theta = self.sample.has, self.sample.theta
        size = self._by_cell(weights[:, None] * has)
        sums = self._by_cell(weights[:, None, None] * has[:, None] * theta).swapaxes(1, 2)
        return size, np.divide(sums, size[:, None], out=np.zeros_like(sums), where=size[:, None] > 0)

    def crossed(self, weights: np.ndarray) -> np.ndarray:
        size, mean = self._parts(weights)
        other = size[:, ::-1] / size[:, ::-1].sum(axis=-1, keepdims=True)  # the cells of those with the other level
        return np.asarray(np.einsum("blic,bic->bli", mean, other))

    def influence(self, rates: np.ndarray) -> np.ndarray:
        _, mean = self._parts(np.ones((1, len(self.sample))))
        return efficient_influence(self.sample, mean[0][:, :, self.cells], self.propensity, rates)


def efficient_influence(sample: Sample, mean: np.ndarray, propensity: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the influence of each person on N(xd, xi | x, y), xi ≠ x, by xd and xi.

    1{X = x} / P(x) (m(C) − N) + 1{X = xi} P(x | C) / (P(xi | C) P(x)) (θ − m(C)), all given y.
    """
    has, theta = sample.has, sample.theta
    odds = propensity / (1 - propensity)
    result = np.empty((len(sample), 2, 2))
    for xi, ratio in ((0, odds), (1, 1 / odds)):
        share = has[1 - xi].mean()
        residual = has[xi] * ratio * (theta - mean[:, xi])
        result[:, :, xi] = ((has[1 - xi] * (mean[:, xi] - rates[:, [xi]]) + residual) / share).T
    return result


@dataclass(frozen=True)
class Logistic:
    """Logistic regressions on the covariates: of the level (inverse propensity weights), or of P(ŷ) (plug-in)."""

    sample: Sample
    weighted: bool

    @cached_property
    def design(self) -> np.ndarray:
        """An intercept, numbers in units of their spread, and indicators of levels."""
        covariates = self.sample.covariates
        text = [name for name in covariates if not pd.api.types.is_numeric_dtype(covariates[name])]
        columns = pd.get_dummies(covariates, columns=text, drop_first=True).to_numpy(dtype=float)
        columns = columns[:, columns.std(axis=0) > 0]
        scaled = (columns - columns.mean(axis=0)) / columns.std(axis=0)
        return np.column_stack([np.ones(len(self.sample)), scaled])

    @cached_property
    def _level(self) -> np.ndarray:
        return regress(self.design, self.sample.x.astype(float))

    @cached_property
    def propensity(self) -> np.ndarray:
        return np.asarray(expit(self.design @ self._level))

    @cached_property
    def _responses(self) -> np.ndarray:
        """The coefficients of the regression of P(ŷ) on the covariates among those with xi, by xd and xi."""
        chosen = [self.sample.x == xi for xi in (0, 1)]
        return np.stack([[regress(self.design[who], theta[who]) for who in chosen] for theta in self.sample.theta])

    def crossed(self, weights: np.ndarray) -> np.ndarray:
        return self._by_weights(weights) if self.weighted else self._by_responses(weights)

    def _by_weights(self, weights: np.ndarray) -> np.ndarray:
        level = follow(self.design, self.sample.x.astype(float), weights, self._level)
        linear = level @ self.design.T
        odds = np.exp(np.stack([linear, -linear], axis=1))
        has = self.sample.has
        sums = np.einsum("bn,in,bin,ln->bli", weights, has, odds, self.sample.theta, optimize=True)
        return np.asarray(sums / (weights @ has[::-1].T)[:, None, :])

    def _by_responses(self, weights: np.ndarray) -> np.ndarray:
        result = np.empty((len(weights), 2, 2))
        for xd, xi in np.ndindex(2, 2):
            has, theta = self.sample.has, self.sample.theta[xd]
            response = follow(self.design, theta, weights * has[xi], self._responses[xd, xi])
            other = weights * has[1 - xi]
            result[:, xd, xi] = (other * expit(response @ self.design.T)).sum(axis=1) / other.sum(axis=1)
        return result

    def influence(self, rates: np.ndarray) -> np.ndarray:
        """By the estimating equations of the regressions and of the rates together."""
        result = np.empty((len(self.sample), 2, 2))
        for xd, xi in np.ndindex(2, 2):
            part = self._weighted_influence if self.weighted else self._response_influence
            result[:, xd, xi] = part(xd, xi, float(rates[xd, xi]))
        return result

    def _weighted_influence(self, xd: int, xi: int, rate: float) -> np.ndarray:
        has, z, e = self.sample.has, self.design, self.propensity
        sign = 1 if xi == 0 else -1
        counted = has[xi] * self.sample.theta[xd] * np.exp(sign * (z @ self._level))
        slope = sign * (counted @ z) / len(z)
        return np.asarray(
            (counted - has[1 - xi] * rate + scores(z, self.sample.x - e, e * (1 - e)) @ slope) / has[1 - xi].mean()
        )

    def _response_influence(self, xd: int, xi: int, rate: float) -> np.ndarray:
        has, z = self.sample.has, self.design
        mean = expit(z @ self._responses[xd, xi])
        curve = mean * (1 - mean)
        slope = (has[1 - xi] * curve) @ z / len(z)
        change = scores(z, has[xi] * (self.sample.theta[xd] - mean), has[xi] * curve) @ slope
        return np.asarray((has[1 - xi] * (mean - rate) + change) / has[1 - xi].mean())


def scores(design: np.ndarray, residual: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """Return the influence of each person (rows) on the coefficients of a logistic regression."""
    information = (design * curve[:, None]).T @ design / len(design) + _RIDGE * np.eye(design.shape[1])
    return np.asarray(np.linalg.solve(information, (design * residual[:, None]).T).T)


def regress(design: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the coefficients of a logistic regression of a target in [0, 1]."""

    def loss(at: np.ndarray) -> float:
        linear = design @ at
        return float(np.mean(np.logaddexp(0, linear) - target * linear) + _RIDGE / 2 * at @ at)

    def slope(at: np.ndarray) -> np.ndarray:
        return np.asarray(design.T @ (expit(design @ at) - target) / len(target) + _RIDGE * at)

    def curve(at: np.ndarray) -> np.ndarray:
        mean = expit(design @ at)
        return (design * (mean * (1 - mean))[:, None]).T @ design / len(target) + _RIDGE * np.eye(len(at))

    start = np.zeros(design.shape[1])
    return np.asarray(minimize(loss, start, jac=slope, hess=curve, method="trust-exact", options={"gtol": 1e-10}).x)


def follow(design: np.ndarray, target: np.ndarray, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the coefficients of a logistic regression under each set of weights, by Newton steps from `start`."""
    at = np.broadcast_to(start, (len(weights), len(start)))
    for _ in range(_NEWTON_STEPS):
        mean = expit(at @ design.T)
        slope = (weights * (target - mean)) @ design - len(design) * _RIDGE * at
        curve = np.einsum("bn,np,nq->bpq", weights * mean * (1 - mean), design, design, optimize=True)
        curve += len(design) * _RIDGE * np.eye(len(start))
        at = at + np.linalg.solve(curve, slope[..., None])[..., 0]
    return np.asarray(at)


def check_overlap(sample: Sample, propensity: np.ndarray) -> None:
    """Refuse covariates among which one of the two levels does not occur.

    Raises
    ------
    DataError
        It names the level, and covariates with which its propensity is zero.
    """
    question = sample.question
    for level, chance in zip(question.levels, (1 - propensity, propensity), strict=True):
        bad = chance < _IMPOSSIBLE
        if bad.any():
            where = ", ".join(f"{name} = {value!r}" for name, value in sample.covariates[bad].iloc[0].items())
            raise DataError(
                f"There is no overlap: the propensity of {question.protected!r} = {level!r} is 0 for {int(bad.sum())} "
                f"of {len(bad)} people with {question.outcome!r} = {question.y!r}, for example with {where}. Leave "
                "such people out by `trim`, coarsen the covariates, or use propensity='logistic'."
            )
