"""How posteriors and diagnostics look in a notebook: words first, then a small table."""

from collections.abc import Mapping

import pandas as pd

from causalaudit.markup import bold, paragraph, piece, table

_ROWS = 30  # of a table; more are left to `summary()`


def diagnostics_html(verdict: str, numbers: Mapping[str, float]) -> str:
    """Return the verdict, and the figures behind it."""
    figures = pd.DataFrame({"figure": list(numbers), "value": list(numbers.values())})
    return piece(paragraph(verdict), *([table(figures, index=False)] if numbers else []))


def posterior_html(title: str, verdict: object, summary: pd.DataFrame) -> str:
    """Return what it is, whether to trust it, and its parameters."""
    known = summary.dropna(axis="columns", how="all")
    shown = [] if summary.empty else [table(known, rows=_ROWS, where="summary()")]
    return piece(bold(title), paragraph(verdict), *shown)
