"""Draws that are too large for memory: a folder of chunks (zarr), written a block at a time and renamed when whole."""

import math
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from causalaudit.errors import CausalAuditError, SavedFileError
from causalaudit.storage.files import Artefact, believing, read_artefact, write_artefact
from causalaudit.storage.replacing import remove_litter, temporary_name

DIMENSIONS = ("draw", "individual")
_BLOCK = 2**24  # numbers of one variable that are in memory at once, 128 MiB
_PEOPLE = 2**14  # of a chunk: some are read over all draws, and all of them over some draws
_REST = "rest.nc"  # all but the draws
_CHUNKS = "chunks"  # the part of it that is about them
_NUMBERS = re.compile(r"[<>|][biuf][1248]")


def draws_in_memory(people: int) -> int:
    """Return how many draws of so many people are in memory at once.

    Examples
    --------
    >>> draws_in_memory(1_000_000)
    16
    """
    return max(1, _BLOCK // people)


def check_new_folder(path: str | Path) -> Path:
    """Refuse a path at which no folder of draws can be made, before anything is computed."""
    path = Path(path)
    _zarr()
    if path.exists():
        raise SavedFileError(
            f"There is already {str(path)!r}: remove it, or give another name. Draws may be read from it."
        )
    if not path.parent.is_dir():
        raise SavedFileError(f"There is no folder {str(path.parent)!r} to write {path.name!r} in: make it first.")
    return path


def write_folder(
    path: Path, artefact: Artefact, shape: tuple[int, int], blocks: Iterable[Mapping[str, np.ndarray]]
) -> None:
    """Write draws by person, a block of draws at a time, to a temporary folder beside `path`; then rename it.

    Only its owner can enter the folder.

    Parameters
    ----------
    path
        A name that `check_new_folder` let pass.
    artefact
        All but the draws: one file in the folder.
    shape
        How many draws and people there are.
    blocks
        Values by variable, consecutive draws by person, of which one block is in memory at once.

    Raises
    ------
    SavedFileError
        If the name was taken in the meantime. Nothing half-written is ever at `path`.
    """
    chunk = (min(shape[0], draws_in_memory(shape[1])), min(shape[1], _PEOPLE))
    with _made_whole(path) as temporary:
        group = _zarr().open_group(str(temporary), mode="a", zarr_format=2)
        arrays: dict[str, Any] = {}
        start = 0
        for block in blocks:
            for name, values in block.items():
                if name not in arrays:
                    arrays[name] = _array(group, name, shape, chunk, values.dtype)
                arrays[name][start : start + len(values)] = values
            start += len(values)
        _zarr().consolidate_metadata(str(temporary), zarr_format=2)
        # Last, since it is no part of what is consolidated.
        types = {name: array.dtype.str for name, array in arrays.items()}
        stated = {"shape": list(shape), "chunk": list(chunk), "types": types}
        checks = _checks(temporary, list(arrays), _grid(shape, chunk))
        header = {**artefact.header, _CHUNKS: stated}
        write_artefact(temporary / _REST, artefact.kind, header, {**artefact.groups, _CHUNKS: checks})


def read_folder(path: str | Path) -> tuple[Artefact, xr.Dataset]:
    """Return what `write_folder` wrote: all but the draws, and the draws, of which nothing is read before it is needed.

    They are dask arrays if dask is installed, and xarray's own lazy arrays if it is not. A chunk is compared with its
    checksum whenever it is read.

    Raises
    ------
    SavedFileError
        If it is no such folder, or chunks are missing.
    """
    path = Path(path)
    if not (path / _REST).is_file():
        raise SavedFileError(f"{str(path)!r} is a folder that counterfactuals(..., path=) did not write.")
    artefact = read_artefact(path / _REST)
    _zarr()
    with believing(path.name):
        store = _store(path, artefact.header[_CHUNKS], artefact.groups[_CHUNKS])
        chunks: Any = {} if find_spec("dask") else None
        return artefact, xr.open_zarr(store, chunks=chunks, consolidated=True, mask_and_scale=False)


def _grid(shape: tuple[int, int], chunk: tuple[int, int]) -> tuple[int, int]:
    return -(-shape[0] // chunk[0]), -(-shape[1] // chunk[1])


def _checks(folder: Path, names: list[str], grid: tuple[int, int]) -> xr.Dataset:
    variables: dict[str, Any] = {}
    for number, name in enumerate(names):
        found = _chunks().sizes_and_checksums(folder, name, grid)
        for what, values in zip(("size", "checksum"), found, strict=True):
            variables[f"{what}_{number}"] = (("row", "column"), values)
    return xr.Dataset(variables)


def _store(path: Path, stated: Mapping[str, Any], checks: xr.Dataset) -> Any:
    """Return a store of the chunks that are there, after what is stated of them was checked."""
    shape, chunk, types = tuple(stated["shape"]), tuple(stated["chunk"]), stated["types"]
    if not all(type(one) is int and one > 0 for one in (*shape, *chunk)) or math.prod(chunk) > max(_BLOCK, _PEOPLE):
        raise SavedFileError(f"{path.name!r} claims draws of the shape {str(shape)[:80]} in chunks {str(chunk)[:80]}.")
    known: dict[str, tuple[int, int, int]] = {}
    for number, (name, dtype) in enumerate(types.items()):
        if name in (".", "..") or "/" in name or "\\" in name or not _NUMBERS.fullmatch(dtype):
            raise SavedFileError(f"{path.name!r} claims a variable {name!r} of the type {str(dtype)[:40]!r}.")
        sizes, checksums = (checks[f"{what}_{number}"].to_numpy() for what in ("size", "checksum"))
        if not sizes.shape == checksums.shape == _grid(shape, chunk):
            raise SavedFileError(f"{path.name!r} claims chunks of {name!r} that are not all known.")
        places = {f"{name}/{row}.{column}": (row, column) for row, column in np.ndindex(sizes.shape)}
        _refuse_missing(path, name, places)
        inside = math.prod(chunk) * np.dtype(dtype).itemsize
        known |= {key: (int(sizes[place]), int(checksums[place]), inside) for key, place in places.items()}
    return _chunks().CheckedChunks(path, known, _metadata(shape, chunk, types))


def _refuse_missing(path: Path, name: str, places: Iterable[str]) -> None:
    keys = list(places)
    missing = sum(not (path / key).is_file() for key in keys)
    if missing:
        raise SavedFileError(
            f"{path.name!r} is damaged: {missing} of the {len(keys)} chunks of {name!r} are missing. Compute the "
            "draws again."
        )


def _metadata(shape: Any, chunk: Any, types: Mapping[str, str]) -> dict[str, Any]:
    """Return what zarr says of such arrays: that in the folder may have been altered."""
    content: dict[str, Any] = {}
    store = import_module("zarr.storage").MemoryStore(content)
    group = _zarr().open_group(store, mode="a", zarr_format=2)
    for name, dtype in types.items():
        _array(group, name, shape, chunk, np.dtype(dtype))
    _zarr().consolidate_metadata(store, zarr_format=2)
    return content


def _array(group: Any, name: str, shape: tuple[int, int], chunks: tuple[int, int], dtype: np.dtype) -> Any:
    # Without a value that stands for missing ones, of which there are none: zero is a value like others.
    return group.create_array(
        name, shape=shape, chunks=chunks, dtype=dtype, fill_value=None, compressors=_chunks().COMPRESSOR,
        attributes={"_ARRAY_DIMENSIONS": list(DIMENSIONS)}, config={"write_empty_chunks": True},
    )  # fmt: skip


@contextmanager
def _made_whole(path: Path) -> Iterator[Path]:
    remove_litter(path.parent)
    temporary = temporary_name(path.parent)
    temporary.mkdir(mode=0o700)  # it holds people's data
    try:
        yield temporary
        if path.exists():  # a folder that is empty would be replaced
            raise SavedFileError(f"{str(path)!r} has been made while the draws were computed: give another name.")
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _chunks() -> Any:
    return import_module("causalaudit.storage.chunks")


def _zarr() -> Any:
    try:
        return import_module("zarr")
    except ImportError as error:
        raise CausalAuditError(
            "Draws on disk need the package zarr, which is not installed: pip install 'causalaudit[large]'."
        ) from error
