"""Intervals of draws."""

import numpy as np

from causalaudit.intervals import shortest_run


def credible_interval(draws: np.ndarray, prob: float) -> np.ndarray:
    """Return the shortest intervals that hold at least a share `prob` of draws, some of which may be infinite.

    Examples
    --------
    >>> import numpy as np
    >>> credible_interval(np.array([1.0, 1.0, 2.0, np.inf]), 0.75)
    array([1., 2.])
    >>> credible_interval(np.array([1.0, 1.0, 2.0, np.inf]), 0.9)
    array([ 1., inf])
    """
    finite = np.abs(draws[np.isfinite(draws)]).max(initial=0.0)
    beyond = 4 * finite + 1.0  # farther from all others than these from one another
    ends = shortest_run(np.clip(draws, -beyond, beyond), prob)
    return np.where(ends == beyond, np.inf, np.where(ends == -beyond, -np.inf, ends))
