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
    frame
        What the classifier reads of each person.
    mediators
        The features that descend from the protected attribute or the outcome, without the attribute itself.
    weights
        Survey weights of the people, all positive; None if all weigh alike.
    """

    question: RateQuestion
    x: np.ndarray
    theta: np.ndarray
    covariates: Covariates
    frame: pd.DataFrame
    mediators: tuple[str, ...]
    weights: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        question: RateQuestion,
        data: pd.DataFrame,
        covariates: Collection[str],
        declared: Collection[str] = (),
        mediators: Collection[str] = (),
        weights: np.ndarray | None = None,
    ) -> "Sample":
        """Ask the classifier about everybody, once as the baseline and once as the contrast level.

        What counts as discrete is seen in all the data; `declared` are columns that the user says are.
        """
        column = data[question.protected]
        chosen = (column.isin(question.levels) & (data[question.outcome] == question.y)).to_numpy()
        frame = data.loc[chosen, list(question.rate.features)]
        x = (column[chosen] == question.levels[1]).to_numpy().astype(int)
        theta = np.stack([answers(question, xd, frame) for xd in (0, 1)])
        known = Covariates.of(data, covariates, declared).only(chosen)
        return cls(question, x, theta, known, frame, tuple(mediators), None if weights is None else weights[chosen])

    def __len__(self) -> int:
        return len(self.x)

    def only(self, kept: np.ndarray) -> "Sample":
        """Return some of the people."""
        return replace(
            self,
            x=self.x[kept],
            theta=self.theta[:, kept],
            covariates=self.covariates.only(kept),
            frame=self.frame[kept],
            weights=None if self.weights is None else self.weights[kept],
        )

    @property
    def counts(self) -> np.ndarray:
        """How much each person counts, with mean one."""
        return np.ones(len(self)) if self.weights is None else self.weights / self.weights.mean()

    @property
    def has(self) -> np.ndarray:
        """Who has each of the two levels (rows)."""
        return np.stack([self.x == 0, self.x == 1]).astype(float)

    def answers_with(self, xd: int, mediators: pd.DataFrame) -> np.ndarray:
        """Return θ(xd, w, z) by the rows w of a table of mediators, and person, whose own the other features z are."""
        people, rows = np.tile(np.arange(len(self)), len(mediators)), np.repeat(np.arange(len(mediators)), len(self))
        frame = self.frame.iloc[people].reset_index(drop=True)
        for name in self.mediators:
            frame[name] = mediators[name].iloc[rows].reset_index(drop=True)
        return answers(self.question, xd, frame).reshape(len(mediators), len(self))

    def own_rates(self, weights: np.ndarray) -> np.ndarray:
        """Return N(xd, x | x, y) by set of weights (rows of people), xd and x: by composition just a mean.

        It holds for any diagram.
        """
        sums = np.einsum("bn,ln,gn->blg", weights, self.theta, self.has, optimize=True)
        return np.asarray(sums / (weights @ self.has.T)[:, None, :])

    def own_influence(self, rates: np.ndarray) -> np.ndarray:
        """Return the influence of each person (first axis) on the rates by xd and x."""
        counted = self.has * self.counts
        share = counted.mean(axis=1)
        return np.asarray((counted / share[:, None]).T[:, None, :] * (self.theta.T[:, :, None] - rates))


def answers(question: RateQuestion, xd: int, frame: pd.DataFrame) -> np.ndarray:
    """Return P(ŷ) of people whom the classifier takes for the baseline (0) or the contrast (1)."""
    return question.rate(read_as(frame, question.protected, question.levels[xd]))
