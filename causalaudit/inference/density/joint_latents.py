"""The latents of people whose continuous ones were drawn together with the parameters."""

import torch

from causalaudit.inference.density.latent_states import LatentStates, choose_state
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Intervene, Tensors, run
from causalaudit.scm.score import Score


class JointLatents:
    """Finite latents of people, to be added to continuous ones that are drawn already."""

    def __init__(self, scm: SCM, values: Tensors) -> None:
        self.scm, self.states = scm, LatentStates(scm)
        self._crossed = self.states.cross(values)
        self.people = len(next(iter(values.values())))

    uniforms = 2  # numbers of each person, of which one is needed

    @property
    def drawing_size(self) -> int:
        """How many people one run of the program stands for when latents are drawn."""
        return self.people * self.states.count * self.scm.nodes

    def draw(self, theta: Tensors, continuous: Tensors, uniform: torch.Tensor | None) -> Tensors:
        """Add the finite latents, drawn from their conditional (without uniforms: the most probable state)."""
        if self.states.count == 1:
            return continuous
        score, repeated = Score(), {name: value.repeat(self.states.count) for name, value in continuous.items()}
        run(self.scm.program, self.people * self.states.count, score, Intervene({**theta, **self._crossed, **repeated}))
        by_state = score.total.unflatten(-1, (self.states.count, self.people))
        state = choose_state(by_state, uniform)
        return {**continuous, **{name: values[state] for name, values in self.states.values.items()}}
