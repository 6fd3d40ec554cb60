"""Other continuous families: the noise is the uniform quantile, exact in both tails."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributions as dist
from scipy import special
from torch.distributions import Distribution

from causalaudit.scm.noise import tails
from causalaudit.scm.noise.elementwise import elementwise


@dataclass(frozen=True)
class Quantile:
    """``x = F^{-1}(u)``: numpy functions of a value (or a probability) and the parameters."""

    parameters: Callable[[Any], tuple[torch.Tensor, ...]]
    below: Callable[..., np.ndarray]
    above: Callable[..., np.ndarray]
    inverse_below: Callable[..., np.ndarray]
    inverse_above: Callable[..., np.ndarray]
    randomised: bool = False

    def width(self, law: Distribution) -> None:
        return None

    def abduct(self, law: Distribution, value: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        parameters = self.parameters(law)
        return tails.from_tails(
            elementwise(self.below, value, *parameters), elementwise(self.above, value, *parameters)
        )

    def push(self, law: Distribution, noise: torch.Tensor) -> torch.Tensor:
        return elementwise(self._inverse, noise, *self.parameters(law))

    def _inverse(self, noise: np.ndarray, *parameters: np.ndarray) -> np.ndarray:
        return np.where(noise > 0, self.inverse_below(noise, *parameters), self.inverse_above(-noise, *parameters))

    def fresh(self, law: Distribution, uniform: torch.Tensor) -> torch.Tensor:
        return tails.from_uniform(uniform)

    def readable(self, noise: torch.Tensor) -> torch.Tensor:
        return tails.to_uniform(noise)


def _student_inverse(probability: np.ndarray, df: np.ndarray, loc: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Lower-tail quantile of Student's t through the inverse beta, which holds far out where `stdtrit` does not."""
    tail = np.minimum(probability, 0.5)
    far = special.betaincinv(df / 2, 0.5, 2 * tail)  # df / (df + t^2), good where t is large
    near = special.betaincinv(0.5, df / 2, 1 - 2 * tail)  # t^2 / (df + t^2), good where t is small
    square = np.where(tail < 0.25, 1 / far - 1, near / (1 - near))
    return loc - scale * np.sqrt(df * square)


def _student_below(value: np.ndarray, df: np.ndarray, loc: np.ndarray, scale: np.ndarray) -> np.ndarray:
    standard = (value - loc) / scale
    tail = 0.5 * special.betainc(df / 2, 0.5, df / (df + standard**2))
    return np.where(standard <= 0, tail, 1 - tail)


def _mirrored(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Turn a function of the lower tail of a symmetric family into that of its upper tail."""
    return lambda value, df, loc, scale: function(2 * loc - value, df, loc, scale)


QUANTILES: dict[type[Distribution], Quantile] = {
    dist.Gamma: Quantile(
        lambda law: (law.concentration, law.rate),
        below=lambda value, shape, rate: special.gammainc(shape, rate * value),
        above=lambda value, shape, rate: special.gammaincc(shape, rate * value),
        inverse_below=lambda probability, shape, rate: special.gammaincinv(shape, probability) / rate,
        inverse_above=lambda probability, shape, rate: special.gammainccinv(shape, probability) / rate,
    ),
    dist.Beta: Quantile(
        lambda law: (law.concentration1, law.concentration0),
        below=lambda value, a, b: special.betainc(a, b, value),
        above=lambda value, a, b: special.betaincc(a, b, value),
        inverse_below=lambda probability, a, b: special.betaincinv(a, b, probability),
        inverse_above=lambda probability, a, b: special.betainccinv(a, b, probability),
    ),
    # Only where the degrees of freedom depend on parents; elsewhere the residual is the noise.
    dist.StudentT: Quantile(
        lambda law: (law.df, law.loc, law.scale),
        below=_student_below,
        above=_mirrored(_student_below),
        inverse_below=_student_inverse,
        inverse_above=lambda probability, df, loc, scale: 2 * loc - _student_inverse(probability, df, loc, scale),
    ),
}
