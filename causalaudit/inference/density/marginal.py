"""People with their latents: the likelihood with latents summed and integrated out, and draws of the latents."""

from copy import copy

import torch
from pyro.poutine.messenger import Messenger

from causalaudit.errors import InferenceError
from causalaudit.inference.density.distinct_rows import DistinctRows
from causalaudit.inference.density.latent_integrand import LatentIntegrand
from causalaudit.inference.density.latent_states import LatentStates, choose_state, continuous_latents
from causalaudit.inference.density.log_density import Accuracy
from causalaudit.inference.density.quadrature import Quadrature
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Intervene, Tensors, run
from causalaudit.scm.score import Score

# The greatest changes, when the nodes are doubled, of a person's log-likelihood and of the sum.
_PERSON_TOLERANCE = 1e-6
_TOTAL_TOLERANCE: dict[Accuracy, float] = {"rough": 0.3, "good": 1e-2, "precise": 1e-2}


class Marginal:
    """The distinct rows of a table under a program, crossed with the states of its finite latents.

    It never changes: `placed_at`, `moved_to` and `refined` return it with other nodes of its continuous latent, if it
    has one. The nodes must be placed before the likelihood is asked for.

    Attributes
    ----------
    rows
        The distinct rows.
    states
        The states of the finite latents.
    integrand, quadrature
        What is integrated over the continuous latent, if there is one, and how, if the nodes are placed.

    Raises
    ------
    InferenceError
        If there is more than one continuous latent.
    """

    def __init__(self, scm: SCM, values: Tensors | DistinctRows) -> None:
        self.scm, self.states = scm, LatentStates(scm)
        self.rows = values if isinstance(values, DistinctRows) else DistinctRows.of(scm, values)
        self._units = self.states.cross(self.rows.values)
        continuous = continuous_latents(scm)
        if len(continuous) > 1:
            raise InferenceError(
                f"The latents {', '.join(map(repr, continuous))} are continuous; only one for each person can be "
                'integrated out. Fit the program by "nuts" or "svi", which draw them jointly with the parameters.'
            )
        self.integrand = LatentIntegrand(scm, continuous[0], self._units) if continuous else None
        self.quadrature: Quadrature | None = None

    @property
    def placed(self) -> bool:
        """Whether the nodes of the continuous latent, if there is one, have been placed."""
        return self.integrand is None or self.quadrature is not None

    @property
    def run_size(self) -> int:
        """How many people one run of the program stands for: rows × states × nodes, those of rectangles too."""
        people = self.quadrature.run_size if self.quadrature else len(self.rows) * self.states.count
        return people * self.scm.nodes

    @property
    def drawing_size(self) -> int:
        """How many people one run of the program stands for when latents are drawn."""
        people = len(self.rows) * self.states.count * (self.quadrature.drawing_nodes if self.quadrature else 1)
        return people * self.scm.nodes

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
        assert self.placed, "the nodes of the continuous latent have not been placed"
        units = len(self.rows) * self.states.count
        if self.quadrature is not None:
            total = self.quadrature.integral(parameters, following, doubled)
        else:
            score = Score()
            run(self.scm.program, units, parameters, score, Intervene(self._units))
            total = score.total.expand(units)
        return total.unflatten(-1, (self.states.count, len(self.rows)))

    def placed_at(self, parameters: Messenger, accuracy: Accuracy = "good") -> "Marginal":
        """Place the nodes of a continuous latent for parameters near the given ones, and choose how many there are.

        When they are doubled, the sum of the log-likelihoods moves by less than 0.01 (if it may be rough, 0.3), and if
        it is to be precise that of each person by less than 10^-6.
        """
        if self.integrand is None:
            return self
        return self._with(Quadrature.placed(self.integrand, parameters, self.tolerance(accuracy)))

    def tolerance(self, accuracy: Accuracy) -> float:
        """Return the change of a person's log-likelihood, when nodes are doubled, up to which there are enough."""
        each = _TOTAL_TOLERANCE[accuracy] / self.rows.people
        return min(_PERSON_TOLERANCE, each) if accuracy == "precise" else each

    def moved_to(self, parameters: Messenger) -> "Marginal":
        """Move the nodes along to parameters a step away."""
        return self._with(None if self.quadrature is None else self.quadrature.moved_to(parameters))

    def refined(self, parameters: Messenger) -> "Marginal":
        """Double the nodes until it makes no difference at these parameters; the same object if there were enough.

        Raises
        ------
        InferenceError
            If no number of nodes suffices.
        """
        return self._with(None if self.quadrature is None else self.quadrature.refined(parameters))

    def _with(self, quadrature: Quadrature | None) -> "Marginal":
        if quadrature is self.quadrature:
            return self
        other = copy(self)
        other.quadrature = quadrature
        return other

    # Draws

    def draw(self, theta: Tensors, uniforms: tuple[torch.Tensor, torch.Tensor] | None) -> Tensors:
        """Draw the latents of each person from their conditional at one draw of the parameters.

        `uniforms` has a number for the state and one for the continuous latent of each person; without them, the most
        probable state and the mean are taken.
        """
        parameters = Intervene(theta)
        inverse = torch.from_numpy(self.rows.inverse)
        if not self.states.values and self.integrand is None:
            return {}
        state = self._state(parameters, None if uniforms is None else uniforms[0], inverse)
        latents = {name: values[state] for name, values in self.states.values.items()}
        if self.quadrature is not None:
            units = state * len(self.rows) + inverse
            drawn = self._continuous(parameters, None if uniforms is None else uniforms[1], units)
            latents[self.quadrature.integrand.name] = drawn
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
        return self.quadrature.integrand.value_of(parameters, conditional.quantile(uniform, units), units)
