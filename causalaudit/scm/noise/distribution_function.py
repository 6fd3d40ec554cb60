"""Families known by their distribution function: mixtures, zero-inflated, truncated and censored ones, and the rest."""

from dataclasses import dataclass

import torch
from torch.distributions import Distribution

from causalaudit.scm.noise import tails
from causalaudit.scm.noise.both_tails import both_tails
from causalaudit.scm.noise.inverses import quantile_of
from causalaudit.scm.noise.inverted import just_below


class _ByTails:
    """What quantile noises of such families share."""

    def width(self, law: Distribution) -> None:
        return None

    def fresh(self, law: Distribution, uniform: torch.Tensor) -> torch.Tensor:
        return tails.from_uniform(uniform)

    def readable(self, noise: torch.Tensor) -> torch.Tensor:
        return tails.to_uniform(noise)


@dataclass(frozen=True)
class Continuous(_ByTails):
    """``x = F^{-1}(u)``; where the tail of a value is too small for a double, the noise is not a number."""

    randomised: bool = False

    def abduct(self, law: Distribution, value: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        noise = tails.from_tails(*both_tails(law, value))
        return torch.where(noise == 0, torch.nan, noise)

    def push(self, law: Distribution, noise: torch.Tensor) -> torch.Tensor:
        return quantile_of(law, noise)


@dataclass(frozen=True)
class Stepped(_ByTails):
    """``x = F^{-1}(u)`` of a law with atoms; abduction draws u from the step of F that the value occupies.

    Attributes
    ----------
    whole
        Whether all values are whole numbers; otherwise the law has a density between its atoms, too.
    """

    whole: bool
    randomised: bool = True

    def abduct(self, law: Distribution, value: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        value = value.to(torch.float64)
        below, above = both_tails(law, value)
        below_low, above_low = both_tails(law, value - 1 if self.whole else just_below(value))
        return tails.inside_step((below_low, below), (above_low, above), uniform)

    def push(self, law: Distribution, noise: torch.Tensor) -> torch.Tensor:
        return quantile_of(law, noise)
