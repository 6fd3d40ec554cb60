"""Hidden confounding: a hidden common cause of two variables, as a Gaussian copula of their noises."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from numbers import Real
from typing import Any

import pyro.distributions as dist
import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch.distributions import Distribution, OneHotCategorical

from causalaudit.errors import ProgramError, nearest
from causalaudit.scm.given import Given
from causalaudit.scm.graph import Diagram, diagram
from causalaudit.scm.handlers import Message, Program, Tensors, law_of
from causalaudit.scm.noise import couplings_of
from causalaudit.scm.noise.bivariate_normal import nodes_for
from causalaudit.scm.noise.copula import Partner, coupled_uniform
from causalaudit.scm.noise.normal_scores import SCORED, has_scores, is_interval


@dataclass(frozen=True)
class Confounding:
    """Two variables whose noises have a Gaussian copula, in causal order, and its correlation."""

    first: str
    second: str
    rho: float

    @property
    def names(self) -> frozenset[str]:
        """The two variables."""
        return frozenset((self.first, self.second))

    def partner_of(self, name: str) -> str:
        """Return the other one of the two."""
        return self.second if name == self.first else self.first

    def coupled(self, uniforms: Mapping[str, torch.Tensor]) -> Tensors:
        """Return uniforms of which those of the pair, made from independent ones, have the copula."""
        second = coupled_uniform(uniforms[self.first], uniforms[self.second], self.rho)
        return {**uniforms, self.second: second}


def pair_of(pairs: Sequence[Confounding], name: str) -> Confounding | None:
    """Return the pair that a variable is in, if there is one."""
    return next((pair for pair in pairs if name in pair.names), None)


def partners_too(pairs: Sequence[Confounding], names: Collection[str]) -> set[str]:
    """Return names together with those of their partners."""
    return set(names).union(*(pair.names for pair in pairs if pair.names & set(names)))


def rectangle_nodes(pairs: Sequence[Confounding], laws: Mapping[str, Distribution], names: Collection[str]) -> int:
    """Return how many numbers the density of a person holds at once: the nodes of integrals over rectangles."""
    nodes = [
        nodes_for(pair.rho)
        for pair in pairs
        if pair.names <= set(names) and all(is_interval(laws[name]) for name in pair.names)
    ]
    return max(nodes, default=1)


class _Confound(Messenger):
    """Tell of two sites, to whoever scores or abducts them, that they are a pair."""

    def __init__(self, pair: Confounding) -> None:
        super().__init__()
        self.pair = pair

    def _pyro_sample(self, message: Message) -> None:
        name, infer = message["name"], message["infer"]
        if name not in self.pair.names or site_is_subsample(message):
            return
        for mark in ("_pair", "_partner"):  # of a correlation that this one replaces
            infer.pop(mark, None)
        if self.pair.rho:
            infer["_pair"] = self.pair
            if name == self.pair.second:
                infer["_partner"] = self.partner

    def _pyro_post_sample(self, message: Message) -> None:
        if message["name"] == self.pair.first and not site_is_subsample(message):
            given = bool(message["infer"].get("_given"))
            self.partner = Partner(self.pair.first, law_of(message), message["value"], self.pair.rho, given)


def with_confounding(program: Program, pair: Confounding) -> Callable[[int], Any]:
    """Return the program in which two variables are a pair; it replaces what was assumed of the two before."""

    @wraps(program)
    def confounded(n: int) -> Any:
        with _Confound(pair):
            return program(n)

    return confounded


def confounded_diagram(graph: Diagram, pair: Confounding) -> Diagram:
    """Return the diagram with a latent cause of the two, or without one if their noises are independent."""
    drawn, shared = graph.copy(), diagram([], bidirected=[(pair.first, pair.second)])
    (latent,) = set(shared) - pair.names
    if not pair.rho:
        drawn.remove_nodes_from([latent])
        return drawn
    drawn.add_node(latent, latent=True)
    drawn.add_edges_from(shared.edges)
    return drawn


def checked_pair(
    one: str,
    other: str,
    rho: float,
    laws: Mapping[str, Distribution],
    columns: Sequence[str],
    vectors: Sequence[Sequence[str]],
    known: Sequence[Confounding],
) -> Confounding:
    """Return a pair in causal order.

    Raises
    ------
    ProgramError
        If the correlation is not between -1 and 1, or the noise of one of the two cannot be confounded.
    """
    if isinstance(rho, bool) or not isinstance(rho, Real) or not -1 < rho < 1:
        raise ProgramError(f"rho is {rho!r}, but must be a number between -1 and 1, both excluded.")
    for name in (one, other):
        if name not in laws:
            raise ProgramError(f"There is no variable {name!r} to confound: {nearest(name, list(laws))}")
        if name not in columns:
            raise ProgramError(f"{name!r} is latent: only the noises of variables with columns can be confounded.")
        if any(name in group for group in vectors):
            raise ProgramError(
                f"{name!r} is part of a vector, whose numbers have common noise: it has none of its own."
            )
        _refuse_noise(name, laws[name])
    if one == other:
        raise ProgramError(f"{one!r} cannot be confounded with itself: name two variables.")
    first, second = sorted((one, other), key=list(laws).index)
    for pair in known:
        if len(pair.names & {one, other}) == 1:
            (shared,) = pair.names & {one, other}
            raise ProgramError(
                f"{shared!r} is confounded with another variable already ({pair.first!r} and {pair.second!r}): a "
                "variable can be in one pair. Write a latent variable that causes all of them."
            )
    return Confounding(first, second, float(rho))


def _refuse_noise(name: str, law: Distribution) -> None:
    if isinstance(law, dist.Delta | Given):
        raise ProgramError(f"{name!r} has no noise of its own that could be confounded ({type(law).__name__}).")
    unordered = couplings_of(law)[0] == "gumbel" or isinstance(law, OneHotCategorical)
    if unordered:
        raise ProgramError(
            f"{name!r} ({type(law).__name__}) has no order in which its noise could be higher or lower: use an "
            "OrderedLogistic, or a Bernoulli."
        )
    if not has_scores(law):
        raise ProgramError(
            f"The noise of {name!r} ({type(law).__name__}) cannot be confounded. Supported: {', '.join(SCORED)}, and "
            "TransformedDistribution of these."
        )


def refuse_other_couplings(pairs: Sequence[Confounding], couplings: Mapping[str, Any]) -> None:
    """Refuse a coupling under which the noise of a confounded variable is not the one that has the copula."""
    for name in (name for pair in pairs for name in (pair.first, pair.second)):
        if couplings[name] != "monotone":
            raise ProgramError(
                f"{name!r} is confounded, which is about its monotone noise: it cannot have the coupling "
                f"{couplings[name]!r}."
            )
