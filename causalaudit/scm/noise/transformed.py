"""Transformed distributions: the noise of the base, reached through the inverse transforms."""

from dataclasses import dataclass
from typing import Any

import torch

from causalaudit.scm.noise.base import Noise


@dataclass(frozen=True)
class Transformed:
    """``x = T(base)``: also the way for a program to state a noise of its own as the base."""

    base: Noise

    @property
    def randomised(self) -> bool:
        return self.base.randomised

    def width(self, law: Any) -> int | None:
        return self.base.width(law.base_dist)

    def abduct(self, law: Any, value: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        for transform in reversed(law.transforms):
            value = transform.inv(value)
        return self.base.abduct(law.base_dist, value, uniform)

    def push(self, law: Any, noise: torch.Tensor) -> torch.Tensor:
        value = self.base.push(law.base_dist, noise)
        for transform in law.transforms:
            value = transform(value)
        return value

    def fresh(self, law: Any, uniform: torch.Tensor) -> torch.Tensor:
        return self.base.fresh(law.base_dist, uniform)

    def readable(self, noise: torch.Tensor) -> torch.Tensor:
        return self.base.readable(noise)
