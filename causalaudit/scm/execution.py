"""How programs are run: with scoped numerics, and over many draws at once.

Programs see natural shapes: a parameter is a scalar, a variable has one entry for each person. Over
draws they are run by `torch.func.vmap`; if that fails, by broadcasting; if that fails too, in a loop.
The result for two of the draws is always checked against the loop.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyro
import torch

from causalaudit.errors import CausalAuditWarning, ProgramError
from causalaudit.scm.handlers import Tensors

Function = Callable[[Tensors, Tensors], Tensors]


@contextmanager
def numerics() -> Iterator[None]:
    """Run a block in float64, on one thread (so that sums do not depend on the machine), without validation."""
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    try:
        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(1)
        with pyro.validation_enabled(False):
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)


def over_draws(function: Function, parameters: Tensors, people: Tensors, draws: int, check: bool = True) -> Tensors:
    """Apply a function of one draw to many draws.

    Parameters
    ----------
    function
        Takes the parameters and the per-person tensors of one draw, returns tensors.
    parameters, people
        The same with a leading axis of length `draws`.
    check
        Compare the first and the last draw with running them alone.
    """
    first = _pick(function, parameters, people, 0)
    for method in (_vmapped, _broadcast):
        try:
            result = method(function, parameters, people, draws, first)
        except (RuntimeError, ProgramError, ValueError, IndexError, TypeError):
            continue
        if not check or (
            _same(result, 0, first) and _same(result, draws - 1, _pick(function, parameters, people, draws - 1))
        ):
            return result
    warnings.warn(
        "The program can be run neither by torch.func.vmap nor by broadcasting, so its draws are run one by one, "
        "which is slow. Operations that work on a whole vector of people at once avoid this.",
        CausalAuditWarning,
        stacklevel=2,
    )
    each = [_pick(function, parameters, people, draw) for draw in range(draws)]
    return {name: torch.stack([one[name] for one in each]) for name in first}


def _pick(function: Function, parameters: Tensors, people: Tensors, draw: int) -> Tensors:
    return function(
        {name: value[draw] for name, value in parameters.items()}, {name: value[draw] for name, value in people.items()}
    )


def _vmapped(function: Function, parameters: Tensors, people: Tensors, draws: int, first: Tensors) -> Tensors:
    if not parameters and not people:
        return {name: value.expand(draws, *value.shape) for name, value in first.items()}
    result: Tensors = torch.func.vmap(function)(parameters, people)
    return result


def _broadcast(function: Function, parameters: Tensors, people: Tensors, draws: int, first: Tensors) -> Tensors:
    """Give every parameter an axis of length one for the people, and every result its full shape."""
    result = function({name: value.unsqueeze(1) for name, value in parameters.items()}, people)
    shaped = {}
    for name, value in result.items():
        natural = first[name].shape
        if value.ndim == len(natural) + 2:  # a parameter: take its axis for the people away
            value = value.squeeze(1)
        shaped[name] = value.expand(draws, *natural)
    return shaped


def _same(result: Tensors, draw: int, first: Tensors) -> bool:
    return all(
        torch.allclose(result[name][draw].double(), value.double(), rtol=1e-9, atol=1e-12, equal_nan=True)
        for name, value in first.items()
    )
