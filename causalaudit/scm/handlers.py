"""The Pyro messengers of the three steps: abduct the noise, intervene, replay the world.

Each does one thing and they compose: ``run(program, n, Replay(...), Intervene(...))`` replays a world
in which some variables are set.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pyro.distributions as dist
import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch.distributions import Distribution

from causalaudit.errors import ProgramError
from causalaudit.scm.given import Given
from causalaudit.scm.noise import Noise

PLATE = "individuals"
Message = Any  # Pyro's message dictionary
Program = Callable[[int], Any]
Tensors = dict[str, torch.Tensor]


def run(program: Program, n: int, *messengers: Messenger) -> None:
    """Run `program` for `n` people under messengers, the last one being the innermost."""
    with ExitStack() as stack:
        for messenger in (*messengers, _Reparametrised()):
            stack.enter_context(messenger)
        try:
            program(n)
        except ProgramError:
            raise
        except Exception as error:
            name = getattr(program, "__name__", repr(program))
            raise ProgramError(
                f"The program {name!r} raised {type(error).__name__} when it was run for {n} people: {error}"
            ) from error


class _Reparametrised(Messenger):
    """Treat sites that `pyro.poutine.reparam` computes from others as what they are: deterministic.

    A reparametrised site becomes a Delta without density, observed at its own value, beside a new site that is drawn.
    """

    def _pyro_sample(self, message: Message) -> None:
        law = message["fn"]
        if (
            message["is_observed"]
            and isinstance(law, dist.MaskedDistribution)
            and isinstance(law.base_dist, dist.Delta)
        ):
            message["infer"]["_deterministic"] = True


def is_person(message: Message) -> bool:
    """Tell whether a site is inside the plate of people."""
    return any(frame.name == PLATE for frame in message["cond_indep_stack"])


def law_of(message: Message) -> Distribution:
    """Return the distribution that a site gives its variable, a Delta if it is computed.

    `pyro.deterministic` hides its value from the density and forgets it once it is conditioned;
    here it is an ordinary Delta, so that observed values count.
    """
    if message["infer"].get("_deterministic"):
        value = message["infer"].setdefault("_computed", message["value"])
        law: Distribution = dist.Delta(value, event_dim=0)
        return law
    fn: Distribution = message["fn"]
    # Pyro wraps a family that cannot be expanded; the values of people broadcast against it all the same.
    return fn.base_dist if isinstance(fn, dist.ExpandedDistribution) else fn


def has_noise(law: Distribution) -> bool:
    """Tell whether a variable has noise of its own: it is neither computed nor given."""
    return not isinstance(law, dist.Delta | Given)


class Intervene(Messenger):
    """Set sites to given values, whatever their distributions say."""

    def __init__(self, values: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self.set_values = values

    def _pyro_sample(self, message: Message) -> None:
        if message["name"] in self.set_values and not site_is_subsample(message):
            law_of(message)  # remembers what a deterministic site computed
            message["value"] = self.set_values[message["name"]]
            message["infer"]["_set"] = True


class Record(Messenger):
    """Keep the law and the value of every site of a run."""

    def __enter__(self) -> "Record":
        self.laws: dict[str, Distribution] = {}
        self.values: Tensors = {}
        super().__enter__()
        return self

    def _pyro_sample(self, message: Message) -> None:
        law_of(message)  # remembers what a deterministic site computed

    def _pyro_post_sample(self, message: Message) -> None:
        if not site_is_subsample(message):
            self.laws[message["name"]] = law_of(message)
            self.values[message["name"]] = message["value"]


@dataclass(frozen=True)
class Mechanisms:
    """What the messengers must know of the variables: noises, parents, types, and which are one-hot vectors."""

    noises: Mapping[str, Noise]
    parents: Mapping[str, tuple[str, ...]]
    dtypes: Mapping[str, torch.dtype]
    vectors: frozenset[str] = frozenset()

    def push(self, name: str, law: Distribution, noise: torch.Tensor) -> torch.Tensor:
        """Return the value of `name` that its law gives under a noise, in the type that the program works on."""
        value = self.noises[name].push(law, noise)
        return value if self.dtypes[name].is_floating_point else value.to(self.dtypes[name])

    def moved(self, now: Mapping[str, torch.Tensor], factual: Mapping[str, torch.Tensor], name: str) -> torch.Tensor:
        """Tell for each person whether a parent of `name` differs from its factual value."""
        anything = torch.zeros((), dtype=torch.bool)
        for parent in self.parents[name]:
            difference = now[parent] != factual[parent]
            anything = anything | (difference.any(-1) if parent in self.vectors else difference)
        return anything

    def respond(
        self,
        name: str,
        law: Distribution,
        noise: Mapping[str, torch.Tensor],
        factual: Mapping[str, torch.Tensor],
        moved: torch.Tensor | None,
    ) -> torch.Tensor:
        """Return the value of `name` under its new law; people who have not `moved` keep the factual one."""
        if isinstance(law, dist.Delta):
            computed: torch.Tensor = law.v
            return computed
        if name not in noise:
            return factual[name]
        pushed = self.push(name, law, noise[name])
        if moved is None:
            return pushed
        return torch.where(moved.unsqueeze(-1) if name in self.vectors else moved, pushed, factual[name])


class Abduct(Messenger):
    """Find the noise of each site in `names` under which its law gives its value.

    `independent` sites get fresh noise instead: nothing is learnt from the value.
    """

    def __init__(
        self,
        mechanisms: Mechanisms,
        names: Collection[str],
        uniforms: Mapping[str, torch.Tensor],
        independent: Collection[str] = (),
    ) -> None:
        super().__init__()
        self.mechanisms, self.names, self.uniforms, self.independent = mechanisms, names, uniforms, independent
        self.noise: Tensors = {}

    def _pyro_post_sample(self, message: Message) -> None:
        name = message["name"]
        if name in self.names:
            law, noise = law_of(message), self.mechanisms.noises[name]
            uniform = self.uniforms.get(name, message["value"])  # exact abductions ignore it
            if name in self.independent:
                self.noise[name] = noise.fresh(law, uniform)
            else:
                self.noise[name] = noise.abduct(law, message["value"], uniform)


class Replay(Messenger):
    """Push given noise through the program, person by person.

    A site without noise keeps its factual value. With `shortcut`, so does a person none of whose
    parents changed, without recomputation.
    """

    def __init__(
        self,
        mechanisms: Mechanisms,
        noise: Mapping[str, torch.Tensor],
        factual: Mapping[str, torch.Tensor],
        shortcut: bool = True,
    ) -> None:
        super().__init__()
        self.mechanisms, self.noise, self.factual, self.shortcut = mechanisms, noise, factual, shortcut
        self.values: Tensors = {}

    def _pyro_sample(self, message: Message) -> None:
        if is_person(message) and not site_is_subsample(message) and not message["infer"].get("_set"):
            name = message["name"]
            moved = self.mechanisms.moved(self.values, self.factual, name) if self.shortcut else None
            message["value"] = self.mechanisms.respond(name, law_of(message), self.noise, self.factual, moved)

    def _pyro_post_sample(self, message: Message) -> None:
        if is_person(message) and not site_is_subsample(message):
            self.values[message["name"]] = message["value"]


class Simulate(Messenger):
    """Draw new people: fresh noise is made from uniforms and pushed, site by site; what is set stays as it is set.

    The noise of the sites in `anew` is made from these other uniforms, for people whose parents differ from those in
    the world `left`; others have their value there.
    """

    def __init__(
        self,
        mechanisms: Mechanisms,
        uniforms: Mapping[str, torch.Tensor],
        anew: Mapping[str, torch.Tensor] | None = None,
        left: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.mechanisms, self.uniforms, self.anew, self.left = mechanisms, uniforms, anew or {}, left or {}
        self.values: Tensors = {}

    def _pyro_sample(self, message: Message) -> None:
        if is_person(message) and not site_is_subsample(message) and not message["infer"].get("_set"):
            name, law = message["name"], law_of(message)
            if not has_noise(law):
                return
            uniform = self.anew.get(name, self.uniforms[name])
            noise = {name: self.mechanisms.noises[name].fresh(law, uniform)}
            moved = self.mechanisms.moved(self.values, self.left, name) if name in self.anew else None
            message["value"] = self.mechanisms.respond(name, law, noise, self.left, moved)

    def _pyro_post_sample(self, message: Message) -> None:
        if is_person(message) and not site_is_subsample(message):
            self.values[message["name"]] = message["value"]
