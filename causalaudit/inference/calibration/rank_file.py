"""Ranks on disk: JSON lines, a header and then one line for each data set, so that an interrupted run goes on."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from causalaudit.errors import DataError

_FORMAT = 1


class RankFile:
    """A file of ranks that belongs to one calibration.

    Parameters
    ----------
    path
        The file; it need not exist.
    header
        Groups of settings that the file must share, in JSON types; numbers may differ by rounding.
    """

    def __init__(self, path: Path, header: Mapping[str, Mapping[str, Any]]) -> None:
        self.path = path
        self.header = {"causalaudit": {"kind": "calibration", "format": _FORMAT}, **header}

    def read(self, data_sets: int) -> dict[int, dict[str, Any]]:
        """Return the records of the first data sets by their numbers; begin the file if there is none.

        A last line that was cut off is forgotten, and removed from the file.
        """
        if not self.path.parent.is_dir():
            raise DataError(f"path is {str(self.path)!r}, but there is no folder {str(self.path.parent)!r}.")
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if not whole and not self._is_torn_header(text):
            raise DataError(f"{self.path.name!r} is not a file of ranks: {_REMEDY}")
        if whole != text or not whole:
            self._replace(whole or json.dumps(self.header) + "\n")
        lines: list[Any] = self._parse(whole) if whole else [self.header]
        self._compare(lines[0])
        return {record["data_set"]: record for record in lines[1:] if record["data_set"] < data_sets}

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a record, and make sure that it is on the disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _is_torn_header(self, text: str) -> bool:
        return json.dumps(self.header).startswith(text)

    def _replace(self, text: str) -> None:
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.path)

    def _parse(self, text: str) -> list[Any]:
        try:
            lines = [json.loads(line) for line in text.splitlines()]
        except json.JSONDecodeError as error:
            raise DataError(f"{self.path.name!r} is damaged, or not a file of ranks: {_REMEDY}") from error
        if not isinstance(lines[0], dict) or any("data_set" not in line for line in lines[1:]):
            raise DataError(f"{self.path.name!r} is damaged, or not a file of ranks: {_REMEDY}")
        return lines

    def _compare(self, found: Mapping[str, Any]) -> None:
        for group, wanted in self.header.items():
            saved = found.get(group)
            if not isinstance(saved, dict) or saved.keys() != wanted.keys():
                raise DataError(f"{self.path.name!r} holds the ranks of another program ({group}): {_REMEDY}")
            for name, value in wanted.items():
                if not _same(saved[name], value):
                    what = f"{name} is {saved[name]!r}, not {value!r}"
                    if group in ("prior", "people"):  # the first data set
                        what = f"with the same seed, the mean of {name!r} in its {group} is {saved[name]}, not {value}"
                    raise DataError(f"{self.path.name!r} holds the ranks of another calibration: {what}. {_REMEDY}")


_REMEDY = "Give another path, or remove the file to start again."


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return bool(np.isclose(one, two, rtol=1e-9, atol=0.0, equal_nan=True))
    return bool(one == two)
