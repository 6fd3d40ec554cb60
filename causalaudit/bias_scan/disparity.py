"""A subgroup of the protected class against the same subgroup of everyone else, and against its expectation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from causalaudit.bias_scan.expectations import Draws
from causalaudit.bias_scan.question import Question
from causalaudit.bias_scan.strata import Strata
from causalaudit.intervals import hdi
from causalaudit.randomness import generator

_NUMBERS = 4_000_000  # draws × records in one pass


@dataclass(frozen=True)
class Disparity:
    """The people on whom disparities are measured, and what is expected of them.

    Attributes
    ----------
    question, strata
        The people; with `split`, those who were not searched.
    chance : numpy.ndarray
        The expectation of the event of each kept stratum.
    posterior : Draws or None
        Posterior draws of the expectations.
    counterfactual : bool
        Whether expectations are of counterfactual people.
    """

    question: Question
    strata: Strata
    chance: np.ndarray
    posterior: Draws | None
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
        if self.posterior is None:
            return None
        number = self.posterior.number
        count, event, place = self._records(masks)
        if not len(count):
            return np.full(number, np.nan)
        rng = generator(self.seed, "bias scan disparity")
        extra = rng.gamma(0.5, size=(number, 2))
        out = np.empty(number)
        step = max(1, _NUMBERS // len(count))
        for part in (slice(first, first + step) for first in range(0, number, step)):
            expected = self.posterior.mean(part, place)
            weight = rng.gamma(count, size=expected.shape)
            middle = expected @ count / count.sum()
            top = (weight * (event - expected)).sum(axis=1) + extra[part, 0] * (1 - middle) - extra[part, 1] * middle
            out[part] = top / (weight.sum(axis=1) + extra[part].sum(axis=1))
        return out

    def _records(self, masks: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return number, event and kept stratum of the protected people of a subgroup, record by record."""
        strata = self.strata
        count = strata.protected_counts(self.question.protected)
        kept = np.full(len(strata.condition_value), -1)
        kept[strata.kept] = np.where(self._sizes(masks) > 0, np.arange(len(strata.kept)), -1)
        place = kept[strata.stratum_of]
        chosen = (place >= 0) & (count > 0)
        return count[chosen], strata.event[chosen], place[chosen]


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
