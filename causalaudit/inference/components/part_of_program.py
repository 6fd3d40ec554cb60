"""One component of a program, as a program of its own."""

from copy import copy
from dataclasses import replace

import torch

from causalaudit.inference.components.partition import Component
from causalaudit.randomness import seeded
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics
from causalaudit.scm.focus import focused
from causalaudit.scm.handlers import Intervene, Record, Tensors, run
from causalaudit.scm.missing import filled


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
    part.program = focused(scm.program, fixed, component.given)
    part.latents = tuple(name for name in scm.latents if name in component.sites)
    part.structure = replace(
        scm.structure,
        parameters=component.parameters,
        derived=(),
        variables=tuple(name for name in scm.variables if name in names),
    )
    # A component without variables needs people nevertheless.
    if not part.columns:
        return part, filled(scm, {name: values[name] for name in scm.columns[:1]})
    return part, {name: values[name] for name in part.columns}


def reference_person(scm: SCM, values: Tensors) -> Tensors:
    """Return a value of each parameter, and of each variable of one person: that of the first."""
    record = Record()
    with numerics(), torch.no_grad(), seeded(0, "components"):
        run(scm.program, 1, record, Intervene(filled(scm, {name: value[:1] for name, value in values.items()})))
    return {name: record.values[name] for name in (*scm.parameters, *scm.variables)}
