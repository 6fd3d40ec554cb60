"""Special functions that torch lacks, taken from scipy and made to work inside `torch.func.vmap`."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


class _Elementwise(torch.autograd.Function):
    """Apply a numpy function of equally shaped arrays; no gradient flows through it."""

    @staticmethod
    def forward(function: Callable[..., np.ndarray], *tensors: torch.Tensor) -> torch.Tensor:
        with np.errstate(all="ignore"):
            result = function(*(tensor.detach().numpy() for tensor in tensors))
        return torch.from_numpy(np.ascontiguousarray(result))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], function: Any, *tensors: torch.Tensor) -> Any:
        stacked = [
            tensor.unsqueeze(0) if dim is None else tensor.movedim(dim, 0)
            for tensor, dim in zip(tensors, in_dims[1:], strict=True)
        ]
        return _Elementwise.apply(function, *torch.broadcast_tensors(*stacked)), 0


def elementwise(function: Callable[..., np.ndarray], *tensors: torch.Tensor) -> torch.Tensor:
    """Apply `function` of numpy arrays to broadcast tensors, element by element.

    Examples
    --------
    >>> import torch
    >>> from scipy.special import ndtri
    >>> float(elementwise(ndtri, torch.tensor(0.5, dtype=torch.float64)))
    0.0
    """
    result: torch.Tensor = _Elementwise.apply(function, *torch.broadcast_tensors(*tensors))
    return result
