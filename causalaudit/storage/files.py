"""One file for one thing: arrays as netCDF, then a JSON document that says what they are, then digests.

The netCDF part is for other programs: it is written, and never read here. What is read is the document at the end,
whose every claim is compared with the size of the file before an array is read from its place. So a file can ask for no
more memory than it has bytes, and nothing in it is interpreted but JSON and numbers.
"""

import hashlib
import json
import math
import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np
import xarray as xr

from causalaudit.errors import SavedFileError
from causalaudit.storage.replacing import replacing

_FORMAT = 3
_DIGEST = hashlib.sha256().digest_size  # bytes at the end of the file, of all bytes before
_FOOT = struct.Struct("<IQ8s")  # before the digest: the checksum and the length of the document, and a mark
_MARK = b"causalau"
_ENGINE: Any = "h5netcdf"
_NUMBERS = re.compile(r"[<>|][iuf](1|2|4|8|16)")
_MOST_AXES = 32
_LARGEST_EMPTY = 2**24  # of an array without numbers, the product of the axes that are not zero


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
        Datasets of numbers by name, without coordinates.
    """

    kind: str
    header: dict[str, Any]
    groups: dict[str, xr.Dataset]


def write_artefact(path: str | Path, kind: str, header: Mapping[str, Any], groups: Mapping[str, xr.Dataset]) -> None:
    """Write to a temporary file beside `path`, sign it with its digest, then rename it.

    A file that is replaced gives its mode to the new one, which is the owner's alone if there was none. Symbolic links
    are followed.

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
    json.dumps(header, allow_nan=False)  # refused before anything is written
    with replacing(path) as temporary:
        xr.Dataset(attrs={"causalaudit": f"{kind}, format {_FORMAT}"}).to_netcdf(temporary, mode="w", engine=_ENGINE)
        for group, dataset in groups.items():
            dataset.to_netcdf(temporary, mode="a", group=group, engine=_ENGINE)
        places = _places(temporary, groups)
        document = {"format": _FORMAT, "kind": kind, "groups": places, "header": dict(header)}
        sign(temporary, json.dumps(document, allow_nan=False).encode())


def sign(path: Path, document: bytes) -> None:
    """Add a document, and the digest of the whole, to the end of a file."""
    with path.open("rb+") as file:
        file.seek(0, os.SEEK_END)
        file.write(document + _FOOT.pack(zlib.crc32(document), len(document), _MARK))
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").digest()
        file.seek(0, os.SEEK_END)
        file.write(digest)


def _places(path: Path, groups: Mapping[str, xr.Dataset]) -> dict[str, dict[str, Any]]:
    """Return where the netCDF part has put the bytes of each array, and what these are."""
    with h5py.File(path, "r") as file, path.open("rb") as raw:
        return {
            group: {
                str(name): {"dims": list(map(str, dataset[name].dims)), **_place(file[group][str(name)], raw)}
                for name in dataset.data_vars
            }
            for group, dataset in groups.items()
        }


def _place(stored: Any, raw: BinaryIO) -> dict[str, Any]:
    start = stored.id.get_offset() or 0  # of an array without numbers there is nothing in the file
    raw.seek(start)
    checksum = _checksum(raw, stored.size * stored.dtype.itemsize)
    return {"shape": list(stored.shape), "dtype": stored.dtype.str, "start": start, "crc32": checksum}


def _checksum(file: BinaryIO, size: int) -> int:
    found = 0
    while size > 0 and (block := file.read(min(size, 2**20))):
        found, size = zlib.crc32(block, found), size - len(block)
    return found


@contextmanager
def believing(name: str) -> Iterator[None]:
    """Turn whatever goes wrong when the content of a file is made into objects into one error.

    What a forged file may claim has no end: sizes are checked before they are believed, and the rest shows itself here.
    """
    try:
        yield
    except SavedFileError:
        raise
    except Exception as error:
        raise SavedFileError(
            f"{name!r} is damaged, or of another version: what it says of its content does not hold "
            f"({type(error).__name__}: {str(error)[:200]}). Save it again."
        ) from error


