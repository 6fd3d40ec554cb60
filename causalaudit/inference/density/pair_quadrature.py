"""Two continuous latents for each person, integrated out in the plane and drawn from their exact conditional.

Gauss-Hermite nodes lie around the person's own conditional, along its axes. Whether they suffice is checked by more of
them, and where the answer is to be good by a grid that is far wider.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from pyro.poutine.messenger import Messenger

from causalaudit.errors import InferenceError
from causalaudit.inference.density.latent_conditional import LatentConditional
from causalaudit.inference.density.latent_integrand import Integrand, effects_of
from causalaudit.inference.density.latent_states import continuous_latents
from causalaudit.inference.density.pair_centres import STEP, PairCentres, newton_step
from causalaudit.inference.density.quadrature_rules import QuadratureRule, hermite
from causalaudit.progress import pieces
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Tensors

MOST_SITES = 8  # that two latents enter, up to which they are integrated out
_RULES = ((8, 0), (8, 1), (16, 1), (32, 1), (64, 1))  # nodes along each axis, and Newton steps of the centres
_LAST, _PRECISE = len(_RULES) - 2, 2  # the finest that can be checked, and the coarsest by which others are
_COLD_STEPS, _WARM_STEPS = 60, 2  # Newton steps of the centres, from anywhere and from parameters a step away
_WIDE, _FAR, _DRAWN = 37, 50.0, 9.0  # points of the wide grid along an axis; spreads that it and draws reach to
_DRAWING_NODES = 41
_BUDGET = 2**17  # nodes × people of one run of the program

Uniforms = tuple[torch.Tensor, ...]


class IntegralError(InferenceError):
    """Two latents cannot be integrated out; they may be drawn jointly with the parameters."""


def are_integrable(scm: SCM) -> bool:
    """Tell whether the continuous latents can be integrated out: one can, and two that enter few sites."""
    latents = continuous_latents(scm)
    entered = set().union(*(effects_of(scm, name) for name in latents)) - {*latents}
    return len(latents) < 2 or (len(latents) == 2 and len(entered) <= MOST_SITES)


class PairIntegrand(Integrand):
    """log p(two latents, what they enter) of each of a number of people, as a function of the latents."""

    def of(self, units: torch.Tensor) -> "PairIntegrand":
        """Return that of some people."""
        return PairIntegrand(self.scm, self.names, {name: value[units] for name, value in self.people.items()})

    def log_joint(
        self, parameters: Messenger, centres: PairCentres, one: torch.Tensor, two: torch.Tensor
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Return log p(latents, what they enter) and the latents' values at nodes in spreads (first axis) and people.

        Nodes of one axis are the same for everybody, of two axes each person's own.
        """
        one, two = (nodes.unsqueeze(-1) if nodes.ndim == 1 else nodes for nodes in (one, two))
        return self.log_joint_at(parameters, centres.at(one, two))

    def log_others(self, parameters: Messenger, centres: PairCentres) -> torch.Tensor:
        """Return log p(variables that the latents do not touch) of each person."""
        return self.log_others_at(parameters, dict(zip(self.names, (centres.first, centres.second), strict=True)))

    def first_centres(self) -> PairCentres:
        """Return centres at zero, with spreads of one."""
        zero, one = torch.zeros(self.count), torch.ones(self.count)
        return PairCentres(zero, zero, one, zero, one)

    def centred(self, parameters: Messenger, start: PairCentres, steps: int = 1) -> PairCentres:
        """Move centres by Newton steps towards the maxima of the conditionals; no gradient flows through this."""
        places = torch.tensor([-STEP, 0.0, STEP])
        one, two = places.repeat_interleave(3), places.repeat(3)
        with torch.no_grad():
            for _ in range(steps):
                values, _ = self.log_joint(parameters, start, one, two)
                start = newton_step(start, values.unflatten(0, (3, 3)))
        return start


