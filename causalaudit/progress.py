"""One way to do long work: in pieces that fit, in parallel if the user says so, with a progress bar if it is long."""

import logging
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config
from joblib.parallel import ThreadingBackend, get_active_backend
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

Task = TypeVar("Task")
Result = TypeVar("Result")
BUDGET = 2**20  # numbers that an array of one pass holds, 8 MiB; a few dozen such arrays are alive at once
_LOG = logging.getLogger("causalaudit")
_PATIENCE = 2.0  # seconds of work before a bar appears


def pieces(total: int, each: int = 1, budget: int = BUDGET) -> list[slice]:
    """Cut a range into slices, each of which holds at most `budget` numbers if one place of it holds `each`.

    Examples
    --------
    >>> pieces(5, each=3, budget=6)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, budget // max(1, each))
    return [slice(start, min(start + size, total)) for start in range(0, total, size)]


def parallel(
    function: Callable[[Task], Result], tasks: Sequence[Task], description: str, progress: bool = True
) -> Generator[Result]:
    """Yield ``function(task)`` for each task, in order, as soon as it is there.

    `joblib.parallel_config` decides on workers; by default there is one. Where it asks for threads, there are as many
    processes: a process runs one program at a time, and a thread cannot be stopped when others fail or are interrupted.
    Interrupting keeps what was yielded. What a task does in parallel itself is done one after another by its worker.
    What `function` holds is sent to workers ahead, and not with each task: tables belong there.
    """
    backend, _ = get_active_backend()
    settings: dict[str, Any] = {"return_as": "generator" if backend.supports_return_generator else "list"}  # as ray's
    if isinstance(backend, ThreadingBackend):
        settings |= {"backend": "loky", "prefer": None, "require": None}
    held = _held_by_workers(backend, function)
    results = Parallel(**settings)(delayed(_by_one_worker)(held, task) for task in tasks)
    yield from watched(results, len(tasks), description, progress)


def _held_by_workers(backend: Any, function: Callable[[Task], Result]) -> Any:
    """Return what stands for a function in tasks: on a cluster of dask a reference to what every worker holds.

    Every one of them, since what only one holds is lost if that is killed. Loky maps large arrays into memory itself.
    """
    client: Any = getattr(backend, "client", None)  # that of dask has one; nobody who has no cluster imports it
    return function if client is None else client.scatter(function, broadcast=True, hash=False)


def _by_one_worker(function: Callable[[Task], Result], task: Task) -> Result:
    # A worker of a dask cluster that waits for others begins another task meanwhile, in a second thread, which would
    # wait for the first where a program is run.
    with parallel_config("sequential"):
        return _here(function)(task)


def _here(held: Any) -> Any:
    """Return the function itself where joblib works in this process, as it does if a cluster has one worker left."""
    distributed: Any = sys.modules.get("distributed")
    return held.result() if distributed is not None and isinstance(held, distributed.Future) else held


def say(line: str, progress: bool = True) -> None:
    """Tell of a decision in one line: to the log "causalaudit" if it listens to INFO, else to the standard error.

    Parameters
    ----------
    line
        What to tell.
    progress
        Whether to tell it where no log listens: in a terminal, a notebook, or what their output is written to.
    """
    if _LOG.isEnabledFor(logging.INFO) and _LOG.hasHandlers():
        _LOG.info(line)
    elif progress:
        Console(stderr=True, soft_wrap=True).print(line, markup=False, highlight=False)


def watched(items: Iterable[Any], total: int, description: str, progress: bool = True) -> Iterator[Any]:
    """Yield the items; in a terminal or a notebook, show a bar once they have taken two seconds."""
    started, console = time.monotonic(), Console(stderr=True)
    progress = progress and (console.is_terminal or console.is_jupyter)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar: Progress | None = None
    try:
        for done, item in enumerate(items, start=1):
            if progress and bar is None and time.monotonic() - started > _PATIENCE and done < total:
                bar = Progress(*columns, console=console, transient=True)
                bar.start()
                bar.add_task(description, total=total)
            if bar is not None:
                bar.update(bar.task_ids[0], completed=done)
            yield item
    finally:
        if bar is not None:
            bar.stop()
