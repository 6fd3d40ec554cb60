"""Draws that are too large for memory: a folder of chunks (zarr), written a block at a time and renamed when whole."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from causalaudit.errors import CausalAuditError, SavedFileError
from causalaudit.storage.files import Artefact, read_artefact, write_artefact

DIMENSIONS = ("draw", "individual")
_BLOCK = 2**24  # numbers of one variable that are in memory at once, 128 MiB
_PEOPLE = 2**14  # of a chunk: some are read over all draws, and all of them over some draws
_REST = "rest.nc"  # all but the draws


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
    with _made_whole(path) as temporary:
        group = _zarr().open_group(str(temporary), mode="a", zarr_format=2)
        arrays: dict[str, Any] = {}
        start = 0
        for block in blocks:
            for name, values in block.items():
                if name not in arrays:
                    chunks = (min(shape[0], draws_in_memory(shape[1])), min(shape[1], _PEOPLE))
                    arrays[name] = _array(group, name, shape, chunks, values.dtype)
                arrays[name][start : start + len(values)] = values
            start += len(values)
        _zarr().consolidate_metadata(str(temporary), zarr_format=2)
        # Last, since it is no part of what is consolidated.
        write_artefact(temporary / _REST, artefact.kind, artefact.header, artefact.groups)


def read_folder(path: str | Path) -> tuple[Artefact, xr.Dataset]:
    """Return what `write_folder` wrote: all but the draws, and the draws, of which nothing is read before it is needed.

    They are dask arrays if dask is installed, and xarray's own lazy arrays if it is not.

    Raises
    ------
    SavedFileError
        If it is no such folder, or chunks are missing.
    """
    path = Path(path)
    if not (path / _REST).is_file():
        raise SavedFileError(f"{str(path)!r} is a folder that counterfactuals(..., path=) did not write.")
    artefact = read_artefact(path / _REST)
    group = _zarr().open_group(str(path), mode="r", zarr_format=2)
    for name, array in group.arrays():
        if array.nchunks_initialized < array.nchunks:
            raise SavedFileError(
                f"{path.name!r} is damaged: {array.nchunks - array.nchunks_initialized} of the {array.nchunks} chunks "
                f"of {name!r} are missing. Compute the draws again."
            )
    chunks: Any = {} if find_spec("dask") else None
    return artefact, xr.open_zarr(str(path), chunks=chunks, consolidated=True, mask_and_scale=False)


def _array(group: Any, name: str, shape: tuple[int, int], chunks: tuple[int, int], dtype: np.dtype) -> Any:
    # Without a value that stands for missing ones, of which there are none: zero is a value like others.
    return group.create_array(
        name, shape=shape, chunks=chunks, dtype=dtype, fill_value=None,
        attributes={"_ARRAY_DIMENSIONS": list(DIMENSIONS)}, config={"write_empty_chunks": True},
    )  # fmt: skip


@contextmanager
def _made_whole(path: Path) -> Iterator[Path]:
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o777 & ~umask)
        if path.exists():  # a folder that is empty would be replaced
            raise SavedFileError(f"{str(path)!r} has been made while the draws were computed: give another name.")
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _zarr() -> Any:
    try:
        return import_module("zarr")
    except ImportError as error:
        raise CausalAuditError(
            "Draws on disk need the package zarr, which is not installed: pip install 'causalaudit[large]'."
        ) from error
