"""A subgroup of the protected class against the same subgroup of everyone else, and against its expectation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from causalaudit.bias_scan.question import Question
from causalaudit.bias_scan.strata import Strata
from causalaudit.intervals import hdi
from causalaudit.randomness import generator


@dataclass(frozen=True)
class Disparity:
    """The people on whom disparities are measured, and what is expected of them.

    Attributes
    ----------
    question, strata
        The people; with `split`, those who were not searched.
    chance : numpy.ndarray
        The expectation of the event of each kept stratum.
    chance_draws : numpy.ndarray or None
        Posterior draws × kept strata.
    counterfactual : bool
        Whether expectations are of counterfactual people.
    """

    question: Question
    strata: Strata
    chance: np.ndarray
    chance_draws: np.ndarray | None
    counterfactual: bool
    prob: float
    seed: int

    def row(self, masks: Sequence[np.ndarray]) -> dict[str, Any]:
        """Return the comparison of a subgroup, as Table 3 of the paper does, with its expectation."""
        question = self.question
        inside = question.members(masks) & question.inside
        ours, others = (question.event[inside & who] for who in (question.protected, ~question.protected))
        size = self._sizes(masks)
        number = size.sum()
        row: dict[str, Any] = {
            "metric": question.criterion.metric,
            "observed": _mean(ours),
            "n": len(ours),
            "comparison": _mean(others),
            "n_comparison": len(others),
            "expected": float(size @ self.chance / number) if number else np.nan,
        }
        row["disparity"] = row["observed"] - row["expected"]
        draws = self.draws(masks)
        if draws is not None:
            row["disparity_mean"] = float(draws.mean())
            row["disparity_low"], row["disparity_high"] = hdi(draws, self.prob) if number else (np.nan, np.nan)
        return row

    def _sizes(self, masks: Sequence[np.ndarray]) -> np.ndarray:
        """Return the number of protected people of the subgroup in each kept stratum."""
        held = np.logical_and.reduce([mask[self.strata.cells[:, at]] for at, mask in enumerate(masks)])
        size = self.strata.by_stratum(self.strata.protected_counts(self.question.protected))
        return size * held[self.strata.cell]

    def draws(self, masks: Sequence[np.ndarray]) -> np.ndarray | None:
        """Return posterior draws of the disparity of a subgroup in the population; None without a posterior.

        Both sides are uncertain. The expectation varies with the draws of the outcome model; who is in the subgroup,
        and what happened to them, by Dirichlet weights (the Bayesian bootstrap), with half an event and half a
        non-event added at the mean expectation: at equal expectations that is the posterior Beta(k + ½, n − k + ½) of
        the rate.
        """
        if self.chance_draws is None:
            return None
        strata = self.strata
        records = np.flatnonzero(np.isin(strata.stratum_of, strata.kept))
        place = np.searchsorted(strata.kept, strata.stratum_of[records])
        inside = self._sizes(masks)[place] > 0
        records, place = records[inside], place[inside]
        count = strata.protected_counts(self.question.protected)[records]
        records, place, count = (part[count > 0] for part in (records, place, count))
        if not len(count):
            return np.full(len(self.chance_draws), np.nan)
        rng = generator(self.seed, "bias scan disparity")
        weight = rng.gamma(count, size=(len(self.chance_draws), len(count)))
        extra = rng.gamma(0.5, size=(len(self.chance_draws), 2))
        gap = strata.event[records] - self.chance_draws[:, place]
        middle = self.chance_draws[:, place] @ count / count.sum()
        top = (weight * gap).sum(axis=1) + extra[:, 0] * (1 - middle) - extra[:, 1] * middle
        return top / (weight.sum(axis=1) + extra.sum(axis=1))


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
