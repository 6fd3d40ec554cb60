"""Missing values of people: NaN in the tensors of a table, whatever the type of the column."""

from typing import TYPE_CHECKING

import torch

from causalaudit.randomness import seeded
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Record, Tensors, run

if TYPE_CHECKING:
    from causalaudit.scm.program import SCM


def missing_in(values: Tensors) -> Tensors:
    """Return of whom each variable is missing, for those that are missing of anyone."""
    masks = {name: value.isnan() for name, value in values.items() if value.is_floating_point()}
    masks = {name: mask.any(-1) if mask.ndim > 1 else mask for name, mask in masks.items()}
    return {name: mask for name, mask in masks.items() if bool(mask.any())}


def anybody(scm: "SCM") -> Tensors:
    """Return a person (one entry for each variable) whom the program can give."""
    record = Record()
    with numerics(), torch.no_grad(), seeded(0, "anybody"):
        run(scm.program, 1, record)
    return {name: record.values[name] for name in scm.variables}


def filled(scm: "SCM", values: Tensors) -> Tensors:
    """Return values without NaN, in the types that the program works on; what stands for missing ones means nothing."""
    missing = missing_in(values)
    if not missing:
        return values
    person, complete = anybody(scm), dict(values)
    for name, mask in missing.items():
        chosen = mask.reshape(-1, *([1] * (values[name].ndim - 1)))
        known = torch.where(chosen, person[name].to(torch.float64), values[name])
        complete[name] = known.to(scm.structure.dtypes[name])
    return complete
