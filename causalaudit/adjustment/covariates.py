"""Covariates that are adjusted for: what counts as discrete, the cells of their values, and a design of numbers."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from causalaudit.errors import DataError, nearest
from causalaudit.people import codes_of, distinct_rows, kinds_of, levels_of, pick_column

_CONSTANT = 1e-12  # a column that varies less than this, relative to its mean, does not vary


@dataclass(frozen=True, eq=False)
class Cells:
    """People sorted into cells, each of which has a probability of its own in a saturated model.

    Attributes
    ----------
    cell : numpy.ndarray
        The number of the cell of each person.
    number : int
        How many cells there are.
    """

    cell: np.ndarray
    number: int

    @cached_property
    def _member(self) -> sparse.csr_array:
        people = np.arange(len(self.cell))
        return sparse.csr_array((np.ones(len(people)), (people, self.cell)), shape=(len(people), self.number))

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum over the people (last axis) of each cell.

        Examples
        --------
        >>> import numpy as np
        >>> Cells(np.array([0, 1, 0]), 2).sums(np.array([[1.0, 2.0, 3.0]]))
        array([[4., 2.]])
        """
        sums = self._member.T @ values.reshape(-1, values.shape[-1]).T
        return np.asarray(sums).T.reshape(*values.shape[:-1], -1)


@dataclass(frozen=True, eq=False)
class Covariates:
    """The covariates of people.

    Attributes
    ----------
    table : pandas.DataFrame
        A column for each.
    kinds : dict
        Why each is "discrete (…)", or that it is "continuous"; see `causalaudit.people.kinds_of`.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20.5, 30.5, 40.5], "sex": ["m", "f", "m"], "id": [1, 2, 3]})
    >>> covariates = Covariates.of(people, ["age", "sex"])
    >>> covariates.kinds, covariates.cells.cell.tolist()
    ({'age': 'discrete (few values)', 'sex': 'discrete (levels)'}, [0, 1, 2])
    """

    table: pd.DataFrame
    kinds: dict[str, str]

    @classmethod
    def of(cls, data: pd.DataFrame, names: Collection[str], declared: Collection[str] | None = None) -> "Covariates":
        """Pick covariates from a table of people.

        Parameters
        ----------
        data
            The people, all of whom say what is discrete.
        names
            The covariates, which must have no missing values.
        declared
            Columns that the user says are discrete; they need not be covariates.
        """
        for name in names:
            pick_column(data, name, "covariate")
        return cls(data[list(names)], kinds_of(data, names, [name for name in declared or () if name in names]))

    def __len__(self) -> int:
        return len(self.table)

    def only(self, kept: np.ndarray) -> "Covariates":
        """Return those of some of the people; what is discrete stays so."""
        return replace(self, table=self.table[kept])

    @property
    def discrete(self) -> bool:
        """Whether all are discrete, so that a table of their values is meant to be filled."""
        return "continuous" not in self.kinds.values()

    @cached_property
    def cells(self) -> Cells:
        """A cell for each combination of values that occurs."""
        if self.table.shape[1] == 0:
            return Cells(np.zeros(len(self), dtype=int), 1)
        columns = [codes_of(column, levels_of(column)) for _, column in self.table.items()]
        found = distinct_rows(columns)
        return Cells(found.inverse, len(found))

    @cached_property
    def design(self) -> np.ndarray:
        """Numbers in units of their spread, and indicators of levels; without an intercept.

        Numbers that are not declared to be discrete enter as numbers, also if they have few values.
        """
        parts = [self._columns(name) for name in self.table]
        columns = np.column_stack([np.zeros((len(self), 0)), *parts])
        mean, spread = columns.mean(axis=0), columns.std(axis=0)
        varies = spread > _CONSTANT * (1 + np.abs(mean))
        return (columns[:, varies] - mean[varies]) / spread[varies]

    def _columns(self, name: Any) -> np.ndarray:
        column = self.table[name]
        if pd.api.types.is_numeric_dtype(column) and self.kinds[name] != "discrete (declared)":
            return column.to_numpy(dtype=float)[:, None]
        levels = levels_of(column)
        return (codes_of(column, levels)[:, None] == np.arange(1, len(levels))).astype(float)

    def example(self, which: np.ndarray) -> str:
        """Say what the first of some people is like."""
        return ", ".join(f"{name} = {value!r}" for name, value in self.table[which].iloc[0].items())


def check_declared(data: pd.DataFrame, declared: Any) -> list[str]:
    """Return the columns that the user declares to be discrete; refuse what are none."""
    if declared is None:
        return []
    if isinstance(declared, str):
        raise DataError(f"discrete is the text {declared!r}, but must be a list of columns: [{declared!r}].")
    for name in declared:
        if name not in data.columns:
            raise DataError(f"discrete names {name!r}, which is no column: {nearest(str(name), list(data.columns))}")
    return list(declared)


def standardise(rows: np.ndarray, place: np.ndarray, as_it_is: bool) -> np.ndarray:
    """Standardise rows on the people at some of them.

    Parameters
    ----------
    rows
        Distinct rows × columns.
    place
        The row of each person.
    as_it_is
        Leave the last column alone.
    """
    share = np.bincount(place, minlength=len(rows)) / max(len(place), 1)
    spread = np.sqrt(standardising_penalty(rows, share[None], as_it_is))[0]
    centre = share @ rows
    if as_it_is:
        centre[-1] = 0.0
    return (rows - centre) / spread


def standardising_penalty(rows: np.ndarray, sizes: np.ndarray, as_it_is: bool) -> np.ndarray:
    """Return the penalty of each column that amounts to standardising it on people: its variance.

    Parameters
    ----------
    rows
        Distinct rows × columns.
    sizes
        Fits × rows: how many people are at each.
    as_it_is
        Give the last column a penalty of one.
    """
    share = sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1)
    mean = share @ rows
    variance = np.maximum(share @ rows**2 - mean**2, 0)
    variance = np.where(variance <= 1e-12 * (1 + mean**2), 1.0, variance)
    if as_it_is:
        variance[:, -1] = 1.0
    return variance
