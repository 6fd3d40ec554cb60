"""The density of each person's continuous latent together with what depends on it, and where it lies."""

from collections.abc import Sequence
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


class Integrand:
    """log p(latents, what they enter) of each of a number of people, as a function of one or several latents.

    Parameters
    ----------
    scm
        The program.
    names
        The latents, in its order.
    people
        The values of all other variables.
    """

    def __init__(self, scm: SCM, names: tuple[str, ...], people: Tensors) -> None:
        self.scm, self.names, self.people = scm, names, people
        self.inside = scm.with_partners({*names}.union(*(effects_of(scm, name) for name in names)))
        self.outside = set(scm.variables) - self.inside
        self.count = len(next(iter(people.values())))
        self._copies: dict[int, Tensors] = {}
        self._alone = False  # whether nothing else has a density, as is known after the first run

    def _repeated(self, times: int) -> Tensors:
        if times not in self._copies:
            self._copies = {
                times: {name: value.repeat(times, *([1] * (value.ndim - 1))) for name, value in self.people.items()},
                **{known: copy for known, copy in self._copies.items() if known <= _FEW_COPIES},
            }
        return self._copies[times]

    def log_joint_at(
        self, parameters: Messenger, numbers: Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """Return log p(latents, what they enter) and the latents' values, by node (first axis) and person.

        `numbers` are the unconstrained numbers of each latent, of that shape.
        """
        times = len(numbers[0])
        flat = [number.reshape(-1) for number in numbers]
        score = Score(self.inside)
        latents = [_SetLatent(name, number) for name, number in zip(self.names, flat, strict=True)]
        run(self.scm.program, len(flat[0]), parameters, score, *latents, Intervene(self._repeated(times)))
        shape = (times, self.count)
        total = score.total
        for latent in latents:
            total = total + latent.log_jacobian
        total = total.reshape(shape)
        # Far out the latents may overflow, where the density is zero in all but name.
        return torch.where(total.isnan(), -torch.inf, total), [latent.value.reshape(shape) for latent in latents]

    def log_others_at(self, parameters: Messenger, anywhere: Tensors) -> torch.Tensor:
        """Return log p(variables that the latents do not touch) of each person; the latents are `anywhere`."""
        if self._alone:
            return torch.zeros(())
        others = Score(self.outside)
        run(self.scm.program, self.count, parameters, others, Intervene({**self.people, **anywhere}))
        self._alone = others.total.ndim == 0  # nobody's density was added
        return others.total

    def values_at(self, parameters: Messenger, numbers: Sequence[torch.Tensor], units: torch.Tensor) -> Tensors:
        """Return the latents that unconstrained numbers stand for, of the people at `units`."""
        latents = [_SetLatent(name, number) for name, number in zip(self.names, numbers, strict=True)]
        people = Intervene({name: value[units] for name, value in self.people.items()})
        run(self.scm.program, len(units), parameters, *latents, people)
        return {latent.name: latent.value for latent in latents}


class LatentIntegrand(Integrand):
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
        super().__init__(scm, (name,), people)
        self.name = name

    def of(self, units: torch.Tensor) -> "LatentIntegrand":
        """Return that of some people."""
        return LatentIntegrand(self.scm, self.name, {name: value[units] for name, value in self.people.items()})

    def log_joint(
        self, parameters: Messenger, centres: LatentCentres, nodes: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log p(latent, its children) and the latent's value, by node (first axis) and person."""
        placed = nodes.unsqueeze(-1) if nodes.ndim == 1 else nodes  # the same for everybody, or each their own
        total, (value,) = self.log_joint_at(parameters, [centres.location + centres.spread * placed])
        return total, value

    def log_others(self, parameters: Messenger, centres: LatentCentres) -> torch.Tensor:
        """Return log p(variables that the latent does not touch) of each person."""
        return self.log_others_at(parameters, {self.name: centres.location})

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
