"""An ordinal or continuous protected attribute: everyone against people like them at a shifted value."""

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import CausalAuditWarning, DataError
from causalaudit.people import Groups, pick_column
from causalaudit.storage import storable


@dataclass(frozen=True)
class Shift:
    """A change of a number or an ordered category, in place of a protected level: do(age := age − 10).

    A complainant has the value a, and asks how she would have fared with a + by. Her *control group* are the k people
    most like her among those whose value is a, give or take `within`; her *test group* the k people most like who she
    would have been (or like her, without counterfactuals) among those whose value is a + by, give or take `within`.
    With a binary attribute of 0 and 1 and within = 0 this is the definition of the papers (equations 6 and 7), which
    leave other attributes for future work.

    Parameters
    ----------
    by
        What is added to the value: not 0. Of an ordered category, how many steps.
    within
        How much a member of a group may deviate from the value in question: less than half of the shift, so that nobody
        is in both groups. Inside it, people count as equal in the attribute, whatever effect it has there.
    least, most
        The smallest and the largest value of a complainant; default all.

    Notes
    -----
    Nobody is a complainant who has fewer than k people within reach of either value (there are none of 8 years to
    compare those of 18 with); a warning says how many. Without counterfactuals, where the attribute causes the
    features, few at the shifted value are like her, and the nearest are less so: in a simulation a direct effect of .12
    was found as .10 to .12 for this reason. Counterfactuals are searched where people are.

    Examples
    --------
    >>> import numpy as np, pandas as pd, causalaudit as ca
    >>> from causalaudit.situation_testing import Shift
    >>> people = pd.DataFrame({"age": np.repeat(np.arange(30, 60), 20), "skill": np.tile(np.arange(20.0), 30)})
    >>> people["hired"] = (people.age < 45).astype(int)
    >>> result = ca.situation_testing(
    ...     people, "hired", {"age": Shift(-10, within=1, least=42)}, features=["skill"], k=5
    ... )
    >>> result.table.groupby(people.age[result.at().index].to_numpy()).delta.mean().loc[[42, 50, 58]].tolist()
    [0.0, 1.0, 0.0]
    """

    by: float
    within: float = 0.0
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        for name in ("by", "within", "least", "most"):
            value = getattr(self, name)
            if name in ("least", "most") and value is None:
                continue
            if not isinstance(value, Real) or isinstance(value, bool) or not np.isfinite(float(value)):
                raise DataError(f"{name} is {value!r}, but must be a number.")
        if self.by == 0:
            raise DataError("by is 0, but must change the value: -10 asks how people 10 years younger fare.")
        if not 0 <= self.within < abs(self.by) / 2:
            raise DataError(
                f"within is {self.within!r}, but must be at least 0 and less than half of the shift by {self.by:g}: "
                "else the same people are in both groups."
            )


@storable
@dataclass(frozen=True, eq=False)
class ShiftedGroups:
    """Who complains, and with whom they are compared, for a shift of a column.

    Attributes
    ----------
    column
        The protected column.
    by, within, least, most
        Those of the `Shift`.
    k
        The size of the largest group: who has fewer people within reach is no complainant.
    """

    column: Any
    by: float
    within: float
    least: float | None
    most: float | None
    k: int

    def asked(self, data: pd.DataFrame) -> np.ndarray:
        """Return whose value lies between the smallest and the largest of a complainant."""
        values = values_of(data[self.column])
        low, high = (-np.inf if self.least is None else self.least), (np.inf if self.most is None else self.most)
        return (values >= low) & (values <= high)

    def protected(self, data: pd.DataFrame) -> np.ndarray:
        """Return who complains."""
        values = values_of(data[self.column])
        ordered = np.sort(values)
        own, other = (
            np.searchsorted(ordered, centre + self._reach, side="right")
            - np.searchsorted(ordered, centre - self._reach, side="left")
            for centre in (values, values + self.by)
        )
        return self.asked(data) & (own > self.k) & (other >= self.k)

    def around(self, values: np.ndarray, centre: float) -> np.ndarray:
        """Return the rows of those whose value is about that of the centre."""
        return np.flatnonzero((values >= centre - self._reach) & (values <= centre + self._reach))

    @property
    def _reach(self) -> float:
        return self.within + 1e-9 * abs(self.by)  # so that 30.2 is 0.2 from 30

    @property
    def setting(self) -> dict[str, Any]:
        """The shift in plain values."""
        return {self.column: {name: getattr(self, name) for name in ("by", "within", "least", "most")}}

    @property
    def words(self) -> str:
        """For titles: the column and the shift."""
        window = f" (within {self.within:g})" if self.within else ""
        return f"{self.column} against {self.column} {'+' if self.by > 0 else '-'} {abs(self.by):g}{window}"


