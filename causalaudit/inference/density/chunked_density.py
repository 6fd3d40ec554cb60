"""The density of a table that is too large for one pass: a sum over pieces of its rows."""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import torch

from causalaudit.inference.density.distinct_rows import DistinctRows
from causalaudit.inference.density.latent_states import LatentStates, continuous_latents
from causalaudit.inference.density.log_density import Accuracy, DensityParts, PriorVectors, ProgramDensity
from causalaudit.inference.density.marginal_density import MarginalDensity
from causalaudit.inference.density.patterns import patterns_of
from causalaudit.progress import pieces
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Tensors

# Numbers (rows x states x nodes, also those of a rectangle of two discrete variables) that an array of one pass holds,
# 512 KiB; derivatives keep a few hundred such arrays.
_PIECE = 2**16
_NODES = 16  # that one continuous latent has, more or less


def marginal_density(scm: SCM, values: Tensors, weights: np.ndarray | None = None) -> ProgramDensity:
    """Return the density of a program's parameters, in pieces if the table is large.

    With weights of the people (mean one) the log-likelihood of each counts as often as the weight says.

    Values, gradients and Hessians are sums over rows. Whatever the number of people, an array of one pass holds about
    65,536 numbers, so that a pass, with its first and second derivatives, takes a few hundred times 512 KiB; beside it
    there are the columns themselves, twice.

    Raises
    ------
    InferenceError
        If more continuous latents would have to be integrated out than can be.
    """
    rows = DistinctRows.of(scm, values, weights)
    most = max(1, _PIECE // max(_numbers(pattern.scm) for pattern in patterns_of(scm, rows.values)))
    if len(rows) <= most:
        return MarginalDensity(scm, rows)
    return ChunkedDensity([MarginalDensity(scm, rows.part(piece)) for piece in pieces(len(rows), budget=most)], rows)


def _numbers(scm: SCM) -> int:
    """Return how many numbers each row needs."""
    latents = min(2, len(continuous_latents(scm)))  # of more, which are refused, nothing is integrated
    return LatentStates(scm).count * _NODES**latents * scm.nodes


class ChunkedDensity(ProgramDensity):
    """log p(parameters, data) as a sum over pieces of the distinct rows, each a density of its own.

    Attributes
    ----------
    parts
        The densities of the pieces; the prior is that of the first.
    rows
        All distinct rows.
    """

    def __init__(self, parts: list[MarginalDensity], rows: DistinctRows) -> None:
        self.parts, self.rows = parts, rows
        first = parts[0]
        self.scm, self.size, self.labels, self.parameter_size = first.scm, first.size, first.labels, first.size

    @property
    def run_size(self) -> int:
        """How many people one run of the program stands for, in the largest piece."""
        return max(part.run_size for part in self.parts)

    @property
    def whole_size(self) -> int:
        """How many people the runs of all pieces stand for."""
        return sum(part.run_size for part in self.parts)

    @property
    def integrates(self) -> bool:
        """Whether a continuous latent is integrated out."""
        return any(part.integrates for part in self.parts)

    def terms(self, vector: torch.Tensor, prior: bool = True, jacobian: bool = True) -> Iterator[torch.Tensor]:
        """Yield the log-density of each piece, the first with the prior."""
        for number, part in enumerate(self.parts):
            yield part.total(vector, prior and not number, jacobian and not number)

    def total(self, vector: torch.Tensor, prior: bool = True, jacobian: bool = True) -> torch.Tensor:
        """Return the log-density of one vector, differentiable: the derivatives of all pieces are kept."""
        return torch.stack(list(self.terms(vector, prior, jacobian))).sum()

    def slopes(
        self, vectors: np.ndarray, prior: bool = True, jacobian: bool = True, afar: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the log-density of many vectors (rows) and its gradients."""
        found = [
            part.slopes(vectors, prior and not number, jacobian and not number, afar)
            for number, part in enumerate(self.parts)
        ]
        return np.sum([height for height, _ in found], axis=0), np.sum([slope for _, slope in found], axis=0)

    def over(self, vectors: np.ndarray, progress: bool = False) -> DensityParts[np.ndarray]:
        """Return the parts of many vectors, the likelihood summed over people."""
        found = [part.over(vectors, progress) for part in self.parts]
        return DensityParts.of_flat(
            {**found[0].flat(), "likelihood": np.sum([one.likelihood for one in found], axis=0)}
        )

    def prior_vectors(self, draws: int, seed: int) -> np.ndarray:
        """Draw vectors from the prior."""
        return self.parts[0].prior_vectors(draws, seed)

    def with_prior(self, vectors: PriorVectors) -> "ChunkedDensity":
        """Return the density with vectors of its prior from elsewhere."""
        return self._of([self.parts[0].with_prior(vectors), *self.parts[1:]])

    def unconstrain(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the vectors (rows) of draws of the parameters."""
        return self.parts[0].unconstrain(values)

    def placed_at(self, vector: np.ndarray, accuracy: Accuracy = "good") -> "ChunkedDensity":
        """Return the density with the nodes of a continuous latent placed for parameters near `vector`."""
        return self._each(lambda part: part.placed_at(vector, accuracy))

    def moved_to(self, vector: np.ndarray) -> "ChunkedDensity":
        """Return the density with the nodes of a continuous latent moved along to parameters a step away."""
        return self._each(lambda part: part.moved_to(vector))

    def refined(self, vectors: np.ndarray) -> "ChunkedDensity":
        """Return the density with enough nodes at these vectors; the same object if there were enough."""
        return self._each(lambda part: part.refined(vectors))

    def _each(self, change: Callable[[MarginalDensity], MarginalDensity]) -> "ChunkedDensity":
        return self._of([change(part) for part in self.parts])

    def _of(self, parts: list[MarginalDensity]) -> "ChunkedDensity":
        if all(one is other for one, other in zip(parts, self.parts, strict=True)):
            return self
        other = copy(self)
        other.parts = parts
        return other

    def likelihood_by_row(
        self, values: Mapping[str, np.ndarray], draws: int, progress: bool = False, accuracy: Accuracy = "precise"
    ) -> np.ndarray:
        """Return the log-likelihood of each distinct row (columns) for many draws of the parameters (rows)."""
        return np.concatenate(
            [part.likelihood_by_row(values, draws, progress, accuracy) for part in self.parts], axis=1
        )

    def scores(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient of the log-likelihood of each distinct row at a vector, and the row of each person."""
        return np.concatenate([part.scores(vector)[0] for part in self.parts]), self.rows.inverse

    def likelihood_error(self, accuracy: Accuracy) -> float:
        """Return the greatest error of `likelihood_by_row` beyond rounding: that of a numerical integral."""
        return max(part.likelihood_error(accuracy) for part in self.parts)

    def refuse_impossible(self, values: Mapping[str, np.ndarray], index: "pd.Index[Any]") -> None:
        """Refuse people whom the program cannot give at the first of the draws."""
        MarginalDensity(self.scm, self.rows).refuse_impossible(values, index)

    def impossible_people(self, vector: np.ndarray) -> str:
        """Say who has probability zero at a vector."""
        return MarginalDensity(self.scm, self.rows).impossible_people(vector)

    def of_few(self, number: int, seed: int) -> MarginalDensity | None:
        """Return the density of a random few of the people."""
        return MarginalDensity(self.scm, self.rows).of_few(number, seed)

    def of_first(self) -> MarginalDensity:
        """Return the density of the first person alone, for what does not depend on people."""
        return self.parts[0].of_first()

    def mirror_signs(self) -> np.ndarray:
        """Return the signs that the numbers change if a latent that is integrated out changes its own."""
        return self.parts[0].mirror_signs()
