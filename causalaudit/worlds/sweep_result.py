"""The answer of a sweep: an audit under a whole range of one assumption."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from causalaudit.arguments import check_name
from causalaudit.errors import DataError
from causalaudit.markup import bold, paragraph, piece, table
from causalaudit.results import IntervalKind, SavedResult, interval_table
from causalaudit.storage import storable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@storable
@dataclass(frozen=True, repr=False, eq=False)
class SweepResult(SavedResult):
    """What an audit says under each value of an assumption. Results compare by identity.

    Attributes
    ----------
    table : pandas.DataFrame
        A row for each value: `rho` or `r`; `value`, the audit's answer (the mean over draws; of counts the median), and
        `credible_low, credible_high` (NaN where the answer is a number); `loglik`, the posterior mean of the
        log-likelihood. It never chooses a value: where it is flat the data say nothing, and where it is not they speak
        about the form of the program as much as about the assumption.
    tipping_points : pandas.DataFrame
        A row for the audit's number and one for each unit: `unit`, the same in `words`, whether the answer `was` above
        (1), below (-1) or on (0) the threshold at the reference, and `below` and `above`: on either side of the
        reference the nearest value of the sweep at which the answer is no longer strictly there; None if there is none.
        The threshold of a unit is what its audit accepts (tau, no difference).
    units : pandas.DataFrame
        A row for each value and unit: `rho` or `r`, `words, value, case, flagged, probability`. No rows where the
        answer is a number.
    settings : dict
        What was asked for: `parameter` ("rho" or "r"), `reference` (the value of the posterior as it was given),
        `between` or `sites`, `threshold`, `prob`, `headline` (the name of the answer).
    """

    table: pd.DataFrame
    tipping_points: pd.DataFrame
    units: pd.DataFrame
    settings: dict[str, Any]
    KIND: ClassVar[str] = "sweep"

    @property
    def parameter(self) -> str:
        """The name of what is swept: "rho" or "r"."""
        return str(self.settings["parameter"])

    @property
    def title(self) -> str:
        """What was swept, in a line."""
        about = self.settings["about"]
        return f"{self.settings['headline']} against {self.parameter}, {about}"

    @property
    def intervals(self) -> pd.DataFrame:
        """What the intervals are: `kind, level, type, scope, about, known`."""
        known = f"the program, and {self.parameter}"
        prob = self.settings["prob"]
        return interval_table([IntervalKind("credible", prob, "credible", "one unit", "the audit's number", known)])

    def statement(self, unit: Any = None) -> str:
        """Say in a sentence what would overturn an answer: that of a unit or, by default, the audit's number."""
        tips = self.tipping_points
        row = tips.iloc[0] if unit is None else tips.iloc[self._row_of(unit)]
        values, name = self.table[self.parameter], self.parameter
        found = {side: row[side] for side in ("below", "above") if row[side] is not None}
        low, high, reference = values.min(), values.max(), self.settings["reference"]
        start = f"{row['words']}: the answer at {name} = {reference:g} "
        if not found:
            return f"{start}holds for every {name} that was tried, from {low:g} to {high:g}."
        tipped = " and ".join(f"{name} = {value:g}" for value in found.values())
        return f"{start}is overturned at {tipped} (tried from {low:g} to {high:g})."

    def _row_of(self, unit: Any) -> int:
        unit = check_name("unit", unit, of="a unit")
        for column in ("unit", "words"):
            found = [at for at, name in enumerate(self.tipping_points[column].tolist()) if bool(name == unit)]
            if len(found) == 1:
                return found[0]
        firsts = [one[0] if isinstance(one, tuple) else None for one in self.tipping_points["unit"].tolist()]
        found = [at for at, name in enumerate(firsts) if name is not None and bool(name == unit)]
        if len(found) != 1:
            raise DataError(f"{unit!r} is not a unit of this sweep; there are {len(firsts) - 1}.")
        return found[0]

    def __repr__(self) -> str:
        return f"{self.title}\n{self.table.to_string(index=False)}\n{self.statement()}"

    def _repr_html_(self) -> str:
        return piece(bold(self.title), table(self.table, index=False), paragraph(self.statement()))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the answer against the assumption, with its tipping points."""
        from causalaudit.worlds.plots import plot_sweep  # heavy: only those who draw pay for matplotlib

        return plot_sweep(self, ax=ax)


def tip(values: np.ndarray, side: np.ndarray, reference: float) -> tuple[float | None, float | None]:
    """Return the nearest values below and above a reference at which an answer has left its side of the threshold.

    Parameters
    ----------
    values
        Of the assumption; the reference is among them.
    side
        1 where the answer is above the threshold, -1 below, 0 on it.

    Examples
    --------
    >>> import numpy as np
    >>> tip(np.array([-0.4, -0.2, 0.0, 0.2, 0.4]), np.array([-1, 1, 1, 1, 0]), 0.0)
    (-0.4, 0.4)
    >>> tip(np.array([-0.2, 0.0]), np.array([1, 1]), 0.0)
    (None, None)
    """
    start = side[np.flatnonzero(values == reference)[0]]
    left = values[(side != start) | (side == 0)]
    below, above = left[left <= reference], left[left >= reference]
    return (float(below.max()) if len(below) else None), (float(above.min()) if len(above) else None)
