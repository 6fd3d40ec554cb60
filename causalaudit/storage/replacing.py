"""Files that appear whole or not at all: written under a temporary name beside the old one, then renamed.

The names of temporary files say which process of which machine writes them, so that those that a killed process left
behind are known, and removed by the next one that writes into the same folder.
"""

import os
import re
import secrets
import shutil
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from causalaudit.errors import SavedFileError

_MARK = ".causalaudit-"
_PRIVATE = 0o600  # what is saved holds people's data


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield the name of an empty file to write to, which then takes the place of `path`; at an error it is removed.

    The file has the mode of the one that it replaces; a new one is its owner's alone. Of a symbolic link, what it leads
    to is replaced. What killed processes left in the folder is removed.

    Raises
    ------
    SavedFileError
        If there is no such folder, or something there that is no file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/x.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     Path(f"{folder}/x.txt").read_text()
    'whole'
    """
    target = Path(os.path.realpath(path))
    _check(Path(path), target)
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else _PRIVATE
    remove_litter(target.parent)
    temporary = temporary_name(target.parent)
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _PRIVATE))
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_name(folder: Path) -> Path:
    """Return a new name in a folder that says who writes there."""
    return folder / f"{_mark()}{os.getpid()}-{secrets.token_hex(4)}"


def remove_litter(folder: Path) -> None:
    """Remove the temporary files and folders of ours whose process, of this machine, is no more."""
    ours = re.compile(rf"{re.escape(_mark())}(\d+)-[0-9a-f]{{8}}")
    for entry in list(os.scandir(folder)):
        found = ours.fullmatch(entry.name)
        if found and not _is_alive(int(found[1])):
            with suppress(OSError):  # another process removes it at the same time, or it is another user's
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)


def _check(path: Path, target: Path) -> None:
    if not target.parent.is_dir():
        raise SavedFileError(f"There is no folder {str(target.parent)!r} to save {path.name!r} in: make it first.")
    if target.is_dir():
        raise SavedFileError(f"{str(path)!r} is a folder: give the name of a file in it.")
    if target.exists() and not target.is_file():
        raise SavedFileError(f"{str(path)!r} is no ordinary file, and cannot be replaced: give another name.")


def _mark() -> str:
    machine = re.sub(r"\W", "_", socket.gethostname())[:64]
    return f"{_MARK}{machine}-"


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # elsewhere signal 0 is no question
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True  # another user's
    return True
