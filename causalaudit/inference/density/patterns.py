"""People of whom the same values are missing, and the program in which these are latents."""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyro.distributions as dist
import torch

from causalaudit.errors import DataError
from causalaudit.inference.density.latent_integrand import effects_of
from causalaudit.inference.density.latent_states import MOST_STATES, is_integrated, is_summed
from causalaudit.scm import SCM
from causalaudit.scm.focus import focused
from causalaudit.scm.handlers import Tensors
from causalaudit.scm.missing import anybody, missing_in

_NAMED = 3  # people in a message


@dataclass(frozen=True)
class Pattern:
    """People of whom the same values are missing.

    Attributes
    ----------
    people
        Their places in the table.
    missing
        The columns that are missing.
    dropped
        The missing columns and the latents of which nothing that follows is observed. Whatever their distribution, they
        integrate to one; they are not seen.
    scm
        The program without what is dropped, in which the other missing columns are latents.
    values
        What is observed.
    """

    people: torch.Tensor
    missing: tuple[str, ...]
    dropped: frozenset[str]
    scm: SCM
    values: Tensors


def patterns_of(scm: SCM, values: Tensors) -> list[Pattern]:
    """Group people by which of their values are missing."""
    masks = {name: mask for name, mask in missing_in(values).items() if name in scm.variables}
    everybody = torch.arange(len(next(iter(values.values()))))
    if not masks:
        return [Pattern(everybody, (), frozenset(), scm, values)]
    names, person = list(masks), anybody(scm)
    kinds, kind_of = torch.unique(torch.stack(list(masks.values()), -1), dim=0, return_inverse=True)
    return [
        _pattern(scm, values, everybody[kind_of == number], [names[place] for place in kind.nonzero()], person)
        for number, kind in enumerate(kinds)
    ]


def _pattern(scm: SCM, values: Tensors, people: torch.Tensor, missing: list[str], person: Tensors) -> Pattern:
    own = {name: value[people] for name, value in values.items()}
    if not missing:
        return Pattern(people, (), frozenset(), scm, _typed(scm, own))
    unknown = {*missing, *scm.latents}
    dropped = frozenset(unknown - causes_of_observed(scm, unknown))
    part = copy(scm)
    part.latents = tuple(name for name in scm.variables if name in unknown - dropped)
    part.structure = replace(scm.structure, variables=tuple(name for name in scm.variables if name not in dropped))
    part.program = focused(scm.program, {name: person[name] for name in dropped})
    observed = {name: value for name, value in own.items() if name not in missing}
    # Who has no values at all counts nevertheless.
    observed = observed or {missing[0]: person[missing[0]].expand(len(people), *person[missing[0]].shape[1:])}
    return Pattern(people, tuple(missing), dropped, part, _typed(scm, observed))


def _typed(scm: SCM, values: Tensors) -> Tensors:
    """Return values without NaN in the types that the program works on."""
    return {name: value.to(scm.structure.dtypes[name]) for name, value in values.items()}


def dependences(scm: SCM) -> "nx.DiGraph[str]":
    """Return which variable enters the distribution of which: the diagram, and the order of the numbers of vectors."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(scm.variables)
    graph.add_edges_from(
        (cause, name) for name in scm.variables for cause in scm.structure.depends_on[name] if cause in scm.variables
    )
    return graph


def causes_of_observed(scm: SCM, unknown: set[str]) -> set[str]:
    """Return the variables from which something that is observed follows."""
    graph = dependences(scm)
    observed = [name for name in scm.variables if name not in unknown]
    return set().union(*(nx.ancestors(graph, name) for name in observed))


def missing_causes(scm: SCM, values: Tensors) -> set[str]:
    """Return the columns that are missing of people of whom something that follows is observed."""
    return {name for pattern in patterns_of(scm, values) for name in pattern.missing if name not in pattern.dropped}


# Refusals


def check_missing(scm: SCM, values: Tensors, index: "pd.Index[Any]") -> None:
    """Refuse missing values that can be neither dropped, nor summed, nor integrated out.

    Raises
    ------
    DataError
        The message names the columns and the people.
    """
    _refuse_confounded(scm, values)
    for pattern in patterns_of(scm, values):
        kept = [name for name in pattern.missing if name not in pattern.dropped]
        problem = _problem(pattern, kept) if kept else None
        if problem:
            labels = index[pattern.people.numpy()].tolist()
            listed = ", ".join(map(repr, labels[:_NAMED])) + (", …" if len(labels) > _NAMED else "")
            raise DataError(
                f"{', '.join(map(repr, kept))} {'is' if len(kept) == 1 else 'are'} missing for {len(labels)} people "
                f"({listed}), of whom something that follows is observed, and {problem}"
            )


def _refuse_confounded(scm: SCM, values: Tensors) -> None:
    """Refuse missing values of a variable whose noise tells of that of another."""
    for name, mask in missing_in(values).items():
        for pair in scm.confounding:
            if name in pair.names:
                raise DataError(
                    f"{name!r} is missing for {int(mask.sum())} people, and has a hidden common cause with "
                    f"{pair.partner_of(name)!r}: the values of such a pair must be known. Impute them, or drop these "
                    "people."
                )


def _problem(pattern: Pattern, kept: list[str]) -> str | None:
    """Say why some values that are missing cannot be made up for."""
    laws: dict[str, Any] = pattern.scm.structure.laws
    unknown = [name for name in pattern.scm.latents if is_integrated(laws[name])]
    if len(unknown) > 1 and set(unknown) & set(kept):
        return (
            f"{', '.join(map(repr, unknown))} are continuous and not known: only one for each person can be integrated "
            "out. Impute all but one, drop these people, or give all but one finitely many values."
        )
    for name in kept:
        if not is_summed(laws[name]) and not is_integrated(laws[name]):
            return (
                f"{name!r} ({type(laws[name]).__name__}) has neither finitely many values nor a continuous range: it "
                "can be neither summed over nor integrated out. Impute it, or drop these people."
            )
        bound = _computed_from(pattern, name) if name in unknown else []
        if bound:
            return f"{bound[0]!r}, which is computed from {name!r}, determines it: fill it in."
    finite = [name for name in pattern.scm.latents if is_summed(laws[name]) and not isinstance(laws[name], dist.Delta)]
    states = int(np.prod([float(len(laws[name].enumerate_support(expand=False))) for name in finite]))
    if states > MOST_STATES:
        return (
            f"{', '.join(map(repr, finite))} have {states} joint states; at most {MOST_STATES} are summed over. Impute "
            "some of them, or drop these people."
        )
    return None


def _computed_from(pattern: Pattern, name: str) -> list[str]:
    """Return the observed columns that are computed from a missing value, with nothing random between."""
    laws = pattern.scm.structure.laws
    return [
        site for site in effects_of(pattern.scm, name) if site in pattern.values and isinstance(laws[site], dist.Delta)
    ]
