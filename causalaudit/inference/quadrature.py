"""One continuous latent for each person, integrated out numerically and drawn from its exact conditional.

Given the parameters, people are independent, so that each needs a one-dimensional integral. It is taken in
unconstrained space, with nodes placed around the person's own conditional: Gauss-Hermite nodes where that is close to a
Gaussian, a fine grid that reaches far into the tails elsewhere.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from pyro.poutine.messenger import Messenger
from torch.distributions import biject_to

from causalaudit.inference.score import Score
from causalaudit.scm import SCM
from causalaudit.scm.handlers import Intervene, Message, Tensors, run

_STEP = 0.5  # of the differences that find the slope and the curvature of a conditional, in its own spread
_COLD_STEPS, _WARM_STEPS = 60, 4
DRAWING_NODES = 65
_NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class Rule:
    """Nodes and log-weights for the integral of a function around zero with a spread of about one."""

    nodes: torch.Tensor
    log_weights: torch.Tensor
    steps: int = 0
    """Newton steps by which the centres follow the parameters of a draw."""


def hermite(count: int) -> Rule:
    """Gauss-Hermite quadrature, exact for a Gaussian times a polynomial of degree 2 · count - 1."""
    nodes, weights = np.polynomial.hermite.hermgauss(count)
    log_weights = np.log(weights) + nodes**2 + 0.5 * np.log(2)
    return Rule(torch.from_numpy(np.sqrt(2) * nodes), torch.from_numpy(log_weights))


def stretched(count: int, reach: float) -> Rule:
    """The trapezoidal rule after z = sinh(w), |w| <= reach: fast for smooth functions, and far into heavy tails."""
    points = np.linspace(-reach, reach, count)
    log_weights = np.log(points[1] - points[0]) + np.log(np.cosh(points))
    return Rule(torch.from_numpy(np.sinh(points)), torch.from_numpy(log_weights))


# Each rule is checked against the next; one that disagrees gives way to it. The first does without the Newton step.
RULES: tuple[Callable[[], Rule], ...] = (
    lambda: hermite(8),
    lambda: replace(hermite(8), steps=1),
    lambda: replace(hermite(16), steps=1),
    lambda: replace(hermite(32), steps=1),
    lambda: replace(stretched(201, 20.0), steps=1),
    lambda: replace(stretched(801, 20.0), steps=1),
    lambda: replace(stretched(3201, 20.0), steps=1),
    lambda: replace(stretched(12801, 20.0), steps=1),
)
PRECISE, FIRST_GRID = 2, 4  # places in RULES


@dataclass
class Centres:
    """Where the conditional of each person's latent lies, in unconstrained space."""

    location: torch.Tensor
    spread: torch.Tensor


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

    Parameters
    ----------
    scm
        The program.
    name
        The latent.
    people
        The values of all other variables.
    """

    def __init__(self, scm: SCM, name: str, people: Tensors) -> None:
        self.program, self.name, self.people = scm.program, name, people
        self.inside = {name, *scm.graph.successors(name)}
        self.outside = set(scm.variables) - self.inside
        self.count = len(next(iter(people.values())))
        self.centres = Centres(torch.zeros(self.count), torch.ones(self.count))
        self.level = 0
        self._copies: dict[int, Tensors] = {}

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
        run(self.program, len(numbers), parameters, score, latent, Intervene(self._repeated(len(nodes))))
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

    def integral(self, parameters: Messenger, rule: Rule) -> torch.Tensor:
        """Return log p(variables) of each person, the latent integrated out."""
        centres = self.centred(parameters, self.centres, rule.steps)
        values, _ = self.log_joint(parameters, centres, rule.nodes)
        others = Score(self.outside)
        run(self.program, self.count, parameters, others, Intervene({**self.people, self.name: centres.location}))
        return (values + rule.log_weights.unsqueeze(-1)).logsumexp(0) + centres.spread.log() + others.total

    def recentre(self, parameters: Messenger) -> None:
        """Find the centres anew at one draw of the parameters; they are the reference for others near it."""
        self.centres = Centres(torch.zeros(self.count), torch.ones(self.count))
        for _ in range(_COLD_STEPS):
            last, self.centres = self.centres, self.centred(parameters, self.centres)
            if bool(((self.centres.location - last.location).abs() < 1e-3 * last.spread).all()):
                break

    def follow(self, parameters: Messenger) -> None:
        """Move the reference to parameters a step away."""
        self.centres = self.centred(parameters, self.centres, _WARM_STEPS)

    def conditional(self, parameters: Messenger) -> "Conditional":
        """Tabulate the conditional of each person's latent on a fine grid over its bulk."""
        centres = self.centred(parameters, self.centres)
        edges = torch.full((2, self.count), float(np.arcsinh(9.0)))
        edges[0] *= -1
        if self.level >= FIRST_GRID:
            edges = self._bulk(parameters, centres)
        points = torch.lerp(edges[0], edges[1], torch.linspace(0.0, 1.0, DRAWING_NODES).unsqueeze(-1))
        log_joint, values = self.log_joint(parameters, centres, torch.sinh(points))
        density = (log_joint + torch.cosh(points).log()).softmax(0)
        cells = (density[1:] + density[:-1]) / 2
        cumulative = torch.cat([torch.zeros_like(cells[:1]), cells.cumsum(0)])
        return Conditional(centres, points, values, density, cumulative / cumulative[-1:])

    def _bulk(self, parameters: Messenger, centres: Centres) -> torch.Tensor:
        """Return the ends of the range outside of which nearly nothing lies, before stretching."""
        points = torch.linspace(-20.0, 20.0, DRAWING_NODES)
        log_joint, _ = self.log_joint(parameters, centres, torch.sinh(points))
        share = (log_joint + torch.cosh(points).log().unsqueeze(-1)).softmax(0).cumsum(0)
        first = ((share < _NEGLIGIBLE).sum(0) - 1).clamp(min=0)
        last = (share < 1 - _NEGLIGIBLE).sum(0) + 1
        return torch.stack([points[first], points[last.clamp(max=DRAWING_NODES - 1)]])

    def value_of(self, parameters: Messenger, numbers: torch.Tensor, units: torch.Tensor) -> torch.Tensor:
        """Return the latent that unconstrained numbers stand for, of the people at `units`."""
        latent = _SetLatent(self.name, numbers)
        run(self.program, len(units), parameters, latent, Intervene({k: v[units] for k, v in self.people.items()}))
        return latent.value


