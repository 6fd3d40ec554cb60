"""Environments for the packages that benchmarks compare with, each made when it is first needed.

A peer may need older packages than causalaudit has, so each lives in `.venv-NAME`, pinned in `NAME-constraints.txt`;
the two sides exchange files.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

_BENCHMARKS = Path(__file__).parent.parent


def interpreter(name: str, *packages: str) -> Path:
    """Return the interpreter that has the packages; install them if they are missing or their pins have changed."""
    environment, constraints = _BENCHMARKS.parent / f".venv-{name}", _BENCHMARKS / f"{name}-constraints.txt"
    python, stamp = environment / "bin" / "python", environment / ".installed"
    wanted = "\n".join([*packages, constraints.read_text()])
    if not stamp.is_file() or stamp.read_text() != wanted:
        print(f"Installing {', '.join(packages)} into {environment.name} ...", file=sys.stderr)
        venv.create(environment, clear=True, with_pip=True)
        printed_by([str(python), "-m", "pip", "install", "--quiet", "--constraint", str(constraints), *packages])
        stamp.write_text(wanted)
    return python


def printed_by(command: list[str]) -> str:
    """Run a command without this process's PYTHONPATH and return what it prints; if it fails, say why."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, env=clean)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} {' '.join(command[1:3])} failed:\n{done.stderr}")
    return done.stdout
