"""What must not happen to a call: other errors and warnings, changed tables or states, NaN without a word, hangs."""

import random
import signal
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyro
import torch
from matplotlib.axes import Axes

from causalaudit.errors import CausalAuditError, CausalAuditWarning
from tools.soak.calls import Call

SECONDS = 60
_DEPENDENCIES = (  # warnings that others make, and that setup.cfg or the protocol of scikit-learn's estimators names
    "torch.jit",
    "ArviZ is undergoing",
    "X does not have valid feature names",
    "A column-vector y was passed",
    "The number of unique classes is greater than",
    "A network error occurred",
)
_OURS = "causalaudit"
_USERS = ("tools/soak/scene.py", "tools/soak/mutations.py", "tools/soak/calls.py")


class Hang(BaseException):  # not an Exception: nothing may catch it on the way
    """A call took more than a minute."""


@dataclass(frozen=True)
class Outcome:
    """What became of a call.

    Attributes
    ----------
    kind
        "answered", "refused", or what is wrong: "error", "warning", "changed", "state", "NaN", "hang", "no words".
    words
        What is wrong, in words.
    place
        Where: the last of our lines before it.
    """

    kind: str
    words: str = ""
    place: str = ""


def watch(call: Call, arguments: dict[str, Any]) -> list[Outcome]:
    """Make a call, and say what became of it: one outcome, or all that is wrong."""
    tables = {name: value for name, value in arguments.items() if isinstance(value, pd.DataFrame | pd.Series)}
    before, states = {name: print_of(table) for name, table in tables.items()}, global_states()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        outcome, answer = _made(call, arguments)
    wrong = [] if outcome.kind in ("answered", "refused") else [outcome]
    wrong += [Outcome("changed", name) for name, table in tables.items() if print_of(table) != before[name]]
    wrong += [Outcome("state", name) for name, state in global_states().items() if state != states[name]]
    wrong += [
        Outcome(
            "warning", f"{one.category.__name__}: {str(one.message)[:200]}", f"{Path(one.filename).name}:{one.lineno}"
        )
        for one in warned
        if not issubclass(one.category, CausalAuditWarning) and not _known(one)
    ]
    if outcome.kind == "answered" and not any(issubclass(one.category, CausalAuditWarning) for one in warned):
        wrong += [Outcome("NaN", ", ".join(columns)) for columns in [_holes(answer, call.missing)] if columns]
    plt.close("all")
    return wrong or [outcome]


def _made(call: Call, arguments: dict[str, Any]) -> tuple[Outcome, Any]:
    try:
        with _at_most(SECONDS):
            return Outcome("answered"), _drawn(call.function(**arguments))
    except CausalAuditError as error:
        return (Outcome("refused") if str(error).strip() else Outcome("no words")), None
    except Hang as error:
        return Outcome("hang", "", _place(error)), None
    except Exception as error:
        if _is_users(error):
            return Outcome("refused"), None
        return Outcome("error", f"{type(error).__name__}: {str(error)[:300]}", _place(error)), None


def _drawn(answer: Any) -> Any:
    """Return an answer; a plot is drawn, since much goes wrong only then."""
    if isinstance(answer, Axes):
        answer.figure.canvas.draw()
    return answer


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    """Interrupt what takes longer; a signal reaches the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        """Raise from wherever it hangs."""
        raise Hang

    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def _is_users(error: BaseException) -> bool:
    """Whether an error comes from code of the user's that we called, or from before we were called."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    ours = [place for place, name in enumerate(files) if f"/{_OURS}/" in name]
    theirs = [place for place, name in enumerate(files) if name.endswith(_USERS)]
    return bool(theirs) and (not ours or max(theirs) > max(ours))


def _place(error: BaseException) -> str:
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if f"/{_OURS}/" in frame.filename]
    return f"{ours[-1].filename.split(f'/{_OURS}/')[-1]}:{ours[-1].lineno}" if ours else "outside"


def _where(one: warnings.WarningMessage) -> str:
    return f"{Path(one.filename).name}:{one.lineno}"


def _known(one: warnings.WarningMessage) -> bool:
    """Whether a warning is a dependency's, as setup.cfg names them."""
    text = str(one.message)
    return any(words in text for words in _DEPENDENCIES)


def print_of(table: Any) -> tuple[Any, ...]:
    """Return all that a table is: whoever changes it changes this."""
    frame = table.to_frame() if isinstance(table, pd.Series) else table
    cells = [[repr(cell) for cell in frame.iloc[:, place]] for place in range(frame.shape[1])]
    return repr(frame.index), repr(list(frame.columns)), [str(kind) for kind in frame.dtypes], cells


def global_states() -> dict[str, Any]:
    """Return the global states that nobody may change."""
    numbers = np.random.get_state()  # noqa: NPY002
    return {
        "numpy": (numbers[0], numbers[1].tobytes(), numbers[2:]),  # type: ignore[union-attr, index]
        "numpy errors": tuple(sorted(np.geterr().items())),
        "random": random.getstate(),
        "torch": torch.random.get_rng_state().numpy().tobytes(),
        "torch default dtype": torch.get_default_dtype(),
        "torch gradients": torch.is_grad_enabled(),
        "pyro parameters": tuple(pyro.get_param_store().keys()),
        "pyro handlers": len(pyro.poutine.runtime._PYRO_STACK),
        "pandas": pd.get_option("display.max_columns"),
        "matplotlib": tuple(sorted((name, repr(value)) for name, value in plt.rcParams.items() if name != "backend")),
    }


def _holes(answer: Any, allowed: frozenset[str]) -> list[str]:
    """Return the columns of an answer in which numbers are missing, though they are promised."""
    if "*" in allowed:
        return []
    table = answer if isinstance(answer, pd.DataFrame) else getattr(answer, "table", None)
    if isinstance(answer, dict) and answer:
        return sorted({name for one in answer.values() for name in _holes(one, allowed)})
    if isinstance(answer, np.ndarray) and answer.dtype.kind == "f" and np.isnan(answer).any():
        return ["array"]
    if not isinstance(table, pd.DataFrame):
        return []
    return [
        str(name)
        for place, name in enumerate(table.columns)
        if name not in allowed and table.iloc[:, place].dtype.kind == "f" and table.iloc[:, place].isna().any()
    ]
