"""Timing small parts of some work, and extrapolating to all of it."""

import time
from collections.abc import Callable

_LONG = 0.5  # seconds of a part that says enough
_BUDGET = 6.0  # seconds of all parts together


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long this process computes, whatever else the machine does.

    Examples
    --------
    >>> seconds_of(lambda: None) < 1
    True
    """
    started = time.process_time()
    work()
    return time.process_time() - started


def timed_growth(
    work: Callable[[int], object],
    full: int,
    start: int,
    *,
    power: int = 1,
    before: Callable[[int], object] = lambda size: None,
) -> float:
    """Return how long some work will take, from parts of it that are doubled until one says enough.

    Parameters
    ----------
    work
        Does a part of this size.
    full
        The size of all of it.
    start
        The size of the first part.
    power
        Of the size, in proportion to which the time beyond a constant grows.
    before
        Makes a part ready; its time is not counted.

    Examples
    --------
    >>> timed_growth(lambda size: sum(range(1000 * size)), full=64, start=8) < 1
    True
    """
    size = min(start, full)
    before(size)
    work(size)  # what is done once and for all is no part of the growth
    timed: list[tuple[int, float]] = []
    while True:
        before(size)
        timed.append((size, seconds_of(lambda at=size: work(at))))  # type: ignore[misc]
        enough = len(timed) > 1 and timed[-1][1] > _LONG
        if size >= full or enough or sum(seconds for _, seconds in timed) > _BUDGET:
            return _extrapolated(timed, full, power)
        size = min(full, 2 * size)


def _extrapolated(timed: list[tuple[int, float]], full: int, power: int) -> float:
    """Return the time of the full size: the last one, and what the last two say about growth."""
    size, seconds = timed[-1]
    smaller, fewer = timed[-2] if len(timed) > 1 else (0, 0.0)
    growth = max(0.0, (seconds - fewer) / (size**power - smaller**power))
    return seconds + growth * (full**power - size**power)
