"""One continuous latent for each person, integrated out numerically and drawn from its exact conditional.

Given the parameters, people are independent, so that each needs a one-dimensional integral. It is taken in
unconstrained space, with nodes placed around the person's own conditional: Gauss-Hermite nodes where that is close to a
Gaussian, elsewhere a grid over the range, found for each person, outside of which nearly nothing lies.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from pyro.poutine.messenger import Messenger

from causalaudit.errors import InferenceError
from causalaudit.inference.density.latent_conditional import LatentConditional
from causalaudit.inference.density.latent_integrand import Ends, LatentCentres, LatentIntegrand
from causalaudit.inference.density.quadrature_rules import FIRST_GRID, PRECISE, RULES
from causalaudit.scm.handlers import Tensors

_COLD_STEPS, _WARM_STEPS = 60, 2  # Newton steps of the centres, from anywhere and from parameters a step away
_DRAWING_NODES, _MANY_DRAWING_NODES = 41, 129  # the second for conditionals that need a grid
_ROOM = 0.3  # by which a range is wider at both ends than at the reference, before stretching
_FEW = 0.25  # greatest share of the people that have nodes of their own


@dataclass(frozen=True)
class Quadrature:
    """The integral over a latent of each of a number of people, with nodes placed around reference parameters.

    The few for whom the nodes of the many do not suffice have a finer quadrature of their own. It never changes:
    `moved_to` and `refined` return another one.

    Attributes
    ----------
    integrand
        What is integrated.
    tolerance
        The greatest change of a log-likelihood when the nodes are doubled.
    centres
        Where the conditionals lie at the reference.
    level
        The place in `RULES` of the rule that suffices for the many.
    few, finer
        Those for whom it does not, and their quadrature.
    ends
        Of the grids, at the reference; None if they are searched for each draw.
    wanders
        Whether conditionals move so far between draws that these ends do not hold.
    """

    integrand: LatentIntegrand
    tolerance: float
    centres: LatentCentres
    level: int = 0
    few: torch.Tensor | None = None
    finer: "Quadrature | None" = None
    ends: Ends | None = None
    wanders: bool = False

    @classmethod
    def placed(cls, integrand: LatentIntegrand, parameters: Messenger, tolerance: float) -> "Quadrature":
        """Find the centres and the number of nodes at one draw, which is the reference for others near it.

        Raises
        ------
        InferenceError
            If no number of nodes suffices.
        """
        centres = integrand.first_centres()
        for _ in range(_COLD_STEPS):
            last, centres = centres, integrand.centred(parameters, centres)
            if bool(((centres.location - last.location).abs() < 1e-3 * last.spread).all()):
                break
        found = cls(integrand, tolerance, centres).refined(parameters)
        # Two Gaussian rules may agree because both miss a second peak or a tail; a grid does not.
        if found.level < FIRST_GRID:
            return found._raised(parameters, found._unlike(parameters, FIRST_GRID), FIRST_GRID)
        return found

    def moved_to(self, parameters: Messenger) -> "Quadrature":
        """Return the quadrature whose reference are parameters a step away."""
        centres = self.integrand.centred(parameters, self.centres, _WARM_STEPS)
        finer = None if self.finer is None else self.finer.moved_to(parameters)
        return replace(self, centres=centres, finer=finer)._with_ends(parameters)

    def refined(self, parameters: Messenger) -> "Quadrature":
        """Double the nodes, of everybody or of those who need it, until it makes no difference at these parameters.

        Returns
        -------
        Quadrature
            The same object if there were nodes enough.

        Raises
        ------
        InferenceError
            If no number of nodes suffices.
        """
        now = self
        while (unlike := now._unlike(parameters, max(now.level + 1, PRECISE))).any():
            if now.ends is not None and not now._differ(parameters, now.level, now.level + 1).any():
                now = replace(now, ends=None, wanders=True)
            else:
                now = now._raised(parameters, unlike, now.level + 1)
        if now is not self or self.finer is None:
            return now
        finer = self.finer.refined(parameters)
        return self if finer is self.finer else replace(self, finer=finer)

    def _raised(self, parameters: Messenger, unlike: torch.Tensor, level: int) -> "Quadrature":
        """Give people the nodes of a level, and more until they suffice: all, unless they are a few."""
        if not unlike.any():
            return self
        if self.few is not None:
            unlike[self.few] = True
        if unlike.double().mean() > _FEW:
            everybody = replace(self, level=level, few=None, finer=None)
            return everybody._with_ends(parameters).refined(parameters)
        few = unlike.nonzero().flatten()
        finer = Quadrature(self.integrand.of(few), self.tolerance, self.centres.of(few), level)
        return replace(self, few=few, finer=finer._with_ends(parameters).refined(parameters))

    def _with_ends(self, parameters: Messenger) -> "Quadrature":
        """Find the range of the grids once, with some room for other draws: searching costs more than the integral."""
        if self.level < FIRST_GRID or self.wanders:
            return self
        centres = self.integrand.centred(parameters, self.centres)
        low, high = self.integrand.ends(parameters, centres, RULES[self.level]().search)
        return replace(self, ends=(low - _ROOM, high + _ROOM))

    def _unlike(self, parameters: Messenger, level: int) -> torch.Tensor:
        """Tell for whom, of those without nodes of their own, a finer rule gives another log-likelihood."""
        if level == len(RULES):
            raise InferenceError(
                f"The latent {self.integrand.name!r} cannot be integrated out: with {len(RULES[-1]().nodes)} nodes the "
                "log-likelihoods of people still change when the nodes are doubled. Its effect may jump, or its "
                "conditional may have narrow, distant peaks: make the effect smooth (torch.sigmoid for a step), or "
                "give it finitely many values."
            )
        return self._differ(parameters, self.level, level, search=False)

    def _differ(self, parameters: Messenger, level: int, finer: int, search: bool = True) -> torch.Tensor:
        """Tell for whom two rules differ, the first with or without a search for the range of its grid."""
        now = self._integral(parameters, level, search=search)
        then = self._integral(parameters, finer, search=True)
        unlike = ~((now == then) | ((now - then).abs() <= self.tolerance))
        if self.few is not None:
            unlike[self.few] = False
        return unlike

    # The integral

    @property
    def run_size(self) -> int:
        """How many people one run of the program stands for at most."""
        rule = RULES[self.level]()
        own = self.integrand.count * max(len(rule.nodes), rule.search)
        return max(own, self.finer.run_size if self.finer else 0)

    def integral(self, parameters: Messenger, following: int = 0, doubled: bool = False) -> torch.Tensor:
        """Return log p(variables) of each person, the latent integrated out.

        `following` is the number of Newton steps by which the nodes follow parameters that may be far from the
        reference; `doubled` takes at least twice the nodes that were found to suffice.
        """
        level = min(max(self.level + 1, PRECISE), len(RULES) - 1) if doubled else self.level
        total = self._integral(parameters, level, following, search=doubled)
        if self.finer is None or self.few is None:
            return total
        return total.index_put((self.few,), self.finer.integral(parameters, following, doubled))

    def _integral(self, parameters: Messenger, level: int, following: int = 0, search: bool = False) -> torch.Tensor:
        rule = RULES[level]()
        centres = self.integrand.centred(parameters, self.centres, max(rule.steps, following))
        nodes, log_weights = rule.nodes, rule.log_weights.unsqueeze(-1)
        if rule.search:
            known = None if search else self.ends
            low, high = self.integrand.ends(parameters, centres, rule.search) if known is None else known
            points = torch.lerp(low, high, nodes.unsqueeze(-1))
            nodes, log_weights = torch.sinh(points), log_weights + (high - low).log() + torch.cosh(points).log()
        values, _ = self.integrand.log_joint(parameters, centres, nodes)
        others = self.integrand.log_others(parameters, centres)
        return (values + log_weights).logsumexp(0) + centres.spread.log() + others

    # Draws

    @property
    def drawing_nodes(self) -> int:
        """The points at which a conditional is tabulated."""
        if self.level >= FIRST_GRID:
            return _MANY_DRAWING_NODES
        return self.finer.drawing_nodes if self.finer else _DRAWING_NODES

    def drawn(self, parameters: Messenger, uniforms: tuple[torch.Tensor, ...] | None, units: torch.Tensor) -> Tensors:
        """Draw the latent of the people at `units` from its conditional; without uniforms, take its mean."""
        conditional = self.conditional(parameters)
        if uniforms is None:
            return {self.integrand.name: conditional.mean()[units]}
        return self.integrand.values_at(parameters, [conditional.quantile(uniforms[0], units)], units)

    def conditional(self, parameters: Messenger) -> LatentConditional:
        """Tabulate the conditional of each person's latent on a fine grid over its bulk."""
        centres = self.integrand.centred(parameters, self.centres)
        low, high = self._drawing_ends(parameters, centres)
        points = torch.lerp(low, high, torch.linspace(0.0, 1.0, self.drawing_nodes).unsqueeze(-1))
        log_joint, values = self.integrand.log_joint(parameters, centres, torch.sinh(points))
        log_density = log_joint + torch.cosh(points).log()
        return LatentConditional.of(centres.location, centres.spread, points, values, log_density)

    def _drawing_ends(self, parameters: Messenger, centres: LatentCentres) -> Ends:
        if self.level >= FIRST_GRID:
            return self.integrand.ends(parameters, centres, _MANY_DRAWING_NODES)
        high = torch.full((self.integrand.count,), float(np.arcsinh(9.0)))
        low = -high
        if self.finer is not None and self.few is not None:
            own = self.finer._drawing_ends(parameters, centres.of(self.few))
            low, high = low.index_put((self.few,), own[0]), high.index_put((self.few,), own[1])
        return low, high
