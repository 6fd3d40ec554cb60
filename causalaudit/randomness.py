"""Seeds: every random number flows from a `seed` argument, and the caller's generators are left alone."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from pyro.util import get_rng_state, set_rng_seed, set_rng_state

from causalaudit.global_state import one_thread

# The smallest uniform we hand out; log(0) never happens, and 1.0 is never drawn by numpy.
_SMALLEST_UNIFORM = 2.0**-54


def spawn(seed: int, *key: str | int) -> np.random.SeedSequence:
    """Return the seed sequence of one named stream of random numbers.

    Streams of different keys are independent, and a stream does not depend on which others
    are used: results are the same for any chunk size and any number of workers.

    Examples
    --------
    >>> from causalaudit.randomness import spawn
    >>> int(spawn(0, "salary", 3).generate_state(1)[0]) == int(spawn(0, "salary", 3).generate_state(1)[0])
    True
    """
    words = tuple(crc32(part.encode()) if isinstance(part, str) else int(part) for part in key)
    return np.random.SeedSequence(seed, spawn_key=words)


def generator(seed: int, *key: str | int) -> np.random.Generator:
    """Return a fresh numpy generator of the stream named by `key`."""
    return np.random.Generator(np.random.Philox(spawn(seed, *key)))


def uniforms(seed: int, key: str, draws: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Draw uniforms in (0, 1), one independent stream for each number in `draws`.

    Returns an array of shape ``(len(draws), *shape)``.
    """
    out = np.empty((len(draws), *shape))
    for position, draw in enumerate(draws):
        generator(seed, key, int(draw)).random(out=out[position])
    return np.maximum(out, _SMALLEST_UNIFORM, out=out)


def label_places(index: "pd.Index[Any]") -> np.ndarray:
    """Return the place of each label among all labels in order: random numbers go by it, whatever the order of rows.

    Examples
    --------
    >>> import pandas as pd
    >>> label_places(pd.Index(["cem", "ann", "bob"])).tolist(), label_places(pd.RangeIndex(3)).tolist()
    ([2, 0, 1], [0, 1, 2])
    """
    if index.is_monotonic_increasing:
        return np.arange(len(index))
    try:
        order = index.argsort()
    except TypeError:  # labels of several kinds
        order = np.argsort([f"{type(label).__name__} {label!r}" for label in index], kind="stable")
    places = np.empty(len(index), dtype=int)
    places[order] = np.arange(len(index))
    return places


def dirichlet_weights(seed: int, key: str, draws: Iterable[int], people: int) -> np.ndarray:
    """Draw weights of people with mean one, for each draw (rows): the Bayesian bootstrap.

    Examples
    --------
    >>> dirichlet_weights(0, "weights", range(2), 5).mean(axis=1).round(12).tolist()
    [1.0, 1.0]
    """
    weights = np.stack([generator(seed, key, int(draw)).standard_exponential(people) for draw in draws])
    return weights / weights.mean(axis=1, keepdims=True)


@contextmanager
def seeded(seed: int, *key: str | int) -> Iterator[None]:
    """Seed torch, numpy and `random` for the block, and put their states back after it."""
    with one_thread():
        state = get_rng_state()
        try:
            set_rng_seed(int(spawn(seed, *key).generate_state(1)[0]))
            yield
        finally:
            set_rng_state(state)
