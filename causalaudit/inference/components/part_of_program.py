"""One component of a program, as a program of its own."""

from collections.abc import Callable, Collection
from copy import copy
from dataclasses import replace
from functools import wraps
from typing import Any

import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample

from causalaudit.inference.components.partition import Component
from causalaudit.randomness import seeded
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Intervene, Message, Program, Record, Tensors, is_person, law_of, run


def part_of_program(scm: SCM, component: Component, values: Tensors) -> tuple[SCM, Tensors]:
    """Return the program of a component alone, and the columns that it needs.

    All other parameters and variables have fixed values, and nobody outside sees them: the component does not depend on
    them. Variables that are given have values, but no density.

    Parameters
    ----------
    scm
        The whole program.
    component
        One of its components.
    values
        The encoded data.
    """
    names = (*component.sites, *component.given)
    fixed = {
        name: value
        for name, value in reference_person(scm, values).items()
        if name not in names and name not in component.parameters
    }
    part = copy(scm)
    part.program = _focused(scm.program, fixed, component.given)
    part.latents = tuple(name for name in scm.latents if name in component.sites)
    part.structure = replace(
        scm.structure,
        parameters=component.parameters,
        derived=(),
        variables=tuple(name for name in scm.variables if name in names),
    )
    # A component without variables needs people nevertheless.
    columns = part.columns or scm.columns[:1]
    return part, {name: values[name] for name in columns}


def reference_person(scm: SCM, values: Tensors) -> Tensors:
    """Return a value of each parameter, and of each variable of one person: that of the first."""
    record = Record()
    with numerics(), torch.no_grad(), seeded(0, "components"):
        run(scm.program, 1, record, Intervene({name: value[:1] for name, value in values.items()}))
    return {name: record.values[name] for name in (*scm.parameters, *scm.variables)}


def _focused(program: Program, fixed: Tensors, given: Collection[str]) -> Callable[[int], Any]:
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
