"""What a process has once, for a thread at a time: Pyro's handlers, torch's default type, generators, filters."""

import functools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any

_LOCK = RLock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep other threads of ours out while the block changes what is not its thread's alone, and puts it back.

    A thread that is inside may enter again. Nothing in the block may wait for another thread of ours.
    """
    with _LOCK:
        yield


@contextmanager
def ignored_warnings(category: type[Warning] = Warning, message: str = "") -> Iterator[None]:
    """Ignore warnings in a block."""
    with one_thread(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message, category)
        yield


if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):
        """A property that is computed once, by whichever thread is first, for the rooms that run programs.

        That of Python 3.11 holds a lock, one for all objects of a class, while it computes: of two threads one would
        wait with it for the thread that runs a program, and the other with the program for it.
        """

        def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
            """Return the value, computed if it is not known."""
            if instance is None:
                return self
            known, name = vars(instance), self.attrname
            return known[name] if name in known else known.setdefault(name, self.func(instance))
