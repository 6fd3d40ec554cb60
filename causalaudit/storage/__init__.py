"""What is kept on disk: one file each, netCDF and JSON inside, checksummed, nothing that could run code."""

from causalaudit.storage.files import Artefact, read_artefact, write_artefact
from causalaudit.storage.values import Unsaved, pack, same, storable, unpack

__all__ = [
    "Artefact",
    "Unsaved",
    "pack",
    "read_artefact",
    "same",
    "storable",
    "unpack",
    "write_artefact",
]
