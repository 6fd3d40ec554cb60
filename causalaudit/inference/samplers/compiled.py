"""Densities and their gradients as straight-line tensor code: most of their cost is the Python of the program."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from causalaudit.errors import ProgramError
from causalaudit.global_state import ignored_warnings

Function = Callable[[torch.Tensor], torch.Tensor]
_CANNOT_BE_TRACED = (
    ProgramError, RuntimeError, TypeError, ValueError, IndexError, KeyError, AttributeError, NotImplementedError,
)  # fmt: skip


def compiled(function: Function, points: Sequence[torch.Tensor]) -> Function:
    """Return a faster version of a scalar function of a vector, differentiable once.

    The operations of the function and its gradient are recorded at the first of the points, and replayed without
    Python. A function that branches on values cannot be recorded, and one whose record gives anything else at
    the points must not be: both come back as they are.
    """
    try:
        fast = _record(function, points[0])
        same = all(_agree(fast(point), _with_gradient(function, point)) for point in points)
    except _CANNOT_BE_TRACED:
        return function
    if not same:
        return function

    def replay(point: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = _Known.apply(point, *fast(point.detach()))
        return value

    return replay


def _record(function: Function, point: torch.Tensor) -> Any:
    graph = make_fx(lambda at: torch.func.grad_and_value(function)(at))(point)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    with ignored_warnings():  # torch announces that it will replace its recorder
        return torch.jit.freeze(torch.jit.trace(graph.eval(), (point,), check_trace=False))


def _with_gradient(function: Function, point: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    at = point.detach().clone().requires_grad_(True)
    value = function(at)
    (gradient,) = torch.autograd.grad(value, at)
    return gradient, value.detach()


def _agree(one: tuple[torch.Tensor, torch.Tensor], two: tuple[torch.Tensor, torch.Tensor]) -> bool:
    return all(torch.allclose(a, b, rtol=1e-7, atol=1e-9, equal_nan=True) for a, b in zip(one, two, strict=True))


class _Known(torch.autograd.Function):
    """A value whose gradient is known already."""

    @staticmethod
    def forward(ctx: Any, point: torch.Tensor, gradient: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(gradient)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *outputs: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * outputs[0], None, None
