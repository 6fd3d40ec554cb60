"""Whether people of one level can stand for those of the other: weights, balance, overlap, and what to warn of."""

import warnings
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.adjustment import SMALLEST_CHANCE, balance_table, weight_summary
from causalaudit.error_rates.explaining.crossed_rates import CrossedRates
from causalaudit.error_rates.explaining.question import plain
from causalaudit.errors import CausalAuditWarning

_FEW = 30  # effective people, with whom a normal approximation is doubtful
WEIGHTS = ["of", "standing_for", "people", "effective_people", "largest_weight", "smallest_propensity"]
BALANCE = ["of", "standing_for", "covariate", "before", "after", "chance", "poor"]
_MANY_ALONE = 0.05  # of those stood for, with hardly any likes of the other level


def describe_weights(adjusted: CrossedRates) -> pd.DataFrame:
    """Describe the weights with which people of one level stand for those of the other."""
    rows = []
    sample = adjusted.sample
    for xi, chance in enumerate((1 - adjusted.chance, adjusted.chance)):
        levels = {"of": sample.question.levels[xi], "standing_for": sample.question.levels[1 - xi]}
        standing = (adjusted.odds[xi] * sample.counts)[sample.x == xi]
        rows.append({**levels, **weight_summary(standing, chance)})
    return pd.DataFrame(rows)


def describe_balance(adjusted: CrossedRates) -> pd.DataFrame:
    """Compare the covariates of weighted people of one level with those of the other: see `balance_table`."""
    sample = adjusted.sample
    return balance_table(sample.covariates, sample.x, adjusted.odds, sample.question.levels, sample.weights)


def warn_of_weights(adjusted: CrossedRates, weights: pd.DataFrame, balance: pd.DataFrame, stacklevel: int) -> None:
    """Warn of covariates that stay unbalanced, of few effective people, and of people without likes."""
    for words in [*_unbalanced(balance), *_few(weights), *_alone(adjusted)]:
        warnings.warn(words, CausalAuditWarning, stacklevel=stacklevel)


def _unbalanced(balance: pd.DataFrame) -> list[str]:
    poor = balance[balance["poor"]]
    if poor.empty:
        return []
    worst: Any = poor.iloc[int(np.argmax(poor["after"].to_numpy()))]
    return [
        f"After weighting, {plain(worst['of'])!r} and {plain(worst['standing_for'])!r} still differ in "
        f"{worst['covariate']!r} by "
        f"{worst['after']:.2f} (distance of distribution functions; {worst['before']:.2f} before): the model of the "
        "propensity is wrong, or there is little overlap. Indirect and spurious terms may be biased. See `balance`; "
        "use method='doubly_robust', another model as `propensity`, or `trim`."
    ]


def _few(weights: pd.DataFrame) -> list[str]:
    rows: list[Any] = weights.to_dict("records")
    return [
        f"The {row['people']} people with {row['of']!r} who stand for those with {row['standing_for']!r} are worth "
        f"{row['effective_people']:.0f}, fewer than {_FEW}: intervals may be too short. Use `trim`, fewer covariates."
        for row in rows
        if row["effective_people"] < _FEW
    ]


def _alone(adjusted: CrossedRates) -> list[str]:
    sample, words = adjusted.sample, []
    for xi, chance in enumerate((1 - adjusted.chance, adjusted.chance)):
        other = sample.x != xi
        share = float(np.average((chance < SMALLEST_CHANCE)[other], weights=sample.counts[other]))
        if share > _MANY_ALONE:
            of, stood_for = sample.question.levels[xi], sample.question.levels[1 - xi]
            words.append(
                f"Little overlap: of the people with {stood_for!r}, {share:.0%} have covariates with which fewer than "
                f"one of {1 / SMALLEST_CHANCE:.0f} has {of!r}. What is said of them is extrapolated: use `trim`."
            )
    return words


def chance_of(adjusted: CrossedRates) -> np.ndarray:
    """Return the smaller of the two propensities of each person."""
    return np.minimum(adjusted.chance, 1 - adjusted.chance)
