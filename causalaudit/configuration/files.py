"""Files that a configuration may name: beside it or below it, nowhere else."""

from dataclasses import dataclass
from pathlib import Path

from causalaudit.errors import ConfigurationError


def inside(folder: Path, name: str, role: str) -> Path:
    """Return the path of a file beside or below the configuration; refuse one that leads elsewhere.

    Links are followed before that is decided.

    Parameters
    ----------
    folder
        Of the configuration.
    name
        What it says.
    role
        What the file is, for messages.

    Examples
    --------
    >>> inside(Path("audit"), "data/people.csv", "data file").as_posix()
    'audit/data/people.csv'
    """
    if "\0" in name or not name.strip():
        raise ConfigurationError(f"The {role} {name!r} is not the name of a file.")
    path = folder / name
    home = folder.resolve()
    if not path.resolve().is_relative_to(home):
        raise ConfigurationError(
            f"The {role} {name!r} is outside of the folder of the configuration. A configuration may only name what is "
            "beside or below it: put the file there (a copy, no link)."
        )
    return path


def file_inside(folder: Path, name: str, role: str) -> Path:
    """Return the path of a file that is there, beside or below the configuration."""
    path = inside(folder, name, role)
    if not path.is_file():
        raise ConfigurationError(f"There is no {role} {name!r} in {str(folder)!r}: correct the name, or put it there.")
    return path


@dataclass(frozen=True)
class CodeName:
    """Where code is: a function in a file, or a model that is shipped.

    Attributes
    ----------
    file
        The Python file; None for a model that is shipped.
    name
        Of the function in it; of a shipped model "room.function".
    """

    file: Path | None
    name: str


def code_name(folder: Path, text: str, role: str) -> CodeName:
    """Read ``"model.py:program"``, or the name of a model that is shipped.

    Examples
    --------
    >>> code_name(Path("."), "loan.linear", "model").name
    'loan.linear'
    """
    file, colon, name = text.rpartition(":")
    if not colon and not text.endswith(".py"):
        return CodeName(None, text)
    if not colon or not name.isidentifier() or not file.endswith(".py"):
        raise ConfigurationError(
            f'The {role} is {text!r}, but must name a Python file and a function in it: "model.py:function".'
        )
    return CodeName(file_inside(folder, file, f"file of the {role}"), name)
