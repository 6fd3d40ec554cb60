"""People with their latents: the likelihood with latents summed and integrated out, and draws of the latents."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from pyro.poutine.messenger import Messenger

from causalaudit.errors import InferenceError
from causalaudit.inference.latents import LatentStates, choose_state, continuous_latents
from causalaudit.inference.quadrature import Quadrature
from causalaudit.inference.score import Score
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Intervene, Tensors, run

# The greatest changes, when the nodes are doubled, of a person's log-likelihood and of the sum.
_TOLERANCE = 1e-6
_TOTAL_TOLERANCE = {"rough": 0.3, "good": 1e-2, "precise": 1e-2}
Accuracy = Literal["rough", "good", "precise"]


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


class Marginal:
    """The distinct rows of a table under a program, crossed with the states of its finite latents.

    Raises
    ------
    InferenceError
        If there is more than one continuous latent.
    """

    def __init__(self, scm: SCM, values: Tensors) -> None:
        self.scm, self.rows, self.states = scm, Rows.of(scm, values), LatentStates(scm)
        self._units = self.states.cross(self.rows.values)
        continuous = continuous_latents(scm)
        if len(continuous) > 1:
            raise InferenceError(
                f"The latents {', '.join(map(repr, continuous))} are continuous; only one for each person can be "
                'integrated out. Fit the program by "nuts" or "svi", which draw them jointly with the parameters.'
            )
        self.quadrature = Quadrature(scm, continuous[0], self._units, _TOLERANCE) if continuous else None
        self.placed = self.quadrature is None

    @property
    def size(self) -> int:
        """How many people one run of the program stands for: rows × states × nodes."""
        return self.quadrature.size if self.quadrature else len(self.rows) * self.states.count

    @property
    def drawing_size(self) -> int:
        """How many people one run of the program stands for when latents are drawn."""
        return len(self.rows) * self.states.count * (self.quadrature.drawing_nodes if self.quadrature else 1)

    def log_likelihood(self, parameters: Messenger, following: bool = False) -> torch.Tensor:
        """Return log p(variables) of each distinct row.

        `following` moves the nodes of a continuous latent along to parameters that may be far from the reference.
        """
        return self._over_states(parameters, following)

    def precise_log_likelihood(self, parameters: Messenger) -> torch.Tensor:
        """Return log p(variables) of each distinct row with at least twice the nodes that were found to suffice."""
        return self._over_states(parameters, doubled=True)

    def _over_states(self, parameters: Messenger, following: bool = False, doubled: bool = False) -> torch.Tensor:
        by_state = self._by_state(parameters, following, doubled)
        return by_state[0] if self.states.count == 1 else by_state.logsumexp(0)

    def _by_state(self, parameters: Messenger, following: bool = False, doubled: bool = False) -> torch.Tensor:
        """Return log p(state, variables) by state (first axis) and distinct row."""
        units = len(self.rows) * self.states.count
        if self.quadrature is not None:
            total = self.quadrature.integral(parameters, following, doubled)
        else:
            score = Score()
            run(self.scm.program, units, parameters, score, Intervene(self._units))
            total = score.total.expand(units)
        return total.unflatten(-1, (self.states.count, len(self.rows)))

    def recentre(self, parameters: Messenger, accuracy: Accuracy = "good") -> None:
        """Place the nodes of a continuous latent for parameters near the given ones, and choose how many there are.

        When they are doubled, the sum of the log-likelihoods moves by less than 0.01 (if it may be rough, 0.3), and if
        it is to be precise that of each person by less than 10^-6.
        """
        self.placed = True
        if self.quadrature is not None:
            each = _TOTAL_TOLERANCE[accuracy] / len(self.rows.inverse)
            self.quadrature.tolerance = min(_TOLERANCE, each) if accuracy == "precise" else each
            self.quadrature.recentre(parameters)

    def refine(self, parameters: Messenger) -> bool:
        """Double the nodes until it makes no difference at these parameters; tell whether it did.

        Raises
        ------
        InferenceError
            If no number of nodes suffices.
        """
        return self.quadrature is not None and self.quadrature.refine(parameters)

    # Draws

    def draw(self, theta: Tensors, uniforms: tuple[torch.Tensor, torch.Tensor] | None) -> Tensors:
        """Draw the latents of each person from their conditional at one draw of the parameters.

        `uniforms` has a number for the state and one for the continuous latent of each person; without them, the most
        probable state and the mean are taken.
        """
        parameters = Intervene(theta)
        inverse = torch.from_numpy(self.rows.inverse)
        if not self.states.values and self.quadrature is None:
            return {}
        state = self._state(parameters, None if uniforms is None else uniforms[0], inverse)
        latents = {name: values[state] for name, values in self.states.values.items()}
        if self.quadrature is not None:
            units = state * len(self.rows) + inverse
            drawn = self._continuous(parameters, None if uniforms is None else uniforms[1], units)
            latents[self.quadrature.name] = drawn
        return latents

    def _state(self, parameters: Messenger, uniform: torch.Tensor | None, inverse: torch.Tensor) -> torch.Tensor:
        if self.states.count == 1:
            return torch.zeros(len(inverse), dtype=torch.int64)
        return choose_state(self._by_state(parameters)[:, inverse], uniform)

    def _continuous(self, parameters: Messenger, uniform: torch.Tensor | None, units: torch.Tensor) -> torch.Tensor:
        assert self.quadrature is not None
        conditional = self.quadrature.conditional(parameters)
        if uniform is None:
            return conditional.mean()[units]
        return self.quadrature.value_of(parameters, conditional.quantile(uniform, units), units)
