"""What all audit results share: a table, a summary, a plot, draws, and verdicts."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import arviz as az
import pandas as pd
from matplotlib.axes import Axes


@dataclass(frozen=True, repr=False)
class AuditResult(ABC):
    """The answer of an audit.

    Attributes
    ----------
    table : pandas.DataFrame
        The whole answer, a row for each unit that was examined.
    settings : dict
        What was asked for: levels, probabilities, seed and the rest.
    """

    table: pd.DataFrame
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"{self.title}\n{self.summary().to_string()}"

    @property
    @abstractmethod
    def title(self) -> str:
        """What was audited, in a line."""

    @abstractmethod
    def summary(self) -> pd.DataFrame:
        """Return the answer in a few rows."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the answer."""

    @abstractmethod
    def to_inference_data(self) -> az.InferenceData:
        """Return the draws behind the answer."""

    @property
    @abstractmethod
    def verdicts(self) -> pd.DataFrame:
        """One row for each unit: `unit`, `flagged` and the `probability` of what it is flagged for (NaN: not known)."""
