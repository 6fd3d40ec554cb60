"""Exhaustive search for the maximum of equation 2: the score of every subgroup, from sums over the lattice of cells."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from causalaudit.bias_scan.evidence.scores import maximise

LARGEST = 2**15  # subgroups, up to which all of them are scored


@dataclass(frozen=True, eq=False)
class Lattice:
    """All subgroups: a non-empty set of values for each feature.

    Attributes
    ----------
    sizes : tuple of int
        The number of values of each feature.
    """

    sizes: tuple[int, ...]

    @property
    def number(self) -> int:
        """How many subgroups there are."""
        number = 1
        for size in self.sizes:
            number *= 2**size - 1
        return number

    @cached_property
    def sets(self) -> list[np.ndarray]:
        """For each feature its non-empty sets of values, as 0/1: sets × values."""
        return [np.array(list(product((0.0, 1.0), repeat=size))[1:]) for size in self.sizes]

    @cached_property
    def complexity(self) -> np.ndarray:
        """For each subgroup, the number of values it lists; a feature with all its values lists none."""
        listed = [np.where(sets.all(axis=1), 0, sets.sum(axis=1)) for sets in self.sets]
        total = np.zeros(1)
        for part in listed:
            total = (total[:, None] + part).ravel()
        return total

    def scores(self, profiles: np.ndarray, cells: np.ndarray, nodes: np.ndarray, penalty: float) -> np.ndarray:
        """Return the penalised score of every subgroup: tables × subgroups.

        Parameters
        ----------
        profiles
            Tables × cells × (values, slopes) × nodes, as `Evidence.profiles` gives them.
        cells
            Cells × features: codes of values.
        """
        tables, _, _, width = profiles.shape
        grid = np.zeros((tables, *self.sizes, 2 * width))
        grid[(slice(None), *cells.T)] = profiles.reshape(tables, len(cells), -1)
        for sets in self.sets:
            # The first axis of features is summed over its sets and moved behind the others.
            grid = np.moveaxis(np.tensordot(grid, sets, axes=(1, 1)), -1, -2)
        best = maximise(grid.reshape(tables, -1, 2, width), nodes)[0]
        return best - penalty * self.complexity

    def masks(self, subgroup: int) -> list[np.ndarray]:
        """Return the values of a subgroup: for each feature which of them it holds."""
        places = np.unravel_index(subgroup, [len(sets) for sets in self.sets])
        return [sets[place] > 0 for sets, place in zip(self.sets, places, strict=True)]
