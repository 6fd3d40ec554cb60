"""The joint density of parameters and data, with latents summed and integrated out."""

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import torch

from causalaudit.errors import DataError
from causalaudit.inference.marginal import Accuracy, Marginal
from causalaudit.inference.space import Space, Unconstrain
from causalaudit.progress import watched
from causalaudit.scm import SCM
from causalaudit.scm.execution import Function, numerics, over_draws
from causalaudit.scm.handlers import Intervene, Tensors

# Numbers (draws x rows x states x nodes) that one pass holds for each variable: 2 MiB, which stays in the cache.
_BUDGET = 2**18
_CHECKED = 5  # draws at which the nodes of a continuous latent are doubled as a check


def log_joint(parts: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the log-density of draws in unconstrained space from its parts, minus infinity where it is undefined."""
    total = parts["likelihood"] + parts["jacobian"]
    total = total + sum(value for name, value in parts.items() if name.startswith("prior "))
    return np.where(np.isfinite(total), total, -np.inf)


class Density:
    """log p(parameters, data) in unconstrained space, for one draw or for many."""

    def __init__(self, scm: SCM, values: Tensors) -> None:
        self.scm, self.space, self.marginal = scm, Space(scm), Marginal(scm, values)
        self.rows = self.marginal.rows

    def parts(self, numbers: Tensors, following: bool = False) -> Tensors:
        """Return log-prior (by parameter), log-Jacobian, values and the log-likelihood of each distinct row."""
        space = Unconstrain(numbers)
        return {
            "likelihood": self.marginal.log_likelihood(space, following),
            "jacobian": space.log_jacobian,
            **{f"prior {name}": value for name, value in space.log_prior.items()},
            **{f"value {name}": value for name, value in space.values.items()},
        }

    def total(self, vector: torch.Tensor, prior: bool, jacobian: bool) -> torch.Tensor:
        """Return the log-density of one unconstrained vector, differentiable."""
        parts = self.parts(self.space.split(vector), following=True)
        total = (parts["likelihood"] * self.rows.counts).sum()
        if prior:
            total = total + sum(value for name, value in parts.items() if name.startswith("prior "))
        return total + parts["jacobian"] if jacobian else total

    def prior_vectors(self, draws: int, seed: int) -> np.ndarray:
        """Draw unconstrained vectors from the prior."""
        return self.space.prior_vectors(draws, seed)

    def recentre(self, vector: np.ndarray, accuracy: Accuracy = "good") -> None:
        """Place the nodes of a continuous latent for parameters near `vector`; without one, do nothing."""
        with numerics(), torch.no_grad():
            self.marginal.recentre(Unconstrain(self.space.split(torch.from_numpy(vector))), accuracy)

    def placed_at(self, vector: np.ndarray) -> "Density":
        """Return a copy with the nodes of a continuous latent placed for parameters near `vector`."""
        other = copy(self)
        other.marginal = copy(self.marginal)
        other.marginal.quadrature = copy(self.marginal.quadrature)
        other.recentre(vector)
        return other

    def follow(self, vector: np.ndarray) -> None:
        """Move the nodes of a continuous latent along to parameters a step away."""
        if self.marginal.quadrature is not None:
            with numerics(), torch.no_grad():
                self.marginal.quadrature.follow(Unconstrain(self.space.split(torch.from_numpy(vector))))

    def refine(self, vectors: np.ndarray) -> bool:
        """Double the nodes of a continuous latent until it makes no difference at these draws; tell whether it did."""
        refined = False
        with numerics(), torch.no_grad():
            for vector in torch.from_numpy(vectors):
                refined |= self.marginal.refine(Unconstrain(self.space.split(vector)))
        return refined

    def over(self, vectors: np.ndarray, progress: bool = False) -> dict[str, np.ndarray]:
        """Return the parts of many unconstrained draws, the likelihood summed over people."""

        def one_draw(numbers: Tensors, people: Tensors) -> Tensors:
            parts = self.parts(numbers)
            return {**parts, "likelihood": (parts["likelihood"] * self.rows.counts).sum(-1, keepdim=True)}

        if not self.marginal.placed:
            self.recentre(vectors.mean(axis=0))
        result = self._in_chunks(one_draw, self.space.split(torch.from_numpy(vectors)), len(vectors), progress)
        return {**result, "likelihood": result["likelihood"][:, 0]}

    def likelihood_by_row(self, parameters: Mapping[str, np.ndarray], draws: int, progress: bool = False) -> np.ndarray:
        """Return the log-likelihood of each distinct row (columns) for many draws of the parameters (rows)."""

        def one_draw(theta: Tensors, people: Tensors) -> Tensors:
            return {"likelihood": self.marginal.precise_log_likelihood(Intervene(theta))}

        theta = {name: torch.from_numpy(np.array(parameters[name], dtype=float)) for name in self.scm.parameters}
        with numerics(), torch.no_grad():
            self.marginal.recentre(Intervene({name: value.mean(0) for name, value in theta.items()}), "precise")
            for draw in np.unique(np.linspace(0, draws - 1, _CHECKED).astype(int)):
                self.marginal.refine(Intervene({name: value[draw] for name, value in theta.items()}))
        return self._in_chunks(one_draw, theta, draws, progress)["likelihood"]

    def refuse_impossible(self, parameters: Mapping[str, np.ndarray], index: "pd.Index[Any]") -> None:
        """Refuse people whom the program cannot give at the first of the draws."""
        first = {name: value[:1] for name, value in parameters.items()}
        bad = ~np.isfinite(self.likelihood_by_row(first, 1)[0])[self.rows.inverse]
        if bad.any():
            raise DataError(
                f"{int(bad.sum())} of {len(index)} rows are impossible under the program {self.scm.name!r}, the first "
                f"being row {index[bad].tolist()[0]!r}: no state of its noise or latents gives these values. "
                "Correct the data or the program."
            )

    def _in_chunks(self, function: Function, parameters: Tensors, draws: int, progress: bool) -> dict[str, np.ndarray]:
        chunk = max(1, _BUDGET // self.marginal.size)
        starts = range(0, draws, chunk)
        pieces = []
        with numerics(), torch.no_grad():
            for start in watched(starts, len(starts), "Densities", progress):
                part = {name: value[start : start + chunk] for name, value in parameters.items()}
                pieces.append(over_draws(function, part, {}, min(chunk, draws - start), check=start == 0))
        return {name: np.concatenate([piece[name].numpy() for piece in pieces]) for name in pieces[0]}
