"""Latent variables of people: which there are, and their joint states where they are finite."""

import itertools
import math
from typing import Any

import pyro.distributions as dist
import torch

from causalaudit.errors import InferenceError
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Tensors
from causalaudit.scm.noise import is_discrete

MOST_STATES = 256


def is_summed(law: Any) -> bool:
    """Tell whether a latent is computed, or has finitely many values, which are summed over."""
    return isinstance(law, dist.Delta) or bool(law.has_enumerate_support)


def is_integrated(law: Any) -> bool:
    """Tell whether a latent is continuous, without a mass on any value, so that it can be integrated out."""
    if is_summed(law) or law.support is None or law.event_shape or is_discrete(law):
        return False
    return not getattr(law, "has_atoms", False)


def continuous_latents(scm: SCM) -> tuple[str, ...]:
    """Return the latents that have to be integrated out.

    Raises
    ------
    InferenceError
        If a latent can be neither summed over nor integrated out.
    """
    names = []
    for name in scm.latents:
        law = scm.structure.laws[name]
        if is_summed(law):
            continue
        if not is_integrated(law):
            raise InferenceError(
                f"The latent {name!r} ({type(law).__name__}) has infinitely many values that are not a continuous "
                "range, and can be neither summed over nor integrated out. Give it a finite or a continuous "
                "distribution (for a count, a Binomial or a Gamma), or observe it."
            )
        names.append(name)
    return tuple(names)


class LatentStates:
    """Every joint state of the latent variables with finitely many values.

    Attributes
    ----------
    values
        From each such latent to its value in each state.
    count
        How many states there are; 1 without such latents.

    Raises
    ------
    InferenceError
        If there are more than 256 joint states.
    """

    def __init__(self, scm: SCM) -> None:
        supports = self._supports(scm)
        self.count = math.prod(len(support) for support in supports.values())
        if self.count > MOST_STATES:
            raise InferenceError(
                f"The latents {', '.join(supports)} have {self.count} joint states for each person; "
                f"at most {MOST_STATES} are summed over. Use fewer latents, or fewer values."
            )
        states = list(itertools.product(*supports.values()))
        self.values = {name: torch.stack([state[at] for state in states]) for at, name in enumerate(supports)}

    @staticmethod
    def _supports(scm: SCM) -> dict[str, list[torch.Tensor]]:
        laws = {name: scm.structure.laws[name] for name in scm.latents}
        return {
            name: list(law.enumerate_support(expand=False).reshape(-1, *law.event_shape))
            for name, law in laws.items()
            if not isinstance(law, dist.Delta) and law.has_enumerate_support
        }

    def cross(self, values: Tensors) -> Tensors:
        """Return every person once for every state, the states varying slowest."""
        n = len(next(iter(values.values())))
        seen = {name: value.repeat(self.count, *([1] * (value.ndim - 1))) for name, value in values.items()}
        return {**seen, **{name: state.repeat_interleave(n, 0) for name, state in self.values.items()}}


def choose_state(by_state: torch.Tensor, uniform: torch.Tensor | None) -> torch.Tensor:
    """Draw the state of each person (columns) by its log-probability; without uniforms, take the most probable."""
    if uniform is None:
        return by_state.argmax(0)
    cumulative = by_state.softmax(0).cumsum(0)
    return (cumulative < uniform * cumulative[-1]).sum(0)
