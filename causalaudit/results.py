"""What all audit results share: a table, intervals that say what they are, verdicts, a headline, draws, and a file."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd

from causalaudit.arguments import check_types
from causalaudit.arviz_versions import InferenceData
from causalaudit.errors import SavedFileError
from causalaudit.markup import bold, paragraph, piece, table
from causalaudit.storage import Artefact, pack, unpack, write_artefact

if TYPE_CHECKING:
    from matplotlib.axes import Axes


VERDICT_COLUMNS = ("unit", "flagged", "probability", "value", "structural", "sampling", "rule")
_ROUNDING = 1e-12  # below this a value is zero
_SHOWN = 30  # rows of a table in a notebook


@dataclass(frozen=True)
class IntervalKind:
    """What an interval is: the row of `AuditResult.intervals` for the columns ``<kind>_low, <kind>_high``.

    Attributes
    ----------
    kind
        The first part of the names of its columns.
    level
        Its probability, or its confidence; 1 of bounds, which hold for certain.
    type
        "credible" or "confidence"; "sharp" or "outer" of bounds over assumptions that data cannot tell apart: attained
        under one of them, or surely around all.
    scope
        "simultaneous" (for all units at once) or "one unit".
    about
        What it is about: "these people", "the population", "the neighbourhood", …
    known
        What it takes as known.
    """

    kind: str
    level: float
    type: Literal["credible", "confidence", "sharp", "outer"]
    scope: Literal["simultaneous", "one unit"]
    about: str
    known: str


def interval_table(kinds: Iterable[IntervalKind]) -> pd.DataFrame:
    """Return what intervals are, a row for each kind."""
    columns = ["kind", "level", "type", "scope", "about", "known"]
    return pd.DataFrame([[getattr(kind, name) for name in columns] for kind in kinds], columns=columns)


def verdict_table(
    unit: Sequence[Any],
    flagged: Any,
    *,
    rule: str,
    probability: Any = np.nan,
    value: Any = np.nan,
    structural: Any = np.nan,
    sampling: Any = np.nan,
) -> pd.DataFrame:
    """Return verdicts in the columns that all auditors share.

    Parameters
    ----------
    unit
        What is judged, with direction and group.
    flagged
        Whether it is.
    rule
        In words, when a unit is flagged: by a test or an interval, never by a score that nobody tested.
    probability
        Of what it is flagged for; NaN where it is not known.
    value
        The audit's value of the unit.
    structural, sampling
        The variance of the value over posterior draws, and within them; NaN where they cannot be separated.

    Examples
    --------
    >>> verdict_table(["ada", "bea"], [True, False], rule="its interval is above 0", value=[0.4, 0.0]).flagged.tolist()
    [True, False]
    """
    columns = {
        "unit": pd.Series(list(unit), dtype=object),
        "flagged": np.broadcast_to(np.asarray(flagged, dtype=bool), len(unit)),
        **{
            name: np.broadcast_to(np.asarray(numbers, dtype=float), len(unit))
            for name, numbers in (
                ("probability", probability),
                ("value", value),
                ("structural", structural),
                ("sampling", sampling),
            )
        },
        "rule": pd.Series([rule] * len(unit), dtype=object),
    }
    return pd.DataFrame({name: columns[name] for name in VERDICT_COLUMNS})


def headline_of(values: Any, name: str) -> "pd.Series[float]":
    """Return an audit's one number by draw; a single entry where there are no draws."""
    numbers = np.atleast_1d(np.asarray(values, dtype=float))
    return pd.Series(numbers, index=pd.RangeIndex(len(numbers), name="draw"), name=name)


class SavedResult:
    """A storable dataclass that is written to one file, and read back by `causalaudit.load`."""

    KIND: ClassVar[str]
    """What a saved file of this class says that it holds."""

    def save(self, path: str | Path) -> None:
        """Write the result to one file; `causalaudit.load` reads it back.

        Functions and fitted models are not saved: what needs them says so after loading. The file is written under a
        temporary name and renamed.
        """
        check_types(SavedResult.save, locals())
        content, arrays = pack(self)
        write_artefact(path, self.KIND, {"content": content}, {"arrays": arrays})

    @classmethod
    def from_artefact(cls, artefact: Artefact) -> "SavedResult":
        """Return the result that a file holds.

        Raises
        ------
        SavedFileError
            If it holds something else.
        """
        result = unpack(artefact.header["content"], artefact.groups["arrays"])
        if type(result) is not cls:
            raise SavedFileError(f"The file holds a {type(result).__name__} where a {cls.__name__} should be.")
        return result


@dataclass(frozen=True, repr=False, eq=False)
class AuditResult(SavedResult, ABC):
    """The answer of an audit. Results compare by identity.

    Attributes
    ----------
    table : pandas.DataFrame
        The whole answer, a row for each unit that was examined. Every interval is a pair ``<kind>_low, <kind>_high``,
        and `intervals` says what each kind is.
    settings : dict
        What was asked for, in plain values: levels, probabilities, seed and the rest.
    """

    table: pd.DataFrame
    settings: dict[str, Any]
    VALUE: ClassVar[str] = "value"
    """What the value of a unit is, in a word or two."""
    BOUNDED: ClassVar[str] = "value"
    """What lies between the bounds over couplings, in a word or two."""

    def __repr__(self) -> str:
        return f"{self.title}\n{self._shown()}"

    def _repr_html_(self) -> str:
        summary = self.summary()
        body = paragraph(self.empty) if summary.empty else table(summary, rows=_SHOWN, where="summary()")
        return piece(bold(self.title), body)

    def _shown(self) -> str:
        summary = self.summary()
        return self.empty if summary.empty else summary.to_string()

    @property
    @abstractmethod
    def title(self) -> str:
        """What was audited, in a line."""

    @property
    def empty(self) -> str:
        """What is said in place of an empty summary: what was looked for."""
        return "Nothing was found."

    @abstractmethod
    def summary(self) -> pd.DataFrame:
        """Return the answer in a few rows."""

    @property
    @abstractmethod
    def intervals(self) -> pd.DataFrame:
        """What the intervals are, a row for each kind: `kind, level, type, scope, about, known`."""

    @property
    @abstractmethod
    def verdicts(self) -> pd.DataFrame:
        """A row for each unit: `unit, flagged, probability, value, structural, sampling, rule`."""

    def by_unit(self, beside: "Sequence[AuditResult]" = ()) -> pd.DataFrame:
        """Return what a comparison with other answers to the same question needs of each unit.

        Parameters
        ----------
        beside
            The other answers. An audit that searches judges what any of them found.

        Returns
        -------
        pandas.DataFrame
            The columns of `verdicts`, then `case` (whether the value, untested, is beyond what the audit accepts) and
            `mean` (the posterior mean of the value; the value itself without draws). Where the audit was asked for
            bounds, `coupling_low, coupling_high`: between what `BOUNDED` lies under any coupling of the worlds.
        """
        verdicts = self.verdicts
        return verdicts.assign(case=verdicts["value"] > _ROUNDING, mean=verdicts["value"])

    @property
    @abstractmethod
    def headline(self) -> "pd.Series[float]":
        """The audit's one number, by draw; its name says what it is."""

    @abstractmethod
    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the answer."""

    @abstractmethod
    def to_inference_data(self) -> InferenceData:
        """Return the draws behind the answer."""