def read_artefact(path: str | Path) -> Artefact:
    """Read a file that `write_artefact` wrote, after its digest was compared.

    The digest finds damage. It is no signature: who alters a file on purpose can compute it anew.

    Raises
    ------
    SavedFileError
        If there is no such file, or it is damaged, of another program or of another format.
    """
    path = Path(path)
    if not path.is_file():
        raise SavedFileError(f"There is no file {path.name!r} in {str(path.parent)!r}.")
    if not _is_whole(path):
        raise _damaged(path, "its digest does not match")
    with path.open("rb") as file, believing(path.name):
        size, document = _document(path, file)
        if document["format"] != _FORMAT:
            raise SavedFileError(f"{path.name!r} has format {document['format']}; this version reads format {_FORMAT}.")
        _refuse_overlaps(path, document["groups"], size)
        groups = {
            name: xr.Dataset({key: _array(path, file, stated) for key, stated in variables.items()})
            for name, variables in document["groups"].items()
        }
        return Artefact(str(document["kind"]), dict(document["header"]), groups)


def _damaged(path: Path, why: str) -> SavedFileError:
    return SavedFileError(f"{path.name!r} is damaged, or was not saved by causalaudit: {why}. Save it again.")


def _is_whole(path: Path) -> bool:
    left = path.stat().st_size - _DIGEST
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, 2**20))):
            digest.update(block)
            left -= len(block)
        return left == 0 and file.read() == digest.digest()


def _document(path: Path, file: BinaryIO) -> tuple[int, dict[str, Any]]:
    """Return the size of the netCDF part, and the document that follows it."""
    foot = path.stat().st_size - _DIGEST - _FOOT.size
    if foot < 0:
        raise _damaged(path, "it is too short")
    file.seek(foot)
    checksum, length, mark = _FOOT.unpack(file.read(_FOOT.size))
    if mark != _MARK:
        raise SavedFileError(
            f"{path.name!r} was saved by an older version of causalaudit, or is damaged; this one reads format "
            f"{_FORMAT}. Save it again."
        )
    if length > foot:
        raise _damaged(path, "its document is longer than itself")
    file.seek(foot - length)
    text = file.read(length)
    if zlib.crc32(text) != checksum:
        raise _damaged(path, "the checksum of its document does not match")
    document = json.loads(text, parse_constant=_refuse_constant)
    return foot - length, document


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _bytes(stated: Mapping[str, Any]) -> int:
    shape, dtype = stated["shape"], stated["dtype"]
    if not isinstance(dtype, str) or not _NUMBERS.fullmatch(dtype):
        raise SavedFileError(f"The file claims an array of {dtype!r}, which is no type of numbers.")
    if len(shape) > _MOST_AXES or not all(type(size) is int and size >= 0 for size in shape):
        raise SavedFileError(f"The file claims an array of the shape {str(shape)[:80]}.")
    if 0 in shape and math.prod(size or 1 for size in shape) > _LARGEST_EMPTY:
        raise SavedFileError(f"The file claims an array without numbers of the shape {str(shape)[:80]}.")
    return math.prod(shape) * np.dtype(dtype).itemsize


def _refuse_overlaps(path: Path, groups: Mapping[str, Mapping[str, Any]], size: int) -> None:
    """Refuse arrays that lie outside of the netCDF part, or share bytes, so that all need no more than these."""
    stated = [one for variables in groups.values() for one in variables.values()]
    parts = sorted((one["start"], one["start"] + length) for one in stated if (length := _bytes(one)))
    ends = [0, *(end for _, end in parts)]
    if any(type(start) is not int or start < before for (start, _), before in zip(parts, ends, strict=False)):
        raise _damaged(path, "its arrays overlap")
    if ends[-1] > size:
        raise _damaged(path, "its arrays are longer than itself")


def _array(path: Path, file: BinaryIO, stated: Mapping[str, Any]) -> xr.Variable:
    count = math.prod(stated["shape"])
    file.seek(stated["start"] if count else 0)
    values = np.fromfile(file, dtype=np.dtype(stated["dtype"]), count=count)
    if zlib.crc32(values.data.cast("B") if count else b"") != stated["crc32"]:
        raise _damaged(path, "the checksum of an array does not match")
    return xr.Variable(stated["dims"], values.reshape(stated["shape"]))
