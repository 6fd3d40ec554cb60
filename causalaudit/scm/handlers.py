"""The Pyro messengers of the three steps: abduct the noise, intervene, replay the world.

Each does one thing and they compose: ``run(program, n, Replay(...), Intervene(...))`` replays a world
in which some variables are set.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pyro.distributions as dist
import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch.distributions import Distribution

from causalaudit.errors import ProgramError
from causalaudit.scm.given import Given
from causalaudit.scm.noise import Noise, is_discrete
from causalaudit.scm.noise.coupled import recoupled

PLATE = "individuals"
ANEW = " anew"  # what the noise of a site that is drawn once more is called
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
    """What the messengers must know of the variables: noises, parents, types, and which are one-hot vectors.

    The noises in `degrees` have that correlation on the normal scale between the factual world and a changed one.
    """

    noises: Mapping[str, Noise]
    parents: Mapping[str, tuple[str, ...]]
    dtypes: Mapping[str, torch.dtype]
    vectors: frozenset[str] = frozenset()
    degrees: Mapping[str, float] = field(default_factory=dict)

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
        anew: Mapping[str, torch.Tensor] | None = None,
    ) -> torch.Tensor:
        """Return the value of `name` under its new law; people who have not `moved` keep the factual one.

        Of noise that worlds do not share in full the rest is made of the uniforms `anew`.
        """
        if isinstance(law, dist.Delta):
            computed: torch.Tensor = law.v
            return computed
        if name not in noise:
            return factual[name]
        own = noise[name]
        if anew is not None and name in anew:
            own = self._elsewhere(name, law, own, anew[name])
        pushed = self.push(name, law, own)
        if moved is None:
            return pushed
        return torch.where(moved.unsqueeze(-1) if name in self.vectors else moved, pushed, factual[name])

    def _elsewhere(self, name: str, law: Distribution, noise: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
        """Return the noise of people where a change reaches them."""
        if name not in self.degrees:
            return self.noises[name].fresh(law, uniform)
        return recoupled(self.noises[name], law, noise, uniform, self.degrees[name])


class Abduct(Messenger):
    """Find the noise of each site in `names` under which its law gives its value.

    `independent` sites get fresh noise instead: nothing is learnt from the value. Of two confounded sites, discrete
    noise is drawn given that of the other.
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
        name, partner = message["name"], message["infer"].get("_partner")
        if name not in self.names:
            return
        law, value = law_of(message), message["value"]
        if partner is None:
            self._abduct(name, law, value, self.uniforms)
            return
        uniforms = {**self.uniforms, **partner.uniforms(name, law, value, self.uniforms)}
        for one, its_law, its_value in ((partner.name, partner.law, partner.value), (name, law, value)):
            self._abduct(one, its_law, its_value, uniforms)

    def _abduct(self, name: str, law: Distribution, value: torch.Tensor, uniforms: Mapping[str, torch.Tensor]) -> None:
        noise, uniform = self.mechanisms.noises[name], uniforms.get(name, value)  # exact abductions ignore it
        found = noise.fresh(law, uniform) if name in self.independent else noise.abduct(law, value, uniform)
        self.noise[name] = found


class Replay(Messenger):
    """Push given noise through the program, person by person.

    A site without noise keeps its factual value. With `shortcut`, so does a person none of whose
    parents changed, without recomputation. Noise that is shared to a degree is mixed with what is made of `anew`.
    """

    def __init__(
        self,
        mechanisms: Mechanisms,
        noise: Mapping[str, torch.Tensor],
        factual: Mapping[str, torch.Tensor],
        shortcut: bool = True,
        anew: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.mechanisms, self.noise, self.factual, self.shortcut = mechanisms, noise, factual, shortcut
        self.anew = anew
        self.values: Tensors = {}

    def _pyro_sample(self, message: Message) -> None:
        if is_person(message) and not site_is_subsample(message) and not message["infer"].get("_set"):
            name = message["name"]
            moved = self.mechanisms.moved(self.values, self.factual, name) if self.shortcut else None
            law = law_of(message)
            message["value"] = self.mechanisms.respond(name, law, self.noise, self.factual, moved, self.anew)

    def _pyro_post_sample(self, message: Message) -> None:
        if is_person(message) and not site_is_subsample(message):
            self.values[message["name"]] = message["value"]


class Simulate(Messenger):
    """Draw new people: fresh noise is made from uniforms and pushed, site by site; what is set stays as it is set.

    The noise of the sites in `anew` is made from these other uniforms, in full or to a degree, for people whose parents
    differ from those in the world `left`; others have their value there.
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
            noise = {name: self.mechanisms.noises[name].fresh(law, self.uniforms[name])}
            moved = self.mechanisms.moved(self.values, self.left, name) if name in self.anew else None
            message["value"] = self.mechanisms.respond(name, law, noise, self.left, moved, self.anew)

    def _pyro_post_sample(self, message: Message) -> None:
        if is_person(message) and not site_is_subsample(message):
            self.values[message["name"]] = message["value"]


class Complete(Messenger):
    """Draw what is not known of some people from its law, or compute it; what is known of others stays.

    Parameters
    ----------
    mechanisms
        The noise of the variables.
    values
        The values of everybody, which mean nothing where they are not known.
    unknown
        Of whom each variable is not known.
    uniforms
        What noise is made from; without them, the most probable value is taken of those that are finite, the mean of
        continuous ones, and the median where there is none, and of counts.
    """

    def __init__(
        self,
        mechanisms: Mechanisms,
        values: Mapping[str, torch.Tensor],
        unknown: Mapping[str, torch.Tensor],
        uniforms: Mapping[str, torch.Tensor] | None,
    ) -> None:
        super().__init__()
        self.mechanisms, self.known, self.unknown, self.uniforms = mechanisms, values, unknown, uniforms
        self.values: Tensors = {}

    def _pyro_sample(self, message: Message) -> None:
        name = message["name"]
        if name not in self.unknown or site_is_subsample(message):
            return
        mask = self.unknown[name].unsqueeze(-1) if name in self.mechanisms.vectors else self.unknown[name]
        value = torch.where(mask, self._drawn(name, law_of(message)), self.known[name])
        message["value"] = self.values[name] = value.to(self.mechanisms.dtypes[name])

    def _drawn(self, name: str, law: Distribution) -> torch.Tensor:
        if isinstance(law, dist.Delta):
            computed: torch.Tensor = law.v
            return computed
        if self.uniforms is not None:
            return self.mechanisms.push(name, law, self.mechanisms.noises[name].fresh(law, self.uniforms[name]))
        noise = self.mechanisms.noises[name]
        width, people = noise.width(law), self.unknown[name].shape
        middle = noise.fresh(law, torch.full(people if width is None else (*people, width), 0.5))
        return _central(law, self.mechanisms.push(name, law, middle))


def _central(law: Any, median: torch.Tensor) -> torch.Tensor:
    """Return the most probable value of a finite law, the mean of a continuous one, else the median."""
    try:
        centre: torch.Tensor = law.mode if law.has_enumerate_support else law.mean
    except (NotImplementedError, AttributeError):
        return median
    if not law.has_enumerate_support and is_discrete(law):
        return median
    return torch.where(centre.isfinite(), centre.to(median.dtype), median)
