"""Between the numbers that a program works on and the tables that people are shown in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from causalaudit.inference import Posterior
from causalaudit.scm import SCM
from causalaudit.scm.columns import typed


@dataclass(frozen=True, eq=False)
class Tabled:
    """People whom a posterior describes, and whose numbers can be shown as a table like its data."""

    posterior: Posterior

    @property
    def scm(self) -> SCM:
        """The program."""
        return self.posterior.scm

    def number(self, name: str, value: Any) -> float:
        """Return the number (or code) that stands for a value of a column."""
        return self.scm.codec.number(name, value)

    def table(self, values: Mapping[str, np.ndarray]) -> pd.DataFrame:
        """Return numbers (codes for levels) as a table with the types and levels of the data."""
        data, levels = self.posterior.data, self.scm.levels
        return pd.DataFrame(
            {name: typed(numbers, data[name].dtype, levels.get(name)) for name, numbers in values.items()}
        )

    def _set(self, do: Mapping[str, Any], people: int) -> dict[str, torch.Tensor]:
        """Return an intervention that sets everybody to the same values, as the program works on it."""
        return {
            name: self.scm.codec.tensor(name, np.full(people, self.number(name, value))) for name, value in do.items()
        }
