"""Read the structure of a program off its runs, and refuse what is not a structural causal model."""

import traceback
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyro
import pyro.distributions as dist
import torch
from pyro.infer.inspect import TrackProvenance
from pyro.ops.provenance import get_provenance
from torch.distributions import Distribution

from causalaudit.errors import ProgramError, nearest
from causalaudit.global_state import ignored_warnings
from causalaudit.randomness import seeded
from causalaudit.scm.execution import numerics
from causalaudit.scm.given import Given
from causalaudit.scm.graph import Diagram
from causalaudit.scm.handlers import PLATE, Intervene, Program, Record, Tensors, has_noise, run
from causalaudit.scm.noise import has_shape, is_discrete, noise_of
from causalaudit.scm.plain_torch import uses_plain_torch, with_pyro_families
from causalaudit.scm.plates import plate_of_people, with_people_in
from causalaudit.scm.precision import in_double, makes_single
from causalaudit.scm.repeatable import refuse_unrepeatable
from causalaudit.scm.tracing import PEOPLE, CheckedRun, finite_traces, same_sites, trace

_RELATIVE = 1e-9  # how much a person's numbers may differ when others are in the table, relative to their unit
_PYRO_FAMILIES = "pyro.distributions.torch"
# Families whose laws are told apart by the arguments that they keep.
_GIVEN_BY_ARGUMENTS = {
    "Bernoulli",
    "Cauchy",
    "Exponential",
    "Gamma",
    "Laplace",
    "Normal",
    "Poisson",
    "StudentT",
    "Uniform",
}
_Known = tuple[dict[str, Distribution], dict[str, tuple[torch.Tensor, ...]]]  # laws and their signatures
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
    depends_on
        The parameters and variables on whose values the distribution of each site, also of a parameter, depends.
    """

    parameters: tuple[str, ...]
    derived: tuple[str, ...]
    variables: tuple[str, ...]
    graph: Diagram
    laws: dict[str, Distribution]
    dtypes: dict[str, torch.dtype]
    shape_has_parents: frozenset[str]
    depends_on: dict[str, frozenset[str]]


def in_house_form(program: Program, plate: str) -> Program:
    """Return a program with Pyro's distributions, in float64, and with its plate of people under the one name."""
    if uses_plain_torch(program, PEOPLE):
        program = with_pyro_families(program)
    if makes_single(partial(plate_of_people, program, plate)):
        program = in_double(program)
    found = plate_of_people(program, plate)
    return program if found == PLATE else with_people_in(program, found)


def inspect_program(program: Program, latents: Collection[str]) -> Structure:
    """Run a program a few times, check that it is an SCM and return its structure."""
    with numerics(), torch.no_grad():
        traces = finite_traces(program)
        first = traces[0]
        single, several = (trace(program, n, seed=0) for n in (1, PEOPLE - 3))
        for other in (single, several):
            same_sites(first, other)
        parameters, derived, variables = first.names("parameter"), first.names("derived"), first.names("variable")
        for latent in latents:
            if list(latents).count(latent) > 1:
                raise ProgramError(f"The latent {latent!r} is named twice.")
            if isinstance(first.laws.get(latent), Given):
                raise ProgramError(f"The latent {latent!r} is Given: what is conditioned on must have a column.")
            if latent not in variables:
                raise ProgramError(
                    f"The latent {latent!r} is not a site inside the plate: {nearest(latent, variables)}"
                )
        for name in variables:
            if has_noise(first.laws[name]):
                noise_of(first.laws[name], name)
        fixed = {name: value for name, value in first.values.items() if first.kinds[name] != "derived"}
        refuse_unrepeatable(partial(signatures, program, fixed, first), fixed)
        known = _tracked_parents(program, first)
        shape_has_parents = _verify_dependences(program, traces, known)
        _verify_alone(program, traces)
        _verify_vmap(program, traces)
    graph = Diagram()
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
        {name: frozenset(known[name]) - set(derived) for name in (*parameters, *variables)},
    )


def _tracked_parents(program: Program, first: CheckedRun) -> dict[str, set[str]]:
    """Return the direct parents of each site as Pyro tracks them, looking through derived parameters.

    This is `pyro.infer.inspect.get_model_relations` but for two things: the tracking is lost inside
    OrderedLogistic, so the arguments of a distribution are asked too; and a deterministic site is a Delta.
    """
    record = Record()
    with seeded(0, "inspection"), TrackProvenance(include_deterministic=True):
        run(program, PEOPLE, record)
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


