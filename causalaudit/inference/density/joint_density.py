"""The density of parameters and continuous latents together, where the latents cannot be integrated out."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample

from causalaudit.errors import DataError
from causalaudit.inference.density.latent_states import LatentStates, continuous_latents
from causalaudit.inference.density.log_density import Accuracy, DensityParts, ProgramDensity
from causalaudit.inference.density.unconstrained import Unconstrain, UnconstrainedParameters, unconstraining
from causalaudit.randomness import seeded
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Intervene, Message, Record, Tensors, run
from causalaudit.scm.score import Score


class _UnconstrainPeople(Messenger):
    """Give each person's latents the values that unconstrained numbers stand for, with their log-Jacobian."""

    def __init__(self, numbers: Tensors) -> None:
        super().__init__()
        self.numbers = numbers
        self.values: Tensors = {}
        self.log_jacobian: torch.Tensor = torch.zeros(())

    def _pyro_sample(self, message: Message) -> None:
        name = message["name"]
        if name in self.numbers and not site_is_subsample(message):
            transform, number = unconstraining(message["fn"]), self.numbers[name]
            message["value"] = self.values[name] = transform(number)
            self.log_jacobian = self.log_jacobian + transform.log_abs_det_jacobian(number, self.values[name])


class JointDensity(ProgramDensity):
    """log p(parameters, continuous latents, data) in unconstrained space; finite latents are summed out.

    Its vectors go on, after the parameters, with each continuous latent of every person.

    Attributes
    ----------
    parameters
        The parameters as one vector.
    latents
        The continuous latents.
    people
        How many people there are.
    """

    def __init__(self, scm: SCM, values: Tensors) -> None:
        self.scm, self.values = scm, values
        self.people = len(next(iter(values.values())))
        self.parameters, self.latents = UnconstrainedParameters(scm), continuous_latents(scm)
        self.states = LatentStates(scm)
        self._crossed = self.states.cross(values)
        self.parameter_size, self.latent_shape = self.parameters.size, (len(self.latents), self.people)
        self.size = self.parameter_size + len(self.latents) * self.people
        numbered = (f"{name}[{person}]" for name in self.latents for person in range(self.people))
        self.labels = [*self.parameters.labels, *numbered]

    @property
    def run_size(self) -> int:
        """How many people one run of the program stands for: people × states × nodes of rectangles."""
        return self.people * self.states.count * self.scm.nodes

    def split(self, vector: torch.Tensor) -> tuple[Tensors, Tensors]:
        """Cut vectors (the last axis) into the numbers of each parameter, and of each latent."""
        parameters, *latents = vector.split([self.parameter_size, *([self.people] * len(self.latents))], dim=-1)
        return self.parameters.split(parameters), dict(zip(self.latents, latents, strict=True))

    def parts(self, vector: torch.Tensor) -> DensityParts[torch.Tensor]:
        """Return the parts of one vector; the likelihood is log p(latents, data | parameters)."""
        parameters, latents = self.split(vector)
        space, score, count = Unconstrain(parameters), Score(), self.states.count
        people = _UnconstrainPeople({name: number.repeat(count) for name, number in latents.items()})
        run(self.scm.program, count * self.people, space, people, score, Intervene(self._crossed))
        by_state = (score.total + people.log_jacobian).unflatten(-1, (count, self.people))
        jacobian = people.log_jacobian[: self.people].sum()
        return DensityParts(
            by_state.logsumexp(-2).sum() - jacobian,
            space.log_jacobian + jacobian,
            space.log_prior,
            space.values,
            {name: value[: self.people] for name, value in people.values.items()},
        )

    def total(self, vector: torch.Tensor, prior: bool = True, jacobian: bool = True) -> torch.Tensor:
        """Return the log-density of one unconstrained vector, differentiable."""
        parts = self.parts(vector)
        total = parts.likelihood
        if prior:
            total = total + parts.log_prior
        return total + parts.jacobian if jacobian else total

    def over(self, vectors: np.ndarray, progress: bool = False) -> DensityParts[np.ndarray]:
        """Return the parts of many unconstrained draws."""

        def one_draw(draw: Tensors, people: Tensors) -> Tensors:
            return self.parts(draw["vector"]).flat()

        draws = {"vector": torch.from_numpy(vectors)}
        return DensityParts.of_flat(self._in_chunks(one_draw, draws, len(vectors), progress))

    def prior_vectors(self, draws: int, seed: int) -> np.ndarray:
        """Draw parameters from the prior and latents given the people's values, unconstrained."""
        found = []
        with numerics(), torch.no_grad(), seeded(seed, "prior"):
            for _ in range(draws):
                found.append(self._unconstrained({}))
        return np.stack(found)

    def unconstrain(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the unconstrained vectors (rows) of draws of all parameters and continuous latents."""
        draws = len(next(iter(values.values())))
        with numerics(), torch.no_grad():
            tensors = {name: torch.from_numpy(np.array(value, dtype=float)) for name, value in values.items()}
            one = [{name: value[draw] for name, value in tensors.items()} for draw in range(draws)]
            return np.stack([self._unconstrained(draw) for draw in one])

    def likelihood_by_row(
        self, values: Mapping[str, np.ndarray], draws: int, progress: bool = False, accuracy: Accuracy = "precise"
    ) -> np.ndarray:
        """Return log p(latents, data | parameters) of all people together (one column) for many draws (rows)."""
        return self.over(self.unconstrain(values), progress).likelihood[:, None]

    def _unconstrained(self, values: Tensors) -> np.ndarray:
        """Run the program, in which what is not given is drawn, and return the vector of what it gives."""
        record = Record()
        run(self.scm.program, self.people, record, Intervene({**self.values, **values}))
        names = (*self.parameters.shapes, *self.latents)
        numbers = {name: unconstraining(record.laws[name]).inv(record.values[name]) for name in names}
        return np.concatenate([numbers[name].numpy().ravel() for name in names])

    def refuse_impossible(self, values: Mapping[str, np.ndarray], index: "pd.Index[Any]") -> None:
        """Refuse data that the program cannot give at the draws."""
        raise DataError(f"The data are impossible under the program {self.scm.name!r} at some of the draws.")
