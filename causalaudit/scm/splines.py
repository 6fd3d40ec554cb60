"""Pyro's spline flows of one number, in a form that can be run over draws."""

from typing import Any

import torch
from pyro.distributions.transforms.spline import ConditionedSpline
from torch.distributions import constraints
from torch.distributions.transforms import Transform
from torch.overrides import TorchFunctionMode


class _WholeMasks(TorchFunctionMode):
    """Let a masked assignment assign all, where the mask is known to be empty: vmap has none, nor an assertion."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__) and getattr(args[1], "dtype", 0) == torch.bool:
            return args[0] if func is torch.Tensor.__getitem__ else None
        return torch.ones((), dtype=torch.bool) if func is torch.Tensor.all else func(*args, **(kwargs or {}))


class SplineOfNumbers(Transform):
    """The elementwise rational spline of `Spline` and `ConditionalSpline` (Durkan et al. 2019), for single numbers.

    Its knots are computed when it is made, inside of the program, and not when a density is asked for.
    """

    domain = codomain = constraints.real
    bijective = True
    sign = 1

    def __init__(self, flow: ConditionedSpline) -> None:
        super().__init__()
        knots = flow._params() if callable(flow._params) else flow._params
        self.spline = ConditionedSpline(knots, bound=flow.bound, order=flow.order)

    def _run(self, numbers: torch.Tensor, inverse: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """Return images and log-slopes; outside of its box a spline is the identity."""
        inside = numbers.clamp(-self.spline.bound, self.spline.bound)
        with _WholeMasks():
            images, slopes = self.spline.spline_op(inside.unsqueeze(-1), inverse=inverse)
        beyond = inside != numbers
        return torch.where(beyond, numbers, images.squeeze(-1)), torch.where(beyond, 0.0, slopes.squeeze(-1))

    def _call(self, x: torch.Tensor) -> torch.Tensor:
        return self._run(x, inverse=False)[0]

    def _inverse(self, y: torch.Tensor) -> torch.Tensor:
        return self._run(y, inverse=True)[0]

    def log_abs_det_jacobian(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self._run(x, inverse=False)[1]
