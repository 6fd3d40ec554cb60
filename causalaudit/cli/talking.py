"""What a command says, and the code that it ends with: errors in words, results for people or for machines."""

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import typer

from causalaudit.errors import CausalAuditError, InferenceError


class Exit(IntEnum):
    """What scripts can rely on."""

    FINE = 0
    FLAGGED = 1
    BAD_INPUT = 2
    UNTRUSTED = 3
    BROKEN = 4
    INTERRUPTED = 130


@dataclass
class Talk:
    """Says what a command has to say: results on standard output, all else on standard error.

    Attributes
    ----------
    as_json
        Whether the result is one JSON object, and nothing else is on standard output.
    traceback
        Whether errors are shown as Python does.
    result
        What the command found, in plain values.
    """

    as_json: bool = False
    traceback: bool = False
    result: dict[str, Any] = field(default_factory=dict)

    def say(self, text: str) -> None:
        """Tell people a part of the result."""
        if not self.as_json:
            typer.echo(harmless(text))

    def aside(self, text: str) -> None:
        """Tell of progress, or warn."""
        typer.echo(harmless(text), err=True)

    @contextlib.contextmanager
    def command(self) -> Iterator[None]:
        """Run the work of a command; whatever it raises is told in words, and ends the process with its code."""
        code, words = Exit.FINE, ""
        # What code of the user prints is no part of the result.
        printing = contextlib.redirect_stdout(sys.stderr) if self.as_json else contextlib.nullcontext()
        try:
            with printing:
                yield
        except typer.Exit as done:
            code = Exit(done.exit_code)
        except KeyboardInterrupt:
            code, words = (
                Exit.INTERRUPTED,
                "Interrupted. What has finished is kept: the same command goes on.",
            )
        except Exception as error:
            if self.traceback:
                raise
            code, words = _code_and_words(error)
        self._end(code, words)

    def _end(self, code: Exit, words: str) -> None:
        if words:
            self.aside(f"error: {words}")
        if self.as_json:
            error = {"error": words} if words else {}
            typer.echo(json.dumps({**self.result, **error, "exit_code": int(code)}, indent=1, ensure_ascii=True))
        if code:
            raise typer.Exit(int(code))


def _code_and_words(error: Exception) -> tuple[Exit, str]:
    if isinstance(error, InferenceError):
        return Exit.UNTRUSTED, str(error)
    if isinstance(error, CausalAuditError):
        return Exit.BAD_INPUT, str(error)
    if isinstance(error, PermissionError):
        return (
            Exit.BAD_INPUT,
            f"{error.filename!r} may not be read or written: change its permissions, or name another.",
        )
    if isinstance(error, OSError) and error.filename is not None:
        return Exit.BAD_INPUT, f"{error.filename!r}: {error.strerror}."
    return Exit.BROKEN, (
        f"{type(error).__name__}: {error}. This should not have happened: report it, with what --traceback shows."
    )


def harmless(text: str) -> str:
    r"""Return a text without what a terminal would obey: names in data may hold anything.

    Examples
    --------
    >>> harmless("level \x1b[2Jnorth")
    'level ?[2Jnorth'
    """
    return "".join(one if one.isprintable() or one == "\n" else "?" for one in text)
