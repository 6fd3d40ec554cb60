"""Programs whose numbers are the same whenever they are run, but for what Pyro draws at their sites."""

from collections.abc import Callable, Mapping
from itertools import starmap

import torch
from pyro.util import get_rng_state

from causalaudit.errors import ProgramError
from causalaudit.randomness import seeded

_GENERATORS = {"numpy": "numpy", "random": "Python's random"}


def refuse_unrepeatable(
    numbers: Callable[[], Mapping[str, tuple[torch.Tensor, ...]]], values: Mapping[str, torch.Tensor]
) -> None:
    """Refuse a program that draws random numbers beside its sites, or changes the values of its sites in place.

    Parameters
    ----------
    numbers
        Runs the program, with a value for each of its sites so that it has nothing to draw, and returns its numbers.
    values
        These values.
    """
    given = {name: value.clone() for name, value in values.items()}
    with seeded(0, "inspection"):
        before, one = get_rng_state(), numbers()
        for name, value in values.items():
            if not _identical(value, given[name]):
                raise ProgramError(
                    f"The program changes {name!r} in place (such as {name} += 1): what was drawn or observed would be "
                    f"another value from then on. Make a new tensor, as in {name} = {name} + 1."
                )
        after, other = get_rng_state(), numbers()
    drawn = [words for name, words in _GENERATORS.items() if repr(before[name]) != repr(after[name])]
    moved = [name for name, parts in one.items() if not all(starmap(_identical, zip(parts, other[name], strict=True)))]
    if drawn or moved:
        source = f"from the global state of {drawn[0]}" if drawn else "of its own"
        effect = f", which move {', '.join(map(repr, moved))}" if moved else ""
        raise ProgramError(
            f"The program draws random numbers {source}, beside its sites{effect}: no seed repeats its results. Write "
            "what is random as pyro.sample, and draw constants once, outside of the program."
        )


def _identical(one: torch.Tensor, two: torch.Tensor) -> bool:
    return bool(torch.equal(one, two) or torch.allclose(one.double(), two.double(), rtol=0, atol=0, equal_nan=True))
