"""Models with some edges cut: which may be, what the effects see instead, and which parameters are then idle."""

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
import torch
from torch.distributions import Categorical, OneHotCategorical, constraints

from causalaudit.errors import ProgramError
from causalaudit.scm.columns import Codec, site_column
from causalaudit.scm.edge_cut import Cuts, Edge, Reference, with_edges_cut
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Program
from causalaudit.scm.inspection import Structure, inspect_program, signatures
from causalaudit.scm.tracing import CheckedRun, finite_traces
from causalaudit.scm.vectors import without_order

if TYPE_CHECKING:
    from causalaudit.scm.program import SCM


def without_edges(scm: "SCM", edges: Sequence[Edge], at: Mapping[str, Any]) -> "SCM":
    """Return a model with some more of its edges cut."""
    for edge in edges:
        _refuse_edge(scm, edge)
    for name in at:
        if name not in {cause for cause, _ in edges}:
            raise ProgramError(f"at gives {name!r} a value, which is not the cause of an edge that is cut: {edges}.")
    new: Cuts = {
        (cause, effect): scm.codec.number(cause, at[cause]) if cause in at else _reference(scm, cause)
        for cause, effect in edges
    }
    return _cut(scm.uncut or scm, {**scm.cuts, **new}, scm)


def with_means_of(scm: "SCM", data: pd.DataFrame) -> "SCM":
    """Return a model whose cut edges are for the columns of a table: numeric causes are at their means there."""
    assert scm.uncut is not None
    whole = scm.uncut.with_columns_of(data)
    cuts: Cuts = {
        (cause, effect): _mean(whole, cause, data) if value is None else value
        for (cause, effect), value in scm.cuts.items()
    }
    return scm if whole is scm.uncut and cuts == scm.cuts else _cut(whole, cuts, scm)


def _refuse_edge(scm: "SCM", edge: Any) -> None:
    pair = isinstance(edge, tuple | list) and len(edge) == 2 and all(isinstance(end, str) for end in edge)
    if not pair or not scm.graph.has_edge(*edge) or edge[0] not in scm.variables:
        between = [one for one in scm.graph.edges if one[0] in scm.variables]
        raise ProgramError(f"{edge!r} is not an edge of {scm.name!r} that can be cut; these are {between}.")
    for group in scm.vectors:
        if edge[1] in group:
            raise ProgramError(
                f"{edge[1]!r} is a number of a vector with a common noise, {group}, whose law is one: none of its "
                "edges can be cut alone. Write its numbers as sites of their own, which says what causes what."
            )


def _reference(scm: "SCM", cause: str) -> float | None:
    """Return what is seen in place of a cause: its first level; None for the mean of a numeric one."""
    law = scm.structure.laws[cause]
    named = cause in scm.levels or isinstance(law, Categorical | OneHotCategorical)
    if named or scm.structure.dtypes[cause] == torch.bool or law.support is constraints.boolean:
        return 0.0
    if cause in scm.columns and scm.structure.dtypes[cause].is_floating_point:
        return None
    why = "has no column" if cause in scm.latents else "holds whole numbers"
    raise ProgramError(
        f"{cause!r} {why}, so that its mean cannot stand for it: say what its effect sees, at={{{cause!r}: …}}."
    )


def _mean(scm: "SCM", cause: str, data: pd.DataFrame) -> float:
    return float(scm.codec.encode(cause, site_column(cause, data)).mean())


def _cut(whole: "SCM", cuts: Cuts, like: "SCM") -> "SCM":
    """Return a whole model with edges cut, under the coupling of another."""
    model = copy(whole)
    model.uncut, model.cuts, model.coupling = whole, cuts, like.coupling
    model.name = f"{whole.name} without {', '.join(f'{cause} → {effect}' for cause, effect in cuts)}"
    model.program = with_edges_cut(whole.program, _references(whole, cuts))
    structure = inspect_program(model.program, whole.latents)
    without_order(structure.graph, whole.vectors)
    nx.set_node_attributes(structure.graph, {name: list(levels) for name, levels in whole.levels.items()}, "levels")
    moved = _moved(model.program, structure)
    effects = {effect for _, effect in cuts}
    known = {
        name: frozenset(cause for cause in sources if name not in effects or name in moved.get(cause, {name}))
        for name, sources in structure.depends_on.items()
    }
    model.structure = replace(structure, depends_on=known)
    model.inert = tuple(name for name in structure.parameters if not _reaches(name, moved, structure.variables))
    model.codec = Codec(whole.levels, structure.laws, structure.dtypes)
    return _confounded_like(model, like)


def _confounded_like(model: "SCM", like: "SCM") -> "SCM":
    """Return a model with the confounding of another: what is inside of a program that was cut knows its old laws."""
    for pair in model.confounding:
        model = model.confounded(pair.first, pair.second, 0.0)
    for pair in like.confounding:
        model = model.confounded(pair.first, pair.second, pair.rho)
    return model


def _references(whole: "SCM", cuts: Cuts) -> dict[str, dict[str, Reference]]:
    """Return by effect, in causal order, what it sees in place of its causes."""
    numbers = {edge: _provisional(whole, edge[0]) if value is None else value for edge, value in cuts.items()}
    found: dict[str, dict[str, Reference]] = {}
    for name in whole.variables:
        for cause, effect in cuts:
            if effect == name:
                found.setdefault(name, {})[cause] = partial(_constant, whole.codec, cause, numbers[cause, effect])
    return found


def _constant(codec: Codec, name: str, number: float, n: int) -> torch.Tensor:
    return codec.tensor(name, np.full(n, number))


def _provisional(whole: "SCM", cause: str) -> float:
    """Return a number that a cause may have, by which a program is inspected until there are data."""
    with numerics(), torch.no_grad():
        return float(finite_traces(whole.program)[0].values[cause].double().mean())


def _moved(program: Program, structure: Structure) -> dict[str, set[str]]:
    """Return which laws each parameter moves, by changing one at a time."""
    moved: dict[str, set[str]] = {name: set() for name in structure.parameters}
    with numerics(), torch.no_grad():
        for base, other in pairwise(finite_traces(program)):
            fixed = {name: value for name, value in base.values.items() if base.kinds[name] != "derived"}
            before = signatures(program, fixed, base)
            for name, sites in moved.items():
                after = signatures(program, {**fixed, name: other.values[name]}, base)
                sites |= {site for site in _changed(base, before, after) if site != name}
    return moved


def _changed(base: CheckedRun, before: Mapping[str, Any], after: Mapping[str, Any]) -> Collection[str]:
    return [
        site
        for site in (*base.names("parameter"), *base.names("variable"))
        if any(not torch.equal(one, two) for one, two in zip(before[site], after[site], strict=True))
    ]


def _reaches(name: str, moved: Mapping[str, set[str]], variables: Collection[str]) -> bool:
    """Tell whether a parameter moves a variable, by itself or through other parameters."""
    ways: nx.DiGraph[str] = nx.DiGraph([(source, site) for source, sites in moved.items() for site in sites])
    return name in ways and not nx.descendants(ways, name).isdisjoint(variables)