@dataclass(frozen=True)
class Conditional:
    """The distribution of each person's latent on a grid: by node (first axis) and person.

    Attributes
    ----------
    points
        The grid; the latent in unconstrained space is ``centre + spread * sinh(point)``.
    values
        The latent itself at the points.
    density, cumulative
        Its density along the grid, and the share of it below each point.
    """

    centres: Centres
    points: torch.Tensor
    values: torch.Tensor
    density: torch.Tensor
    cumulative: torch.Tensor

    def mean(self) -> torch.Tensor:
        """Return the mean of each person's latent."""
        return torch.where(self.density > 0, self.values * self.density, 0.0).sum(0) / self.density.sum(0)

    def quantile(self, uniform: torch.Tensor, units: torch.Tensor) -> torch.Tensor:
        """Return quantiles of the latents at `units`, in unconstrained space."""
        # One search for everybody: the cumulative shares of unit j, plus j, follow on those of unit j - 1.
        nodes = len(self.points)
        ladder = (self.cumulative + torch.arange(self.cumulative.shape[1])).T.reshape(-1)
        place = torch.searchsorted(ladder, units + uniform)
        cell = (place - 1 - units * nodes).clamp(0, nodes - 2)
        below, above = self.cumulative[cell, units], self.cumulative[cell + 1, units]
        share = ((uniform - below) / (above - below).clamp(min=1e-300)).clamp(0.0, 1.0)
        share = _within_cell(share, self.density[cell, units], self.density[cell + 1, units])
        point = torch.lerp(self.points[cell, units], self.points[cell + 1, units], share)
        return self.centres.location[units] + self.centres.spread[units] * torch.sinh(point)


def _within_cell(share: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return the place in a cell below which a share of its probability lies, the density being linear in it."""
    slope = (right - left) / (right + left).clamp(min=1e-300)  # between -1 and 1
    root = ((1 - slope) ** 2 + 4 * slope * share).clamp(min=0.0).sqrt()
    return torch.where(slope.abs() < 1e-6, share, 2 * share / ((1 - slope) + root).clamp(min=1e-300))


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
