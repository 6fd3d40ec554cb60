"""How posteriors and diagnostics look in a notebook: words first, then a small table."""

from collections.abc import Mapping
from html import escape

import pandas as pd

_ROWS = 30  # of a table; more are left to `summary()`


def diagnostics_html(verdict: str, numbers: Mapping[str, float]) -> str:
    """Return the verdict, and the figures behind it."""
    words = f"<p>{_lines(verdict)}</p>"
    if not numbers:
        return words
    return words + _table(pd.DataFrame({"figure": list(numbers), "value": list(numbers.values())}), index=False)


def posterior_html(title: str, verdict: object, summary: pd.DataFrame) -> str:
    """Return what it is, whether to trust it, and its parameters."""
    words = f"<p><b>{escape(title)}</b><br>{_lines(str(verdict))}</p>"
    if summary.empty:
        return words
    rest = len(summary) - _ROWS
    more = f"<p>{rest} more parameters are in <code>summary()</code>.</p>" if rest > 0 else ""
    return words + _table(summary.head(_ROWS).dropna(axis="columns", how="all"), index=True) + more


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _table(table: pd.DataFrame, index: bool) -> str:
    return table.to_html(index=index, border=0, float_format="{:.4g}".format)
