"""A normal guide, fitted by stochastic variational inference with Pyro's autoguides."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyro
import pyro.distributions as dist
import torch
from pyro.infer.autoguide import AutoDiagonalNormal, AutoMultivariateNormal, init_to_value

from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.samplers.arrowhead import arrowhead_coordinates
from causalaudit.inference.samplers.compiled import compiled
from causalaudit.inference.samplers.coordinates import WhiteCoordinates
from causalaudit.progress import watched
from causalaudit.randomness import seeded
from causalaudit.scm.execution import numerics

_PARTICLES = 4
WINDOW = 100  # steps over which the bound is averaged
_WINDOWS = 30  # most of them, for each size of the steps
_PATIENCE = 2  # windows without a rise after which the bound has converged
_FINISH = 3  # windows of small steps, whose guides are averaged
_STEPS = (0.1, 0.02)  # sizes, one after the other; in coordinates that fit, the second alone
_SMALL_STEP = 0.002
_TOLERANCE = 0.02  # rise of the bound that does not matter
_COMPARED = 3  # points at which the compiled density is compared with the program's
_LARGEST = 100.0  # norm of a gradient that is followed in full


@dataclass(frozen=True)
class Guide:
    """A normal approximation of a posterior.

    Attributes
    ----------
    coordinates
        Those in which it is standard.
    density
        The posterior, with the nodes of a continuous latent placed at the guide's centre.
    elbo
        The evidence lower bound at each step of the optimisation.
    converged
        Whether it had stopped rising.
    """

    coordinates: WhiteCoordinates
    density: ProgramDensity
    elbo: np.ndarray
    converged: bool


def variational_fit(density: ProgramDensity, start: WhiteCoordinates, seed: int, progress: bool = False) -> Guide:
    """Fit a guide; with latents a second one, in coordinates in which they follow the parameters."""
    if not start.trusted:
        density = density.placed_at(start.location)
    if density.size > density.parameter_size:
        rough = fit_guide(density, start, seed, progress, _STEPS[:1])
        fine = fit_guide(density, arrowhead_coordinates(density, rough.coordinates), seed, progress, _STEPS[1:])
        guide = replace(fine, elbo=np.concatenate([rough.elbo, fine.elbo]))
    else:
        guide = fit_guide(density, start, seed, progress, _STEPS[1:] if start.trusted else _STEPS)
    return replace(guide, density=density.placed_at(guide.coordinates.location))


def fit_guide(
    density: ProgramDensity,
    start: WhiteCoordinates,
    seed: int,
    progress: bool = False,
    sizes: Sequence[float] = _STEPS,
) -> Guide:
    """Raise the evidence lower bound of a normal guide, from some coordinates on, until it no longer rises.

    Then the steps become small, and the guides along them are averaged.
    """
    with numerics(), seeded(seed, "variational"), pyro.get_param_store().scope():
        ascent = _GuideAscent(density, start)
        for _ in watched(ascent.steps(sizes), WINDOW * (_WINDOWS * len(sizes) + _FINISH), "Variational fit", progress):
            pass
        return ascent.result()


class _GuideAscent:
    """The optimisation of a guide, in given coordinates; the nodes of a latent that is integrated out follow it."""

    def __init__(self, density: ProgramDensity, start: WhiteCoordinates) -> None:
        self.density, self.start = density, start
        self.bounds: list[float] = []
        self.converged = False
        self.guides = torch.nn.ModuleList(
            _autoguide(kind, size)
            for kind, size in ((AutoMultivariateNormal, start.size), (AutoDiagonalNormal, len(start.slopes)))
            if size
        )
        self.optimiser = torch.optim.Adam(self.guides.parameters(), lr=_STEPS[-1])
        self._sum = [torch.zeros_like(part) for part in self._normal()]
        self._summed = 0
        self._follow()

    def _bound(self) -> torch.Tensor:
        """Estimate the bound, with the gradient along the points alone: it has no noise where the guide is exact.

        Roeder, Wu and Duvenaud (2017), Sticking the landing. NeurIPS.
        """
        laws = [guide.get_posterior() for guide in self.guides]  # type: ignore[operator]
        points = [law.rsample((_PARTICLES,)) for law in laws]
        fixed = [_detached(law).log_prob(point) for law, point in zip(laws, points, strict=True)]
        heights = torch.stack([self._height(point) for point in torch.cat(points, -1)])
        return (heights - sum(fixed)).mean()

    def _total(self, point: torch.Tensor) -> torch.Tensor:
        return self.density.total(self.start.to_vectors(point))

    def _follow(self) -> None:
        """Let the density follow the guide."""
        location, _, latents, _ = self._normal()
        centre = torch.cat([location, latents])
        self.density = self.density.moved_to(self.start.to_vectors(centre).numpy())
        if self.density.integrates or not self.bounds:
            self._height = compiled(self._total, [centre, *(centre + torch.randn(_COMPARED, len(centre)))])

    def steps(self, sizes: Sequence[float]) -> Iterator[None]:
        """Climb until the bound no longer rises, with smaller and smaller steps, then average."""
        for size in sizes:
            self._resize(size)
            self.converged = False
            yield from self._stage()
        self._resize(_SMALL_STEP)
        for _ in range(_FINISH):
            yield from self._window(average=True)
        self.converged = self.converged and bool(np.isfinite(self.bounds[-WINDOW:]).all())

    def _resize(self, size: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = size

    def _stage(self) -> Iterator[None]:
        quiet = 0
        for window in range(_WINDOWS):
            yield from self._window(average=False)
            self._follow()
            quiet = quiet + 1 if window and not self._rises() else 0
            if quiet == _PATIENCE:
                self.converged = True
                return

    def _window(self, average: bool) -> Iterator[None]:
        for _ in range(WINDOW):
            self.optimiser.zero_grad()
            bound = self._bound()
            self.bounds.append(float(bound.detach()))
            (-bound).backward()
            norm = torch.nn.utils.clip_grad_norm_(self.guides.parameters(), _LARGEST)
            if torch.isfinite(norm):  # else the density is zero at one of the points: draw others
                self.optimiser.step()
            if average:
                self._sum = [total + part for total, part in zip(self._sum, self._normal(), strict=True)]
                self._summed += 1
            yield

    def _rises(self) -> bool:
        """Tell whether the bound rose over the last window by more than its noise."""
        last, before = (np.array(self.bounds[-WINDOW:]), np.array(self.bounds[-2 * WINDOW : -WINDOW]))
        if not (np.isfinite(last).all() and np.isfinite(before).all()):
            return True
        noise = np.sqrt((last.var() + before.var()) / WINDOW)
        return bool(last.mean() - before.mean() > max(2 * noise, _TOLERANCE))

    def _normal(self) -> list[torch.Tensor]:
        """Return location and root of the guide over the parameters, location and scales of that over the latents."""
        parts = [torch.zeros(0), torch.zeros(0, 0), torch.zeros(0), torch.zeros(0)]
        for guide in self.guides:
            law: Any = guide.get_posterior()  # type: ignore[operator]
            if isinstance(guide, AutoMultivariateNormal):
                parts[:2] = [law.loc, law.scale_tril]
            else:
                parts[2:] = [law.mean, law.stddev]
        return [part.detach().clone() for part in parts]

    def result(self) -> Guide:
        """Return the mean of the last guides."""
        location, root, latents, scales = ((part / self._summed).numpy() for part in self._sum)
        found = self.start.narrowed(np.concatenate([location, latents]), root, scales)
        return Guide(found, self.density, np.array(self.bounds) + self.start.log_volume, self.converged)


def _autoguide(kind: Any, size: int) -> torch.nn.Module:
    """Return a standard normal guide over `size` numbers."""

    def numbers() -> None:
        pyro.sample("numbers", dist.Normal(torch.zeros(size), 1.0).to_event(1))

    guide = kind(numbers, init_loc_fn=init_to_value(values={"numbers": torch.zeros(size)}), init_scale=1.0)
    guide()  # makes its parameters
    made: torch.nn.Module = guide
    return made


def _detached(law: Any) -> Any:
    """Return the same distribution, through which no gradient flows."""
    if isinstance(law, dist.MultivariateNormal):
        return dist.MultivariateNormal(law.loc.detach(), scale_tril=law.scale_tril.detach())
    return dist.Normal(law.mean.detach(), law.stddev.detach()).to_event(1)
