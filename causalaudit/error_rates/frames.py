"""Counterfactual people as tables that a classifier can read."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import torch

from causalaudit.error_rates.finite import as_tensor
from causalaudit.error_rates.question import Question
from causalaudit.inference import Posterior
from causalaudit.scm import SCM
from causalaudit.scm.columns import typed

# Rows of one call of a classifier.
_ROWS = 2**18


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

    def rates(self, values: Mapping[str, np.ndarray], level: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Return P(ŷ) of people with given features (numbers or codes), the classifier reading `level` as theirs.

        The classifier is called with some 262,000 people at a time.
        """
        rows = int(np.prod(shape))
        flat = {name: np.broadcast_to(numbers, shape).reshape(rows) for name, numbers in values.items()}
        parts = [
            self.question.rate(
                self._frame({name: n[start : start + _ROWS] for name, n in flat.items()}, level, rows - start)
            )
            for start in range(0, rows, _ROWS)
        ]
        return np.concatenate(parts).reshape(shape)

    def _frame(self, values: Mapping[str, np.ndarray], level: Any, left: int) -> pd.DataFrame:
        """Return a table with the types and levels of the data."""
        data, protected = self.posterior.data, self.question.protected
        rows = min(left, _ROWS)
        columns = {}
        for name in self.question.rate.features:
            own = np.full(rows, self.number(name, level)) if name == protected else values[name]
            columns[name] = typed(own, data[name].dtype, self.scm.levels.get(name))
        return pd.DataFrame(columns)
