"""One document in three forms: HTML, Markdown and JSON."""

import base64
import hashlib
import json
import math
from html import escape
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from causalaudit.markup import STYLE, readable
from causalaudit.report.blocks import (
    MOST_ROWS,
    NOT_STATED,
    PRINTED_COLUMNS,
    PRINTED_ROWS,
    Block,
    Code,
    Document,
    Fields,
    Picture,
    Section,
    Sentence,
    Table,
)

_FOLDER = files("causalaudit.report").joinpath("templates")
_SPECIAL = str.maketrans({letter: f"\\{letter}" for letter in "\\`*_[]{}|$#~!"} | {"\n": " ", "\r": " "})


def as_html(document: Document, folder: str) -> str:
    """Return one page that needs nothing else; `folder` is where its tables are as CSV."""
    environment = Environment(
        loader=PackageLoader("causalaudit.report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["svg"] = _svg
    script = _text("report.js")
    known = {
        "document": document, "folder": folder, "not_stated": NOT_STATED, "most": MOST_ROWS,
        "printed_rows": PRINTED_ROWS, "printed_columns": PRINTED_COLUMNS, "script": Markup(script),
        "style": Markup(STYLE + _text("report.css")), "script_digest": _digest(script),
    }  # fmt: skip
    return readable(environment.get_template("report.html.jinja").render(known))


def _digest(script: str) -> str:
    """Return by what the page's own script is told from any other: the browser runs no other."""
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _svg(picture: Picture) -> Markup:
    return Markup(picture.svg)  # serialised by ElementTree: text in it is escaped


def _text(name: str) -> str:
    return _FOLDER.joinpath(name).read_text(encoding="utf-8")


def as_markdown(document: Document, folder: str) -> str:
    """Return the same as Markdown, without pictures."""
    lines = [f"# {markdown_text(document.title)}", ""]
    lines += [f"> **Warning.** {markdown_text(text)}\n" for text in document.answer.warnings]
    for title, sentences in document.answer.cards:
        lines += [f"## {title}", "", *(f"- {markdown_text(text)}" for text in sentences), ""]
    for section in document.sections:
        lines += _section(section, 2, folder)
    return readable("\n".join(lines).rstrip()) + "\n"


def markdown_text(text: str) -> str:
    r"""Return text that Markdown shows as it is: no markup, and no HTML.

    Examples
    --------
    >>> markdown_text("<b>*a* | b")
    '&lt;b&gt;\\*a\\* \\| b'
    """
    return escape(text, quote=False).translate(_SPECIAL)


def _section(section: Section, level: int, folder: str) -> list[str]:
    lines = [f"{'#' * level} {markdown_text(section.title)}", ""]
    for block in section.blocks:
        lines += [*_block(block, folder), ""]
    for part in section.parts:
        lines += _section(part, level + 1, folder)
    return lines


def _block(block: Block, folder: str) -> list[str]:
    match block:
        case Sentence():
            return [("**Warning.** " if block.warning else "") + markdown_text(block.text)]
        case Fields():
            return [f"- **{markdown_text(name)}**: {markdown_text(NOT_STATED if value is None else value)}"
                    for name, value in block.rows]  # fmt: skip
        case Code():
            return [f"{markdown_text(block.caption)}:", "", *(f"    {line}" for line in block.text.splitlines())]
        case Picture():
            return [f"*Picture in the HTML file: {markdown_text(block.caption)}*"]
        case Table():
            return _table(block, folder)


def _table(table: Table, folder: str) -> list[str]:
    head = [markdown_text(name) or " " for name in table.columns]
    lines = [f"**{markdown_text(table.caption)}** ([CSV]({folder}/{table.file}))", ""]
    lines += [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(markdown_text(cell.text) for cell in row)} |" for row in table.rows]
    if table.left_out:
        lines += ["", f"{table.left_out:,} more rows are in the CSV file."]
    return lines


def as_json(document: Document, folder: str) -> str:
    """Return the same as JSON, without pictures; of a table the rows that are embedded, and where the whole is."""
    content = {
        "title": document.title,
        "warnings": list(document.answer.warnings),
        "answer": {title: list(sentences) for title, sentences in document.answer.cards},
        "sections": [_plain(section, folder) for section in document.sections],
    }
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _plain(section: Section, folder: str) -> dict[str, Any]:
    return {
        "title": section.title,
        "blocks": [_plain_block(block, folder) for block in section.blocks],
        "sections": [_plain(part, folder) for part in section.parts],
    }


def _plain_block(block: Block, folder: str) -> dict[str, Any]:
    match block:
        case Sentence():
            return {"text": block.text, "warning": block.warning}
        case Fields():
            return {"fields": [{"name": name, "value": value} for name, value in block.rows]}
        case Code():
            return {"caption": block.caption, "code": block.text}
        case Picture():
            return {"picture": block.caption, "description": block.description}
        case Table():
            return _plain_table(block, f"{folder}/{block.file}")


def _plain_table(table: Table, file: str) -> dict[str, Any]:
    rows = [[_number(cell.number) if cell.number is not None else cell.text for cell in row] for row in table.rows]
    return {"table": table.caption, "file": file, "rows": len(table.frame), "columns": table.columns, "data": rows}


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
