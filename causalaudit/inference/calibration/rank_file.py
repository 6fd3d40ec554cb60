"""Ranks on disk: JSON lines, a header and then one line for each data set, so that an interrupted run goes on."""

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from causalaudit.errors import DataError
from causalaudit.storage import replacing

_FORMAT = 2
_LARGEST = 2**29  # bytes: what is read of a file that is no file of ranks


class RankFile:
    """A file of ranks that belongs to one calibration.

    Parameters
    ----------
    path
        The file; it need not exist.
    header
        Groups of settings that the file must share, in JSON types; numbers may differ by rounding. The settings say
        how many `parameters` there are and among how many `draws` their truths are ranked.
    """

    def __init__(self, path: Path, header: Mapping[str, Mapping[str, Any]]) -> None:
        self.path = path
        self._parameters, self._draws = len(header["settings"]["parameters"]), header["settings"]["draws"]
        self.header = {"causalaudit": {"kind": "calibration", "format": _FORMAT}, **header}

    def read(self, data_sets: int) -> dict[int, dict[str, Any]]:
        """Return the records of the first data sets by their numbers; begin the file if there is none.

        A last line that was cut off is forgotten, and removed from the file.
        """
        if not self.path.parent.is_dir():
            raise DataError(f"path is {str(self.path)!r}, but there is no folder {str(self.path.parent)!r}.")
        text = self._text() if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if not whole and not self._is_torn_header(text):
            raise DataError(f"{self.path.name!r} is not a file of ranks: {_REMEDY}")
        lines: list[Any] = self._parse(whole) if whole else [self.header]
        self._compare(lines[0])
        records = [self._record(line) for line in lines[1:]]
        if whole != text or not whole:
            self._replace(whole or json.dumps(self.header) + "\n")
        return {record["data_set"]: record for record in records if record["data_set"] < data_sets}

    def add(self, record: Mapping[str, Any]) -> None:
        """Add a record, and make sure that it is on the disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**record, "crc32": _checksum(record)}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _is_torn_header(self, text: str) -> bool:
        return json.dumps(self.header).startswith(text)

    def _replace(self, text: str) -> None:
        with replacing(self.path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def _text(self) -> str:
        if not self.path.is_file() or self.path.stat().st_size > _LARGEST:
            raise DataError(f"{self.path.name!r} is not a file of ranks: {_REMEDY}")
        try:
            return self.path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise self._damaged() from error

    def _damaged(self) -> DataError:
        return DataError(f"{self.path.name!r} is damaged, or not a file of ranks: {_REMEDY}")

    def _parse(self, text: str) -> list[Any]:
        try:
            lines = [json.loads(line) for line in text.splitlines()]
        except (ValueError, RecursionError) as error:
            raise self._damaged() from error
        if not all(isinstance(line, dict) for line in lines):
            raise self._damaged()
        return lines

    def _record(self, line: dict[str, Any]) -> dict[str, Any]:
        """Return what a line says of a data set, after its checksum and its claims were compared."""
        record = {name: value for name, value in line.items() if name != "crc32"}
        if set(record) != _RECORD or line.get("crc32") != _checksum(record):
            raise self._damaged()
        number, ranks, words = record["data_set"], record["ranks"], (record["failure"], record["doubt"])
        if type(number) is not int or number < 0 or not all(word is None or isinstance(word, str) for word in words):
            raise self._damaged()
        if (ranks is None) == (record["failure"] is None) or not (ranks is None or self._are_ranks(ranks)):
            raise self._damaged()
        return record

    def _are_ranks(self, ranks: Any) -> bool:
        return (
            isinstance(ranks, list)
            and len(ranks) == self._parameters
            and all(type(rank) is int and 0 <= rank <= self._draws for rank in ranks)
        )

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


_RECORD = {"data_set", "ranks", "failure", "doubt"}
_REMEDY = "Give another path, or remove the file to start again."


def _checksum(record: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(record).encode())


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return bool(np.isclose(one, two, rtol=1e-9, atol=0.0, equal_nan=True))
    return bool(one == two)