def signatures(program: Program, values: Tensors, reference: CheckedRun) -> dict[str, tuple[torch.Tensor, ...]]:
    """Return numbers that change when the law of a site changes."""
    return _signatures_of(_laws(program, values, reference.n), reference)


def _signatures_of(
    laws: dict[str, Distribution], reference: CheckedRun, known: _Known | None = None
) -> dict[str, tuple[torch.Tensor, ...]]:
    """Return the signatures of laws, as they are known where a law does not change."""
    if list(laws) != list(reference.kinds):
        changed = sorted(set(laws) ^ set(reference.kinds))
        raise ProgramError(
            f"The sites of the program come and go between runs ({', '.join(changed)}) with the values of others: "
            "an SCM has the same sites every time. Use torch.where instead of `if`."
        )
    return {
        name: known[1][name] if known and _equal(law, known[0][name]) else _signature(law, name, reference)
        for name, law in laws.items()
    }


def _equal(one: Distribution, two: Distribution) -> bool:
    """Tell whether two laws of a family that is given by its arguments alone are the same; in doubt they are not."""
    if type(one) is not type(two) or type(one).__name__ not in _GIVEN_BY_ARGUMENTS:
        return False
    arguments = [(getattr(one, name), getattr(two, name)) for name in one.arg_constraints if name in one.__dict__]
    known = type(one).__module__ == _PYRO_FAMILIES
    return known and all(mine.dtype == yours.dtype and torch.equal(mine, yours) for mine, yours in arguments)


def _signature(law: Distribution, name: str, reference: CheckedRun) -> tuple[torch.Tensor, ...]:
    if isinstance(law, dist.Delta):
        return (law.v,)
    log_prob = law.log_prob(reference.values[name])
    if reference.kinds[name] != "variable" or not has_noise(law):
        return (log_prob,)
    noise = noise_of(law, name)
    width = noise.width(law)
    uniform = torch.linspace(0.2, 0.8, width or 1).expand(reference.n, -1)
    return log_prob, noise.push(law, noise.fresh(law, uniform if width else uniform[:, 0]))


def _verify_dependences(program: Program, traces: list[CheckedRun], known: dict[str, set[str]]) -> set[str]:
    """Change one thing at a time and see which laws move; return the sites whose shape moves."""
    shape_moves: set[str] = set()
    for base, other in pairwise(traces):
        fixed = {name: value for name, value in base.values.items() if base.kinds[name] != "derived"}
        laws = _laws(program, fixed, base.n)
        before = _signatures_of(laws, base)
        for changed in fixed:
            values = {**fixed, changed: _alternative(changed, base, other)}
            new_laws = _laws(program, values, base.n)
            after = _signatures_of(new_laws, base, (laws, before))
            for name in base.kinds:
                if name == changed or base.kinds[name] == "derived" or not _differs(changed, name, base, before, after):
                    continue
                if changed not in known[name] and not _reaches(program, fixed, changed, name):
                    raise ProgramError(
                        f"{name!r} depends on {changed!r} in a way that cannot be tracked: somewhere between them a "
                        "tensor is turned into numpy, into a Python number (.item(), float()), into the condition of "
                        "an `if`, or assigned into another. Use torch operations (torch.where, torch.stack) instead."
                    )
                known[name].add(changed)
            if base.kinds[changed] == "variable":
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


def _alternative(name: str, base: CheckedRun, other: CheckedRun) -> torch.Tensor:
    """Return another value of a site: of a variable, for the people with an even number."""
    value = base.values[name]
    law: Any = base.laws[name]
    if base.kinds[name] == "parameter":
        return other.values[name]
    if isinstance(law, torch.distributions.OneHotCategorical):
        changed = value.roll(1, -1)
    elif isinstance(law, dist.Delta):
        changed = ~value if value.dtype == torch.bool else value + torch.ones_like(value)
    elif law.has_enumerate_support:
        codes = law.enumerate_support(expand=False).reshape(-1)
        position = (codes == value.unsqueeze(-1)).to(torch.int64).argmax(-1)
        changed = codes[(position + 1) % len(codes)]
    elif is_discrete(law):
        changed = value + 1
    else:
        changed = other.values[name]
    even = (torch.arange(base.n) % 2 == 0).reshape(-1, *([1] * (value.ndim - 1)))
    return torch.where(even, changed, value)


