"""Software, seeds and the hash of the data: what it takes to run an audit again, as a section."""

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pandas as pd

import causalaudit
from causalaudit.report.blocks import Block, Section
from causalaudit.report.drafting import Material
from causalaudit.report.stated import fields_of

_PACKAGES = ("pyro-ppl", "torch", "numpy", "pandas", "scipy", "arviz", "xarray", "scikit-learn", "matplotlib")


def software_section(material: Material) -> Section:
    """Return versions, seeds, and the digest of the people of each posterior."""
    versions = pd.DataFrame(_versions(), columns=["software", "version"])
    blocks: list[Block] = [
        fields_of("software", material.context),
        material.table("Versions", versions),
        material.table("Seeds", pd.DataFrame(_seeds(material), columns=["of", "seed"])),
    ]
    if material.posteriors:
        rows = [(name, len(one.data), table_digest(one.data)) for name, one in material.posteriors.items()]
        caption = "SHA-256 of the people that were fitted, written as CSV with their index"
        blocks.append(material.table(caption, pd.DataFrame(rows, columns=["of", "people", "sha256"])))
    return Section("Software, seeds and data", tuple(blocks))


def table_digest(data: pd.DataFrame) -> str:
    """Return the SHA-256 of a table written as CSV (UTF-8, with the index), which anybody can compute again.

    Examples
    --------
    >>> table_digest(pd.DataFrame({"age": [30]}))[:12]
    '49080f8a3e4a'
    """
    digest = hashlib.sha256()
    for start in range(0, max(1, len(data)), 100_000):
        part = data.iloc[start : start + 100_000].to_csv(header=start == 0, lineterminator="\n")
        digest.update(part.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _versions() -> list[tuple[str, str]]:
    found = [("causalaudit", causalaudit.__version__), ("Python", platform.python_version())]
    for name in _PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            found.append((name, "not installed"))
    return found


def _seeds(material: Material) -> list[tuple[str, Any]]:
    posteriors = [(f"posterior: {name}", one.settings.get("seed")) for name, one in material.posteriors.items()]
    return [*posteriors, *((f"audit: {name}", one.settings.get("seed")) for name, one in material.results.items())]
