"""Finite families: monotone (one uniform quantile) and Gumbel-max noise.

Which of the two is true is not in the data: it is the `coupling` assumption.
"""

from dataclasses import dataclass
from typing import Any

import pyro.distributions as pyro_dist
import torch
import torch.distributions as dist
from torch.distributions import Distribution

from causalaudit.scm.noise import tails


def steps(law: Any) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return F(k) and 1 - F(k) for every value but the last, both without cancellation."""
    if isinstance(law, dist.Bernoulli):
        if "probs" in law.__dict__:
            return [1 - law.probs], [law.probs]
        return [torch.sigmoid(-law.logits)], [torch.sigmoid(law.logits)]
    if isinstance(law, pyro_dist.OrderedLogistic):
        gaps = (law.cutpoints - law.predictor.unsqueeze(-1)).unbind(-1)
        return [torch.sigmoid(gap) for gap in gaps], [torch.sigmoid(-gap) for gap in gaps]
    below = law.probs.cumsum(-1)[..., :-1]
    above = law.probs.flip(-1).cumsum(-1).flip(-1)[..., 1:]
    return list(below.unbind(-1)), list(above.unbind(-1))


@dataclass(frozen=True)
class Monotone:
    """``x = F^{-1}(u)`` over the codes 0, 1, ..., in their order."""

    randomised: bool = True

    def width(self, law: Distribution) -> None:
        return None

    def abduct(self, law: Distribution, value: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        below, above = steps(law)
        zero, one = torch.zeros_like(uniform), torch.ones_like(uniform)
        below_low, below_high, above_low, above_high = zero, one, one, zero
        for code, (under, over) in enumerate(zip(below, above, strict=True)):
            here, next_up = value == code, value == code + 1
            below_high, above_high = torch.where(here, under, below_high), torch.where(here, over, above_high)
            below_low, above_low = torch.where(next_up, under, below_low), torch.where(next_up, over, above_low)
        return tails.inside_step((below_low, below_high), (above_low, above_high), uniform)

    def push(self, law: Distribution, noise: torch.Tensor) -> torch.Tensor:
        below, above = steps(law)
        passed = [
            torch.where(noise > 0, noise > under, -noise < over) for under, over in zip(below, above, strict=True)
        ]
        total: torch.Tensor = sum((step.to(noise.dtype) for step in passed), torch.zeros_like(noise))
        return total

    def fresh(self, law: Distribution, uniform: torch.Tensor) -> torch.Tensor:
        return tails.from_uniform(uniform)

    def readable(self, noise: torch.Tensor) -> torch.Tensor:
        return tails.to_uniform(noise)


def _gumbel(uniform: torch.Tensor) -> torch.Tensor:
    return -torch.log(-torch.log(uniform))


def _log_probabilities(law: Any) -> torch.Tensor:
    if isinstance(law, dist.Categorical) and not isinstance(law, pyro_dist.OrderedLogistic):
        # Given probabilities are logged as they are: torch's own logits would clamp an exact zero.
        return law.probs.log() if "probs" in law.__dict__ else law.logits
    below, above = steps(law)
    middle = [
        torch.where(high <= 0.5, high - low, over - further)
        for low, high, over, further in zip(below[:-1], below[1:], above[:-1], above[1:], strict=True)
    ]
    return torch.stack(torch.broadcast_tensors(below[0], *middle, above[-1]), -1).log()


@dataclass(frozen=True)
class GumbelMax:
    """``x = argmax_k (log p_k + g_k)`` with independent standard Gumbel noises g."""

    randomised: bool = True

    def width(self, law: Distribution) -> int:
        return _log_probabilities(law).shape[-1]

    def abduct(self, law: Distribution, value: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        log_p, gumbel = _log_probabilities(law), _gumbel(uniform)
        chosen = torch.arange(log_p.shape[-1]) == value.unsqueeze(-1)
        # The largest of the perturbed log-probabilities is standard Gumbel whichever value it
        # belongs to; the others are Gumbels truncated below it (Maddison et al. 2014).
        largest = torch.where(chosen, gumbel, 0.0).sum(-1, keepdim=True)
        others = -torch.logaddexp(log_p - largest, -gumbel)
        return torch.where(chosen, largest - log_p, others)

    def push(self, law: Distribution, noise: torch.Tensor) -> torch.Tensor:
        return (_log_probabilities(law) + noise).argmax(-1).to(noise.dtype)

    def fresh(self, law: Distribution, uniform: torch.Tensor) -> torch.Tensor:
        return _gumbel(uniform)

    def readable(self, noise: torch.Tensor) -> torch.Tensor:
        return noise


@dataclass(frozen=True)
class OneHot:
    """A categorical site whose value is a vector of zeros with a single one."""

    codes: Monotone | GumbelMax
    randomised: bool = True

    def width(self, law: Any) -> int | None:
        return self.codes.width(law._categorical)

    def abduct(self, law: Any, value: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        return self.codes.abduct(law._categorical, value.argmax(-1), uniform)

    def push(self, law: Any, noise: torch.Tensor) -> torch.Tensor:
        codes = self.codes.push(law._categorical, noise)
        return (torch.arange(law.event_shape[-1]) == codes.unsqueeze(-1)).to(noise.dtype)

    def fresh(self, law: Any, uniform: torch.Tensor) -> torch.Tensor:
        return self.codes.fresh(law._categorical, uniform)

    def readable(self, noise: torch.Tensor) -> torch.Tensor:
        return self.codes.readable(noise)
