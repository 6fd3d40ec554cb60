"""Read the structure of a program off its runs, and refuse what is not a structural causal model."""

import difflib
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import pyro
import pyro.distributions as dist
import torch
from pyro.infer.inspect import TrackProvenance
from pyro.ops.provenance import get_provenance
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch.distributions import Distribution

from causalaudit.errors import ProgramError
from causalaudit.randomness import seeded
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import PLATE, Intervene, Message, Program, Record, Tensors, is_person, law_of, run
from causalaudit.scm.noise import has_shape, noise_of

_PEOPLE = 8  # even ones are perturbed, odd ones must not notice
_TRACES = 4
_ATTEMPTS = 30
_LIBRARIES = tuple(str(Path(module.__file__ or "").parent) for module in (torch, pyro))


@dataclass(frozen=True)
class Structure:
    """What a program is made of.

    Attributes
    ----------
    parameters
        Global sample sites, in program order.
    derived
        Global deterministic sites.
    variables
        Per-person sites, in program order, which is a causal order.
    graph
        The causal diagram over the variables.
    laws, dtypes
        The distribution of each variable in a run for one person, and the type of its values.
    shape_has_parents
        Variables whose shape parameters depend on other variables.
    """

    parameters: tuple[str, ...]
    derived: tuple[str, ...]
    variables: tuple[str, ...]
    graph: "nx.DiGraph[str]"
    laws: dict[str, Distribution]
    dtypes: dict[str, torch.dtype]
    shape_has_parents: frozenset[str]


def nearest(name: str, names: Collection[str]) -> str:
    """Return a hint at the names most like `name`, or at all of them."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(map(repr, names)) or 'none'}."


def inspect_program(program: Program, latents: Collection[str]) -> Structure:
    """Run a program a few times, check that it is an SCM and return its structure."""
    with numerics(), torch.no_grad():
        traces = _finite_traces(program)
        first = traces[0]
        single, several = (_trace(program, n, seed=0) for n in (1, _PEOPLE - 3))
        for other in (single, several):
            _same_sites(first, other)
        parameters, derived, variables = first.names("parameter"), first.names("derived"), first.names("variable")
        for latent in latents:
            if latent not in variables:
                raise ProgramError(
                    f"The latent {latent!r} is not a site inside the plate: {nearest(latent, variables)}"
                )
        for name in variables:
            if not isinstance(first.laws[name], dist.Delta):
                noise_of(first.laws[name], name)
        known = _tracked_parents(program, first)
        shape_has_parents = _verify_dependences(program, traces, known)
        _verify_vmap(program, traces)
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name in variables:
        graph.add_node(name, latent=name in latents)
        graph.add_edges_from((parent, name) for parent in variables if parent in known[name])
    return Structure(
        parameters,
        derived,
        variables,
        graph,
        {name: single.laws[name] for name in variables},
        {name: first.values[name].dtype for name in variables},
        frozenset(shape_has_parents),
    )


class _Checked(Record):
    """Record a run, refusing what an SCM must not contain."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.kinds: dict[str, str] = {}
        self.plates: list[str] = []

    def names(self, kind: str) -> tuple[str, ...]:
        return tuple(name for name, its_kind in self.kinds.items() if its_kind == kind)

    def _pyro_param(self, message: Message) -> None:
        raise ProgramError(
            f"pyro.param({message['name']!r}) is not part of an SCM: a parameter is a pyro.sample outside the plate, "
            "with a prior; a constant is a plain number."
        )

    def _pyro_post_sample(self, message: Message) -> None:
        name = message["name"]
        if site_is_subsample(message):
            self._check_plate(name, message["fn"])
            return
        if message["infer"].get("is_auxiliary"):
            raise ProgramError(f"pyro.factor({name!r}) is not part of an SCM: every site needs a distribution.")
        deterministic = bool(message["infer"].get("_deterministic"))
        if message["is_observed"] and not deterministic:
            raise ProgramError(
                f"Site {name!r} is written with obs=; the data belong to `fit`, so remove it from the program."
            )
        if message["scale"] != 1.0 or message["mask"] is not None:
            raise ProgramError(
                f"Site {name!r} is scaled or masked (pyro.poutine.scale, mask): an SCM weights people equally."
            )
        if name in self.kinds:
            raise ProgramError(f"The site name {name!r} is used twice.")
        frames = message["cond_indep_stack"]
        if any(not frame.vectorized for frame in frames):
            raise ProgramError(
                f"Site {name!r} is in a sequential plate (`for i in pyro.plate(...)`): write `with pyro.plate({PLATE!r}, n):`."
            )
        person = is_person(message)
        self.kinds[name] = "variable" if person else "derived" if deterministic else "parameter"
        if person:
            self._check_shape(name, message["value"], law_of(message))
        super()._pyro_post_sample(message)

    def _check_plate(self, name: str, fn: Any) -> None:
        if name != PLATE:
            raise ProgramError(
                f"There is a plate {name!r}; an SCM has one plate, named {PLATE!r}, and no other beside or inside it. "
                "For a vector of parameters use `.expand([k]).to_event(1)`."
            )
        if name in self.plates:
            raise ProgramError(f"The plate {PLATE!r} is opened twice: put all per-person sites into one `with` block.")
        if fn.subsample_size not in (None, fn.size):
            raise ProgramError(f"The plate {PLATE!r} is subsampled: an SCM describes everybody, remove subsample_size.")
        if fn.size != self.n:
            raise ProgramError(
                f"The plate {PLATE!r} has size {fn.size} when the program is run for {self.n} people: "
                f"write `with pyro.plate({PLATE!r}, n):` with the program's own argument n."
            )
        self.plates.append(name)

    def _check_shape(self, name: str, value: torch.Tensor, law: Distribution) -> None:
        expected = (self.n, *law.event_shape)
        if tuple(value.shape) != expected:
            raise ProgramError(
                f"Site {name!r} has values of shape {tuple(value.shape)} for {self.n} people; expected {expected}, "
                "one entry for each person."
            )


