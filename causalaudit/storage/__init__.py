"""What is kept on disk: one file each, netCDF and JSON inside, checksummed, nothing that could run code.

Draws that are too large for memory are a folder of chunks, with such a file in it.
"""

from causalaudit.storage.files import Artefact, believing, read_artefact, write_artefact
from causalaudit.storage.folders import check_new_folder, draws_in_memory, read_folder, write_folder
from causalaudit.storage.replacing import replacing
from causalaudit.storage.unpacking import unpack
from causalaudit.storage.values import Unsaved, pack, same, storable

__all__ = [
    "Artefact",
    "Unsaved",
    "believing",
    "check_new_folder",
    "draws_in_memory",
    "pack",
    "read_artefact",
    "read_folder",
    "replacing",
    "same",
    "storable",
    "unpack",
    "write_artefact",
    "write_folder",
]
