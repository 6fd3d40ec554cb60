"""A report before it is HTML, Markdown or JSON: sections of a few kinds of blocks, all of plain values."""

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from causalaudit.markup import number_of, plain_text

NOT_STATED = "not stated"
MOST_ROWS = 200
"""Rows of a table that are embedded; the whole is in the CSV file."""
PRINTED_ROWS, PRINTED_COLUMNS = 25, 12
"""How much of a table paper shows."""


@dataclass(frozen=True)
class Sentence:
    """A paragraph; a warning stands out."""

    text: str
    warning: bool = False
    kind: ClassVar[str] = "sentence"


@dataclass(frozen=True)
class Fields:
    """Names, and what was stated of each; None: nothing."""

    rows: tuple[tuple[str, str | None], ...]
    kind: ClassVar[str] = "fields"


@dataclass(frozen=True)
class Code:
    """The text of a program."""

    caption: str
    text: str
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Picture:
    """A picture: SVG that is safe to embed, what it shows in a line, and in words for who cannot see it."""

    svg: str
    caption: str
    description: str
    kind: ClassVar[str] = "picture"


@dataclass(frozen=True)
class Cell:
    """What is shown, and the number to sort by, if it is one."""

    text: str
    number: float | None


@dataclass(frozen=True, eq=False)
class Table:
    """A table with all of its rows; the first column names them."""

    caption: str
    frame: pd.DataFrame
    file: str
    """The name of its CSV file."""
    kind: ClassVar[str] = "table"

    @property
    def columns(self) -> list[str]:
        return [str(name) for name in self.frame.columns]

    @property
    def rows(self) -> list[list[Cell]]:
        """The rows that are embedded."""
        return [
            [Cell(plain_text(value), number_of(value)) for value in row]
            for row in self.frame.head(MOST_ROWS).itertuples(index=False, name=None)
        ]

    @property
    def left_out(self) -> int:
        """How many rows are in the CSV file alone."""
        return max(0, len(self.frame) - MOST_ROWS)


Block = Sentence | Fields | Code | Picture | Table


@dataclass(frozen=True)
class Section:
    """A heading, blocks, and sections below it."""

    title: str
    blocks: tuple[Block, ...]
    parts: "tuple[Section, ...]" = ()


@dataclass(frozen=True)
class Answer:
    """The first screen: four short lists of sentences, and what stands in the way of believing them."""

    asked: tuple[str, ...]
    found: tuple[str, ...]
    worlds: tuple[str, ...]
    overturned: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def cards(self) -> list[tuple[str, tuple[str, ...]]]:
        """The four questions with their answers."""
        return [
            ("What was asked", self.asked),
            ("The answer", self.found),
            ("In which worlds it holds", self.worlds),
            ("What would overturn it", self.overturned),
        ]


@dataclass(frozen=True)
class Document:
    """A whole report."""

    title: str
    answer: Answer
    sections: tuple[Section, ...]

    @property
    def tables(self) -> list[Table]:
        """All tables, in order."""
        return [block for section in self.sections for block in _blocks(section) if isinstance(block, Table)]


def _blocks(section: Section) -> list[Block]:
    return [*section.blocks, *(block for part in section.parts for block in _blocks(part))]


class TableNames:
    """Names of CSV files: numbered, so that none is taken twice, and of plain letters.

    Examples
    --------
    >>> names = TableNames()
    >>> names("Verdicts: women"), names("../etc")
    ('01-verdicts-women.csv', '02-etc.csv')
    """

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, caption: str) -> str:
        self._count += 1
        words = "".join(letter if letter.isascii() and letter.isalnum() else " " for letter in caption.lower()).split()
        return f"{self._count:02d}-{'-'.join(words)[:50].strip('-') or 'table'}.csv"
