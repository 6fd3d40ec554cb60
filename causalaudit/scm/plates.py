"""Which plate holds the people, whatever its name."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample

from causalaudit.errors import ProgramError
from causalaudit.randomness import seeded
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import PLATE, Message, Program, run
from causalaudit.scm.tracing import PEOPLE, WithoutParam


class _Sizes(WithoutParam):
    """Record the size of each plate of a run."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, int] = {}

    def _pyro_sample(self, message: Message) -> None:
        if site_is_subsample(message):
            self.sizes[message["name"]] = message["fn"].size


class _Named(Messenger):
    """Show the plate of the people to everything outside of the program under its one name."""

    def __init__(self, plate: str) -> None:
        super().__init__()
        self.plate = plate

    def _pyro_sample(self, message: Message) -> None:
        if site_is_subsample(message) and message["name"] == self.plate:
            message["name"] = PLATE
        message["cond_indep_stack"] = tuple(
            frame._replace(name=PLATE) if frame.name == self.plate else frame for frame in message["cond_indep_stack"]
        )


def plate_of_people(program: Program, asked: str) -> str:
    """Return the name of the plate of the people: the one asked for, else the only one that grows with their number.

    Raises
    ------
    ProgramError
        If there is none, or if several plates grow with the number of people.
    """
    many, few = _sizes(program, PEOPLE), _sizes(program, PEOPLE - 3)
    growing = sorted(name for name, size in many.items() if size != few.get(name))
    if not many:
        raise ProgramError(f"The program has no plate: put the per-person sites into `with pyro.plate({PLATE!r}, n):`.")
    if asked not in many and asked != PLATE:
        raise ProgramError(f"plate={asked!r}, but the program has {', '.join(map(repr, many))}.")
    others = [name for name in growing if name != asked]
    if len(others) > (asked not in many):
        raise ProgramError(
            f"The size of the plates {', '.join(map(repr, growing))} changes with the number of people: put all "
            "per-person sites into one plate."
        )
    return asked if asked in many or not others else others[0]


def _sizes(program: Program, n: int) -> dict[str, int]:
    record = _Sizes()
    with numerics(), torch.no_grad(), seeded(0, "inspection"):
        run(program, n, record)
    return record.sizes


def with_people_in(program: Program, plate: str) -> Callable[[int], Any]:
    """Return the program with its plate of people under the name that is used everywhere here."""

    @wraps(program)
    def renamed(n: int) -> Any:
        with _Named(plate):
            return program(n)

    return renamed
