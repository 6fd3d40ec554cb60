"""Programs that make float32 tensors, run in float64.

``(race == 1).float()`` is float32 whatever the default type is, and torch makes a float32 of such a column times a
float64 parameter: a density with seven digits, in which no mode can be found to the precision that is asked for.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from causalaudit.errors import ProgramError

_SHORT = (torch.float32, torch.float16, torch.bfloat16)
_SHORTENED = {torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16}


def _lengthened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.dtype in _SHORT else value
    return torch.float64 if isinstance(value, torch.dtype) and value in _SHORT else value


class _Double(TorchFunctionMode):
    """Give every operation float64 where it is given, asked for, or returns, a shorter type."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _SHORTENED:
            func = torch.Tensor.double
        return tree_map(_lengthened, func(*tree_map(_lengthened, args), **tree_map(_lengthened, kwargs or {})))


class _Watch(TorchFunctionMode):
    """Note whether any operation takes or returns a tensor that is shorter than float64."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def _note(self, value: Any) -> Any:
        self.seen |= isinstance(value, torch.Tensor) and value.dtype in _SHORT
        return value

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        tree_map(self._note, (args, kwargs or {}))
        return tree_map(self._note, func(*args, **(kwargs or {})))


def makes_single(attempt: Callable[[], Any]) -> bool:
    """Tell whether a run has float32 tensors, even if it fails because of them."""
    with _Watch() as watch:
        try:
            attempt()
        except ProgramError:
            if not watch.seen:
                raise
    return watch.seen


def in_double(program: Callable[[int], Any]) -> Callable[[int], Any]:
    """Return the program with every tensor that it makes in float64, constants and modules included."""

    @wraps(program)
    def doubled(n: int) -> Any:
        with _Double():
            return program(n)

    return doubled
