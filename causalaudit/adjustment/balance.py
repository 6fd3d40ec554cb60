"""Balance: whether people who stand for others resemble them in every covariate, once they are weighted."""

from typing import Any

import numpy as np
import pandas as pd

from causalaudit.adjustment.covariates import Covariates
from causalaudit.people import codes_of, levels_of

POOR = 0.1  # a distance of two distributions that matters
_RARELY = 1.95  # Kolmogorov's distance is beyond this times √(1/n + 1/m) in one of a thousand samples


def balance_table(
    covariates: Covariates,
    group: np.ndarray,
    odds: np.ndarray,
    levels: tuple[Any, Any],
    weights: np.ndarray | None = None,
) -> pd.DataFrame:
    """Compare the covariates of people who stand for others with those of the others, before and after weighting.

    The distance is Kolmogorov's, the largest difference between the two distribution functions (levels in their own
    order): unlike a difference of means it sees that a covariate is spread out more in one of the groups.

    Parameters
    ----------
    covariates
        Of the people.
    group
        0 or 1, of each person.
    odds
        Groups × people: the weights with which people of each group stand for the other.
    levels
        What the two groups are called.
    weights
        Survey weights of the people; default all alike.

    Returns
    -------
    pandas.DataFrame
        `of, standing_for, covariate, before, after`; `chance`, what `after` is rarely beyond (one in a thousand) if
        both come from one distribution; and whether it is `poor`: beyond that, and beyond 0.1.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> people = Covariates.of(pd.DataFrame({"age": np.tile(np.repeat([20, 30], [300, 100]), 2)}), ["age"])
    >>> group = np.repeat([0, 1], 400)
    >>> balance_table(people, group, np.ones((2, 800)), ("m", "f"))[["of", "covariate", "after", "poor"]]
      of covariate  after   poor
    0  m       age    0.0  False
    1  f       age    0.0  False
    """
    rows = []
    survey = np.ones(len(group)) if weights is None else weights
    for xi, name in np.ndindex(2, covariates.table.shape[1]):
        column = covariates.table.iloc[:, name]
        codes, own = codes_of(column, levels_of(column)), group == xi
        standing, other = (odds[xi] * survey)[own], survey[~own]
        before, after = (_distance(codes, own, one, other) for one in (survey[own], standing))
        chance = _RARELY * np.sqrt(_one_over_effective(standing) + _one_over_effective(other))
        rows.append(
            {"of": levels[xi], "standing_for": levels[1 - xi], "covariate": column.name, "before": before,
             "after": after, "chance": chance, "poor": bool(after > max(POOR, chance))}
        )  # fmt: skip
    return pd.DataFrame(rows, columns=["of", "standing_for", "covariate", "before", "after", "chance", "poor"])


def _one_over_effective(weights: np.ndarray) -> float:
    return float((weights**2).sum() / weights.sum() ** 2)


def _distance(codes: np.ndarray, own: np.ndarray, weights: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference between the distribution functions of weighted people and of the others."""
    number = int(codes.max()) + 1
    ours, theirs = np.bincount(codes[own], weights, number), np.bincount(codes[~own], other, number)
    return float(np.abs(np.cumsum(ours) / ours.sum() - np.cumsum(theirs) / theirs.sum()).max())
