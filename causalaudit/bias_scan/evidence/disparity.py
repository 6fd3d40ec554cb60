"""A subgroup of the protected class against the same subgroup of everyone else, and against its expectation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from causalaudit.bias_scan.evidence.expected_people import ExpectedPeople
from causalaudit.intervals import hdi
from causalaudit.progress import pieces
from causalaudit.randomness import generator

# Half an event and half a non-event are added to what happened to a subgroup: Jeffreys' prior of a rate.
_HALF = 0.5


def compare(people: ExpectedPeople, masks: Sequence[np.ndarray], prob: float, seed: int) -> dict[str, Any]:
    """Return the comparison of a subgroup, as Table 3 of the paper does, with its expectation.

    Parameters
    ----------
    people
        On whom it is measured; with `split`, those who were not searched.
    masks
        The values of each feature that the subgroup holds.
    prob, seed
        Of the credible interval, if there are draws.
    """
    question = people.question
    inside = question.members(masks) & question.inside
    ours, others = (question.event[inside & who] for who in (question.protected, ~question.protected))
    size = _sizes(people, masks)
    number = size.sum()
    row: dict[str, Any] = {
        "metric": question.criterion.metric,
        "observed": _mean(ours),
        "n": len(ours),
        "comparison": _mean(others),
        "n_comparison": len(others),
        "expected": float(size @ people.mean / number) if number else np.nan,
    }
    row["disparity"] = row["observed"] - row["expected"]
    draws = disparity_draws(people, masks, seed)
    if draws is not None:
        row["disparity_mean"] = float(draws.mean())
        row["credible_low"], row["credible_high"] = map(float, hdi(draws, prob)) if number else (np.nan, np.nan)
    return row


def disparity_draws(people: ExpectedPeople, masks: Sequence[np.ndarray], seed: int) -> np.ndarray | None:
    """Return posterior draws of the disparity of a subgroup in the population; None without draws of expectations.

    Both sides are uncertain. The expectation varies with the draws of the outcome model; who is in the subgroup, and
    what happened to them, by Dirichlet weights (the Bayesian bootstrap), with half an event and half a non-event added
    at the mean expectation: at equal expectations that is the posterior Beta(k + ½, n − k + ½) of the rate.
    """
    if people.draws is None:
        return None
    number = people.draws.number
    count, event, place = _records(people, masks)
    if not len(count):
        return np.full(number, np.nan)
    rng = generator(seed, "bias scan disparity")
    extra = rng.gamma(_HALF, size=(number, 2))
    out = np.empty(number)
    for part in pieces(number, each=len(count)):
        expected = people.draws.mean(part, place)
        weight = rng.gamma(count, size=expected.shape)
        middle = expected @ count / count.sum()
        top = (weight * (event - expected)).sum(axis=1) + extra[part, 0] * (1 - middle) - extra[part, 1] * middle
        out[part] = top / (weight.sum(axis=1) + extra[part].sum(axis=1))
    return out


def disparity_variances(people: ExpectedPeople, masks: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the variance of the disparity over draws of the expectation, and within them; NaN without draws.

    Given a draw, the disparity is a mean under Dirichlet weights, whose mean and variance are known: no second layer of
    draws is needed. The two add up to the variance of `disparity_draws`.
    """
    if people.draws is None:
        return np.nan, np.nan
    count, event, place = _records(people, masks)
    if not len(count):
        return np.nan, np.nan
    mean, within = np.empty(people.draws.number), np.empty(people.draws.number)
    total = count.sum() + 2 * _HALF
    for part in pieces(len(mean), each=len(count)):
        expected = people.draws.mean(part, place)
        middle = expected @ count / count.sum()
        gap = event - expected
        mean[part] = (gap @ count + _HALF * (1 - middle) - _HALF * middle) / total
        square = (gap**2 @ count + _HALF * (1 - middle) ** 2 + _HALF * middle**2) / total
        within[part] = (square - mean[part] ** 2) / (total + 1)
    return float(mean.var()), float(within.mean())


def _sizes(people: ExpectedPeople, masks: Sequence[np.ndarray]) -> np.ndarray:
    """Return the number of protected people of the subgroup in each kept stratum."""
    held = np.logical_and.reduce([mask[people.strata.cells[:, at]] for at, mask in enumerate(masks)])
    return people.strata.by_stratum(people.protected) * held[people.strata.cell]


def _records(people: ExpectedPeople, masks: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return number, event and kept stratum of the protected people of a subgroup, record by record."""
    strata, count = people.strata, people.protected
    kept = np.full(len(strata.condition_value), -1)
    kept[strata.kept] = np.where(_sizes(people, masks) > 0, np.arange(len(strata.kept)), -1)
    place = kept[strata.stratum_of]
    chosen = (place >= 0) & (count > 0)
    return count[chosen], strata.event[chosen], place[chosen]


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
