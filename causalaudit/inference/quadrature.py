"""One continuous latent for each person, integrated out numerically and drawn from its exact conditional.

Given the parameters, people are independent, so that each needs a one-dimensional integral. It is taken in
unconstrained space, with nodes placed around the person's own conditional: Gauss-Hermite nodes where that is close to a
Gaussian, elsewhere a grid over the range, found for each person, outside of which nearly nothing lies.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from pyro.poutine.messenger import Messenger
from torch.distributions import biject_to

from causalaudit.errors import InferenceError
from causalaudit.inference.conditional import Centres, Conditional
from causalaudit.inference.score import Score
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Intervene, Message, Tensors, run

_STEP = 0.5  # of the differences that find the slope and the curvature of a conditional, in its own spread
_COLD_STEPS, _WARM_STEPS = 60, 2
_DRAWING_NODES, _MANY_DRAWING_NODES = 41, 129  # the second for conditionals that need a grid
_REACH = 20.0  # of the search for the range of a grid, before stretching: 2 · 10^8 spreads
_FINEST_SEARCH = 2500
_ROOM = 0.3  # by which a range is wider at both ends than at the reference, before stretching
_NEGLIGIBLE = -30.0  # logarithm of a density, relative to its peak, that does not count


@dataclass(frozen=True)
class Rule:
    """Nodes and log-weights for the integral of a function around zero with a spread of about one."""

    nodes: torch.Tensor
    log_weights: torch.Tensor
    steps: int = 0
    """Newton steps by which the centres follow the parameters of a draw."""
    search: int = 0
    """Points by which the range of each person is searched first; 0: the nodes are in units of the spread."""


def hermite(count: int) -> Rule:
    """Gauss-Hermite quadrature, exact for a Gaussian times a polynomial of degree 2 · count - 1."""
    nodes, weights = np.polynomial.hermite.hermgauss(count)
    log_weights = np.log(weights) + nodes**2 + 0.5 * np.log(2)
    return Rule(torch.from_numpy(np.sqrt(2) * nodes), torch.from_numpy(log_weights))


def grid(count: int) -> Rule:
    """The trapezoidal rule on each person's own range, between 0 and 1 here: fast for smooth functions."""
    share = torch.linspace(0.0, 1.0, count, dtype=torch.float64)
    return Rule(share, torch.full_like(share, -np.log(count - 1)), steps=1, search=min(5 * count // 2, _FINEST_SEARCH))


# Each rule is checked against the next; one that disagrees gives way to it. The first does without the Newton step.
RULES: tuple[Callable[[], Rule], ...] = (
    lambda: hermite(8),
    lambda: replace(hermite(8), steps=1),
    lambda: replace(hermite(16), steps=1),
    lambda: replace(hermite(32), steps=1),
    lambda: grid(65),
    lambda: grid(257),
    lambda: grid(1025),
    lambda: grid(4097),
    lambda: grid(16385),
)
_PRECISE, _FIRST_GRID = 2, 4  # places in RULES
_FEW = 0.25  # greatest share of the people that have nodes of their own


class _SetLatent(Messenger):
    """Give a latent the value that unconstrained numbers stand for, and keep the log-Jacobian of each person."""

    def __init__(self, name: str, numbers: torch.Tensor) -> None:
        super().__init__()
        self.name, self.numbers = name, numbers
        self.log_jacobian: torch.Tensor = torch.zeros(())
        self.value: torch.Tensor = torch.zeros(())

    def _pyro_sample(self, message: Message) -> None:
        if message["name"] == self.name:
            transform = biject_to(message["fn"].support)
            message["value"] = self.value = transform(self.numbers)
            self.log_jacobian = transform.log_abs_det_jacobian(self.numbers, self.value)


class Quadrature:
    """The integral over the latent `name` of each of a number of people.

    The few for whom the nodes of the many do not suffice have a finer quadrature of their own.

    Parameters
    ----------
    scm
        The program.
    name
        The latent.
    people
        The values of all other variables.
    tolerance
        The greatest change of a log-likelihood when the nodes are doubled.
    """

    def __init__(self, scm: SCM, name: str, people: Tensors, tolerance: float) -> None:
        self.scm, self.name, self.people, self.tolerance = scm, name, people, tolerance
        self.inside = {name, *scm.graph.successors(name)}
        self.outside = set(scm.variables) - self.inside
        self.count = len(next(iter(people.values())))
        self.centres = Centres(torch.zeros(self.count), torch.ones(self.count))
        self.level = 0
        self.few: torch.Tensor | None = None
        self.finer: Quadrature | None = None
        self._ends: tuple[torch.Tensor, torch.Tensor] | None = None  # of the grids, at the reference
        self._wander = False  # whether conditionals move so far between draws that these ends do not hold
        self._copies: dict[int, Tensors] = {}

    @property
    def size(self) -> int:
        """How many people one run of the program stands for at most."""
        rule = RULES[self.level]()
        return max(self.count * max(len(rule.nodes), rule.search), self.finer.size if self.finer else 0)

    @property
    def drawing_nodes(self) -> int:
        """The points at which a conditional is tabulated."""
        if self.level >= _FIRST_GRID:
            return _MANY_DRAWING_NODES
        return self.finer.drawing_nodes if self.finer else _DRAWING_NODES

    def _repeated(self, times: int) -> Tensors:
        if times not in self._copies:
            self._copies = {
                times: {name: value.repeat(times, *([1] * (value.ndim - 1))) for name, value in self.people.items()},
                **{known: copy for known, copy in self._copies.items() if known <= 64},
            }
        return self._copies[times]

    def log_joint(
        self, parameters: Messenger, centres: Centres, nodes: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log p(latent, its children) and the latent's value, by node (first axis) and person."""
        placed = nodes.unsqueeze(-1) if nodes.ndim == 1 else nodes  # the same for everybody, or each their own
        numbers = (centres.location + centres.spread * placed).reshape(-1)
        score, latent = Score(self.inside), _SetLatent(self.name, numbers)
        run(self.scm.program, len(numbers), parameters, score, latent, Intervene(self._repeated(len(nodes))))
        shape = (len(nodes), self.count)
        total = (score.total + latent.log_jacobian).reshape(shape)
        # Far out the latent may overflow, where the density is zero in all but name.
        return torch.where(total.isnan(), -torch.inf, total), latent.value.reshape(shape)

    def centred(self, parameters: Messenger, start: Centres, steps: int = 1) -> Centres:
        """Move the centres by Newton steps towards the maxima of the conditionals; no gradient flows through this."""
        nodes = torch.tensor([-_STEP, 0.0, _STEP])
        with torch.no_grad():
            for _ in range(steps):
                values, _ = self.log_joint(parameters, start, nodes)
                start = _newton(start, *values.unbind(0))
        return start

    def integral(self, parameters: Messenger, following: bool = False, doubled: bool = False) -> torch.Tensor:
        """Return log p(variables) of each person, the latent integrated out.

        `following` moves the nodes along to parameters that may be far from the reference; `doubled` takes at least
        twice the nodes that were found to suffice.
        """
        level = min(max(self.level + 1, _PRECISE), len(RULES) - 1) if doubled else self.level
        total = self._integral(parameters, level, following, search=doubled)
        if self.finer is None or self.few is None:
            return total
        return total.index_put((self.few,), self.finer.integral(parameters, following, doubled))

    def _integral(
        self, parameters: Messenger, level: int, following: bool = False, search: bool = False
    ) -> torch.Tensor:
        rule = RULES[level]()
        centres = self.centred(parameters, self.centres, max(rule.steps, int(following)))
        nodes, log_weights = rule.nodes, rule.log_weights.unsqueeze(-1)
        if rule.search:
            known = None if search else self._ends
            low, high = self._range(parameters, centres, rule.search) if known is None else known
            points = torch.lerp(low, high, nodes.unsqueeze(-1))
            nodes, log_weights = torch.sinh(points), log_weights + (high - low).log() + torch.cosh(points).log()
        values, _ = self.log_joint(parameters, centres, nodes)
        others = Score(self.outside)
        run(self.scm.program, self.count, parameters, others, Intervene({**self.people, self.name: centres.location}))
        return (values + log_weights).logsumexp(0) + centres.spread.log() + others.total

    def recentre(self, parameters: Messenger) -> None:
        """Find the centres and the number of nodes anew at one draw; they are the reference for others near it."""
        self.centres = Centres(torch.zeros(self.count), torch.ones(self.count))
        for _ in range(_COLD_STEPS):
            last, self.centres = self.centres, self.centred(parameters, self.centres)
            if bool(((self.centres.location - last.location).abs() < 1e-3 * last.spread).all()):
                break
        self.level, self.few, self.finer, self._ends, self._wander = 0, None, None, None, False
        self.refine(parameters)
        # Two Gaussian rules may agree because both miss a second peak or a tail; a grid does not.
        if self.level < _FIRST_GRID:
            self._raise(parameters, self._unlike(parameters, _FIRST_GRID), _FIRST_GRID)

    def follow(self, parameters: Messenger) -> None:
        """Move the reference to parameters a step away."""
        self.centres = self.centred(parameters, self.centres, _WARM_STEPS)
        self._find_ends(parameters)
        if self.finer is not None:
            self.finer.follow(parameters)

    def refine(self, parameters: Messenger) -> bool:
        """Double the nodes, of everybody or of those who need it, until it makes no difference; tell whether it did.

        Raises
        ------
        InferenceError
            If no number of nodes suffices.
        """
        refined = False
        while (unlike := self._unlike(parameters, max(self.level + 1, _PRECISE))).any():
            if self._ends is not None and not self._differ(parameters, self.level, self.level + 1).any():
                self._ends, self._wander = None, True
            else:
                self._raise(parameters, unlike, self.level + 1)
            refined = True
        return refined or (self.finer is not None and self.finer.refine(parameters))

    def _raise(self, parameters: Messenger, unlike: torch.Tensor, level: int) -> None:
        """Give people the nodes of a level, and more until they suffice: all, unless they are a few."""
        if not unlike.any():
            return
        if self.few is not None:
            unlike[self.few] = True
        if unlike.double().mean() > _FEW:
            self.level, self.few, self.finer = level, None, None
            self._find_ends(parameters)
            self.refine(parameters)
            return
        self.few = unlike.nonzero().flatten()
        people = {name: value[self.few] for name, value in self.people.items()}
        self.finer = Quadrature(self.scm, self.name, people, self.tolerance)
        self.finer.centres, self.finer.level = self.centres.of(self.few), level
        self.finer._find_ends(parameters)
        self.finer.refine(parameters)

    def _find_ends(self, parameters: Messenger) -> None:
        """Find the range of the grids once, with some room for other draws: searching costs more than the integral."""
        if self.level >= _FIRST_GRID and not self._wander:
            centres = self.centred(parameters, self.centres)
            low, high = self._range(parameters, centres, RULES[self.level]().search)
            self._ends = low - _ROOM, high + _ROOM

    def _unlike(self, parameters: Messenger, level: int) -> torch.Tensor:
        """Tell for whom, of those without nodes of their own, a finer rule gives another log-likelihood."""
        if level == len(RULES):
            raise InferenceError(
                f"The latent {self.name!r} cannot be integrated out: with {len(RULES[-1]().nodes)} nodes the "
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

    def conditional(self, parameters: Messenger) -> Conditional:
        """Tabulate the conditional of each person's latent on a fine grid over its bulk."""
        centres = self.centred(parameters, self.centres)
        low, high = self._drawing_range(parameters, centres)
        points = torch.lerp(low, high, torch.linspace(0.0, 1.0, self.drawing_nodes).unsqueeze(-1))
        log_joint, values = self.log_joint(parameters, centres, torch.sinh(points))
        return Conditional.of(centres, points, values, log_joint + torch.cosh(points).log())

    def _range(self, parameters: Messenger, centres: Centres, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the ends, before stretching, of the range outside of which each conditional is negligible.

        Grids stay inside it: far out the latent may overflow, and then its slopes are not numbers.
        """
        points = torch.linspace(-_REACH, _REACH, count)
        with torch.no_grad():
            log_joint, _ = self.log_joint(parameters, centres, torch.sinh(points))
            height = log_joint + torch.cosh(points).log().unsqueeze(-1)
            counts = (height > height.amax(0) + _NEGLIGIBLE).to(torch.int64)
            first, last = counts.argmax(0), count - 1 - counts.flip(0).argmax(0)
        return points[(first - 1).clamp(min=0)], points[(last + 1).clamp(max=count - 1)]

    def _drawing_range(self, parameters: Messenger, centres: Centres) -> tuple[torch.Tensor, torch.Tensor]:
        if self.level >= _FIRST_GRID:
            return self._range(parameters, centres, _MANY_DRAWING_NODES)
        high = torch.full((self.count,), float(np.arcsinh(9.0)))
        low = -high
        if self.finer is not None and self.few is not None:
            ends = self.finer._drawing_range(parameters, centres.of(self.few))
            low, high = (whole.index_put((self.few,), part) for whole, part in zip((low, high), ends, strict=True))
        return low, high

    def value_of(self, parameters: Messenger, numbers: torch.Tensor, units: torch.Tensor) -> torch.Tensor:
        """Return the latent that unconstrained numbers stand for, of the people at `units`."""
        latent = _SetLatent(self.name, numbers)
        run(self.scm.program, len(units), parameters, latent, Intervene({k: v[units] for k, v in self.people.items()}))
        return latent.value


def _newton(centres: Centres, left: torch.Tensor, middle: torch.Tensor, right: torch.Tensor) -> Centres:
    """One damped Newton step from three values of each log-density."""
    slope = (right - left) / (2 * _STEP)
    curvature = (right - 2 * middle + left) / _STEP**2
    concave = curvature < -1e-3
    steepness = (-curvature).clamp(min=1e-3)
    uphill = torch.where(slope < 0, -2.0, 2.0)  # from the saddle between two equal peaks, to either
    jump = torch.where(concave, slope / steepness, uphill).nan_to_num(0.0).clamp(-4.0, 4.0)
    factor = torch.where(concave, steepness.rsqrt(), 1.5).nan_to_num(1.0).clamp(0.25, 4.0)
    return Centres(centres.location + centres.spread * jump, (centres.spread * factor).clamp(1e-8, 1e4))
