"""The distinct rows of the data: given the parameters, equal people count the same."""

from dataclasses import dataclass

import numpy as np
import torch

from causalaudit.people import distinct_rows
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Tensors
from causalaudit.scm.missing import filled, missing_in


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of encoded data.

    Attributes
    ----------
    values
        The variables of the distinct rows.
    counts
        How many people each stands for: the sum of their weights.
    inverse
        The distinct row of each person.
    people
        How many people there are in all, if these are the rows of a part of them.
    """

    values: Tensors
    counts: torch.Tensor
    inverse: np.ndarray
    people: int

    @classmethod
    def of(cls, scm: SCM, values: Tensors, weights: np.ndarray | None = None) -> "DistinctRows":
        """Find the distinct rows of encoded data; a missing value is like another missing value only.

        People may have weights, with mean one.
        """
        numbers = [scm.codec.numbers(name, value) for name, value in filled(scm, values).items()]
        found = distinct_rows([*numbers, *(mask.numpy().astype(float) for mask in missing_in(values).values())])
        counts = found.counts if weights is None else np.bincount(found.inverse, weights, len(found))
        return cls(
            {name: value[found.first] for name, value in values.items()},
            torch.from_numpy(counts.astype(float)),
            found.inverse,
            len(found.inverse),
        )

    def part(self, rows: slice) -> "DistinctRows":
        """Return some of the rows, with the people that they stand for in the order of the rows."""
        people = np.bincount(self.inverse, minlength=len(self))[rows]
        inverse = np.repeat(np.arange(len(people)), people)
        values = {name: value[rows] for name, value in self.values.items()}
        return DistinctRows(values, self.counts[rows], inverse, self.people)

    def __len__(self) -> int:
        return len(self.counts)
