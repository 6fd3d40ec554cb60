"""What every part of a report is drafted with: what was handed over, and how tables and pictures are made of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from causalaudit.inference import Posterior
from causalaudit.report.blocks import Table, TableNames
from causalaudit.report.pictures import Pictures
from causalaudit.results import AuditResult

PEOPLE = 1000  # simulated people of a predictive check
DRAWS = 100  # of a predictive check


@dataclass(frozen=True, eq=False)
class Material:
    """What a report is about, read and checked; names are shown.

    Attributes
    ----------
    results
        The audits.
    posteriors
        Posteriors, by the name of their world.
    worlds
        What assumptions were tried: worlds, sweeps, sensitivities, tests of the diagram.
    context
        What the user states.
    by
        The protected column by which predictive checks are grouped, if it is known.
    """

    results: Mapping[str, AuditResult]
    posteriors: Mapping[str, Posterior]
    worlds: Mapping[str, Any]
    context: Mapping[str, Any]
    by: str | None = None
    names: TableNames = field(default_factory=TableNames)
    pictures: Pictures = field(default_factory=Pictures)

    def table(self, caption: str, frame: pd.DataFrame) -> Table:
        """Return a table whose index, if it has names or labels, is its first columns."""
        plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
        if not plain:
            names = [name or ("" if frame.index.nlevels == 1 else f"index {place}")
                     for place, name in enumerate(frame.index.names)]  # fmt: skip
            frame = frame.reset_index(names=names, allow_duplicates=True)
        return Table(caption, frame, self.names(caption))

    def worlds_of(self, kind: type) -> dict[str, Any]:
        """Return what is of a kind among the assumptions that were tried."""
        return {name: one for name, one in self.worlds.items() if isinstance(one, kind)}
