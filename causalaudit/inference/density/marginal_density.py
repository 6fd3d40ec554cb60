"""The joint density of parameters and data, with latents summed and integrated out."""

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import torch

from causalaudit.errors import DataError
from causalaudit.inference.density.distinct_rows import DistinctRows
from causalaudit.inference.density.latent_states import continuous_latents
from causalaudit.inference.density.log_density import Accuracy, DensityParts, PriorVectors, ProgramDensity
from causalaudit.inference.density.marginal import Marginal, Marginals, marginal_of
from causalaudit.inference.density.mirror_images import loadings_of_some_child
from causalaudit.inference.density.scores import gradients_by_row
from causalaudit.inference.density.unconstrained import Unconstrain, UnconstrainedParameters
from causalaudit.randomness import generator
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Intervene, Tensors

_CHECKED = 5  # draws at which the nodes of a continuous latent are doubled as a check
# Newton steps by which these nodes follow parameters a step away, and any: a step is at most four spreads long.
_NEAR, _AFAR = 1, 8


class MarginalDensity(ProgramDensity):
    """log p(parameters, data) in unconstrained space, for one draw or for many.

    Attributes
    ----------
    parameters
        The parameters as one vector.
    marginal
        The likelihood of the people.
    rows
        The distinct ones among them.

    Raises
    ------
    InferenceError
        If more continuous latents would have to be integrated out than can be.
    """

    def __init__(self, scm: SCM, values: Tensors | DistinctRows) -> None:
        self.scm, self.parameters, self.marginal = scm, UnconstrainedParameters(scm), marginal_of(scm, values)
        self.rows = self.marginal.rows
        self.size = self.parameter_size = self.parameters.size
        self.labels = self.parameters.labels
        self._prior: PriorVectors | None = None

    @property
    def run_size(self) -> int:
        """How many people one run of the program stands for: rows × states × nodes."""
        return self.marginal.run_size

    @property
    def integrates(self) -> bool:
        """Whether a continuous latent is integrated out."""
        return self.marginal.integrates

    def by_row(self, numbers: Tensors, following: int = 0) -> DensityParts[torch.Tensor]:
        """Return the parts of one draw of unconstrained numbers, with the log-likelihood of each distinct row."""
        messenger = Unconstrain(numbers)
        likelihood = self.marginal.log_likelihood(messenger, following)
        return DensityParts(likelihood, messenger.log_jacobian, messenger.log_prior, messenger.values)

    def total(self, vector: torch.Tensor, prior: bool = True, jacobian: bool = True) -> torch.Tensor:
        """Return the log-density of one unconstrained vector, differentiable."""
        return self._total(vector, prior, jacobian, _NEAR)

    def total_afar(self, vector: torch.Tensor, prior: bool = True, jacobian: bool = True) -> torch.Tensor:
        """Return the same of a vector that may be far from where the nodes of a continuous latent were placed."""
        return self._total(vector, prior, jacobian, _AFAR)

    def _total(self, vector: torch.Tensor, prior: bool, jacobian: bool, following: int) -> torch.Tensor:
        parts = self.by_row(self.parameters.split(vector), following)
        total = (parts.likelihood * self.rows.counts).sum()
        if not total.requires_grad:  # no parameter enters the likelihood, which has a slope nevertheless
            total = total + 0.0 * vector.sum()
        if prior:
            total = total + parts.log_prior
        return total + parts.jacobian if jacobian else total

    def over(self, vectors: np.ndarray, progress: bool = False) -> DensityParts[np.ndarray]:
        """Return the parts of many unconstrained draws, the likelihood summed over people.

        If the nodes of a continuous latent have not been placed, they are placed at the mean of the draws.
        """
        if not self.marginal.placed:
            accuracy: Accuracy = "rough" if len(continuous_latents(self.scm)) > 1 else "good"
            return self.placed_at(vectors.mean(axis=0), accuracy).over(vectors, progress)

        def one_draw(numbers: Tensors, people: Tensors) -> Tensors:
            parts = self.by_row(numbers)
            return {**parts.flat(), "likelihood": (parts.likelihood * self.rows.counts).sum(-1, keepdim=True)}

        numbers = self.parameters.split(torch.from_numpy(vectors))
        result = self._in_chunks(one_draw, numbers, len(vectors), progress)
        return DensityParts.of_flat({**result, "likelihood": result["likelihood"][:, 0]})

    def prior_vectors(self, draws: int, seed: int) -> np.ndarray:
        """Draw unconstrained vectors from the prior."""
        return self.parameters.prior_vectors(draws, seed) if self._prior is None else self._prior(draws)

    def with_prior(self, vectors: PriorVectors) -> "MarginalDensity":
        """Return the density with vectors of its prior from elsewhere."""
        other = copy(self)
        other._prior = vectors
        return other

    def unconstrain(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the unconstrained vectors (rows) of draws of the parameters."""
        draws = zip(*(values[name] for name in self.parameters.shapes), strict=True)
        vectors = [self.parameters.inverse(dict(zip(self.parameters.shapes, draw, strict=True))) for draw in draws]
        return np.stack(vectors) if vectors else np.empty((1, 0))

    # Nodes of a continuous latent

    def placed_at(self, vector: np.ndarray, accuracy: Accuracy = "good") -> "MarginalDensity":
        """Return the density with the nodes of a continuous latent placed for parameters near `vector`."""
        with numerics(), torch.no_grad():
            return self._with(self.marginal.placed_at(self._at(torch.from_numpy(vector)), accuracy))

    def moved_to(self, vector: np.ndarray) -> "MarginalDensity":
        """Return the density with the nodes of a continuous latent moved along to parameters a step away."""
        if not self.integrates:
            return self
        with numerics(), torch.no_grad():
            return self._with(self.marginal.moved_to(self._at(torch.from_numpy(vector))))

    def refined(self, vectors: np.ndarray) -> "MarginalDensity":
        """Return the density with enough nodes of a continuous latent at these draws; itself if there were enough."""
        marginal = self.marginal
        with numerics(), torch.no_grad():
            for vector in torch.from_numpy(vectors):
                marginal = marginal.refined(self._at(vector))
        return self._with(marginal)

    def _at(self, vector: torch.Tensor) -> Unconstrain:
        return Unconstrain(self.parameters.split(vector))

    def _with(self, marginal: Marginal | Marginals) -> "MarginalDensity":
        if marginal is self.marginal:
            return self
        other = copy(self)
        other.marginal = marginal
        return other

    # People

    def likelihood_by_row(
        self, values: Mapping[str, np.ndarray], draws: int, progress: bool = False, accuracy: Accuracy = "precise"
    ) -> np.ndarray:
        """Return the log-likelihood of each distinct row (columns) for many draws of the parameters (rows).

        The nodes of a continuous latent are placed at the mean of the draws. There are twice as many as are needed to
        move nobody by more than 10^-6, if it is to be precise, when they are doubled.
        """
        theta = {name: torch.from_numpy(np.array(values[name], dtype=float)) for name in self.scm.parameters}
        with numerics(), torch.no_grad():
            mean = Intervene({name: value.mean(0) for name, value in theta.items()})
            marginal = self.marginal.placed_at(mean, accuracy)
            for draw in np.unique(np.linspace(0, draws - 1, _CHECKED).astype(int)):
                marginal = marginal.refined(Intervene({name: value[draw] for name, value in theta.items()}))

        def one_draw(theta: Tensors, people: Tensors) -> Tensors:
            return {"likelihood": marginal.precise_log_likelihood(Intervene(theta))}

        return self._with(marginal)._in_chunks(one_draw, theta, draws, progress)["likelihood"]

    def likelihood_error(self, accuracy: Accuracy) -> float:
        """Return the greatest error of `likelihood_by_row` beyond rounding: that of a numerical integral."""
        return self.marginal.tolerance(accuracy) if self.integrates else 0.0

    def scores(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient of the log-likelihood of each distinct row at a vector, and the row of each person."""

        def likelihood(at: torch.Tensor) -> torch.Tensor:
            return self.by_row(self.parameters.split(at), _NEAR).likelihood

        with numerics():
            return gradients_by_row(likelihood, len(self.rows), vector), self.rows.inverse

    def refuse_impossible(self, values: Mapping[str, np.ndarray], index: "pd.Index[Any]") -> None:
        """Refuse people whom the program cannot give at the first of the draws."""
        first = {name: value[:1] for name, value in values.items()}
        bad = ~np.isfinite(self.likelihood_by_row(first, 1)[0])[self.rows.inverse]
        if bad.any():
            raise DataError(
                f"{int(bad.sum())} of {len(index)} rows are impossible under the program {self.scm.name!r}, the first "
                f"being row {index[bad].tolist()[0]!r}: no state of its noise or latents gives these values. "
                "Correct the data or the program."
            )

    def impossible_people(self, vector: np.ndarray) -> str:
        """Say who has probability zero at a vector."""
        values = {name: self.over(vector[None]).values[name] for name in self.scm.parameters}
        bad = torch.from_numpy(~np.isfinite(self.likelihood_by_row(values, 1)[0]))
        if not bad.any():
            return "Each person alone is possible."
        example = {name: value[bad][0].tolist() for name, value in self.rows.values.items()}
        return f"{int(bad.numpy()[self.rows.inverse].sum())} people are impossible, for example {example}."

    def of_few(self, number: int, seed: int) -> "MarginalDensity | None":
        """Return the density of a random few of the people; None if their distinct rows are less than twice as many."""
        if len(self.rows) <= 2 * number:
            return None
        people = generator(seed, "warm start").choice(self.rows.inverse, number, replace=False)
        return MarginalDensity(self.scm, {name: value[people] for name, value in self.rows.values.items()})

    def of_first(self) -> "MarginalDensity":
        """Return the density of the first person alone, for what does not depend on people."""
        return MarginalDensity(self.scm, {name: value[:1] for name, value in self.rows.values.items()})

    def mirror_signs(self) -> np.ndarray:
        """Return the signs that unconstrained numbers change if a continuous latent changes its own."""
        latents = continuous_latents(self.scm)
        changed = set(loadings_of_some_child(self.scm, latents[0])) if latents else set()
        signs = [np.full(size, -1.0 if name in changed else 1.0) for name, size in self.parameters.sizes.items()]
        return np.concatenate(signs) if signs else np.empty(0)
