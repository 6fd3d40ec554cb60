"""Which parameters of a program are independent of which others, given the data."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import networkx as nx
import torch

from causalaudit.inference.density.patterns import missing_causes
from causalaudit.randomness import seeded
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Intervene, Record, Tensors, run
from causalaudit.scm.missing import filled
from causalaudit.scm.score import log_probability

_PEOPLE = 64  # of the data, at whose values the claims are verified


@dataclass(frozen=True)
class Component:
    """Parameters and variables that hang together: given the data, independent of all others.

    Attributes
    ----------
    parameters
        The parameters, in program order; none for variables whose distribution is known.
    sites
        The variables whose distributions the parameters enter, with the latents among them.
    given
        The other variables on which those distributions depend.
    """

    parameters: tuple[str, ...]
    sites: tuple[str, ...]
    given: tuple[str, ...]


def components_of(scm: SCM, values: Tensors) -> list[Component]:
    """Split a program into components, as its dependences say and as changing its parameters confirms.

    Parameters and variables are the nodes of a graph. A parameter is joined to the variables and to the parameters
    whose distributions it enters, a latent to the variables that it enters, and two variables that are confounded to
    one another; what has a column is known, and joins nothing else. Given the data, the connected parts of that graph
    are independent a posteriori.

    Parameters
    ----------
    scm
        The program.
    values
        The encoded data, of which a few people are used to verify the claims. A missing value is a latent of that
        person: where something that it enters is observed, the variable joins the variables that it enters.

    Returns
    -------
    list of Component
        In the order of their first sites; the parameters of different ones are independent given the data.
    """
    depends_on = scm.structure.depends_on
    joining = {*scm.parameters, *scm.latents, *missing_causes(scm, values)}
    claimed = _parts(scm, depends_on, joining)
    if len(claimed) > 1:
        claimed = _parts(scm, _confirmed(scm, values, depends_on), joining)
    return claimed


def _parts(scm: SCM, depends_on: Mapping[str, frozenset[str]], joining: Collection[str]) -> list[Component]:
    graph: nx.Graph[str] = nx.Graph()
    graph.add_nodes_from((*scm.parameters, *scm.variables))
    graph.add_edges_from((source, site) for site in graph for source in depends_on[site] if source in joining)
    graph.add_edges_from((pair.first, pair.second) for pair in scm.confounding)
    return [_component(scm, depends_on, part) for part in nx.connected_components(graph)]


def _component(scm: SCM, depends_on: Mapping[str, frozenset[str]], part: set[str]) -> Component:
    sites = tuple(name for name in scm.variables if name in part)
    needed = {source for site in sites for source in depends_on[site]} - part
    return Component(
        tuple(name for name in scm.parameters if name in part),
        sites,
        tuple(name for name in scm.variables if name in needed),
    )


def _confirmed(scm: SCM, values: Tensors, depends_on: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Add to the known dependences those that show when one parameter is changed at a time, at values of the data."""
    few = filled(scm, {name: value[:_PEOPLE] for name, value in values.items()})
    found = {name: set(sources) for name, sources in depends_on.items()}
    with numerics(), torch.no_grad(), seeded(0, "components"):
        base, other = _drawn(scm, few), _drawn(scm, few)
        before = _log_probabilities(scm, base)
        for changed in scm.parameters:
            after = _log_probabilities(scm, {**base, changed: other[changed]})
            for name in before.keys() - {changed}:
                if not torch.allclose(before[name], after[name], rtol=1e-12, atol=0.0, equal_nan=True):
                    found[name].add(changed)
    return {name: frozenset(sources) for name, sources in found.items()}


def _drawn(scm: SCM, few: Tensors) -> Tensors:
    """Draw parameters from the prior, and latents given the people."""
    record = Record()
    run(scm.program, len(few[scm.columns[0]]), record, Intervene(few))
    return {name: record.values[name] for name in (*scm.parameters, *scm.variables)}


def _log_probabilities(scm: SCM, values: Tensors) -> Tensors:
    record = Record()
    run(scm.program, len(values[scm.columns[0]]), record, Intervene(values))
    return {name: log_probability(record.laws[name], values[name]) for name in (*scm.parameters, *scm.variables)}
