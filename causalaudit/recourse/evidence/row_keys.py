"""Rows of codes as whole numbers, so that the row after a change is found by adding."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

_LARGEST = 2**62  # what one word of a key may hold


@dataclass(frozen=True)
class RowKeys:
    """Rows as numbers: the codes of a row are the digits of one whole number, or of several if one is too small.

    A key is linear in the codes, so that the key after an action is the key without the features that it sets, plus
    the key of what they are set to.

    Attributes
    ----------
    sizes
        The number of values of each column of a row (the features and, last, the protected group).
    """

    sizes: tuple[int, ...]

    @cached_property
    def _digits(self) -> tuple[np.ndarray, np.ndarray]:
        """For each column the word it is in, and what one step of its code adds there."""
        words, factors, word, factor = [], [], 0, 1
        for size in self.sizes:
            if factor * size > _LARGEST:
                word, factor = word + 1, 1
            words.append(word)
            factors.append(factor)
            factor *= size
        return np.array(words), np.array(factors, dtype=np.int64)

    def key(self, codes: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the share of some columns in the keys of rows: rows × words."""
        words, factors = (part[columns] for part in self._digits)
        parts = codes.astype(np.int64) * factors
        number = int(self._digits[0][-1]) + 1
        return np.stack([parts[:, words == word].sum(axis=1) for word in range(number)], axis=1)

    def codes(self, keys: np.ndarray) -> np.ndarray:
        """Return the rows behind keys."""
        words, factors = self._digits
        return (keys[:, words] // factors % np.array(self.sizes)).astype(np.int32)

    def broadcast(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Return the flat keys of rows whose columns are arrays of codes that broadcast against one another.

        Examples
        --------
        >>> RowKeys((2, 3)).broadcast([np.array([[0, 1]]), np.array([[2], [0]])])
        array([4, 5, 0, 1])
        """
        shape = np.broadcast_shapes(*(codes.shape for codes in columns))
        places, factors = self._digits
        found = np.zeros((*shape, int(places[-1]) + 1), dtype=np.int64)
        for codes, word, factor in zip(columns, places.tolist(), factors.tolist(), strict=True):
            found[..., word] += codes.astype(np.int64) * factor
        return flat(found.reshape(-1, found.shape[-1]))


def flat(keys: np.ndarray) -> np.ndarray:
    """Return keys as a list that can be sorted and searched."""
    if keys.shape[1] == 1:
        return keys[:, 0]
    return np.ascontiguousarray(keys).view([("", np.int64)] * keys.shape[1])[:, 0]


def words(keys: np.ndarray) -> np.ndarray:
    """Return a flat list of keys as rows × words again."""
    return np.ascontiguousarray(keys).view(np.int64).reshape(len(keys), -1)


def distinct_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct keys of a flat list, and which of them each key is."""
    if keys.dtype == np.int64:
        place, distinct = pd.factorize(keys)
        return distinct, place
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, place.reshape(-1)
