"""Edges taken out of a program: an effect sees a cause at a reference, everything else sees it as it is.

The law of the effect is found by running the program once more, unseen, with the cause at its reference. Up to the
effect, and after it, the program is run in the open, and nobody outside can tell that it was run in parts.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample

from causalaudit.errors import ProgramError
from causalaudit.scm.handlers import Message, Program, Tensors

Edge = tuple[str, str]
Cuts = dict[Edge, float | None]  # what the effect sees (a number or a code); None: the mean in data that are to come
Reference = Callable[[int], torch.Tensor]  # from a number of people to the values that they seem to have


class _Reached(Exception):
    """A run came to the site up to which it was meant to go."""


@dataclass
class _Seen:
    """What has been seen from outside so far: values, plates, and the laws that were found for effects."""

    values: Tensors = field(default_factory=dict)
    plates: set[str] = field(default_factory=set)
    laws: dict[str, tuple[Any, Any]] = field(default_factory=dict)


class _InTheOpen(Messenger):
    """Run on from where outsiders have seen a program, up to a site; before that, repeat what they saw, unseen."""

    def __init__(self, seen: _Seen, until: str | None) -> None:
        super().__init__()
        self.seen, self.until, self.plates_before = seen, until, frozenset(seen.plates)
        self.known = dict(seen.values)

    def _pyro_sample(self, message: Message) -> None:
        name = message["name"]
        if name == self.until:
            raise _Reached
        if site_is_subsample(message):
            message["stop"] = name in self.plates_before
        elif name in self.known:
            message["value"], message["done"], message["stop"] = self.known[name], True, True
        elif name in self.seen.laws:
            message["fn"], computed = self.seen.laws[name]
            message["value"] = message["value"] if computed is None else computed

    def _pyro_post_sample(self, message: Message) -> None:
        if site_is_subsample(message):
            self.seen.plates.add(message["name"])
        else:
            self.seen.values[message["name"]] = message["value"]


class _Unseen(Messenger):
    """Repeat a run up to an effect with some causes at their references, unseen, and keep the law of the effect."""

    def __init__(self, effect: str, values: Tensors) -> None:
        super().__init__()
        self.effect, self.values = effect, values
        self.law: tuple[Any, Any] | None = None

    def _pyro_sample(self, message: Message) -> None:
        message["stop"] = True
        if message["name"] == self.effect:
            self.law = message["fn"], message["value"]
            raise _Reached
        if not site_is_subsample(message):
            message["value"], message["done"] = self.values[message["name"]], True


@contextmanager
def _as_far_as(messenger: Messenger) -> Iterator[None]:
    """Leave a run where its messenger stops it."""
    try:
        with messenger:
            yield
    except _Reached:
        pass


def with_edges_cut(program: Program, cuts: Mapping[str, Mapping[str, Reference]]) -> Callable[[int], Any]:
    """Return the program in which effects (in their order) see some of their causes at a reference.

    Parameters
    ----------
    program
        The whole program.
    cuts
        From an effect to its causes that are cut, and from these to what the effect sees in their place. Tensors made
        from the value of the cause would keep its provenance, and so the edge.
    """

    @wraps(program)
    def cut(n: int) -> Any:
        seen = _Seen()
        for effect, references in cuts.items():
            with _as_far_as(_InTheOpen(seen, effect)):
                program(n)
            unseen = _Unseen(effect, {**seen.values, **{cause: value(n) for cause, value in references.items()}})
            with _as_far_as(unseen):
                program(n)
            assert unseen.law is not None
            seen.laws[effect] = unseen.law
        with _InTheOpen(seen, None):
            return program(n)

    return cut


def refuse_unknown_means(cuts: Cuts) -> None:
    """Refuse to simulate from priors where a cut edge waits for the mean of its cause in data."""
    for (cause, effect), value in cuts.items():
        if value is None:
            raise ProgramError(
                f"The edge {cause!r} → {effect!r} is cut with {cause!r} at its mean in the data, and there are no data "
                f"yet: say what {effect!r} sees, without(({cause!r}, {effect!r}), at={{{cause!r}: …}})."
            )
