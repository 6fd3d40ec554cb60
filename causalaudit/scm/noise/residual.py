"""Location-scale families: the noise is the standardised residual, exactly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyro.distributions as pyro_dist
import torch
import torch.distributions as dist
from scipy import special
from torch.distributions import Distribution

from causalaudit.scm.noise.elementwise import elementwise


def _laplace_quantile(uniform: np.ndarray) -> np.ndarray:
    return np.where(uniform < 0.5, np.log(2 * uniform), -np.log(2 * (1 - uniform)))


@dataclass(frozen=True)
class Residual:
    """``x = location + scale * noise``; the noise has a distribution without parents.

    `quantile` is the quantile function of the standard member, given the shape parameters.
    """

    location: Callable[[Any], torch.Tensor | float]
    scale: Callable[[Any], torch.Tensor]
    quantile: Callable[..., np.ndarray]
    shapes: tuple[str, ...] = ()
    randomised: bool = False

    def width(self, law: Distribution) -> None:
        return None

    def abduct(self, law: Distribution, value: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        return (value - self.location(law)) / self.scale(law)

    def push(self, law: Distribution, noise: torch.Tensor) -> torch.Tensor:
        return self.location(law) + self.scale(law) * noise

    def fresh(self, law: Distribution, uniform: torch.Tensor) -> torch.Tensor:
        return elementwise(self.quantile, uniform, *(getattr(law, shape) for shape in self.shapes))

    def readable(self, noise: torch.Tensor) -> torch.Tensor:
        return noise


def _loc(law: Any) -> torch.Tensor:
    loc: torch.Tensor = law.loc
    return loc


def _scale(law: Any) -> torch.Tensor:
    scale: torch.Tensor = law.scale
    return scale


def _zero(law: Any) -> float:
    return 0.0


RESIDUALS: dict[type[Distribution], Residual] = {
    dist.Normal: Residual(_loc, _scale, special.ndtri),
    dist.Laplace: Residual(_loc, _scale, _laplace_quantile),
    dist.Cauchy: Residual(_loc, _scale, lambda uniform: np.tan(np.pi * (uniform - 0.5))),
    dist.Gumbel: Residual(_loc, _scale, lambda uniform: -np.log(-np.log(uniform))),
    dist.StudentT: Residual(_loc, _scale, lambda uniform, df: special.stdtrit(df, uniform), shapes=("df",)),
    dist.HalfNormal: Residual(_zero, _scale, lambda uniform: special.ndtri((1 + uniform) / 2)),
    dist.HalfCauchy: Residual(_zero, _scale, lambda uniform: np.tan(np.pi * uniform / 2)),
    dist.Exponential: Residual(_zero, lambda law: 1 / law.rate, lambda uniform: -np.log1p(-uniform)),
    dist.Uniform: Residual(lambda law: law.low, lambda law: law.high - law.low, lambda uniform: uniform),
    pyro_dist.Logistic: Residual(_loc, _scale, special.logit),
}
