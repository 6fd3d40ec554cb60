"""A subgroup of the protected class against the same subgroup of everyone else, and against its expectation.

The disparity of a subgroup S is what happens to its protected people beyond what is expected of them,

    D(S) = E[I − m(C, X) | A = 1, S] − E[w (I − m(C, X)) | A = 0, S] / E[w | A = 0, S]

with w = P(A = 1 | X) / P(A = 0 | X): the doubly robust form of an effect on the treated, within S. It is right if the
model m of the event is right, or that of who is protected (Robins, Rotnitzky and Zhao 1994; section 2.2 of the paper
recommends it).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from causalaudit.adjustment import odds
from causalaudit.bias_scan.evidence.bootstrap import Deviations, PairedDeviations
from causalaudit.bias_scan.evidence.counterfactual_expectations import MeanCounterfactuals
from causalaudit.bias_scan.evidence.expected_people import ExpectedPeople
from causalaudit.randomness import generator

Masks = Sequence[np.ndarray]


def compare(people: ExpectedPeople, masks: Masks, prob: float, seed: int) -> dict[str, Any]:
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
    observed = _mean(ours)
    expected = _expected(people, masks)
    row: dict[str, Any] = {
        "metric": question.criterion.metric,
        "observed": observed,
        "n": len(ours),
        "comparison": _mean(others),
        "n_comparison": len(others),
        "expected": expected,
        "disparity": observed - expected,
    }
    draws = disparity_draws(people, masks, seed)
    if draws is not None:
        row["disparity_mean"] = float(draws.mean())
        # The k-th of N draws is expected to have k / (N + 1) of the law below it, however few there are.
        ends = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], method="weibull")
        row["credible_low"], row["credible_high"] = map(float, ends)
    return row


def disparity_draws(people: ExpectedPeople, masks: Masks, seed: int) -> np.ndarray | None:
    """Return posterior draws of the disparity of a subgroup in the population; None if none were asked for.

    Both sides are uncertain, and nothing is assumed about the law of the events: people have Dirichlet weights (the
    Bayesian bootstrap, Rubin 1981). Where the event is binary, half an event and half a non-event are added to each
    side: at equal expectations that is the posterior Beta(k + ½, n − k + ½) of a rate. The default models vary with
    the weights, to first order; models that were given are taken as they were fitted. In a counterfactual scan each
    person is compared with herself. NaN if there is nobody on one of the sides.
    """
    if people.draws is None:
        return None
    number, rng = people.draws.number, generator(seed, "bias scan disparity")
    if isinstance(people.draws, MeanCounterfactuals):
        return _paired(people, people.draws, masks).means(rng)
    ours, others = _sides(people, masks)
    if not len(ours.count) or not len(others.count):
        return np.full(number, np.nan)
    return ours.means(rng, number) - others.means(rng, number)


def disparity_variances(people: ExpectedPeople, masks: Masks) -> tuple[float, float]:
    """Return the variance of the disparity from the side of the expectation, and from that of the protected people.

    They add up to the variance of `disparity_draws`; NaN without draws. In a counterfactual scan: over the draws of the
    counterfactuals, and within them.
    """
    if people.draws is None:
        return np.nan, np.nan
    if isinstance(people.draws, MeanCounterfactuals):
        return _paired(people, people.draws, masks).variances()
    ours, others = _sides(people, masks)
    return others.variance(), ours.variance()


def _expected(people: ExpectedPeople, masks: Masks) -> float:
    """Return what is expected of the protected people of a subgroup, corrected by how others like them deviate."""
    size = people.strata.by_stratum(people.protected) * _held(people, masks)
    if not size.sum():
        return np.nan
    plain = float(size @ people.mean / size.sum())
    if people.counterfactual:
        return plain
    others = _sides(people, masks)[1]
    return plain + (others.mean() if len(others.count) else 0.0)


def _sides(people: ExpectedPeople, masks: Masks) -> tuple[Deviations, Deviations]:
    """Return how the protected people of a subgroup deviate, and the others, weighted to look like them."""
    assert people.fitted is not None
    strata = people.strata
    held = np.zeros(len(strata.condition_value), dtype=bool)
    held[strata.kept] = _held(people, masks)
    place = np.full(len(held), -1)
    place[strata.kept] = np.arange(len(strata.kept))
    weight = odds(people.fitted.propensity[0])[strata.covariates_of]
    bearing = _through_the_models(people, held[strata.kept])
    sides = []
    for at, (count, weights) in enumerate(
        ((people.protected, np.ones_like(weight)), (strata.count - people.protected, weight))
    ):
        inside = held[strata.stratum_of]
        chosen = inside & (count > 0)
        stratum = strata.stratum_of[chosen]
        sides.append(
            Deviations.of(
                count[chosen],
                weights[stratum],
                strata.event[chosen],
                people.mean[place[stratum]],
                binary=not people.question.criterion.probabilities,
                influence=bearing[at][chosen],
                elsewhere=float((count * bearing[at] ** 2)[~inside].sum()),
            )
        )
    return sides[0], sides[1]


def _through_the_models(people: ExpectedPeople, held: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what one more person of each record adds to the mean of her own side by changing the default models."""
    if people.rows is None or people.fitted is None:
        return np.zeros(len(people.strata.count)), np.zeros(len(people.strata.count))
    ours, others = people.rows.influence(
        people.strata, people.protected, people.fitted.propensity[0], people.fitted.chance[0], held
    )
    return ours, -others  # the mean of the others is taken away


def _paired(people: ExpectedPeople, worlds: MeanCounterfactuals, masks: Masks) -> PairedDeviations:
    question = people.question
    ours = question.protected & question.inside
    chosen = question.members(masks)[ours]
    gap = question.event[ours][chosen] - worlds.events[:, chosen]
    return PairedDeviations(gap, binary=not question.criterion.probabilities)


def _held(people: ExpectedPeople, masks: Masks) -> np.ndarray:
    """Return which kept strata a subgroup holds."""
    cells = np.logical_and.reduce([mask[people.strata.cells[:, at]] for at, mask in enumerate(masks)])
    return np.asarray(cells[people.strata.cell])


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
