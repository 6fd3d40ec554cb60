"""How programs are run: with scoped numerics, and over many draws at once.

Programs see natural shapes: a parameter is a scalar, a variable has one entry for each person. Over
draws they are run by `torch.func.vmap`; if that fails, by vmap with every new tensor made for all
draws; if that fails too, in a loop. Two of the draws are always checked against the loop.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from weakref import WeakSet

import pyro
import torch
from torch.overrides import TorchFunctionMode

from causalaudit.errors import CausalAuditWarning, ProgramError
from causalaudit.global_state import one_thread
from causalaudit.scm.handlers import Tensors

Function = Callable[[Tensors, Tensors], Tensors]
# Functions that vmap alone could not run: over the next draws it is not tried again, at the cost of most of a run.
_NOT_AS_THEY_ARE: "WeakSet[Function]" = WeakSet()


@contextmanager
def numerics() -> Iterator[None]:
    """Run a block in float64, on one thread (so that sums do not depend on the machine), without validation.

    Torch's default type and Pyro's handlers are those of the process: while one thread is in such a block, others of
    ours wait. Every program is run in one.
    """
    with one_thread():
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
    alone = partial(_pick, function, parameters, people)
    if not parameters and not people:  # every draw is the same
        return {name: value.expand(draws, *value.shape) for name, value in alone(0).items()}
    versions = (function, _assigning(function))
    for version in versions[function in _NOT_AS_THEY_ARE :]:
        try:
            result: Tensors = torch.func.vmap(version)(parameters, people)
        except (RuntimeError, ProgramError, ValueError, IndexError, TypeError):
            continue
        if not check or (_same(result, 0, alone(0)) and _same(result, draws - 1, alone(draws - 1))):
            if version is not function:
                _NOT_AS_THEY_ARE.add(function)
            return result
    warnings.warn(
        "The program cannot be run by torch.func.vmap, so its draws are run one by one, which is slow. Operations "
        "whose result has the same shape for all values avoid this (torch.where instead of x[mask] = ...).",
        CausalAuditWarning,
        stacklevel=2,
    )
    each = [alone(draw) for draw in range(draws)]
    return {name: torch.stack([one[name] for one in each]) for name in each[0]}


def _pick(function: Function, parameters: Tensors, people: Tensors, draw: int) -> Tensors:
    return function(
        {name: value[draw] for name, value in parameters.items()}, {name: value[draw] for name, value in people.items()}
    )


class _NewTensorsForAllDraws(TorchFunctionMode):
    """Give new tensors the axis of the draws: vmap cannot assign a value that differs by draw into one that does not.

    Pyro's OrderedLogistic fills a tensor of zeros, and so do programs.
    """

    def __init__(self, any_input: torch.Tensor) -> None:
        super().__init__()
        self.zero = torch.zeros_like(any_input.reshape(-1)[0])

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result + self.zero.to(result.dtype) if func in _FACTORIES and result.dtype != torch.bool else result


_FACTORIES = {torch.zeros, torch.ones, torch.full, torch.empty}


def _assigning(function: Function) -> Function:
    def assigning(theta: Tensors, persons: Tensors) -> Tensors:
        with _NewTensorsForAllDraws(next(iter({**theta, **persons}.values()))):
            return function(theta, persons)

    return assigning


def _same(result: Tensors, draw: int, alone: Tensors) -> bool:
    return all(
        torch.allclose(result[name][draw].double(), value.double(), rtol=1e-9, atol=1e-12, equal_nan=True)
        for name, value in alone.items()
    )
