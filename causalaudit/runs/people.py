"""The table of people that a configuration names."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from causalaudit.configuration import ConfigurationFile, file_inside
from causalaudit.errors import CausalAuditError, ConfigurationError, nearest
from causalaudit.people import check_table


@dataclass(frozen=True)
class People:
    """People, and the digest of the bytes of their file.

    Attributes
    ----------
    table
        A row for each.
    digest
        Of the bytes.
    path
        Of the file.
    """

    table: pd.DataFrame
    digest: str
    path: Path


def read_people(configuration: ConfigurationFile, elsewhere: Path | None = None) -> People:
    """Read the people of a configuration.

    Parameters
    ----------
    configuration
        What says where they are.
    elsewhere
        A file in its place, which may be anywhere: the user names it, and not the configuration.
    """
    with configuration.at("data", "path"):
        path = elsewhere or file_inside(configuration.folder, configuration.settings.data.path, "data file")
        if not path.is_file():
            raise ConfigurationError(f"There is no data file {str(path)!r}.")
        table = _read(path, configuration.settings.data)
    with configuration.at("data", "index"):
        table = _indexed(table, configuration.settings.data.index)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return People(table, digest, path)


def _read(path: Path, data: Any) -> pd.DataFrame:
    parquet = (data.format or ("parquet" if path.suffix == ".parquet" else "csv")) == "parquet"
    try:
        if parquet:
            table = pd.read_parquet(path)
        else:
            # Only what is declared is missing: a level may be called NA or None.
            table = pd.read_csv(path, sep=data.separator, na_values=["", *data.missing], keep_default_na=False)
    except ImportError as error:
        raise CausalAuditError(
            "Parquet needs the package pyarrow, which is not installed: pip install 'causalaudit[parquet]'."
        ) from error
    except Exception as error:  # parsers raise errors of many kinds at damaged files
        kind = "parquet" if parquet else f"csv with the separator {data.separator!r}"
        words = " ".join(str(error).split())
        raise ConfigurationError(
            f"{path.name} cannot be read as {kind}: {words[:200]}. Set format, or separator."
        ) from error
    if table.columns.duplicated().any():
        raise ConfigurationError(
            f"The column {table.columns[table.columns.duplicated()][0]!r} is in {path.name} twice."
        )
    if len(table.columns) == 1 and not parquet and any(mark in str(table.columns[0]) for mark in ",;|\t"):
        raise ConfigurationError(
            f'{path.name} has the single column {str(table.columns[0])[:60]!r}: set separator, as in separator = ";".'
        )
    check_table(table)
    return table


def _indexed(table: pd.DataFrame, index: str | None) -> pd.DataFrame:
    if index is None:
        return table if table.index.name is not None else table.reset_index(drop=True)
    if index not in table.columns:
        raise ConfigurationError(
            f"The index {index!r} is not a column: {nearest(index, list(map(str, table.columns)))}"
        )
    if table[index].isna().any():
        raise ConfigurationError(f"The index {index!r} is missing for {int(table[index].isna().sum())} people.")
    if table[index].duplicated().any():
        twice = table.loc[table[index].duplicated(), index].iloc[0]
        raise ConfigurationError(f"The index {index!r} is not unique: {twice!r} occurs twice. Leave index out.")
    return table.set_index(index)
