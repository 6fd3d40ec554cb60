"""Pieces of HTML for notebooks: each brings the style, which holds inside of it alone."""

from html import escape
from importlib.resources import files

import pandas as pd

from causalaudit.markup.cells import number_of, plain_text

STYLE = files("causalaudit.markup").joinpath("style.css").read_text(encoding="utf-8")
"""The style sheet: all of it holds inside elements of the class "causalaudit" alone."""


def piece(*parts: str) -> str:
    """Return parts, which are HTML already, as one piece in the style of the house.

    Examples
    --------
    >>> piece(paragraph("a < b")).endswith("<p>a &lt; b</p></div>")
    True
    """
    return f'<div class="causalaudit"><style>{STYLE}</style>{"".join(parts)}</div>'


def paragraph(text: object) -> str:
    r"""Return text as a paragraph; its lines stay lines.

    Examples
    --------
    >>> paragraph("one\ntwo & three")
    '<p>one<br>two &amp; three</p>'
    """
    return f"<p>{_lines(text)}</p>"


def bold(text: object) -> str:
    """Return text as a paragraph that stands out."""
    return f"<p><b>{_lines(text)}</b></p>"


def table(frame: pd.DataFrame, *, index: bool = True, rows: int | None = None, where: str = "") -> str:
    """Return a table, whose index is a column of row heads.

    Parameters
    ----------
    frame
        The table.
    index
        Whether the index is shown.
    rows
        The most rows that are shown; default all. How many more there are is said.
    where
        Where these are to be found.

    Examples
    --------
    >>> import pandas as pd
    >>> table(pd.DataFrame({"<n>": [3]}), index=False)
    '<table><thead><tr><th scope="col">&lt;n&gt;</th></tr></thead><tbody><tr><td class="n">3</td></tr></tbody></table>'
    """
    shown = frame if rows is None else frame.head(rows)
    names = [*([_named(name) for name in shown.index.names] if index else []), *map(plain_text, shown.columns)]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = []
    for label, values in zip(shown.index, shown.itertuples(index=False, name=None), strict=True):
        labels = (label if isinstance(label, tuple) and shown.index.nlevels > 1 else (label,)) if index else ()
        heads = "".join(f'<th scope="row">{escape(plain_text(one))}</th>' for one in labels)
        body.append(f"<tr>{heads}{''.join(_cell(value) for value in values)}</tr>")
    rest = len(frame) - len(shown)
    more = paragraph(f"{rest:,} more rows are in {where}.") if rest else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{more}"


def _named(name: object) -> str:
    return "" if name is None else str(name)


def _cell(value: object) -> str:
    kind = ' class="n"' if number_of(value) is not None else ""
    return f"<td{kind}>{escape(plain_text(value))}</td>"


def _lines(text: object) -> str:
    return escape(str(text)).replace("\n", "<br>")
