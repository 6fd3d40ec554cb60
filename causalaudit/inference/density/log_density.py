"""What a sampler sees of a posterior, and the parts that its density has."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
import pandas as pd
import torch

from causalaudit.errors import InferenceError
from causalaudit.progress import watched
from causalaudit.scm import SCM
from causalaudit.scm.execution import Function, numerics, over_draws
from causalaudit.scm.handlers import Tensors

Accuracy = Literal["rough", "good", "precise"]
Array = TypeVar("Array", np.ndarray, torch.Tensor)
PriorVectors = Callable[[int], np.ndarray]
# Numbers (draws x rows x states x nodes) that one pass holds for each variable: 2 MiB, which stays in the cache.
_BUDGET = 2**18


class LogDensity(Protocol):
    """The log-density of a posterior, up to a constant, in unconstrained space: all that a sampler needs.

    Every vector of `size` real numbers stands for values of the parameters (and, where several continuous latents of
    a person are drawn together with them, of these latents). The log-Jacobian of that map is part of the density.

    Attributes
    ----------
    name
        The program, for messages.
    size
        How many numbers a vector has.
    labels
        What each of them belongs to.
    """

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def labels(self) -> list[str]: ...

    def value(self, vectors: np.ndarray) -> np.ndarray:
        """Return the log-density of many vectors (rows), minus infinity where it is zero or undefined."""
        ...

    def gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-density of one vector and its gradient."""
        ...

    def prior_vectors(self, draws: int, seed: int) -> np.ndarray:
        """Draw vectors (rows) from the prior: points to start from, and the scale of each number."""
        ...

    def constrain(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values of the parameters that vectors (rows) stand for, by name, draws along the first axis."""
        ...


@dataclass(frozen=True)
class DensityParts(Generic[Array]):
    """The parts of a log-density, of one draw (torch) or of many (numpy, draws along the first axis).

    Attributes
    ----------
    likelihood
        The log-likelihood: of each distinct row of the data, or summed over people.
    jacobian
        The log-Jacobian of unconstrained space.
    prior
        The log-prior of each parameter.
    values
        The value of each parameter, and of what the program computes from them.
    latents
        The values of latents that are drawn together with the parameters.
    """

    likelihood: Array
    jacobian: Array
    prior: dict[str, Array]
    values: dict[str, Array]
    latents: dict[str, Array] = field(default_factory=dict)

    @property
    def log_prior(self) -> Any:
        """The log-prior of all parameters together."""
        return sum(self.prior.values())

    def flat(self) -> dict[str, Array]:
        """Return all arrays by a name each, as `over_draws` takes them."""
        groups = {"prior": self.prior, "value": self.values, "latent": self.latents}
        named = {f"{group} {name}": value for group, part in groups.items() for name, value in part.items()}
        return {"likelihood": self.likelihood, "jacobian": self.jacobian, **named}

    @classmethod
    def of_flat(cls, flat: Mapping[str, Array]) -> "DensityParts[Array]":
        """Undo `flat`."""
        groups: dict[str, dict[str, Array]] = {"prior": {}, "value": {}, "latent": {}}
        for key, value in flat.items():
            group, _, name = key.partition(" ")
            if group in groups:
                groups[group][name] = value
        return cls(flat["likelihood"], flat["jacobian"], groups["prior"], groups["value"], groups["latent"])

    def map(self, function: Callable[[Array], Array]) -> "DensityParts[Array]":
        """Apply a function to every array."""
        return self.of_flat({name: function(value) for name, value in self.flat().items()})


def log_joint(parts: DensityParts[np.ndarray]) -> np.ndarray:
    """Return the log-density of draws in unconstrained space from its parts, minus infinity where it is undefined."""
    total = parts.likelihood + parts.jacobian
    total = total + parts.log_prior
    return np.where(np.isfinite(total), total, -np.inf)


def joined(pieces: list[DensityParts[np.ndarray]]) -> DensityParts[np.ndarray]:
    """Put the parts of several groups of draws together, in their order."""
    flat = [piece.flat() for piece in pieces]
    return DensityParts.of_flat({name: np.concatenate([piece[name] for piece in flat]) for name in flat[0]})


class ProgramDensity(ABC):
    """The log-density of a program's parameters given people; it is a `LogDensity`, and what our own methods ask for.

    It never changes. Where a continuous latent is integrated out, the nodes of the integral are placed around a
    reference; `placed_at`, `moved_to` and `refined` return the density with other nodes. Where none is, they return
    the density itself.

    Attributes
    ----------
    scm
        The program.
    size, labels
        How many numbers a vector has, and what each belongs to.
    parameter_size
        How many of them, the first ones, are parameters; the others are latents of people.
    latent_shape
        How many latents of each person follow, and how many people there are.
    run_size
        How many people one run of the program stands for.
    start
        A vector from which the search for the maximum begins; None: at the best of some draws from the prior.
    """

    scm: SCM
    size: int
    labels: list[str]
    parameter_size: int
    latent_shape: tuple[int, int] = (0, 0)
    start: np.ndarray | None = None

    @property
    def name(self) -> str:
        """The program, for messages."""
        return str(self.scm.name)

    @property
    @abstractmethod
    def run_size(self) -> int: ...

    @property
    def whole_size(self) -> int:
        """How many people all runs of the program stand for that one density takes."""
        return self.run_size

    @property
    def integrates(self) -> bool:
        """Whether a continuous latent is integrated out."""
        return False

    @abstractmethod
    def total(self, vector: torch.Tensor, prior: bool = True, jacobian: bool = True) -> torch.Tensor:
        """Return the log-density of one vector, differentiable."""

    def total_afar(self, vector: torch.Tensor, prior: bool = True, jacobian: bool = True) -> torch.Tensor:
        """Return the same of a vector that may be far from where the nodes of a continuous latent were placed."""
        return self.total(vector, prior, jacobian)

    def terms(self, vector: torch.Tensor, prior: bool = True, jacobian: bool = True) -> Iterator[torch.Tensor]:
        """Yield numbers whose sum is the log-density; the derivatives of one can be forgotten before the next."""
        yield self.total(vector, prior, jacobian)

    def slopes(
        self, vectors: np.ndarray, prior: bool = True, jacobian: bool = True, afar: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-density of many vectors (rows) and its gradients, in one pass over the people.

        `afar` lets the nodes of a continuous latent follow wherever the vectors are, which takes longer.
        """
        total = self.total_afar if afar else self.total

        def one_draw(draw: Tensors, people: Tensors) -> Tensors:
            return {"total": total(draw["vector"], prior, jacobian)}

        chunk, found = max(1, _BUDGET // self.run_size), []
        with numerics(), torch.enable_grad():
            for start in range(0, len(vectors), chunk):
                points = torch.tensor(vectors[start : start + chunk], requires_grad=True)
                heights = over_draws(one_draw, {"vector": points}, {}, len(points), check=False)["total"]
                (gradients,) = torch.autograd.grad(heights.sum(), points)
                found.append((heights.detach().numpy(), gradients.numpy()))
        values, slopes = zip(*found, strict=True)
        return np.concatenate(values), np.concatenate(slopes)

    @abstractmethod
    def over(self, vectors: np.ndarray, progress: bool = False) -> DensityParts[np.ndarray]:
        """Return the parts of many vectors, the likelihood summed over people."""

    @abstractmethod
    def prior_vectors(self, draws: int, seed: int) -> np.ndarray:
        """Draw vectors from the prior."""

    def with_prior(self, vectors: PriorVectors) -> "ProgramDensity":
        """Return the density with vectors of its prior from elsewhere: drawing them runs the program once for each."""
        return self

    def with_start(self, values: Mapping[str, np.ndarray]) -> Self:
        """Return the density whose maximum is searched from these values of its parameters, if they are possible."""
        if self.size > self.parameter_size:  # latents have no values there
            return self
        other = copy(self)
        start = self.unconstrain({name: np.asarray(values[name])[None] for name in self.scm.parameters})[0]
        other.start = start if np.isfinite(start).all() else None
        return other

    @abstractmethod
    def unconstrain(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the vectors (rows) of draws of all parameters, and of the latents that are drawn with them."""

    @abstractmethod
    def likelihood_by_row(
        self, values: Mapping[str, np.ndarray], draws: int, progress: bool = False, accuracy: Accuracy = "precise"
    ) -> np.ndarray:
        """Return the log-likelihood of each distinct row (columns) for many draws (rows) of what vectors stand for.

        Where latents are drawn together with the parameters, people have no likelihood of their own, and the only
        column is that of all.
        """

    def likelihood_error(self, accuracy: Accuracy) -> float:
        """Return the greatest error of `likelihood_by_row` beyond rounding: that of a numerical integral."""
        return 0.0

    def scores(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient of the log-likelihood of each distinct row at a vector, and the row of each person.

        The nodes of a continuous latent are to be placed there.
        """
        raise InferenceError(
            "The latents of this program are drawn together with its parameters, so that people have no likelihood of "
            "their own to be weighted: leave out weights, or use one continuous latent."
        )

    @abstractmethod
    def refuse_impossible(self, values: Mapping[str, np.ndarray], index: "pd.Index[Any]") -> None:
        """Refuse people whom the program cannot give at the draws of the parameters."""

    def impossible_people(self, vector: np.ndarray) -> str:
        """Say who has probability zero at a vector."""
        return ""

    def of_few(self, number: int, seed: int) -> "ProgramDensity | None":
        """Return the density of a random few of the people, where that makes sense and there are many more."""
        return None

    def of_first(self) -> "ProgramDensity":
        """Return the density of the first person alone, for what does not depend on people."""
        return self

    def mirror_signs(self) -> np.ndarray:
        """Return the signs that the numbers change if a latent that is integrated out changes its own."""
        return np.ones(self.size)

    def placed_at(self, vector: np.ndarray, accuracy: Accuracy = "good") -> "ProgramDensity":
        """Return the density with the nodes of a continuous latent placed for parameters near `vector`."""
        return self

    def moved_to(self, vector: np.ndarray) -> "ProgramDensity":
        """Return the density with the nodes of a continuous latent moved along to parameters a step away."""
        return self

    def refined(self, vectors: np.ndarray) -> "ProgramDensity":
        """Return the density with enough nodes at these vectors; the same object if there were enough."""
        return self

    def _in_chunks(self, function: Function, parameters: Tensors, draws: int, progress: bool) -> dict[str, np.ndarray]:
        chunk = max(1, _BUDGET // self.run_size)
        starts = range(0, draws, chunk)
        pieces = []
        with numerics(), torch.no_grad():
            for start in watched(starts, len(starts), "Densities", progress):
                part = {name: value[start : start + chunk] for name, value in parameters.items()}
                pieces.append(over_draws(function, part, {}, min(chunk, draws - start), check=start == 0))
        return {name: np.concatenate([piece[name].numpy() for piece in pieces]) for name in pieces[0]}

    # What a sampler from elsewhere sees

    def value(self, vectors: np.ndarray, progress: bool = False) -> np.ndarray:
        """Return the log-density of many vectors (rows), minus infinity where it is zero or undefined."""
        return log_joint(self.over(vectors, progress))

    def gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the log-density of one vector and its gradient."""
        with numerics():
            point = torch.tensor(vector, requires_grad=True)
            height = self.total(point)
            (slope,) = torch.autograd.grad(height, point)
        return height.item(), np.asarray(slope.numpy())

    def constrain(self, vectors: np.ndarray) -> dict[str, np.ndarray]:
        """Return the values that vectors (rows) stand for, by name, draws along the first axis."""
        parts = self.over(vectors)
        return {**parts.values, **parts.latents}
