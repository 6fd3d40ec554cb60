"""What every noise can do."""

from typing import Protocol

import torch
from torch.distributions import Distribution


class Noise(Protocol):
    """The exogenous noise of one family of distributions.

    ``push(law, abduct(law, x, uniform)) == x`` for every value `x` that `law` can take.
    """

    @property
    def randomised(self) -> bool:
        """Whether abduction draws: the value leaves more than one noise possible."""

    def width(self, law: Distribution) -> int | None:
        """Return how many uniforms a person needs (None: a single one, without an axis for it)."""

    def abduct(self, law: Distribution, value: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        """Return the noise under which `law` gives `value`."""

    def push(self, law: Distribution, noise: torch.Tensor) -> torch.Tensor:
        """Return the value that `law` gives under `noise`."""

    def fresh(self, law: Distribution, uniform: torch.Tensor) -> torch.Tensor:
        """Return new noise, made from uniforms."""

    def readable(self, noise: torch.Tensor) -> torch.Tensor:
        """Return the noise on the scale that people read (uniform quantiles, residuals, Gumbels)."""
