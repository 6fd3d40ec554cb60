"""The distinct rows of the data: given the parameters, equal people count the same."""

from dataclasses import dataclass

import numpy as np
import torch

from causalaudit.scm import SCM
from causalaudit.scm.handlers import Tensors


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of encoded data.

    Attributes
    ----------
    values
        The variables of the distinct rows.
    counts
        How many people each stands for.
    inverse
        The distinct row of each person.
    """

    values: Tensors
    counts: torch.Tensor
    inverse: np.ndarray

    @classmethod
    def of(cls, scm: SCM, values: Tensors) -> "DistinctRows":
        """Find the distinct rows of encoded data."""
        table = np.column_stack([scm.codec.numbers(name, value).astype(float) for name, value in values.items()])
        _, first, inverse, counts = np.unique(table, axis=0, return_index=True, return_inverse=True, return_counts=True)
        return cls(
            {name: value[first] for name, value in values.items()},
            torch.from_numpy(counts.astype(float)),
            inverse.ravel(),
        )

    def __len__(self) -> int:
        return len(self.counts)
