"""The joint density of parameters and data, with finite latents summed out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from pyro.poutine.messenger import Messenger

from causalaudit.errors import DataError
from causalaudit.inference.latents import LatentStates
from causalaudit.inference.space import Space, Unconstrain
from causalaudit.progress import watched
from causalaudit.scm import SCM
from causalaudit.scm.execution import Function, numerics, over_draws
from causalaudit.scm.handlers import Intervene, Tensors

# Numbers (draws x rows x states) that one pass holds for each variable: 2 MiB, which stays in the cache.
_BUDGET = 2**18


@dataclass(frozen=True)
class Rows:
    """The distinct rows of the data: given the parameters, equal people count the same.

    Attributes
    ----------
    values
        The variables of the distinct rows.
    counts
        How many people each stands for.
    inverse
        The distinct row of each person.
    """

    values: Tensors
    counts: torch.Tensor
    inverse: np.ndarray

    @classmethod
    def of(cls, scm: SCM, values: Tensors) -> "Rows":
        """Find the distinct rows of encoded data."""
        table = np.column_stack([scm.codec.numbers(name, value).astype(float) for name, value in values.items()])
        _, first, inverse, counts = np.unique(table, axis=0, return_index=True, return_inverse=True, return_counts=True)
        return cls(
            {name: value[first] for name, value in values.items()},
            torch.from_numpy(counts.astype(float)),
            inverse.ravel(),
        )

    def __len__(self) -> int:
        return len(self.counts)


class Density:
    """log p(parameters, data) in unconstrained space, for one draw or for many."""

    def __init__(self, scm: SCM, values: Tensors) -> None:
        self.scm, self.space, self.rows = scm, Space(scm), Rows.of(scm, values)
        self.states = LatentStates(scm)
        self._people = self.states.cross(self.rows.values)

    def parts(self, numbers: Tensors) -> Tensors:
        """Return log-prior (by parameter), log-Jacobian, values and the log-likelihood of each distinct row."""
        space = Unconstrain(numbers)
        return {
            "likelihood": self._by_row(space),
            "jacobian": space.log_jacobian,
            **{f"prior {name}": value for name, value in space.log_prior.items()},
            **{f"value {name}": value for name, value in space.values.items()},
        }

    def _by_row(self, parameters: Messenger) -> torch.Tensor:
        joint = self.states.log_joint(parameters, self._people)
        return joint[..., 0, :] if self.states.count == 1 else joint.logsumexp(-2)

    def total(self, vector: torch.Tensor, prior: bool, jacobian: bool) -> torch.Tensor:
        """Return the log-density of one unconstrained vector, differentiable."""
        parts = self.parts(self.space.split(vector))
        total = (parts["likelihood"] * self.rows.counts).sum()
        if prior:
            total = total + sum(value for name, value in parts.items() if name.startswith("prior "))
        return total + parts["jacobian"] if jacobian else total

    def over(self, vectors: np.ndarray, progress: bool = False) -> dict[str, np.ndarray]:
        """Return the parts of many unconstrained draws, the likelihood summed over people."""

        def one_draw(numbers: Tensors, people: Tensors) -> Tensors:
            parts = self.parts(numbers)
            return {**parts, "likelihood": (parts["likelihood"] * self.rows.counts).sum(-1, keepdim=True)}

        result = self._in_chunks(one_draw, self.space.split(torch.from_numpy(vectors)), len(vectors), progress)
        return {**result, "likelihood": result["likelihood"][:, 0]}

    def likelihood_by_row(self, parameters: Mapping[str, np.ndarray], draws: int, progress: bool = False) -> np.ndarray:
        """Return the log-likelihood of each distinct row (columns) for many draws of the parameters (rows)."""

        def one_draw(theta: Tensors, people: Tensors) -> Tensors:
            return {"likelihood": self._by_row(Intervene(theta))}

        theta = {name: torch.from_numpy(np.array(parameters[name], dtype=float)) for name in self.scm.parameters}
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
        chunk = max(1, _BUDGET // (len(self.rows) * self.states.count))
        starts = range(0, draws, chunk)
        pieces = []
        with numerics(), torch.no_grad():
            for start in watched(starts, len(starts), "Densities", progress):
                part = {name: value[start : start + chunk] for name, value in parameters.items()}
                pieces.append(over_draws(function, part, {}, min(chunk, draws - start), check=start == 0))
        return {name: np.concatenate([piece[name].numpy() for piece in pieces]) for name in pieces[0]}
