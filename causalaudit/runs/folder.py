"""The folder of a run: each finished stage is a file in it, named by what it depends on; one process at a time."""

import fcntl
import json
import os
import re
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from causalaudit.errors import CausalAuditError, CausalAuditWarning, SavedFileError
from causalaudit.runs.keys import key_of

_LOCK = ".lock"
_STAGES = "stages"
_RUN = "run.json"
_FORMAT = 1


class Saved(Protocol):
    """What can be saved to one file."""

    def save(self, path: str | Path) -> None:
        """Write to a file, whole or not at all."""


@dataclass(frozen=True)
class Stage:
    """A part of a run that is computed once.

    Attributes
    ----------
    name
        What the user is told.
    depends
        Everything that the outcome depends on, in plain values.
    compute
        Returns the outcome.
    read
        Reads it back.
    """

    name: str
    depends: Mapping[str, Any]
    compute: Callable[[], Saved]
    read: Callable[[Path], Any]

    @property
    def file(self) -> str:
        """The name of the file of the outcome."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:40]
        return f"{slug}-{key_of(self.depends)}.nc"


@dataclass(frozen=True)
class Finished:
    """What is known of a stage that has finished.

    Attributes
    ----------
    seconds
        How long it took when it was computed.
    notes
        What was warned of then.
    reused
        Whether it was there already.
    """

    seconds: float
    notes: tuple[str, ...]
    reused: bool


class RunFolder:
    """The folder of a run.

    Parameters
    ----------
    path
        Where it is; made if it is needed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def stages(self) -> Path:
        """Where the files of finished stages are."""
        return self.path / _STAGES

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all other processes out; what an interrupted one left half-written is removed.

        The lock is the operating system's: it ends with the process, however that ends.

        Raises
        ------
        CausalAuditError
            If another process is in the folder.
        """
        self._make()
        with (self.path / _LOCK).open("a+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.seek(0)
                raise CausalAuditError(
                    f"Another run ({file.read().strip() or 'of another machine'}) is in the folder {str(self.path)!r}: "
                    "wait until it has ended, or give another folder by --out."
                ) from error
            file.truncate(0)
            file.write(f"process {os.getpid()}")
            file.flush()
            self._remove_remains()
            yield

    def ensure(self, stage: Stage) -> Finished:
        """Compute and save a stage, unless it has been."""
        path = self.stages / stage.file
        about = _read_json(path.with_suffix(".json"))
        if path.is_file() and about is not None:
            return Finished(about["seconds"], tuple(about["notes"]), True)
        started = time.monotonic()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CausalAuditWarning)
            outcome = stage.compute()
        seconds = time.monotonic() - started
        said, others = _sorted_out(caught)
        write_json(path.with_suffix(".json"), {"stage": stage.name, "seconds": seconds, "notes": said})
        outcome.save(path)
        for one in others:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        return Finished(seconds, tuple(said), False)

    def read(self, stage: Stage) -> Any:
        """Return the outcome of a stage, as it was saved; computed first, or again if the file is damaged.

        It is always what was read from the file: whoever goes on from there has the same bits, interrupted or not.
        """
        self.ensure(stage)
        path = self.stages / stage.file
        try:
            return stage.read(path)
        except SavedFileError:
            path.unlink(missing_ok=True)
        self.ensure(stage)
        return stage.read(path)

    def has(self, stage: Stage) -> bool:
        """Tell whether a stage has finished."""
        return (self.stages / stage.file).is_file()

    def _make(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise CausalAuditError(f"{str(self.path)!r} is a file: give the name of a folder for the run.")
        try:
            self.stages.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CausalAuditError(f"The folder {str(self.path)!r} cannot be made: {error.strerror}.") from error

    def _remove_remains(self) -> None:
        for remains in self.stages.glob(".*"):
            if remains.is_dir():
                shutil.rmtree(remains, ignore_errors=True)
            else:
                remains.unlink(missing_ok=True)

    # What the folder says about itself

    def describe(self, facts: Mapping[str, Any]) -> None:
        """Write what a report of this folder needs to know: where the configuration is."""
        write_json(self.path / _RUN, {"format": _FORMAT, **facts})

    def description(self) -> dict[str, Any]:
        """Return what `describe` wrote."""
        found = _read_json(self.path / _RUN)
        if found is None or found.get("format") != _FORMAT:
            raise CausalAuditError(
                f"{str(self.path)!r} is not the folder of a run: `causalaudit audit CONFIG` makes one."
            )
        return found


def write_json(path: Path, value: Any) -> None:
    """Write JSON to a temporary file beside `path`, then rename it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(value, indent=1), encoding="utf-8")
    temporary.replace(path)


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _sorted_out(caught: list[warnings.WarningMessage]) -> tuple[list[str], list[warnings.WarningMessage]]:
    """Return what the package says on purpose, each once, and all other warnings."""
    ours = [one for one in caught if issubclass(one.category, CausalAuditWarning)]
    return list(dict.fromkeys(str(one.message) for one in ours)), [one for one in caught if one not in ours]
