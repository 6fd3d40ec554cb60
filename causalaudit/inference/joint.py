"""The density of parameters and continuous latents together, where the latents cannot be integrated out."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample

from causalaudit.errors import DataError
from causalaudit.inference.latents import LatentStates, choose_state, continuous_latents
from causalaudit.inference.marginal import Accuracy
from causalaudit.inference.score import Score
from causalaudit.inference.space import Space, Unconstrain, unconstraining
from causalaudit.progress import watched
from causalaudit.randomness import seeded
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics, over_draws
from causalaudit.scm.handlers import Intervene, Message, Record, Tensors, run

_BUDGET = 2**18  # numbers (draws x people x states) that one pass holds for each variable


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


class JointSpace:
    """The unconstrained space of the parameters, followed by each continuous latent of every person."""

    def __init__(self, scm: SCM, people: int) -> None:
        self.parameters, self.latents, self.people = Space(scm), continuous_latents(scm), people
        self.size = self.parameters.size + len(self.latents) * people

    @property
    def labels(self) -> list[str]:
        """The names of the unconstrained numbers; people are numbered."""
        return [*self.parameters.labels, *(f"{name}[{i}]" for name in self.latents for i in range(self.people))]

    def split(self, vector: torch.Tensor) -> tuple[Tensors, Tensors]:
        """Cut vectors (the last axis) into the numbers of each parameter, and of each latent."""
        parameters, *latents = vector.split([self.parameters.size, *([self.people] * len(self.latents))], dim=-1)
        return self.parameters.split(parameters), dict(zip(self.latents, latents, strict=True))


class JointDensity:
    """log p(parameters, continuous latents, data) in unconstrained space; finite latents are summed out.

    It has the interface of `Density`, but its vectors go on, after the parameters, with the latents of
    every person; `over` returns these as ``"latent <name>"``.
    """

    def __init__(self, scm: SCM, values: Tensors) -> None:
        self.scm, self.values = scm, values
        self.people = len(next(iter(values.values())))
        self.space = JointSpace(scm, self.people)
        self.states = LatentStates(scm)
        self._crossed = self.states.cross(values)

    @property
    def parameter_count(self) -> int:
        """How many of the unconstrained numbers, the first ones, are parameters."""
        return self.space.parameters.size

    def parts(self, vector: torch.Tensor) -> Tensors:
        """Return log-prior (by parameter), log-Jacobian, values, latents and log p(latents, data | parameters)."""
        parameters, latents = self.space.split(vector)
        space, score, count = Unconstrain(parameters), Score(), self.states.count
        people = _UnconstrainPeople({name: number.repeat(count) for name, number in latents.items()})
        run(self.scm.program, count * self.people, space, people, score, Intervene(self._crossed))
        by_state = (score.total + people.log_jacobian).unflatten(-1, (count, self.people))
        jacobian = people.log_jacobian[: self.people].sum()
        return {
            "likelihood": by_state.logsumexp(-2).sum() - jacobian,
            "jacobian": space.log_jacobian + jacobian,
            **{f"prior {name}": value for name, value in space.log_prior.items()},
            **{f"value {name}": value for name, value in space.values.items()},
            **{f"latent {name}": value[: self.people] for name, value in people.values.items()},
        }

    def total(self, vector: torch.Tensor, prior: bool = True, jacobian: bool = True) -> torch.Tensor:
        """Return the log-density of one unconstrained vector, differentiable."""
        parts = self.parts(vector)
        total = parts["likelihood"]
        if prior:
            total = total + sum(value for name, value in parts.items() if name.startswith("prior "))
        return total + parts["jacobian"] if jacobian else total

    def over(self, vectors: np.ndarray, progress: bool = False) -> dict[str, np.ndarray]:
        """Return the parts of many unconstrained draws."""
        draws, chunk = len(vectors), max(1, _BUDGET // (self.people * self.states.count))
        starts, pieces = range(0, draws, chunk), []
        with numerics(), torch.no_grad():
            for start in watched(starts, len(starts), "Densities", progress):
                part = {"vector": torch.from_numpy(vectors[start : start + chunk])}
                size = len(part["vector"])
                pieces.append(over_draws(lambda one, _: self.parts(one["vector"]), part, {}, size, check=start == 0))
        return {name: np.concatenate([piece[name].numpy() for piece in pieces]) for name in pieces[0]}

    def prior_vectors(self, draws: int, seed: int) -> np.ndarray:
        """Draw parameters from the prior and latents given the people's values, unconstrained."""
        found = []
        with numerics(), torch.no_grad(), seeded(seed, "prior"):
            for _ in range(draws):
                found.append(self._unconstrained({}))
        return np.stack(found)

    def inverse(self, values: Tensors) -> np.ndarray:
        """Return the unconstrained vector of values of all parameters and continuous latents."""
        with numerics(), torch.no_grad():
            return self._unconstrained(values)

    def _unconstrained(self, values: Tensors) -> np.ndarray:
        """Run the program, in which what is not given is drawn, and return the vector of what it gives."""
        record = Record()
        run(self.scm.program, self.people, record, Intervene({**self.values, **values}))
        names = (*self.space.parameters.shapes, *self.space.latents)
        numbers = {name: unconstraining(record.laws[name]).inv(record.values[name]) for name in names}
        return np.concatenate([numbers[name].numpy().ravel() for name in names])

    def recentre(self, vector: np.ndarray, accuracy: Accuracy = "good") -> None:
        """Do nothing: no latent is integrated out."""

    def follow(self, vector: np.ndarray) -> None:
        """Do nothing: no latent is integrated out."""

    def refine(self, vectors: np.ndarray) -> bool:
        """Do nothing: no latent is integrated out."""
        return False

    def refuse_impossible(self, parameters: dict[str, np.ndarray], index: "pd.Index[Any]") -> None:
        """Refuse data that the program cannot give at the draws."""
        raise DataError(f"The data are impossible under the program {self.scm.name!r} at some of the draws.")


class JointLatents:
    """The latents of people whose continuous ones were drawn together with the parameters."""

    def __init__(self, scm: SCM, values: Tensors) -> None:
        self.scm, self.states = scm, LatentStates(scm)
        self._crossed = self.states.cross(values)
        self.people = len(next(iter(values.values())))

    @property
    def drawing_size(self) -> int:
        """How many people one run of the program stands for when latents are drawn."""
        return self.people * self.states.count

    def draw(self, theta: Tensors, continuous: Tensors, uniform: torch.Tensor | None) -> Tensors:
        """Add the finite latents, drawn from their conditional (without uniforms: the most probable state)."""
        if self.states.count == 1:
            return continuous
        score, repeated = Score(), {name: value.repeat(self.states.count) for name, value in continuous.items()}
        run(self.scm.program, self.drawing_size, score, Intervene({**theta, **self._crossed, **repeated}))
        by_state = score.total.unflatten(-1, (self.states.count, self.people))
        state = choose_state(by_state, uniform)
        return {**continuous, **{name: values[state] for name, values in self.states.values.items()}}
