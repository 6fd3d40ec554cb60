"""The files of a report: each is whole or not there, and no cell of a CSV file is a formula."""

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from causalaudit.errors import SavedFileError
from causalaudit.markup import in_words, number_of, readable
from causalaudit.report.blocks import Table

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@dataclass(frozen=True)
class Place:
    """Where the parts of a report are."""

    html: Path

    @property
    def markdown(self) -> Path:
        return self.html.with_suffix(".md")

    @property
    def json(self) -> Path:
        return self.html.with_suffix(".json")

    @property
    def tables(self) -> Path:
        return self.html.with_name(f"{self.html.stem}_tables")


def check_place(path: Path) -> Place:
    """Refuse a place at which nothing can be written, before anything is computed."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise SavedFileError(
            f"A report is an HTML file, but {path.name!r} has another ending: name it {path.stem}.html."
        )
    if not path.parent.is_dir():
        raise SavedFileError(f"There is no folder {str(path.parent)!r} to write {path.name!r} in: make it first.")
    place = Place(path)
    for file in (place.html, place.markdown, place.json):
        if file.is_dir():
            raise SavedFileError(f"{str(file)!r} is a folder: give the report another name.")
    others = [] if not place.tables.exists() else _others(place.tables)
    if others:
        raise SavedFileError(
            f"{str(place.tables)!r} would be replaced by the tables of the report, but holds other files, such as "
            f"{others[0]!r}: move them, or give the report another name."
        )
    return place


def _others(folder: Path) -> list[str]:
    if not folder.is_dir() or folder.is_symlink():
        return [folder.name]
    return sorted(one.name for one in folder.iterdir() if one.suffix != ".csv" or not one.is_file())


def write_files(place: Place, texts: Mapping[Path, str], tables: Sequence[Table]) -> None:
    """Write everything under temporary names, then rename it, the tables first and the HTML file last."""
    work = Path(tempfile.mkdtemp(dir=place.html.parent, prefix=f".{place.html.name}."))
    try:
        umask = os.umask(0)
        os.umask(umask)
        folder = work / place.tables.name
        folder.mkdir()
        folder.chmod(0o777 & ~umask)
        for table in tables:
            write_csv(table.frame, folder / table.file)
        for path, text in texts.items():
            (work / path.name).write_text(text, encoding="utf-8", errors="replace", newline="\n")
        if place.tables.exists():
            place.tables.rename(work / "replaced")
        folder.rename(place.tables)
        for path in texts:
            (work / path.name).replace(path)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV in which no text is read as a formula; numbers stay as they are.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(pd.DataFrame({"=a": ["=1+1", "b"], "n": [-1.5, 2.0]}), Path(folder) / "t.csv")
    ...     print((Path(folder) / "t.csv").read_text())
    '=a,n
    '=1+1,-1.5
    b,2.0
    <BLANKLINE>
    """
    safe = pd.DataFrame({place: _column(frame.iloc[:, place]) for place in range(frame.shape[1])})
    safe.columns = pd.Index([guarded(str(name)) for name in frame.columns], dtype=object)
    text = safe.to_csv(index=False, lineterminator="\n")
    path.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def _column(column: "pd.Series[Any]") -> Any:
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy()
    return [_cell(value) for value in column.tolist()]


def _cell(value: Any) -> Any:
    if value is None or isinstance(value, bool) or number_of(value) is not None or value != value:
        return value
    return guarded(in_words(value))


def guarded(text: str) -> str:
    """Return text that a spreadsheet shows and does not compute.

    Examples
    --------
    >>> guarded("=HYPERLINK(1)"), guarded("  +1"), guarded("plain")
    ("'=HYPERLINK(1)", "'  +1", 'plain')
    """
    text = readable(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) or text.startswith(_FORMULA) else text