def _trace(program: Program, n: int, seed: int) -> _Checked:
    record = _Checked(n)
    with seeded(seed, "inspection"):
        run(program, n, record)
    if not record.plates:
        raise ProgramError(f"The program has no plate: put the per-person sites into `with pyro.plate({PLATE!r}, n):`.")
    if not record.names("variable"):
        raise ProgramError(f"The plate {PLATE!r} is empty: it must hold the per-person sites.")
    return record


def _same_sites(one: _Checked, other: _Checked) -> None:
    if list(one.kinds.items()) != list(other.kinds.items()):
        changed = sorted(set(one.kinds.items()) ^ set(other.kinds.items())) or list(one.kinds.items())
        raise ProgramError(
            f"The sites of the program come and go between runs ({', '.join(name for name, _ in changed)}): "
            "an SCM has the same sites in the same order every time. Use torch.where instead of `if`."
        )


def _finite_traces(program: Program) -> list[_Checked]:
    """Return runs from the prior in which every value and every log-probability is finite."""
    good: list[_Checked] = []
    reference = _trace(program, _PEOPLE, seed=0)
    for seed in range(_ATTEMPTS):
        record = _trace(program, _PEOPLE, seed)
        _same_sites(reference, record)
        if all(bool(torch.isfinite(value).all()) for value in record.values.values()):
            good.append(record)
        if len(good) == _TRACES:
            return good
    raise ProgramError(
        f"Of {_ATTEMPTS} runs from the prior only {len(good)} gave finite values: the priors allow parameters "
        "for which a site is infinite or undefined. Make them narrower, or keep scales positive."
    )


def _tracked_parents(program: Program, first: _Checked) -> dict[str, set[str]]:
    """Return the direct parents of each site as Pyro tracks them, looking through derived parameters.

    This is `pyro.infer.inspect.get_model_relations` but for two things: the tracking is lost inside
    OrderedLogistic, so the arguments of a distribution are asked too; and a deterministic site is a Delta.
    """
    record = Record()
    with seeded(0, "inspection"), TrackProvenance(include_deterministic=True):
        run(program, _PEOPLE, record)
    derived = set(first.names("derived"))
    parents: dict[str, set[str]] = {}
    for name, law in record.laws.items():
        arguments = [getattr(law, argument, None) for argument in law.arg_constraints]
        density = None if isinstance(law, dist.Delta) else law.log_prob(record.values[name])
        sources = get_provenance([argument for argument in [*arguments, density] if argument is not None])
        parents[name] = set()
        for parent in sorted(sources - {name}):
            parents[name] |= {parent, *parents[parent]} if parent in derived else {parent}
    return parents


def _signatures(program: Program, values: Tensors, reference: _Checked) -> dict[str, tuple[torch.Tensor, ...]]:
    """Return numbers that change when the law of a site changes."""
    record = Record()
    run(program, reference.n, record, Intervene(values))
    return {name: _signature(law, name, reference) for name, law in record.laws.items()}


def _signature(law: Distribution, name: str, reference: _Checked) -> tuple[torch.Tensor, ...]:
    if isinstance(law, dist.Delta):
        return (law.v,)
    log_prob = law.log_prob(reference.values[name])
    if reference.kinds[name] != "variable":
        return (log_prob,)
    noise = noise_of(law, name)
    width = noise.width(law)
    uniform = torch.linspace(0.2, 0.8, width or 1).expand(reference.n, -1)
    return log_prob, noise.push(law, noise.fresh(law, uniform if width else uniform[:, 0]))