@dataclass(frozen=True, eq=False)
class ComparedPeople:
    """Complainants who are compared with the same people: their places among all complainants, and rows of the data."""

    complainants: np.ndarray
    control: np.ndarray
    test: np.ndarray


def compare_by(groups: Groups | ShiftedGroups, data: pd.DataFrame) -> list[ComparedPeople]:
    """Return who is compared with whom: one comparison for a level, one for each value that is shifted."""
    rows = np.flatnonzero(groups.protected(data))
    if isinstance(groups, Groups):
        return [ComparedPeople(np.arange(len(rows)), rows, np.flatnonzero(groups.compared(data)))]
    values = values_of(data[groups.column])
    distinct, inverse = np.unique(values[rows], return_inverse=True)
    places = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    return [
        ComparedPeople(some, groups.around(values, value), groups.around(values, value + groups.by))
        for value, some in zip(distinct, places, strict=True)
    ]


def read_shift(data: pd.DataFrame, column: Any, shift: Shift, k: int) -> ShiftedGroups:
    """Read a shift of a column; refuse what has no order, and say who cannot be compared."""
    values_of(pick_column(data, column, "protected column"))
    groups = ShiftedGroups(column, shift.by, shift.within, shift.least, shift.most, k)
    asked, complain = int(groups.asked(data).sum()), int(groups.protected(data).sum())
    if not complain:
        raise DataError(
            f"Nobody has {k} people within {shift.within:g} of both their {column!r} and of it shifted by "
            f"{shift.by:g}: a larger within, a smaller k or another shift is needed."
        )
    if complain < asked:
        warnings.warn(
            f"{asked - complain} of {asked} people are no complainants: fewer than {k} others are within "
            f"{shift.within:g} of their {column!r}, or of it shifted by {shift.by:g}.",
            CausalAuditWarning,
            stacklevel=4,
        )
    return groups


def check_shifted(groups: ShiftedGroups, data: pd.DataFrame, point: pd.DataFrame) -> None:
    """Refuse counterfactuals in which the protected column has another value than the shifted one."""
    if groups.column not in point.columns:
        return
    mine = data[groups.protected(data)]
    asked = values_of(mine[groups.column]) + groups.by
    found = values_of(point.loc[mine.index, groups.column])
    wrong = np.flatnonzero(~np.isclose(asked, found, rtol=1e-9, atol=1e-9 * abs(groups.by)))
    if len(wrong):
        raise DataError(
            f"The counterfactuals set {groups.column!r} to {found[wrong[0]]:g} where the shift asks for "
            f"{asked[wrong[0]]:g}: ask for do={{{groups.column!r}: lambda people: people[{groups.column!r}] + "
            f"{groups.by:g}}}."
        )


def values_of(column: "pd.Series[Any]") -> np.ndarray:
    """Return a number as it is, an ordered category by its position."""
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered:
        return column.cat.codes.to_numpy(dtype=float)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return column.to_numpy(dtype=float)
    raise DataError(
        f"The protected column {column.name!r} is neither a number nor an ordered category, and cannot be shifted: "
        f"name a level, as in {{{column.name!r}: level}}."
    )
