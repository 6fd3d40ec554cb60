"""Reading a configuration: TOML, checked against the schema, with the line of whatever is wrong."""

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from causalaudit.configuration.lines import key_lines, line_of
from causalaudit.configuration.messages import name_of, problems
from causalaudit.configuration.references import check_references
from causalaudit.configuration.schema import Configuration
from causalaudit.errors import CausalAuditError, ConfigurationError

_LARGEST = 2**20  # bytes of a configuration


@dataclass(frozen=True)
class ConfigurationFile:
    """A configuration and where it is from.

    Attributes
    ----------
    path
        The file.
    text
        What is in it.
    raw
        The same as TOML tells it.
    settings
        The same, checked.
    """

    path: Path
    text: str
    raw: Mapping[str, Any]
    settings: Configuration

    @property
    def folder(self) -> Path:
        """The folder of the configuration: files it names are in it or below."""
        return self.path.parent

    @cached_property
    def lines(self) -> dict[tuple[str | int, ...], int]:
        """The line of each key."""
        return key_lines(self.text)

    @contextmanager
    def at(self, *keys: str | int) -> Iterator[None]:
        """Say of whatever is refused in the block which line of the configuration it is about."""
        try:
            yield
        except CausalAuditError as error:
            if error.located:  # the innermost place says most
                raise
            placed = type(error)(f"{self._where(keys)}: {error}")
            placed.located = True
            raise placed from error

    def _where(self, keys: tuple[str | int, ...]) -> str:
        called = name_of(keys, self.raw)
        return f"{self.path.name}:{line_of(self.lines, keys)} ({called})"


def read_configuration(path: str | Path) -> ConfigurationFile:
    r"""Read and check a configuration; nothing that it names is opened or executed.

    Raises
    ------
    ConfigurationError
        If it cannot be read, or says something that is not in the schema: with file and line, what is allowed, and the
        nearest name.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "audit.toml"
    ...     _ = file.write_text('model = "loan.linear"\n[dat]\npath = "people.csv"\n')
    ...     read_configuration(file)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    causalaudit.errors.ConfigurationError: audit.toml:2: the configuration has no key 'dat': did you mean 'data'? ...
    """
    path = Path(path)
    text = _text(path)
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(
            f"{path.name} is not TOML: {error}. Texts are in quotes, lists in brackets, each key on a line of its own."
        ) from error
    try:
        settings = Configuration.model_validate(raw)
    except ValidationError as error:
        lines = key_lines(text)
        found = [f"{path.name}:{line_of(lines, keys)}: {words}" for keys, words in problems(error.errors(), raw)]
        raise ConfigurationError("\n".join(found)) from error
    configuration = ConfigurationFile(path, text, raw, settings)
    check_references(configuration.settings, configuration.at)
    return configuration


def _text(path: Path) -> str:
    if path.is_dir():
        raise ConfigurationError(f"{str(path)!r} is a folder: give the configuration in it, such as audit.toml.")
    if not path.is_file():
        raise ConfigurationError(
            f"There is no configuration {str(path)!r}. `causalaudit new FOLDER` makes one to begin with."
        )
    if path.stat().st_size > _LARGEST:
        raise ConfigurationError(f"{path.name} has more than {_LARGEST:,} bytes: that is no configuration.")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path.name} is not a text in UTF-8: save it as such.") from error