def _verify_dependences(program: Program, traces: list[_Checked], known: dict[str, set[str]]) -> set[str]:
    """Change one thing at a time and see which laws move; return the sites whose shape moves."""
    shape_moves: set[str] = set()
    for trace, other in zip(traces, traces[1:], strict=False):
        fixed = {name: value for name, value in trace.values.items() if trace.kinds[name] != "derived"}
        before, laws = _signatures(program, fixed, trace), _laws(program, fixed, trace.n)
        for changed in fixed:
            values = {**fixed, changed: _alternative(changed, trace, other)}
            after = _signatures(program, values, trace)
            for name in trace.kinds:
                if (
                    name == changed
                    or trace.kinds[name] == "derived"
                    or not _differs(changed, name, trace, before, after)
                ):
                    continue
                if changed not in known[name] and not _reaches(program, fixed, changed, name):
                    raise ProgramError(
                        f"{name!r} depends on {changed!r} in a way that cannot be tracked: somewhere between them a "
                        "tensor is turned into numpy, into a Python number (.item(), float()), into the condition of an "
                        "`if`, or assigned into another. Use torch operations (torch.where, torch.stack) all the way."
                    )
                known[name].add(changed)
            if trace.kinds[changed] == "variable":
                new_laws = _laws(program, values, trace.n)
                shape_moves |= {
                    name
                    for name, law in laws.items()
                    if has_shape(law) and not torch.equal(_shape(law), _shape(new_laws[name]))
                }
    return shape_moves


def _laws(program: Program, values: Tensors, n: int) -> dict[str, Distribution]:
    record = Record()
    run(program, n, record, Intervene(values))
    return record.laws


def _shape(law: Any) -> torch.Tensor:
    df: torch.Tensor = law.df
    return df


def _alternative(name: str, trace: _Checked, other: _Checked) -> torch.Tensor:
    """Return another value of a site: of a variable, for the people with an even number."""
    value = trace.values[name]
    law: Any = trace.laws[name]
    if trace.kinds[name] == "parameter":
        return other.values[name]
    if isinstance(law, torch.distributions.OneHotCategorical):
        changed = value.roll(1, -1)
    elif isinstance(law, dist.Delta):
        changed = ~value if value.dtype == torch.bool else value + torch.ones_like(value)
    elif law.has_enumerate_support:
        codes = law.enumerate_support(expand=False).reshape(-1)
        position = (codes == value.unsqueeze(-1)).to(torch.int64).argmax(-1)
        changed = codes[(position + 1) % len(codes)]
    elif law.support.is_discrete:
        changed = value + 1
    else:
        changed = other.values[name]
    even = (torch.arange(trace.n) % 2 == 0).reshape(-1, *([1] * (value.ndim - 1)))
    return torch.where(even, changed, value)


def _differs(
    changed: str,
    name: str,
    trace: _Checked,
    before: dict[str, tuple[torch.Tensor, ...]],
    after: dict[str, tuple[torch.Tensor, ...]],
) -> bool:
    """Tell whether changing one site moved the law of another, and refuse influence between people."""
    differs = [
        ~torch.isclose(one.double(), two.double(), rtol=1e-12, atol=0, equal_nan=True)
        for one, two in zip(before[name], after[name], strict=True)
    ]
    if trace.kinds[changed] == "variable" and any(bool(part.any()) for part in differs):
        if trace.kinds[name] != "variable":
            raise ProgramError(f"The parameter {name!r} depends on the variable {changed!r}: sample parameters first.")
        odd = torch.arange(trace.n) % 2 == 1
        if any(bool(part[odd].any()) for part in differs):
            raise ProgramError(
                f"Changing {changed!r} of one person changes the distribution of {name!r} of another: in an SCM a "
                "person's variables depend on that person alone. Look for a mean, a sum, a sort or an `if` over everybody."
            )
    return any(bool(part.any()) for part in differs)


def _reaches(program: Program, values: Tensors, changed: str, name: str) -> bool:
    """Tell whether a gradient flows between two sites: assignments into a tensor escape Pyro's tracking, but not this."""
    if not values[changed].is_floating_point():
        return False
    with torch.enable_grad():
        law = _laws(program, {**values, changed: values[changed].clone().requires_grad_()}, _PEOPLE)[name]
        density = law.v if isinstance(law, dist.Delta) else law.log_prob(values[name])
    return bool(density.requires_grad)


def _verify_vmap(program: Program, traces: list[_Checked]) -> None:
    """Run two draws at once: a Python number or an `if` made of a tensor cannot be, and shows itself."""
    names = [name for name, kind in traces[0].kinds.items() if kind != "derived"]
    stacked = {name: torch.stack([trace.values[name] for trace in traces[:2]]) for name in names}

    def visit(values: Tensors) -> torch.Tensor:
        run(program, _PEOPLE, Intervene(values))
        return torch.zeros(())

    try:
        torch.func.vmap(visit)(stacked)
    except ProgramError as error:
        place = _culprit(error.__cause__)
        if place is not None:
            raise ProgramError(
                f"Line {place.lineno} of {Path(place.filename).name}, `{place.line}`, turns a tensor into a Python "
                "number, numpy or the condition of an `if`, which hides a dependence. Use torch operations "
                "(torch.where for a choice) all the way."
            ) from error


def _culprit(cause: BaseException | None) -> traceback.FrameSummary | None:
    """Return the user's line that asked a tensor for its value; None if a library asked, or nobody did."""
    asked = (".item()", "data-dependent", "doesn't have storage")
    if not isinstance(cause, RuntimeError) or not any(words in str(cause) for words in asked):
        return None
    frames = [
        frame for frame in traceback.extract_tb(cause.__traceback__) if frame.name not in ("__array__", "__format__")
    ]
    return None if frames[-1].filename.startswith(_LIBRARIES) else frames[-1]
