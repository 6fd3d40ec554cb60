"""Doubly robust rates of a rule where covariates do not fill a table: as `estimate_error_rates` has them, weighted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.adjustment import Covariates, Crossfitted, DoublyRobust, odds_of_other, spread
from causalaudit.error_rates.explaining.classifier import Rate
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.explaining.robust_rates import RobustRates
from causalaudit.error_rates.explaining.sample import Sample, answers
from causalaudit.error_rates.learning.labelled_people import LabelledPeople
from causalaudit.error_rates.learning.linear_terms import WorldKey

Decide = Callable[[pd.DataFrame], np.ndarray]


@dataclass(frozen=True, eq=False)
class RobustGroup:
    """People with an outcome (None: everybody), and the cross-fitted propensity of their level.

    Attributes
    ----------
    place : numpy.ndarray
        Where they are in the table of people.
    x : numpy.ndarray
        1 for the contrast level, 0 for the baseline.
    covariates, mediators, fitted
        What the propensity is given, the features that descend from the level or the outcome, and the propensity.
    """

    people: LabelledPeople
    y: Any
    place: np.ndarray
    x: np.ndarray
    covariates: Covariates
    mediators: tuple[str, ...]
    fitted: Crossfitted
    seed: int

    def rates(
        self,
        decide: Decide,
        drawn: np.ndarray | None = None,
        said: Callable[[np.ndarray, int], np.ndarray] | None = None,
    ) -> dict[WorldKey, tuple[float, np.ndarray]]:
        """Return the rates of a rule that take models, and the influence of everybody on them.

        Parameters
        ----------
        decide
            The rule.
        drawn
            Numbers by which decisions are drawn, of everybody; None: probabilities are as good.
        said
            What it says of people (places in the table) read as a level, if it differs from person to person.
        """
        features = tuple(self.people.features)
        rate = Rate(decide, 1, self.people.outcome, features)
        question = RateQuestion(self.people.protected, self.people.levels, self.people.outcome, self.y, rate)
        frame = self.people.table.iloc[self.place][list(features)]
        theta = [answers(question, xd, frame) if said is None else said(self.place, xd) for xd in (0, 1)]
        if drawn is not None:
            theta = [(one > drawn[self.place]).astype(float) for one in theta]
        sample = Sample(question, self.x, np.stack(theta), self.covariates, frame, self.mediators)
        weights = self.people.weights[self.place]
        models = None if np.ptp(weights) == 0 else weights / weights.mean()
        wanted = [(1, 1, 0)] if self.y is not None else [(0, 0, 2), (1, 0, 2), (0, 1, 2)]
        needed = tuple((xd, xi) for xd, xi, _ in wanted)
        robust = RobustRates(sample, self.fitted, None, self.seed, models, needed).robust
        rates, moved = weighted_rates(robust, weights)
        found = {}
        for place in wanted:
            influence = np.zeros(len(self.people.table))
            influence[self.place] = moved[place]
            found[(self.y, *place)] = (float(rates[place]), influence)
        return found


def weighted_rates(robust: DoublyRobust, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return N(xd, xi | x) by xd, xi and x (the third: everybody), and how much each person (last axis) moves them."""
    weights = weights / weights.sum()
    has = np.stack([robust.group == 0, robust.group == 1]).astype(float)
    share = has @ weights
    counted = has * weights / share[:, None]
    standing = has * odds_of_other(robust.chance) * weights
    standing /= standing.sum(axis=1, keepdims=True)
    own = robust.values @ counted.T
    residual = robust.values[:, None] - robust.expected
    expected = (counted[::-1] * robust.expected).sum(axis=-1)
    left = (standing * residual).sum(axis=-1)
    rates = spread(own, expected + left)
    own_moved = counted * (robust.values[:, None] - own[..., None])
    crossed_moved = counted[::-1] * (robust.expected - expected[..., None]) + standing * (residual - left[..., None])
    moved = np.moveaxis(spread(np.moveaxis(own_moved, -1, 0), np.moveaxis(crossed_moved, -1, 0)), 0, -1)
    everybody = rates @ share
    drift = np.where(robust.group == 0, rates[..., [0]], rates[..., [1]]) - everybody[..., None]
    all_moved = (moved * share[:, None]).sum(axis=2) + weights * drift
    return np.concatenate([rates, everybody[..., None]], axis=-1), np.concatenate(
        [moved, all_moved[:, :, None]], axis=2
    )
