"""The density of each person's continuous latent together with what depends on it, and where it lies."""

from dataclasses import dataclass

import pyro.distributions as dist
import torch
from pyro.poutine.messenger import Messenger
from torch.distributions import ComposeTransform, Distribution, Transform, TransformedDistribution, biject_to

from causalaudit.scm import SCM
from causalaudit.scm.handlers import Intervene, Message, Tensors, run
from causalaudit.scm.score import Score

_STEP = 0.5  # of the differences that find the slope and the curvature of a conditional, in its own spread
_REACH = 20.0  # of the search for the range of a grid, before stretching: 2 · 10^8 spreads
_NEGLIGIBLE = -30.0  # logarithm of a density, relative to its peak, that does not count
_FEW_COPIES = 64  # copies of everybody that are kept when others are made

Ends = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class LatentCentres:
    """Where the conditional of each person's latent lies, in unconstrained space."""

    location: torch.Tensor
    spread: torch.Tensor

    def of(self, people: torch.Tensor) -> "LatentCentres":
        """Return those of some people."""
        return LatentCentres(self.location[people], self.spread[people])


def _from_numbers(law: Distribution) -> Transform:
    """Return the map from all numbers to the values of a law; torch does not know that of what a noise enters."""
    try:
        return biject_to(law.support)
    except NotImplementedError:
        if not isinstance(law, TransformedDistribution):
            raise
        return ComposeTransform([biject_to(law.base_dist.support), *law.transforms])


class _SetLatent(Messenger):
    """Give a latent the value that unconstrained numbers stand for, and keep the log-Jacobian of each person."""

    def __init__(self, name: str, numbers: torch.Tensor) -> None:
        super().__init__()
        self.name, self.numbers = name, numbers
        self.log_jacobian: torch.Tensor = torch.zeros(())
        self.value: torch.Tensor = torch.zeros(())

    def _pyro_sample(self, message: Message) -> None:
        if message["name"] == self.name:
            transform = _from_numbers(message["fn"])
            message["value"] = self.value = transform(self.numbers)
            self.log_jacobian = transform.log_abs_det_jacobian(self.numbers, self.value)


class LatentIntegrand:
    """log p(latent, its children) of each of a number of people, as a function of the latent.

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
        self.scm, self.name, self.people = scm, name, people
        self.inside = scm.with_partners({name, *effects_of(scm, name)})
        self.outside = set(scm.variables) - self.inside
        self.count = len(next(iter(people.values())))
        self._copies: dict[int, Tensors] = {}

    def of(self, units: torch.Tensor) -> "LatentIntegrand":
        """Return that of some people."""
        return LatentIntegrand(self.scm, self.name, {name: value[units] for name, value in self.people.items()})

    def _repeated(self, times: int) -> Tensors:
        if times not in self._copies:
            self._copies = {
                times: {name: value.repeat(times, *([1] * (value.ndim - 1))) for name, value in self.people.items()},
                **{known: copy for known, copy in self._copies.items() if known <= _FEW_COPIES},
            }
        return self._copies[times]

    def log_joint(
        self, parameters: Messenger, centres: LatentCentres, nodes: torch.Tensor
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

    def log_others(self, parameters: Messenger, centres: LatentCentres) -> torch.Tensor:
        """Return log p(variables that the latent does not touch) of each person."""
        others = Score(self.outside)
        run(self.scm.program, self.count, parameters, others, Intervene({**self.people, self.name: centres.location}))
        return others.total

    def first_centres(self) -> LatentCentres:
        """Return centres at zero, with a spread of one."""
        return LatentCentres(torch.zeros(self.count), torch.ones(self.count))

    def centred(self, parameters: Messenger, start: LatentCentres, steps: int = 1) -> LatentCentres:
        """Move centres by Newton steps towards the maxima of the conditionals; no gradient flows through this."""
        nodes = torch.tensor([-_STEP, 0.0, _STEP])
        with torch.no_grad():
            for _ in range(steps):
                values, _ = self.log_joint(parameters, start, nodes)
                start = _newton(start, *values.unbind(0))
        return start

    def ends(self, parameters: Messenger, centres: LatentCentres, count: int) -> Ends:
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

    def value_of(self, parameters: Messenger, numbers: torch.Tensor, units: torch.Tensor) -> torch.Tensor:
        """Return the latent that unconstrained numbers stand for, of the people at `units`."""
        latent = _SetLatent(self.name, numbers)
        run(self.scm.program, len(units), parameters, latent, Intervene({k: v[units] for k, v in self.people.items()}))
        return latent.value


def effects_of(scm: SCM, name: str) -> set[str]:
    """Return the variables whose distributions a latent enters, directly or through what is computed from it."""
    effects: set[str] = set()
    for site in scm.variables:
        if name in scm.structure.depends_on[site]:
            effects.add(site)
            if site in scm.latents and isinstance(scm.structure.laws[site], dist.Delta):
                effects |= effects_of(scm, site)
    return effects


def _newton(centres: LatentCentres, left: torch.Tensor, middle: torch.Tensor, right: torch.Tensor) -> LatentCentres:
    """One damped Newton step from three values of each log-density."""
    slope = (right - left) / (2 * _STEP)
    curvature = (right - 2 * middle + left) / _STEP**2
    concave = curvature < -1e-3
    steepness = (-curvature).clamp(min=1e-3)
    uphill = torch.where(slope < 0, -2.0, 2.0)  # from the saddle between two equal peaks, to either
    jump = torch.where(concave, slope / steepness, uphill).nan_to_num(0.0).clamp(-4.0, 4.0)
    factor = torch.where(concave, steepness.rsqrt(), 1.5).nan_to_num(1.0).clamp(0.25, 4.0)
    return LatentCentres(centres.location + centres.spread * jump, (centres.spread * factor).clamp(1e-8, 1e4))
