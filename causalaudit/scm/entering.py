"""The textbook's way to write a noise: an exogenous site of its own that enters one computed site.

``u ~ Normal(0, 1); x = pyro.deterministic("x", a + b * z + s * u)`` says what ``x ~ Normal(a + b * z, s)`` says. Here
such a program is run as the second: u disappears, and x has the law of u under the map from u to x that the program
computes, whose other arguments are the values of the run.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any

import pyro.distributions as dist
import torch
from pyro.poutine import runtime
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch.distributions import Distribution, biject_to, constraints
from torch.distributions.transforms import Transform

from causalaudit.scm.handlers import Message, Program, Tensors, law_of
from causalaudit.scm.noise.inverses import quantile_of

_REACH = 38.0  # of the search for a noise, in normal standard deviations: all that a double tells from zero
_HALVINGS = 32
Map = Callable[[torch.Tensor], torch.Tensor]


class _Reached(Exception):
    """The site that was asked for, with what it computed."""

    def __init__(self, value: torch.Tensor) -> None:
        super().__init__()
        self.value = value


class _Probe(Messenger):
    """Repeat a run up to a site, with one value changed, unseen by every messenger outside."""

    def __init__(self, site: str, known: Tensors) -> None:
        super().__init__()
        self.site, self.known = site, known

    def _pyro_sample(self, message: Message) -> None:
        message["stop"] = True
        if message["name"] == self.site:
            raise _Reached(message["value"])
        if message["name"] in self.known and not site_is_subsample(message):
            message["value"], message["done"] = self.known[message["name"]], True


@contextmanager
def _plates_of_its_own() -> Iterator[None]:
    """Let a program open its plates while a run of it has them open."""
    allocator = runtime._DIM_ALLOCATOR
    outer, allocator._stack = allocator._stack, []
    try:
        yield
    finally:
        allocator._stack = outer


def map_of_noise(program: Program, n: int, noise: str, site: str, known: Tensors) -> Map:
    """Return the map from the values of a noise to those of a site, the values before it being known."""

    def at(value: torch.Tensor) -> torch.Tensor:
        try:
            with _plates_of_its_own(), _Probe(site, {**known, noise: value}):
                program(n)
        except _Reached as reached:
            return reached.value
        raise AssertionError(f"the site {site!r} was not reached")

    return at


class _Image(constraints.Constraint):
    """The values that a map gives."""

    def __init__(self, mechanism: "_Mechanism") -> None:
        self.mechanism = mechanism
        super().__init__()

    def check(self, value: torch.Tensor) -> torch.Tensor:
        inside: torch.Tensor = self.mechanism.domain.check(self.mechanism._inverse(value))
        return inside


class _Mechanism(Transform):
    """A strictly monotone map from a noise to a variable."""

    bijective = True

    def __init__(self, base: Distribution) -> None:
        super().__init__()
        support: Any = base.support
        self.base, self.domain, self.codomain = base, support, _Image(self)


class Affine(_Mechanism):
    """``x = location + scale * u``."""

    def __init__(self, base: Distribution, location: torch.Tensor, scale: torch.Tensor) -> None:
        super().__init__(base)
        self.location, self.scale = location, scale

    @property
    def sign(self) -> Any:
        return self.scale.sign()

    def _call(self, x: torch.Tensor) -> torch.Tensor:
        return self.location + self.scale * x

    def _inverse(self, y: torch.Tensor) -> torch.Tensor:
        return (y - self.location) / self.scale

    def log_abs_det_jacobian(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.scale.abs().log() + torch.zeros_like(y)


class MonotoneMap(_Mechanism):
    """Any other strictly monotone map; its inverse is found by halving, and two steps of Newton that carry slopes."""

    def __init__(self, base: Distribution, function: Map) -> None:
        super().__init__(base)
        self.function = function

    def _at(self, normal: torch.Tensor) -> torch.Tensor:
        """Return the noise at the quantile of a standard normal number."""
        tail = 0.5 * torch.erfc(normal.abs() / 2**0.5)
        return quantile_of(self.base, torch.where(normal < 0, tail, -tail))

    def _slope(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found: Any = torch.func.vjp(self.function, x)
        value, pull = found
        return value, pull(torch.ones_like(value))[0]

    @property
    def sign(self) -> Any:
        one = torch.ones(self.base.batch_shape)
        return (self.function(self._at(one)) - self.function(self._at(-one))).sign()

    def _call(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)

    def _inverse(self, y: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            rising = self.sign > 0
            low, high = torch.full_like(y, -_REACH), torch.full_like(y, _REACH)
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                beyond = (self.function(self._at(middle)) >= y) == rising
                low, high = torch.where(beyond, low, middle), torch.where(beyond, middle, high)
            found = self._at((low + high) / 2).detach()
        for _ in range(2):  # the first makes slopes right, the second curvatures
            value, slope = self._slope(found)
            found = found - (value - y) / slope
        return found

    def log_abs_det_jacobian(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self._slope(x)[1].abs().log()


def reference_points(base: Distribution) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two values of a noise, for everybody: 0 and 1 if it has any sign."""
    transform = biject_to(base.support)
    zero = torch.zeros(base.batch_shape)
    return transform(zero), transform(zero + 1)


class _Enter(Messenger):
    """Hide noises, and give the sites that they enter a law in their place."""

    def __init__(self, program: Program, n: int, noises: Mapping[str, str], affine: frozenset[str]) -> None:
        super().__init__()
        self.program, self.n, self.noises, self.affine = program, n, noises, affine
        self.known: Tensors = {}
        self.bases: dict[str, Distribution] = {}

    def _pyro_sample(self, message: Message) -> None:
        name = message["name"]
        if name in self.noises.values():
            self.bases[name] = law_of(message)
            self.known[name] = message["value"] = reference_points(self.bases[name])[0]
            message["done"] = message["stop"] = True
        elif name in self.noises:
            message["fn"] = self._law(name, message["value"])
            message["value"], message["is_observed"] = None, False
            message["infer"].pop("_deterministic")

    def _pyro_post_sample(self, message: Message) -> None:
        if message["name"] not in self.noises.values() and not site_is_subsample(message):
            self.known[message["name"]] = message["value"]

    def _law(self, name: str, first_value: torch.Tensor) -> Distribution:
        noise = self.noises[name]
        base, function = self.bases[noise], map_of_noise(self.program, self.n, noise, name, dict(self.known))
        if name not in self.affine:
            return dist.TransformedDistribution(base, [MonotoneMap(base, function)])
        first, second = reference_points(base)
        scale = (function(second) - first_value) / (second - first)
        return dist.TransformedDistribution(base, [Affine(base, first_value - scale * first, scale)])


def with_noises_entered(program: Program, noises: Mapping[str, str], affine: frozenset[str]) -> Callable[[int], Any]:
    """Return the program in which computed sites (keys) have the noises that enter them (values) as their own."""

    @wraps(program)
    def entered(n: int) -> Any:
        with _Enter(program, n, noises, affine):
            return program(n)

    return entered
