"""People with their latents: the likelihood with latents summed and integrated out, and draws of the latents.

A missing value is a latent of that person: people of whom the same values are missing have a `Marginal` of their own.
"""

from collections.abc import Callable
from copy import copy

import numpy as np
import torch
from pyro.poutine.messenger import Messenger

from causalaudit.errors import InferenceError
from causalaudit.inference.density.distinct_rows import DistinctRows
from causalaudit.inference.density.latent_integrand import LatentIntegrand
from causalaudit.inference.density.latent_states import LatentStates, choose_state, continuous_latents
from causalaudit.inference.density.log_density import Accuracy
from causalaudit.inference.density.pair_quadrature import MOST_SITES, PairIntegrand, PairQuadrature, are_integrable
from causalaudit.inference.density.patterns import patterns_of
from causalaudit.inference.density.quadrature import Quadrature
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Intervene, Tensors, run
from causalaudit.scm.missing import missing_in
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
        If there are more continuous latents than can be integrated out.
    """

    def __init__(self, scm: SCM, values: Tensors | DistinctRows) -> None:
        self.scm, self.states = scm, LatentStates(scm)
        self.rows = values if isinstance(values, DistinctRows) else DistinctRows.of(scm, values)
        self._units = self.states.cross(self.rows.values)
        continuous = continuous_latents(scm)
        if not are_integrable(scm):
            raise InferenceError(
                f"The latents {', '.join(map(repr, continuous))} are continuous; only one for each person can be "
                f"integrated out, and two that enter at most {MOST_SITES} variables. Fit the program by "
                '"nuts" or "svi", which draw them jointly with the parameters.'
            )
        self.integrand: LatentIntegrand | PairIntegrand | None = None
        if len(continuous) == 1:
            self.integrand = LatentIntegrand(scm, continuous[0], self._units)
        elif continuous:
            self.integrand = PairIntegrand(scm, continuous, self._units)
        self.quadrature: Quadrature | PairQuadrature | None = None

    @property
    def integrates(self) -> bool:
        """Whether a continuous latent is integrated out."""
        return self.integrand is not None

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

    def log_likelihood(self, parameters: Messenger, following: int = 0) -> torch.Tensor:
        """Return log p(variables) of each distinct row.

        `following` is the number of Newton steps by which the nodes of a continuous latent follow parameters that may
        be far from the reference.
        """
        return self._over_states(parameters, following)

    def precise_log_likelihood(self, parameters: Messenger) -> torch.Tensor:
        """Return log p(variables) of each distinct row with at least twice the nodes that were found to suffice."""
        return self._over_states(parameters, doubled=True)

    def _over_states(self, parameters: Messenger, following: int = 0, doubled: bool = False) -> torch.Tensor:
        by_state = self._by_state(parameters, following, doubled)
        return by_state[0] if self.states.count == 1 else by_state.logsumexp(0)

    def _by_state(self, parameters: Messenger, following: int = 0, doubled: bool = False) -> torch.Tensor:
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
        it is to be precise that of each person by less than 10^-6, where one latent is integrated out.
        """
        if isinstance(self.integrand, PairIntegrand):
            widely = accuracy != "rough"
            return self._with(PairQuadrature.placed(self.integrand, parameters, self.tolerance(accuracy), widely))
        if self.integrand is None:
            return self
        return self._with(Quadrature.placed(self.integrand, parameters, self.tolerance(accuracy)))

    def tolerance(self, accuracy: Accuracy) -> float:
        """Return the change of a person's log-likelihood, when nodes are doubled, up to which there are enough."""
        each = _TOTAL_TOLERANCE[accuracy] / self.rows.people
        precise = accuracy == "precise" and not isinstance(self.integrand, PairIntegrand)
        return min(_PERSON_TOLERANCE, each) if precise else each

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

    def _with(self, quadrature: Quadrature | PairQuadrature | None) -> "Marginal":
        if quadrature is self.quadrature:
            return self
        other = copy(self)
        other.quadrature = quadrature
        return other

    # Draws

    @property
    def uniforms(self) -> int:
        """How many numbers are needed to draw the latents of a person."""
        return 3 if isinstance(self.integrand, PairIntegrand) else 2

    def draw(self, theta: Tensors, uniforms: tuple[torch.Tensor, ...] | None) -> Tensors:
        """Draw the latents of each person from their conditional at one draw of the parameters.

        `uniforms` has a number for the state and one for each continuous latent of each person; without them, the most
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
            latents |= self.quadrature.drawn(parameters, None if uniforms is None else uniforms[1:], units)
        return latents

    def _state(self, parameters: Messenger, uniform: torch.Tensor | None, inverse: torch.Tensor) -> torch.Tensor:
        if self.states.count == 1:
            return torch.zeros(len(inverse), dtype=torch.int64)
        return choose_state(self._by_state(parameters)[:, inverse], uniform)


class Marginals:
    """The distinct rows of a table in which values are missing: a `Marginal` for each pattern of missing values.

    Attributes
    ----------
    rows
        The distinct rows; a missing value is NaN.
    simulated
        Of whom each missing column and each latent follows from the known values alone, because nothing that follows
        from it is observed: it is not drawn here.
    """

    def __init__(self, scm: SCM, rows: DistinctRows) -> None:
        self.rows, self.scm = rows, scm
        self._patterns = patterns_of(scm, rows.values)
        kind_of = np.empty(len(rows), dtype=int)
        place = np.empty(len(rows), dtype=int)
        for number, pattern in enumerate(self._patterns):
            kind_of[pattern.people.numpy()] = number
            place[pattern.people.numpy()] = np.arange(len(pattern.people))
        self._people = [np.flatnonzero(kind_of[rows.inverse] == number) for number in range(len(self._patterns))]
        self._parts = [
            Marginal(
                pattern.scm,
                DistinctRows(pattern.values, rows.counts[pattern.people], place[rows.inverse[people]], rows.people),
            )
            for pattern, people in zip(self._patterns, self._people, strict=True)
        ]
        self._order = torch.cat([pattern.people for pattern in self._patterns]).argsort()

    @property
    def simulated(self) -> Tensors:
        masks: Tensors = {}
        for pattern, people in zip(self._patterns, self._people, strict=True):
            for name in pattern.dropped:
                masks.setdefault(name, torch.zeros(len(self.rows.inverse), dtype=torch.bool))[people] = True
        return masks

    @property
    def integrates(self) -> bool:
        """Whether a continuous latent or missing value is integrated out."""
        return any(part.integrates for part in self._parts)

    @property
    def placed(self) -> bool:
        """Whether the nodes of what is integrated out have been placed."""
        return all(part.placed for part in self._parts)

    @property
    def run_size(self) -> int:
        """How many people the runs of the program, one for each pattern, stand for."""
        return sum(part.run_size for part in self._parts)

    @property
    def drawing_size(self) -> int:
        """How many people these runs stand for when latents are drawn."""
        return sum(part.drawing_size for part in self._parts)

    def log_likelihood(self, parameters: Messenger, following: int = 0) -> torch.Tensor:
        """Return log p(observed values) of each distinct row."""
        return torch.cat([part.log_likelihood(parameters, following) for part in self._parts])[self._order]

    def precise_log_likelihood(self, parameters: Messenger) -> torch.Tensor:
        """Return the same with at least twice the nodes that were found to suffice."""
        return torch.cat([part.precise_log_likelihood(parameters) for part in self._parts])[self._order]

    def tolerance(self, accuracy: Accuracy) -> float:
        """Return the change of a person's log-likelihood, when nodes are doubled, up to which there are enough."""
        return self._parts[0].tolerance(accuracy)

    def placed_at(self, parameters: Messenger, accuracy: Accuracy = "good") -> "Marginals":
        """Place the nodes of what is integrated out for parameters near the given ones."""
        return self._each(lambda part: part.placed_at(parameters, accuracy))

    def moved_to(self, parameters: Messenger) -> "Marginals":
        """Move the nodes along to parameters a step away."""
        return self._each(lambda part: part.moved_to(parameters))

    def refined(self, parameters: Messenger) -> "Marginals":
        """Double the nodes until it makes no difference at these parameters; the same object if there were enough."""
        return self._each(lambda part: part.refined(parameters))

    def _each(self, change: Callable[[Marginal], Marginal]) -> "Marginals":
        parts = [change(part) for part in self._parts]
        if all(one is two for one, two in zip(parts, self._parts, strict=True)):
            return self
        other = copy(self)
        other._parts = parts
        return other

    @property
    def uniforms(self) -> int:
        """How many numbers are needed to draw the latents of a person."""
        return max(part.uniforms for part in self._parts)

    def draw(self, theta: Tensors, uniforms: tuple[torch.Tensor, ...] | None) -> Tensors:
        """Draw latents and missing values of each person as `Marginal.draw` does; zero where there is nothing to draw.

        A person's number does not depend on what is missing of others.
        """
        found: Tensors = {}
        for part, people in zip(self._parts, map(torch.from_numpy, self._people), strict=True):
            own = None if uniforms is None else tuple(uniform[people] for uniform in uniforms)
            for name, value in part.draw(theta, own).items():
                if name not in found:
                    found[name] = torch.zeros(len(self.rows.inverse), *value.shape[1:], dtype=value.dtype)
                found[name] = found[name].index_put((people,), value)
        return found


def marginal_of(scm: SCM, values: Tensors | DistinctRows) -> Marginal | Marginals:
    """Return the marginal of people, of some of whom values may be missing."""
    rows = values if isinstance(values, DistinctRows) else DistinctRows.of(scm, values)
    return Marginals(scm, rows) if missing_in(rows.values) else Marginal(scm, rows)
