"""Columns of events and of what they are given: 0 and 1, or probabilities."""

import warnings

import numpy as np
import pandas as pd

from causalaudit.adjustment import SMALLEST
from causalaudit.errors import CausalAuditWarning, DataError
from causalaudit.people import pick_column


def read_binary(data: pd.DataFrame, name: str, role: str) -> np.ndarray:
    """Return a column of 0 and 1 as numbers."""
    values = pick_column(data, name, role)
    found = values.unique()
    numbers = pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)
    if not numbers or not set(found.tolist()) <= {0, 1}:
        shown = ", ".join(repr(value) for value in found[:5].tolist())
        raise DataError(
            f"The {role} {name!r} must be 0 or 1, but has {len(found)} values: {shown}{', …' * (len(found) > 5)}. "
            "Recode it, for instance by (data[column] == value).astype(int)."
        )
    return values.to_numpy(dtype=float)


def read_probability(data: pd.DataFrame, name: str, *, by_log_odds: bool) -> np.ndarray:
    """Return a column of probabilities; warn of those without finite log-odds, if they are used."""
    values = pick_column(data, name, "prediction")
    if not pd.api.types.is_numeric_dtype(values):
        raise DataError(f"The prediction {name!r} must be a probability, but holds {values.iloc[0]!r}.")
    numbers = values.to_numpy(dtype=float)
    outside = (numbers < 0) | (numbers > 1)
    if outside.any():
        raise DataError(
            f"The prediction {name!r} must be a probability, but {int(outside.sum())} of {len(numbers)} values are "
            f"outside [0, 1], such as {numbers[outside][0]:g}. A score must be turned into a probability first."
        )
    certain = int(((numbers < SMALLEST) | (numbers > 1 - SMALLEST)).sum())
    if certain and by_log_odds:
        warnings.warn(
            f"{certain} of {len(numbers)} predictions are 0 or 1, whose log-odds are infinite: they are taken as "
            f"{SMALLEST:g} and {1 - SMALLEST:g}, and the answer may hang on that. Smooth the predictions to avoid it.",
            CausalAuditWarning,
            stacklevel=4,
        )
    return numbers
