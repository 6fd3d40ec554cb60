"""Latent variables with finitely many values: summed over exactly, and drawn exactly."""

import itertools
import math

import pyro.distributions as dist
import torch
from pyro.poutine.messenger import Messenger

from causalaudit.errors import InferenceError
from causalaudit.inference.score import Score
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Intervene, Tensors, run

MOST_STATES = 256


class LatentStates:
    """Every joint state of the latent variables of a person.

    Attributes
    ----------
    values
        From each latent that is not computed from others to its value in each state.
    count
        How many states there are; 1 without latents.

    Raises
    ------
    InferenceError
        If a latent has infinitely many values, or there are more than 256 joint states.
    """

    def __init__(self, scm: SCM) -> None:
        self.scm = scm
        supports = self._supports()
        self.count = math.prod(len(support) for support in supports.values())
        if self.count > MOST_STATES:
            raise InferenceError(
                f"The latents {', '.join(supports)} have {self.count} joint states for each person; "
                f"at most {MOST_STATES} are summed over. Use fewer latents, or fewer values."
            )
        states = list(itertools.product(*supports.values()))
        self.values = {name: torch.stack([state[at] for state in states]) for at, name in enumerate(supports)}

    def _supports(self) -> dict[str, list[torch.Tensor]]:
        supports = {}
        for name in self.scm.latents:
            law = self.scm.structure.laws[name]
            if isinstance(law, dist.Delta):
                continue
            if not law.has_enumerate_support:
                raise InferenceError(
                    f"The latent {name!r} ({type(law).__name__}) has infinitely many values, and only finite latents "
                    "can be summed over. Give it a finite distribution, or observe it."
                )
            support = law.enumerate_support(expand=False)
            supports[name] = list(support.reshape(-1, *law.event_shape))
        return supports

    def cross(self, values: Tensors) -> Tensors:
        """Return every person once for every state, the states varying slowest."""
        n = len(next(iter(values.values())))
        seen = {name: value.repeat(self.count, *([1] * (value.ndim - 1))) for name, value in values.items()}
        return {**seen, **{name: state.repeat_interleave(n, 0) for name, state in self.values.items()}}

    def log_joint(self, parameters: Messenger, crossed: Tensors) -> torch.Tensor:
        """Return log p(state, variables) by state (last but one axis) and person (last axis)."""
        total = len(next(iter(crossed.values())))
        score = Score()
        run(self.scm.program, total, parameters, score, Intervene(crossed))
        return score.total.expand(*score.total.shape[:-1], total).unflatten(-1, (self.count, total // self.count))

    def draw(self, theta: Tensors, values: Tensors, uniform: torch.Tensor | None) -> Tensors:
        """Draw each person's state given the parameters and their variables; without uniforms, the most probable."""
        if not self.values:
            return {}
        log_joint = self.log_joint(Intervene(theta), self.cross(values))
        if uniform is None:
            state = log_joint.argmax(-2)
        else:
            cumulative = log_joint.softmax(-2).cumsum(-2)
            state = (cumulative < uniform.unsqueeze(-2) * cumulative[..., -1:, :]).sum(-2)
        return {name: states[state] for name, states in self.values.items()}
