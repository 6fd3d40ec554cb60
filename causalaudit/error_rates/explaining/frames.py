"""Counterfactual people as tables that a classifier can read."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import torch

from causalaudit.error_rates.explaining.finite import as_tensor
from causalaudit.error_rates.explaining.question import Question
from causalaudit.inference import Posterior
from causalaudit.scm import SCM
from causalaudit.scm.columns import typed

_ROWS = 2**18  # people of one call of a classifier
_FEW = 2**10  # people, up to whom it is not worth while to look for equal ones
_MOST_CELLS = 2**12  # combinations of whole numbers that are told apart


@dataclass(frozen=True)
class People:
    """What is asked, about people whom a posterior describes."""

    question: Question
    posterior: Posterior

    @property
    def scm(self) -> SCM:
        return self.posterior.scm

    def number(self, name: str, value: Any) -> float:
        """Return the number (or code) that stands for a value of a column."""
        return float(self.scm.codec.numbers(name, self.scm.codec.encode(name, pd.Series([value])))[0])

    def tensor(self, name: str, value: Any, n: int) -> torch.Tensor:
        """Return a value of a column for `n` people, as the program works on it."""
        return as_tensor(self.scm, name, np.full(n, self.number(name, value)))

    @cached_property
    def follows_outcome(self) -> bool:
        """Whether a feature descends from the outcome, so that do(Y = y) matters."""
        graph: nx.DiGraph[Any] = self.scm.graph
        return not set(self.question.features).isdisjoint(nx.descendants(graph, self.question.outcome))

    def rates(self, values: Mapping[str, np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
        """Return P(ŷ) of people with given features (numbers or codes), by level that the classifier reads as theirs.

        The classifier is called with some 262,000 people at a time; where there are few combinations of features, with
        these alone.
        """
        rows = int(np.prod(shape))
        flat = {name: np.broadcast_to(numbers, shape).reshape(rows) for name, numbers in values.items()}
        cells = _cells(flat) if flat and rows > _FEW else None
        levels = self.question.levels
        if cells is None:
            return np.stack([self._ask(flat, level, rows).reshape(shape) for level in levels])
        first, inverse = cells
        distinct = {name: numbers[first] for name, numbers in flat.items()}
        return np.stack([self._ask(distinct, level, len(first))[inverse].reshape(shape) for level in levels])

    def _ask(self, flat: Mapping[str, np.ndarray], level: Any, rows: int) -> np.ndarray:
        parts = [slice(start, min(start + _ROWS, rows)) for start in range(0, rows, _ROWS)]
        frames = (
            self._frame({name: n[part] for name, n in flat.items()}, level, part.stop - part.start) for part in parts
        )
        return np.concatenate([self.question.rate(frame) for frame in frames])

    def _frame(self, values: Mapping[str, np.ndarray], level: Any, rows: int) -> pd.DataFrame:
        """Return a table with the types and levels of the data."""
        data, protected = self.posterior.data, self.question.protected
        columns = {}
        for name in self.question.rate.features:
            own = np.full(rows, self.number(name, level)) if name == protected else values[name]
            columns[name] = typed(own, data[name].dtype, self.scm.levels.get(name))
        return pd.DataFrame(columns)


def _cells(values: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a person of each combination of whole numbers, and the combination of each person; None if there are many.

    Sorting is not needed: combinations are counted on the grid of all that are possible.
    """
    index, size = np.zeros(1, dtype=np.int64), 1
    for numbers in values.values():
        low, high = float(numbers.min()), float(numbers.max())
        size *= int(min(high - low + 1, _MOST_CELLS + 1))
        if size > _MOST_CELLS or (numbers != np.floor(numbers)).any():
            return None
        index = index * int(high - low + 1) + (numbers - low).astype(np.int64)
    first = np.full(size, -1)
    first[index[::-1]] = np.arange(len(index) - 1, -1, -1)
    used = np.flatnonzero(first >= 0)
    place = np.zeros(size, dtype=np.int64)
    place[used] = np.arange(len(used))
    return first[used], place[index]
