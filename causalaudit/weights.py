"""Survey weights of people: read from a column in the one way that fits and auditors share."""

from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError
from causalaudit.people import pick_column


def read_weights(data: pd.DataFrame, weights: Any) -> np.ndarray:
    """Return the survey weights of people, scaled so that they add up to the number of people who have one.

    A weight says how many people of the population somebody stands for, up to a factor which does not matter. Those
    with weight zero do not count: it is as if they were not in the table.

    Parameters
    ----------
    data
        The people.
    weights
        The column: finite numbers of at least 0, not all 0.

    Examples
    --------
    >>> import pandas as pd
    >>> read_weights(pd.DataFrame({"w": [300, 0, 100]}), "w").tolist()
    [1.5, 0.0, 0.5]
    """
    if not isinstance(weights, str):
        raise DataError(f"weights is {type(weights).__name__}, but must be the name of a column: put them in data.")
    column = pick_column(data, weights, "column of weights")
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        raise DataError(f"The weights {weights!r} must be numbers, but the column is of the type {column.dtype}.")
    values = column.to_numpy(dtype=float)
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        raise DataError(
            f"The weights {weights!r} must be finite numbers of at least 0, but {int(bad.sum())} of {len(values)} are "
            f"not, for example {float(values[bad][0])} of the person {data.index[bad].tolist()[0]!r}."
        )
    if not (values > 0).any():
        raise DataError(f"The weights {weights!r} are all 0: nobody is left.")
    values = values / values.max()  # no sum is too large
    return np.asarray(values * ((values > 0).sum() / values.sum()))


def effective_people(weights: np.ndarray) -> float:
    """Return how many equally weighted people are worth as much: Kish's (Σw)² / Σw².

    Examples
    --------
    >>> import numpy as np
    >>> effective_people(np.array([1.5, 0.0, 0.5]))
    1.6
    """
    return float(weights.sum() ** 2 / (weights**2).sum())
