"""Special functions of scipy with derivatives of every order, inside of `torch.func.vmap` and `hessian` too."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

Slope = Callable[..., torch.Tensor]

# A central difference whose error is of the order of the eighth power of the step.
_STEP = 0.02  # in the logarithm of a positive number
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


@dataclass(frozen=True)
class Special:
    """A function of numbers, element by element.

    Attributes
    ----------
    value
        The function, of numpy arrays.
    slopes
        Its derivative with respect to each argument: a torch function of the result and the arguments. "numerical" of a
        positive argument for which there is no formula, None of one that is constant.
    """

    value: Callable[..., np.ndarray]
    slopes: Sequence[Slope | str | None]

    def __call__(self, *tensors: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = _Differentiable.apply(self, *torch.broadcast_tensors(*tensors))
        return result

    def slope(self, place: int, result: torch.Tensor, tensors: Sequence[torch.Tensor]) -> torch.Tensor | None:
        """Return the derivative with respect to an argument, itself differentiable."""
        slope = self.slopes[place]
        if slope is None or callable(slope):
            return slope(result, *tensors) if slope is not None else None
        total = torch.zeros_like(result)
        for step, weight in enumerate(_WEIGHTS, 1):
            for sign in (1.0, -1.0):
                near = list(tensors)
                near[place] = near[place] * float(np.exp(sign * step * _STEP))
                total = total + sign * weight / _STEP * self(*near)
        return total / tensors[place]


class _Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(special: Special, *tensors: torch.Tensor) -> torch.Tensor:
        with np.errstate(all="ignore"):
            result = special.value(*(np.atleast_1d(tensor.detach().numpy()) for tensor in tensors))
        return torch.from_numpy(np.ascontiguousarray(result)).reshape(tensors[0].shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        ctx.special = inputs[0]
        ctx.save_for_backward(output, *inputs[1:])
        ctx.save_for_forward(output, *inputs[1:])

    @staticmethod
    def backward(ctx: Any, slope: torch.Tensor) -> Any:
        output, *tensors = ctx.saved_tensors
        wanted = ctx.needs_input_grad[1:]
        found = (ctx.special.slope(place, output, tensors) if want else None for place, want in enumerate(wanted))
        return None, *(one if one is None else slope * one for one in found)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> torch.Tensor:
        output, *tensors = ctx.saved_tensors
        total = torch.zeros_like(output)
        for place, tangent in enumerate(tangents[1:]):
            slope = None if tangent is None else ctx.special.slope(place, output, tensors)
            total = total if slope is None else total + slope * tangent
        return total

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], special: Special, *tensors: torch.Tensor) -> Any:
        stacked = [
            tensor.unsqueeze(0) if dim is None else tensor.movedim(dim, 0)
            for tensor, dim in zip(tensors, in_dims[1:], strict=True)
        ]
        return special(*stacked), 0
