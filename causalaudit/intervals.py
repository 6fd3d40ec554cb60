"""Intervals, each with its probability and its kind said."""

import arviz as az
import numpy as np


def hdi(draws: np.ndarray, prob: float = 0.9) -> np.ndarray:
    """Return the shortest interval that holds a share `prob` of the draws.

    Parameters
    ----------
    draws
        Draws along the first axis.
    prob
        The probability of the interval.

    Returns
    -------
    numpy.ndarray
        The lower and the upper ends, along a first axis of length two.

    Examples
    --------
    >>> import numpy as np
    >>> hdi(np.arange(101.0), prob=0.5)
    array([ 0., 50.])
    """
    values = np.asarray(draws, dtype=float)
    flat = values.reshape(len(values), -1)
    ends = np.stack([az.hdi(flat[:, column], hdi_prob=prob) for column in range(flat.shape[1])], axis=1)
    return ends.reshape(2, *values.shape[1:])
