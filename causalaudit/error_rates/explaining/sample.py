"""The people of whom error rates are estimated, and the rates that need no adjustment."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from causalaudit.adjustment import Covariates
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.groups import read_as


@dataclass(frozen=True, eq=False)
class Sample:
    """The people with one of the two levels and the outcome that is asked about.

    Attributes
    ----------
    x
        1 for the contrast level, 0 for the baseline.
    theta
        P(ŷ) by the level that the classifier reads (rows) and person.
    covariates
        The explaining set of each person.
    """

    question: RateQuestion
    x: np.ndarray
    theta: np.ndarray
    covariates: Covariates

    @classmethod
    def of(
        cls, question: RateQuestion, data: pd.DataFrame, covariates: Collection[str], declared: Collection[str] = ()
    ) -> "Sample":
        """Ask the classifier about everybody, once as the baseline and once as the contrast level.

        What counts as discrete is seen in all the data; `declared` are columns that the user says are.
        """
        column = data[question.protected]
        chosen = (column.isin(question.levels) & (data[question.outcome] == question.y)).to_numpy()
        frame = data.loc[chosen, list(question.rate.features)]
        theta = [question.rate(read_as(frame, question.protected, level)) for level in question.levels]
        x = (column[chosen] == question.levels[1]).to_numpy().astype(int)
        return cls(question, x, np.stack(theta), Covariates.of(data, covariates, declared).only(chosen))

    def __len__(self) -> int:
        return len(self.x)

    def only(self, kept: np.ndarray) -> "Sample":
        """Return some of the people."""
        return replace(self, x=self.x[kept], theta=self.theta[:, kept], covariates=self.covariates.only(kept))

    @property
    def has(self) -> np.ndarray:
        """Who has each of the two levels (rows)."""
        return np.stack([self.x == 0, self.x == 1]).astype(float)

    def own_rates(self, weights: np.ndarray) -> np.ndarray:
        """Return N(xd, x | x, y) by set of weights (rows of people), xd and x: by composition just a mean.

        It holds for any diagram.
        """
        sums = np.einsum("bn,ln,gn->blg", weights, self.theta, self.has, optimize=True)
        return np.asarray(sums / (weights @ self.has.T)[:, None, :])

    def own_influence(self, rates: np.ndarray) -> np.ndarray:
        """Return the influence of each person (first axis) on the rates by xd and x."""
        share = self.has.mean(axis=1)
        return np.asarray((self.has / share[:, None]).T[:, None, :] * (self.theta.T[:, :, None] - rates))


def spread(own: np.ndarray, crossed: np.ndarray) -> np.ndarray:
    """Arrange rates by xd, xi and x (last axes) from those with xi = x, and those with xi ≠ x by xd and xi."""
    rates = np.empty((*own.shape[:-1], 2, 2))
    for xi in (0, 1):
        rates[..., xi, xi] = own[..., xi]
        rates[..., xi, 1 - xi] = crossed[..., xi]
    return rates
