"""A part of a program, as a program of its own: the rest has fixed values, unseen from outside."""

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any

from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample

from causalaudit.scm.handlers import Message, Program, Tensors, is_person, law_of


def focused(program: Program, fixed: Tensors, given: Collection[str] = ()) -> Callable[[int], Any]:
    """Return a program some of whose sites are fixed and unseen, and others given: they have values, but no density.

    Parameters
    ----------
    program
        The whole program.
    fixed
        The value of each fixed site; of a variable, that of one person, which all have.
    given
        The variables that are not scored.
    """

    @wraps(program)
    def focused(n: int) -> Any:
        with _Focus(fixed, given, n):
            return program(n)

    return focused


class _Focus(Messenger):
    """Fix sites at given values, unseen from outside, and mark those that are given, and not scored."""

    def __init__(self, fixed: Tensors, given: Collection[str], n: int) -> None:
        super().__init__()
        self.fixed, self.given, self.n = fixed, given, n

    def _pyro_sample(self, message: Message) -> None:
        name = message["name"]
        if site_is_subsample(message):
            return
        if name in self.fixed:
            value = self.fixed[name]
            message["value"] = value.expand(self.n, *value.shape[1:]) if is_person(message) else value
            message["stop"] = True
        elif name in self.given:
            law_of(message)  # remembers what a deterministic site computed
            message["infer"]["_given"] = True
