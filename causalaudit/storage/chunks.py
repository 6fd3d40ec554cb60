"""Chunks of a folder, each of which is compared with what is known of it before it is decompressed.

Only chunks are read from the folder: what they are is said by the file beside them, and not by metadata of any content.
"""

import struct
import zlib
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np
from numcodecs import Blosc
from zarr.storage import MemoryStore

from causalaudit.errors import SavedFileError

_BLOSC = struct.Struct("<4xI4xI")  # sizes of what was compressed, and of the compressed
COMPRESSOR = Blosc(cname="lz4", clevel=5, shuffle=Blosc.SHUFFLE)


class CheckedChunks(MemoryStore):
    """A store whose metadata are in memory, and whose chunks are in a folder.

    Parameters
    ----------
    folder
        Where the chunks are.
    known
        By the key of each chunk: its size in the file, its checksum, and its size in memory.
    metadata
        All else, by key.
    """

    def __init__(
        self,
        folder: Path,
        known: Mapping[str, tuple[int, int, int]],
        metadata: MutableMapping[str, Any],
        read_only: bool = True,
    ) -> None:
        super().__init__(metadata, read_only=read_only)
        self._folder, self._known = folder, known

    def with_read_only(self, read_only: bool = False) -> "CheckedChunks":
        return type(self)(self._folder, self._known, self._store_dict, read_only)

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        """Return a chunk from the folder, or what is in memory."""
        if key not in self._known:
            return await super().get(key, prototype, byte_range)
        if byte_range is not None:
            raise NotImplementedError("chunks are read whole")
        return prototype.buffer.from_bytes(_checked(self._folder, key, *self._known[key]))


def sizes_and_checksums(folder: Path, name: str, grid: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sizes and the checksums of the chunks of a variable."""
    sizes, checksums = np.zeros(grid, dtype=np.int64), np.zeros(grid, dtype=np.uint32)
    for place in np.ndindex(grid):
        content = (folder / name / ".".join(map(str, place))).read_bytes()
        sizes[place], checksums[place] = len(content), zlib.crc32(content)
    return sizes, checksums


def _checked(folder: Path, key: str, size: int, checksum: int, decompressed: int) -> bytes:
    path = folder / key
    if not path.is_file() or path.stat().st_size != size:
        raise SavedFileError(f"{folder.name!r} is damaged: the chunk {key!r} is missing, or not as long as it was.")
    content = path.read_bytes()
    if zlib.crc32(content) != checksum:
        raise SavedFileError(f"{folder.name!r} is damaged: the checksum of the chunk {key!r} does not match.")
    if len(content) < 16 or _BLOSC.unpack_from(content) != (decompressed, size):
        raise SavedFileError(f"{folder.name!r} is damaged: the chunk {key!r} is not as large as it should be.")
    return content