def _differs(
    changed: str,
    name: str,
    base: CheckedRun,
    before: dict[str, tuple[torch.Tensor, ...]],
    after: dict[str, tuple[torch.Tensor, ...]],
) -> bool:
    """Tell whether changing one site moved the law of another, and refuse influence between people."""
    differs = [
        ~torch.isclose(one.double(), two.double(), rtol=1e-12, atol=0, equal_nan=True)
        for one, two in zip(before[name], after[name], strict=True)
    ]
    if base.kinds[changed] == "variable" and any(bool(part.any()) for part in differs):
        if base.kinds[name] != "variable":
            raise ProgramError(f"The parameter {name!r} depends on the variable {changed!r}: sample parameters first.")
        odd = torch.arange(base.n) % 2 == 1
        if any(bool(part[odd].any()) for part in differs):
            raise ProgramError(
                f"Changing {changed!r} of one person changes the distribution of {name!r} of another: in an SCM a "
                "person's variables depend on that person alone. Look for a mean, a sum, a sort or an `if` over all."
            )
    return any(bool(part.any()) for part in differs)


def _reaches(program: Program, values: Tensors, changed: str, name: str) -> bool:
    """Tell whether a gradient flows between two sites: assignment into a tensor escapes Pyro's tracking, not this."""
    if not values[changed].is_floating_point():
        return False
    try:
        return _gradient_flows(program, values, changed, name)
    except ProgramError:  # a tensor that needs a gradient does not turn into numpy
        return False


def _gradient_flows(program: Program, values: Tensors, changed: str, name: str) -> bool:
    with torch.enable_grad(), ignored_warnings():
        law = _laws(program, {**values, changed: values[changed].clone().requires_grad_()}, PEOPLE)[name]
        density = law.v if isinstance(law, dist.Delta) else law.log_prob(values[name])
    return bool(density.requires_grad)


def _verify_alone(program: Program, traces: list[CheckedRun]) -> None:
    """Run each person alone: their laws must not depend on the others, nor on the place in the table."""
    for base in traces[:2]:
        fixed = {name: value for name, value in base.values.items() if base.kinds[name] != "derived"}
        together = signatures(program, fixed, base)
        slack = _rounding(program, fixed, base, together)
        for place in range(base.n):
            alone = CheckedRun(1)
            alone.kinds = base.kinds
            alone.values = {
                name: value[place : place + 1] if base.kinds[name] == "variable" else value
                for name, value in base.values.items()
            }
            single = signatures(program, {name: alone.values[name] for name in fixed}, alone)
            for name in base.names("variable"):
                for one, all_, unsure in zip(single[name], together[name], slack[name], strict=True):
                    if not _close(one.double(), all_.double(), unsure, place):
                        raise ProgramError(
                            f"The distribution of {name!r} of a person is another when that person is alone in the "
                            "table. In an SCM it depends neither on other people (a maximum, a shift, a rank) nor on "
                            "the place in the table (torch.arange(n), numbers from outside): make such a covariate a "
                            "site with a column, and if it is to be conditioned on, not modelled, write "
                            'x = pyro.sample("x", ca.Given()).'
                        )


def _rounding(
    program: Program, fixed: Tensors, base: CheckedRun, found: dict[str, tuple[torch.Tensor, ...]]
) -> dict[str, tuple[torch.Tensor, ...]]:
    """Return how much a relative change of 10^-9 of a value moves its density: a narrow law magnifies rounding."""
    near = CheckedRun(base.n)
    near.kinds = base.kinds
    near.values = {
        name: value * (1 + _RELATIVE) if value.is_floating_point() else value for name, value in base.values.items()
    }
    moved = signatures(program, fixed, near)
    return {
        name: tuple((one.double() - two.double()).abs() for one, two in zip(moved[name], parts, strict=True))
        for name, parts in found.items()
    }


def _close(one: torch.Tensor, together: torch.Tensor, unsure: torch.Tensor, place: int) -> bool:
    """Tell whether numbers of a person alone are those in the table, up to rounding in the units of all people."""
    here, unsure = together[place : place + 1], unsure[place : place + 1]
    unit = torch.where(together.isfinite(), together.abs(), 0.0).max()
    limit = _RELATIVE * unit + torch.where(unsure.isfinite(), unsure, 0.0)
    return bool((((one - here).abs() <= limit) | (one == here) | (one.isnan() & here.isnan())).all())


def _verify_vmap(program: Program, traces: list[CheckedRun]) -> None:
    """Run two draws at once: a Python number or an `if` made of a tensor cannot be, and shows itself."""
    names = [name for name, kind in traces[0].kinds.items() if kind != "derived"]
    stacked = {name: torch.stack([base.values[name] for base in traces[:2]]) for name in names}

    def visit(values: Tensors) -> torch.Tensor:
        run(program, PEOPLE, Intervene(values))
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
