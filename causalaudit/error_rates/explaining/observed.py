"""Whether a program gives the error rates that the people of the data have."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.errors import CausalAuditWarning

_LEVEL = 0.05  # of a warning under a program that is right, for all three comparisons together
# A program so free that it repeats the data differs from them by its prior alone. What a weak prior does is of order
# 1 / n, and this share of the sampling variance, of the order of 1 / n too, is well above its square.
_SLACK = 0.1
_ROUNDING = 1e-9
_OF_THE_DATA = "What is explained is the total of the data, but it is divided by mechanisms of this program"
_OF_THE_PROGRAM = "What is explained is the total of the program, not that of the data"


@dataclass(frozen=True, eq=False)
class Surveyed:
    """Survey weights of the people, and how much each of them (rows) moves the program's rates of both groups."""

    weights: np.ndarray
    influence: np.ndarray


def observed_rates(
    question: RateQuestion,
    data: pd.DataFrame,
    rates: np.ndarray,
    noise: np.ndarray,
    surveyed: Surveyed | None = None,
) -> pd.DataFrame:
    """Compare the rates of both groups, and the total, with those that the same people have.

    Parameters
    ----------
    question
        What is asked.
    data
        The people of the posterior.
    rates
        The nested rates of the program by draw, xd, xi and x.
    noise
        The Monte-Carlo variance of the rate N(x, x | x, y) of each group at a single draw.
    surveyed
        Of people with survey weights.

    Returns
    -------
    pandas.DataFrame
        A row for the baseline, the contrast and the total: see `ErrorRateResult`.

    Notes
    -----
    A posterior predictive check whose distribution is calibrated: were the program right, its posterior mean would be
    an efficient estimate from the same people, and the variance of the difference would be that of the observed rate
    minus that of the posterior (Hausman 1978), not their sum. Of a survey, where it is not efficient, the variance is
    that of the difference of each person's influences. P-values are Bonferroni's for the three comparisons.
    """
    weights = np.ones(len(data)) if surveyed is None else surveyed.weights
    people, observed, spread, influence = _own(question, data, weights)
    own = np.stack([rates[:, x, x, x] for x in (0, 1)], axis=1)
    program = own.mean(axis=0)
    chance = spread * program * (1 - program) / np.maximum(people, 1)
    posterior = own.var(axis=0)
    computed = (posterior + noise) / len(own)
    total = np.diff(own, axis=1)[:, 0]
    if surveyed is None:
        sampling = np.append(chance, chance.sum())
        left = np.abs(sampling - np.append(posterior, total.var()))
    else:
        sampling, left = _variances(influence), _variances(influence - surveyed.influence)
    left = np.maximum(left, _SLACK * sampling)
    sd = np.sqrt(left + np.append(computed, (total.var() + noise.sum()) / len(own)))
    seen, given = np.append(observed, observed[1] - observed[0]), np.append(program, program[1] - program[0])
    steps = 0.5 / np.maximum(people, 1)  # half a person: the normal curve stands for whole numbers of people
    beyond = np.maximum(np.abs(given - seen) - np.append(steps, steps.sum()), 0.0)
    p_value = np.minimum(1.0, 3 * 2 * norm.sf(beyond / (sd + _ROUNDING)))
    return pd.DataFrame(
        {
            "rate": [f"{question.protected} = {level}" for level in question.levels] + ["total"],
            "people": np.append(people, people.sum()),
            "observed": seen,
            "program": given,
            "difference": given - seen,
            "sd": sd,
            "p_value": p_value,
            "refuted": p_value < _LEVEL,
        }
    )


def _variances(influence: np.ndarray) -> np.ndarray:
    """Return the variances of the rates of both groups, and of their difference, from the influence of each person."""
    three = np.column_stack([influence, influence[:, 1] - influence[:, 0]])
    return np.asarray((three**2).sum(axis=0) / len(three) ** 2)


def _own(
    question: RateQuestion, data: pd.DataFrame, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return, of both groups, number and rate, the variance of P(ŷ) as a share of that of labels, and influences."""
    answers = question.rate(data[list(question.rate.features)])
    people, rates, spread = np.zeros(2, dtype=int), np.full(2, np.nan), np.ones(2)
    influence = np.zeros((len(data), 2))
    for x, level in enumerate(question.levels):
        asked = (
            (data[question.protected] == level) & (data[question.outcome] == question.y) & (weights > 0)
        ).to_numpy()
        own = answers[asked]
        if len(own):
            people[x], rates[x] = len(own), np.average(own, weights=weights[asked])
            labels = rates[x] * (1 - rates[x])
            spread[x] = own.var() / labels if labels > _ROUNDING else 1.0
            influence[asked, x] = len(data) * weights[asked] * (own - rates[x]) / weights[asked].sum()
    return people, rates, spread, influence


def warn_of_rates(question: RateQuestion, observed: pd.DataFrame, of_the_data: bool, stacklevel: int) -> None:
    """Warn of rates of the program that the people of the data do not have, or that cannot be compared.

    `of_the_data` tells whether the total that is explained is that of the data nevertheless.
    """
    words = _words(question, observed, of_the_data)
    if words:
        warnings.warn(words, CausalAuditWarning, stacklevel=stacklevel)


def _words(question: RateQuestion, observed: pd.DataFrame, of_the_data: bool) -> str:
    empty = observed.loc[observed["people"] == 0, "rate"].tolist()
    if empty:
        return (
            f"Nobody in the data has {' or '.join(empty)} and {question.outcome} = {question.y}: what the program says "
            "of their error rate cannot be compared with the data, and the observed total is unknown (NaN)."
        )
    rows: list[Any] = observed[observed["refuted"]].to_dict("records")
    if not rows:
        return ""
    found = "; ".join(
        f"{row['rate']}: {row['program']:.3f} by the program, {row['observed']:.3f} observed "
        f"({row['difference']:+.3f}, {row['people']} people)"
        for row in rows
    )
    return (
        f"The program does not give the error rates that its own data have. {found}. "
        f"{_OF_THE_DATA if of_the_data else _OF_THE_PROGRAM}: revise the program, and see `observed`."
    )
