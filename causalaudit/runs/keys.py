"""What a stage depends on, as a short name: the digest of data, sources, settings and versions."""

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import causalaudit

_PACKAGES = ("arviz", "numpy", "pandas", "pyro-ppl", "scikit-learn", "scipy", "torch", "xarray")
_LENGTH = 20  # hexadecimal digits


def key_of(depends: Mapping[str, Any]) -> str:
    """Return the digest of plain values, whatever the order of their keys.

    Examples
    --------
    >>> key_of({"seed": 0, "k": 15}) == key_of({"k": 15, "seed": 0})
    True
    """
    text = json.dumps(depends, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


@cache
def versions() -> dict[str, str]:
    """Return the versions of what computes, causalaudit's with the digest of its source.

    Examples
    --------
    >>> sorted(versions())[:3]
    ['arviz', 'causalaudit', 'numpy']
    """
    found = {name: version(name) for name in _PACKAGES}
    return {**found, "causalaudit": f"{causalaudit.__version__}+{_source_digest()}"}


def _source_digest() -> str:
    """Return a digest of the source of this package: while it is developed, its version says little."""
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(Path(causalaudit.__file__).parent, followlinks=True):
        folders.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                digest.update(name.encode())
                digest.update((Path(folder) / name).read_bytes())
    return digest.hexdigest()[:_LENGTH]