@dataclass(frozen=True)
class PairQuadrature:
    """The integral over two latents of each of a number of people, with nodes placed around reference parameters.

    It never changes: `moved_to` and `refined` return another one.

    Attributes
    ----------
    integrand
        What is integrated.
    tolerance
        The greatest change of a log-likelihood when the nodes are doubled.
    centres
        Where the conditionals lie at the reference.
    level
        The place in `_RULES` of the rule that suffices.
    fails
        Whether none did; that is an error once draws are to be good.
    """

    integrand: PairIntegrand
    tolerance: float
    centres: PairCentres
    level: int = 0
    fails: bool = False

    @classmethod
    def placed(
        cls, integrand: PairIntegrand, parameters: Messenger, tolerance: float, widely: bool = True
    ) -> "PairQuadrature":
        """Find the centres and the number of nodes at one draw, which is the reference for others near it.

        `widely` compares them with a grid that would see a second peak or a heavy tail.
        """
        centres = integrand.first_centres()
        for _ in range(_COLD_STEPS):
            last, centres = centres, integrand.centred(parameters, centres)
            if bool(centres.is_close_to(last).all()):
                break
        found = cls(integrand, tolerance, centres)._sufficient(parameters)
        return found._compared_widely(parameters) if widely and not found.fails else found

    def moved_to(self, parameters: Messenger) -> "PairQuadrature":
        """Return the quadrature whose reference are parameters a step away."""
        return replace(self, centres=self.integrand.centred(parameters, self.centres, _WARM_STEPS))

    def refined(self, parameters: Messenger) -> "PairQuadrature":
        """Double the nodes until it makes no difference at these parameters; the same object if there were enough.

        Raises
        ------
        IntegralError
            If no number of nodes suffices.
        """
        found = self._sufficient(parameters)
        if found.fails:
            raise IntegralError(
                f"The latents {', '.join(map(repr, self.integrand.names))} cannot be integrated out: with "
                f"{_RULES[-1][0]} nodes along each the log-likelihoods of people still change, or a wide grid gives "
                'others. Fit the program by "nuts" or "svi", which draw them jointly with the parameters.'
            )
        return found

    def _sufficient(self, parameters: Messenger) -> "PairQuadrature":
        now = self
        while not now.fails and now._differs(parameters, max(now.level + 1, _PRECISE)):
            now = replace(now, fails=True) if now.level == _LAST else replace(now, level=now.level + 1)
        return now

    def _differs(self, parameters: Messenger, level: int) -> bool:
        """Tell whether a finer rule gives another log-likelihood of anybody."""
        with torch.no_grad():
            return self._unlike(self._integral(parameters, self.level), self._integral(parameters, level))

    def _compared_widely(self, parameters: Messenger) -> "PairQuadrature":
        with torch.no_grad():
            wide, now = self._wide_integral(parameters), self
            while now._unlike(now._integral(parameters, now.level), wide):
                if now.level == _LAST:
                    return replace(now, fails=True)
                now = replace(now, level=now.level + 1)
        return now

    def _unlike(self, one: torch.Tensor, other: torch.Tensor) -> bool:
        return not bool(((one == other) | ((one - other).abs() <= self.tolerance)).all())

    # The integral

    @property
    def run_size(self) -> int:
        """How many people one run of the program stands for at most."""
        return self.integrand.count * _RULES[self.level][0] ** 2

    def integral(self, parameters: Messenger, following: int = 0, doubled: bool = False) -> torch.Tensor:
        """Return log p(variables) of each person, the latents integrated out.

        `following` is the number of Newton steps by which the nodes follow parameters that may be far from the
        reference; `doubled` takes at least twice the nodes that were found to suffice.
        """
        level = min(max(self.level + 1, _PRECISE), _LAST + 1) if doubled else self.level
        return self._integral(parameters, level, following)

    def _integral(self, parameters: Messenger, level: int, following: int = 0) -> torch.Tensor:
        count, steps = _RULES[level]
        rule = hermite(count)
        return self._over(parameters, rule, rule, max(steps, following))

    def _wide_integral(self, parameters: Messenger) -> torch.Tensor:
        points = torch.linspace(-1.0, 1.0, _WIDE, dtype=torch.float64) * float(np.arcsinh(_FAR))
        rule = QuadratureRule(points.sinh(), points.cosh().log() + (points[1] - points[0]).log())
        return self._over(parameters, rule, rule, 1)

    def _over(self, parameters: Messenger, rule: QuadratureRule, inner: QuadratureRule, steps: int) -> torch.Tensor:
        centres = self.integrand.centred(parameters, self.centres, steps)
        total = torch.cat(list(self._inner(parameters, centres, rule.nodes, inner)))
        total = (total + rule.log_weights.unsqueeze(-1)).logsumexp(0)
        return total + centres.spread.log() + centres.rest.log() + self.integrand.log_others(parameters, centres)

    def _inner(
        self, parameters: Messenger, centres: PairCentres, nodes: torch.Tensor, inner: QuadratureRule
    ) -> Iterator[torch.Tensor]:
        """Yield the logarithm of the integral over the second latent at nodes of the first (first axis), by person."""
        count = len(inner.nodes)
        for part in pieces(len(nodes), count * self.integrand.count, _BUDGET):
            one, two = nodes[part].repeat_interleave(count), inner.nodes.repeat(len(nodes[part]))
            values, _ = self.integrand.log_joint(parameters, centres, one, two)
            yield (values.unflatten(0, (-1, count)) + inner.log_weights.unsqueeze(-1)).logsumexp(1)

    # Draws

    @property
    def drawing_nodes(self) -> int:
        """The points at which a conditional is tabulated."""
        return _DRAWING_NODES * _RULES[self.level][0]

    def drawn(self, parameters: Messenger, uniforms: Uniforms | None, units: torch.Tensor) -> Tensors:
        """Draw the latents of the people at `units` from their conditional; without uniforms, take their means.

        The first is drawn from its own conditional, tabulated with the second integrated out, then the second given it.
        """
        centres = self.integrand.centred(parameters, self.centres)
        if uniforms is None:
            return {name: mean[units] for name, mean in self._means(parameters, centres).items()}
        points = torch.linspace(-1.0, 1.0, _DRAWING_NODES) * float(np.arcsinh(_DRAWN))
        inner = hermite(_RULES[self.level][0])
        heights = torch.cat(list(self._inner(parameters, centres, points.sinh(), inner)))
        first = _quantile(centres.first, centres.spread, points, heights, uniforms[0], units)
        chosen, own = self.integrand.of(units), centres.of(units)
        one = (first - own.first) / own.spread
        heights, _ = chosen.log_joint(
            parameters, own, one.expand(len(points), -1), points.sinh().unsqueeze(-1).expand(-1, len(one))
        )
        everybody = torch.arange(len(one))
        second = _quantile(own.second + own.tilt * one, own.rest, points, heights, uniforms[1], everybody)
        return self.integrand.values_at(parameters, [first, second], units)

    def _means(self, parameters: Messenger, centres: PairCentres) -> Tensors:
        rule = hermite(_RULES[self.level][0])
        count = len(rule.nodes)
        one, two = rule.nodes.repeat_interleave(count), rule.nodes.repeat(count)
        weights = rule.log_weights.repeat_interleave(count) + rule.log_weights.repeat(count)
        heights, values = self.integrand.log_joint(parameters, centres, one, two)
        shares = (heights + weights.unsqueeze(-1)).softmax(0)
        means = [torch.where(shares > 0, value * shares, 0.0).sum(0) for value in values]
        return dict(zip(self.integrand.names, means, strict=True))


def _quantile(
    location: torch.Tensor,
    spread: torch.Tensor,
    points: torch.Tensor,
    heights: torch.Tensor,
    uniform: torch.Tensor,
    units: torch.Tensor,
) -> torch.Tensor:
    """Return a quantile of what has these heights at stretched points, of the people at `units`."""
    grid = points.unsqueeze(-1).expand(heights.shape)
    log_density = heights + points.cosh().log().unsqueeze(-1)
    return LatentConditional.of(location, spread, grid, grid, log_density).quantile(uniform, units)
