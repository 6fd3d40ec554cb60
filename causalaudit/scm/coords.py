"""The names of a parameter's entries, as the user gives them."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from causalaudit.errors import ProgramError, nearest
from causalaudit.randomness import seeded
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Program, Record, run

Names = Sequence[Any] | tuple[Sequence[Any], ...]


def named_axes(program: Program, sites: Sequence[str], coords: Mapping[str, Names]) -> dict[str, tuple[list[Any], ...]]:
    """Return the names along each axis of parameters; axes that have none are numbered.

    Parameters
    ----------
    program
        The program.
    sites
        Its parameters, and what it computes from them.
    coords
        From a parameter to the names along its last axis, or a tuple with those along each.

    Raises
    ------
    ProgramError
        If there is no such parameter, or there are not as many names as entries, or names are given twice.

    Examples
    --------
    >>> import pyro, pyro.distributions as dist, torch
    >>> def program(n):
    ...     pyro.sample("effects", dist.Normal(torch.zeros(2), 1.0).to_event(1))
    >>> named_axes(program, ["effects"], {"effects": ["age", "schooling"]})
    {'effects': (['age', 'schooling'],)}
    """
    if not coords:
        return {}
    record = Record()
    with numerics(), torch.no_grad(), seeded(0, "coords"):
        run(program, 1, record)
    for name in coords:
        if name not in sites:
            raise ProgramError(f"coords name {name!r}, which is not a parameter: {nearest(name, sites)}")
    return {name: _axes(name, tuple(record.values[name].shape), names) for name, names in coords.items()}


def _axes(name: str, shape: tuple[int, ...], names: Names) -> tuple[list[Any], ...]:
    given = [list(axis) for axis in names] if isinstance(names, tuple) else [list(names)]
    missing = [list(range(size)) for size in shape[: len(shape) - len(given)]]
    axes = [*missing, *given]
    if tuple(len(axis) for axis in axes) != shape or any(len(set(axis)) < len(axis) for axis in axes):
        raise ProgramError(
            f"coords give {name!r} the names {names!r}, but it has the shape {shape}: give as many distinct names as "
            "entries along its last axis, or a tuple with the names along each axis."
        )
    return tuple(axes)
