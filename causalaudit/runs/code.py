"""The code that a configuration names: the one thing that is executed, file by file, once each."""

import hashlib
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from causalaudit import models
from causalaudit.configuration import CodeName
from causalaudit.errors import CausalAuditError, ConfigurationError, nearest


class Code:
    """Executes the Python files that it is asked for, each once, and knows the digests of their sources."""

    def __init__(self) -> None:
        self._modules: dict[Path, ModuleType] = {}
        self._digests: dict[Path, str] = {}

    @property
    def files(self) -> list[Path]:
        """The files that were executed."""
        return list(self._modules)

    def find(self, name: CodeName, role: str) -> Any:
        """Return what a name stands for; its file is executed if it has not been yet."""
        if name.file is None:
            return _shipped(name.name, role)
        if name.file not in self._modules:
            source = name.file.read_bytes()
            self._digests[name.file] = hashlib.sha256(source).hexdigest()
            self._modules[name.file] = _executed(name.file)
        found = getattr(self._modules[name.file], name.name, None)
        if found is None:
            there = [one for one, value in vars(self._modules[name.file]).items() if callable(value) and one[0] != "_"]
            raise ConfigurationError(f"{name.file.name} has no {role} {name.name!r}: {nearest(name.name, there)}")
        return found

    def digest(self, name: CodeName) -> str:
        """Return the digest of the source that a name is from, and the name."""
        if name.file is None:
            room = sys.modules[f"causalaudit.models.{name.name.partition('.')[0]}"]
            return f"{hashlib.sha256(inspect.getsource(room).encode()).hexdigest()}:{name.name}"
        return f"{self._digests[name.file]}:{name.name}"

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Say of an error that the code of the user raised in the block where it is."""
        try:
            yield
        except Exception as error:
            cause = (
                error.__cause__ if isinstance(error, CausalAuditError) else error
            )  # what the package may have wrapped
            frames = traceback.extract_tb(cause.__traceback__) if isinstance(cause, Exception) else []
            own = [frame for frame in frames if Path(frame.filename) in self._modules]
            if not own or not isinstance(cause, Exception):
                raise
            if isinstance(error, CausalAuditError):
                raise ConfigurationError(f"{Path(own[-1].filename).name}:{own[-1].lineno}: {error}") from error
            raise _at_fault(Path(own[-1].filename), own[-1].lineno, error) from error


def _shipped(name: str, role: str) -> Any:
    room, dot, function = name.partition(".")
    if room not in models.__all__:
        raise ConfigurationError(
            f'There is no shipped model {name!r}: {nearest(room, models.__all__)} Or name a file: "model.py:{role}".'
        )
    module = getattr(models, room)
    builders = [
        one
        for one, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and one[0] != "_" and _is_builder(value)
    ]
    if not dot or function not in builders:
        raise ConfigurationError(
            f"There is no shipped model {name!r}: {nearest(name, [f'{room}.{one}' for one in builders])}"
        )
    return getattr(module, function)


def _is_builder(function: Any) -> bool:
    return str(inspect.signature(function).return_annotation).rpartition(".")[2].strip("'>") == "SCM"


def _executed(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"_audited_{path.stem}", path)
    assert spec is not None, "a name that ends with .py has a loader"
    assert spec.loader is not None, "as above"
    module = module_from_spec(spec)
    # There while it is executed, as dataclasses need, but not later: workers are then sent its functions whole.
    sys.modules[spec.name] = module
    bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except CausalAuditError:
        raise
    except SyntaxError as error:
        raise _at_fault(path, error.lineno, error) from error
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        raise _at_fault(path, lines[-1] if lines else None, error) from error
    except SystemExit as error:
        raise ConfigurationError(f"{path.name} ends the process (sys.exit): it must only define functions.") from error
    finally:
        sys.dont_write_bytecode = bytecode
        del sys.modules[spec.name]
    return module


def _at_fault(path: Path, line: int | None, error: Exception) -> ConfigurationError:
    words = error.msg if isinstance(error, SyntaxError) else str(error)
    return ConfigurationError(
        f"{path.name}:{line or 1}: {type(error).__name__}: {words}. Mend the code there; with --traceback the whole "
        "way to it is shown."
    )
