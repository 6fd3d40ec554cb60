"""One number in each world, with its interval."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from causalaudit.intervals import hdi, shortest_run


def summary_of_draws(draws: np.ndarray, prob: float) -> tuple[float, float, float]:
    """Return the centre of draws and their shortest credible interval; NaN for the ends of a single number.

    The centre is the mean; of whole numbers, such as counts, it is the median, and the interval is the shortest run of
    them that holds at least `prob`.

    Examples
    --------
    >>> import numpy as np
    >>> summary_of_draws(np.array([1.0, 1, 1, 1, 2, 2, 2, 2, 2, 9]), 0.9)
    (2.0, 1.0, 2.0)
    >>> summary_of_draws(np.array([0.3]), 0.9)
    (0.3, nan, nan)
    """
    known = draws[np.isfinite(draws)]
    if len(known) < len(draws):  # a number that some draws lack has no summary
        return np.nan, np.nan, np.nan
    whole = bool((draws == np.round(draws)).all())
    centre = float(np.median(draws) if whole else draws.mean())
    if len(draws) == 1:
        return centre, np.nan, np.nan
    low, high = shortest_run(draws, prob) if whole else hdi(draws, prob)
    return centre, float(low), float(high)


def headline_table(headlines: Mapping[str, "pd.Series"], weights: np.ndarray, prob: float) -> pd.DataFrame:
    """Return a row for each world: `weight, value, credible_low, credible_high, draws`."""
    rows = [
        (weight, *summary_of_draws(one.to_numpy(dtype=float), prob), len(one))
        for weight, one in zip(weights, headlines.values(), strict=True)
    ]
    columns = ["weight", "value", "credible_low", "credible_high", "draws"]
    return pd.DataFrame(rows, columns=columns, index=pd.Index(list(headlines), name="world"))
