"""One file for one thing: groups of arrays and a JSON header in netCDF, signed with the digest of its bytes."""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr

from causalaudit.errors import SavedFileError

_FORMAT = 2
_DIGEST = hashlib.sha256().digest_size  # bytes at the end of the file
_ENGINE: Any = "h5netcdf"
_HEADER = "causalaudit"


@dataclass(frozen=True, eq=False)
class Artefact:
    """What a file holds.

    Attributes
    ----------
    kind : str
        What it is, for example "posterior".
    header : dict
        JSON.
    groups : dict
        Datasets by name.
    """

    kind: str
    header: dict[str, Any]
    groups: dict[str, xr.Dataset]


def write_artefact(path: str | Path, kind: str, header: Mapping[str, Any], groups: Mapping[str, xr.Dataset]) -> None:
    """Write to a temporary file beside `path`, sign it with its digest, then rename it.

    Raises
    ------
    SavedFileError
        If there is no such folder. Nothing is half-written: `path` is the whole new file, or what it was before.

    Examples
    --------
    >>> import tempfile, xarray as xr
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_artefact(f"{folder}/x.nc", "example", {"seed": 0}, {"numbers": xr.Dataset({"a": ("n", [1.0, 2.0])})})
    ...     read_artefact(f"{folder}/x.nc").header
    {'seed': 0}
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise SavedFileError(f"There is no folder {str(path.parent)!r} to save {path.name!r} in: make it first.")
    if path.is_dir():
        raise SavedFileError(f"{str(path)!r} is a folder: give the name of a file in it.")
    top = {"format": _FORMAT, "kind": kind, "groups": list(groups), "header": dict(header)}
    text = json.dumps(top, allow_nan=False)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    temporary = Path(name)
    try:
        xr.Dataset(attrs={_HEADER: text}).to_netcdf(temporary, mode="w", engine=_ENGINE)
        for group, dataset in groups.items():
            dataset.to_netcdf(temporary, mode="a", group=group, engine=_ENGINE)
        with temporary.open("rb+") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
            file.seek(0, os.SEEK_END)
            file.write(digest)
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_artefact(path: str | Path) -> Artefact:
    """Read a file that `write_artefact` wrote, after its digest was compared.

    Raises
    ------
    SavedFileError
        If there is no such file, or it is damaged, of another program or of another format.
    """
    path = Path(path)
    if not path.is_file():
        raise SavedFileError(f"There is no file {path.name!r} in {str(path.parent)!r}.")
    if not _is_whole(path):
        raise SavedFileError(
            f"{path.name!r} is damaged, or was not saved by causalaudit: its digest does not match. Save it again."
        )
    top = json.loads(_read(path, None).attrs[_HEADER])
    if top["format"] != _FORMAT:
        raise SavedFileError(f"{path.name!r} has format {top['format']}; this version reads format {_FORMAT}.")
    return Artefact(top["kind"], top["header"], {name: _read(path, name) for name in top["groups"]})


def _is_whole(path: Path) -> bool:
    left = path.stat().st_size - _DIGEST
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, 2**20))):
            digest.update(block)
            left -= len(block)
        return left == 0 and file.read() == digest.digest()


def _read(path: Path, group: str | None) -> xr.Dataset:
    with xr.open_dataset(path, group=group, engine=_ENGINE) as dataset:
        return dataset.load()
