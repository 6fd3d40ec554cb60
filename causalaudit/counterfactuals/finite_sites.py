"""Programs whose sites are all finite: the values of each site, and their probabilities for every state of its parents.

A site is a base of finitely many ordered values, with the noise of the base, followed by a one-to-one map that may
depend on the parents (the identity, an exclusive or; a computed site has a base of one value).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyro.distributions as dist
import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch.distributions import TransformedDistribution

from causalaudit.counterfactuals.shared_noise import correlated_joint, gumbel_joint, monotone_joint
from causalaudit.errors import DataError
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics, over_draws
from causalaudit.scm.handlers import Intervene, Message, Tensors, is_person, law_of, run
from causalaudit.scm.noise import Coupling

Places = tuple[Any, ...]  # positions among the values of the parents, for each state

# The most states of parents, or of people, that are enumerated.
MOST_STATES = 2**20

# What to do where there is too much, in the words of an error.
SIMULATE = 'use population="simulate"'


@dataclass(frozen=True)
class Site:
    """One variable of a finite program.

    Attributes
    ----------
    values
        The numbers it can take, ascending.
    parents
        Its parents, in the order of their axes in the tables.
    cumulative
        P(base ≤ k) by draw, state of the parents (one axis for each) and k; a zero is put before the first.
    base
        Which value of the base gives each of the values, by state of the parents and value; -1 where none does.
    coupling
        How worlds share the noise of the base: see `SCM.couplings`.
    """

    values: np.ndarray
    parents: tuple[str, ...]
    cumulative: np.ndarray
    base: np.ndarray
    coupling: Coupling

    def probability(self, draws: slice, parents: Places, value: np.ndarray) -> np.ndarray:
        """Return the probability of a value given its parents, by draw (rows) and state."""
        low, high = self._step(draws, parents, value)
        return high - low

    def joint(self, draws: slice, one: tuple[Places, np.ndarray], other: tuple[Places, np.ndarray]) -> np.ndarray:
        """Return the probability of two values in two worlds that share the noise, by draw (rows) and state."""
        if self.coupling == "gumbel":
            base = [self.base[(*parents, value)] for parents, value in (one, other)]
            chances = [np.diff(self.cumulative[(draws, *parents)], axis=-1) for parents, _ in (one, other)]
            possible = (base[0] >= 0) & (base[1] >= 0)
            return np.where(possible, gumbel_joint(chances[0], base[0], chances[1], base[1]), 0.0)
        steps = self._step(draws, *one), self._step(draws, *other)
        if self.coupling == "monotone":
            return monotone_joint(*steps)
        # Noise is another only where a parent differs.
        alike = np.logical_and.reduce([a == b for a, b in zip(one[0], other[0], strict=True)])
        chances = [high - low for low, high in steps]
        apart = correlated_joint(*steps, 0.0 if self.coupling == "independent" else float(self.coupling))
        return np.where(alike, chances[0] * (one[1] == other[1]), apart)

    def shared(self, draws: slice, places: Sequence[tuple[Places, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the uniform noise that gives a value in each of the worlds."""
        steps = [self._step(draws, *place) for place in places]
        low = np.maximum.reduce([step[0] for step in steps])
        return low, np.maximum(low, np.minimum.reduce([step[1] for step in steps]))

    def _step(self, draws: slice, parents: Places, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the ends of the uniform noise that gives a value; the same twice where it is impossible."""
        base = self.base[(*parents, value)]
        low = self.cumulative[(draws, *parents, np.maximum(base, 0))]
        high = self.cumulative[(draws, *parents, base + 1)]
        return low, np.where(base < 0, low, high)


def tabulate(
    scm: SCM,
    parameters: Mapping[str, np.ndarray],
    draws: int,
    coupling: Mapping[str, Coupling],
    otherwise: str = SIMULATE,
) -> dict[str, Site]:
    """Return the finite sites of a program at many draws of its parameters, with the coupling of each.

    An error says what to do `otherwise`.

    Raises
    ------
    DataError
        If a site has infinitely many values, or values that depend on the parameters.
    """
    for name, law in scm.structure.laws.items():
        _refuse_infinite(name, law, otherwise)
    sites: dict[str, Site] = {}
    with numerics(), torch.no_grad():
        theta = {name: torch.from_numpy(np.array(value, dtype=float)) for name, value in parameters.items()}
        for name in scm.variables:
            sites[name] = _tabulate_site(scm, name, sites, theta, draws, coupling.get(name, "monotone"), otherwise)
    return sites


def _refuse_infinite(name: str, law: Any, otherwise: str) -> None:
    if isinstance(law, TransformedDistribution):
        _refuse_infinite(name, law.base_dist, otherwise)
    elif not isinstance(law, dist.Delta) and not law.has_enumerate_support:
        raise DataError(
            f"{name!r} ({type(law).__name__}) has infinitely many values, which cannot be enumerated: {otherwise}."
        )


def _tabulate_site(
    scm: SCM, name: str, sites: Mapping[str, Site], theta: Tensors, draws: int, coupling: Coupling, otherwise: str
) -> Site:
    parents = tuple(parent for parent in scm.graph.predecessors(name) if parent in sites)
    sizes = tuple(len(sites[parent].values) for parent in parents)
    states = int(np.prod(sizes))
    if states > MOST_STATES:
        raise too_many(f"the parents of {name!r} have {states:,} joint states", otherwise)
    axes = np.indices(sizes).reshape(len(sizes), states)
    given = {
        parent: scm.codec.tensor(parent, sites[parent].values[axis]) for parent, axis in zip(parents, axes, strict=True)
    }

    def one_draw(parameters: Tensors, _: Tensors) -> Tensors:
        laws = _FiniteLaws(scm)
        run(scm.program, states, laws, Intervene({**parameters, **given}))
        return {"values": laws.values[name], "probabilities": laws.probabilities[name]}

    found = over_draws(one_draw, theta, {}, draws)
    by_base, probabilities = found["values"].numpy(), found["probabilities"].numpy()
    if (by_base != by_base[:1]).any():
        raise DataError(
            f"The values of {name!r} depend on the parameters of the program, so that they cannot be enumerated: "
            f"{otherwise}."
        )
    values = np.unique(by_base[0])
    base = np.full((states, len(values)), -1)
    for position, numbers in enumerate(by_base[0]):
        base[np.arange(states), np.searchsorted(values, numbers)] = position
    ends = np.concatenate([np.zeros((draws, states, 1)), np.cumsum(probabilities, axis=1).swapaxes(1, 2)], axis=-1)
    return Site(values, parents, ends.reshape(draws, *sizes, -1), base.reshape(*sizes, -1), coupling)


def too_many(what: str, otherwise: str = SIMULATE) -> DataError:
    """Return the error for enumerations that would not end, which says what to do `otherwise`."""
    return DataError(f"There is too much to enumerate: {what}. {otherwise[0].upper()}{otherwise[1:]}.")


class _FiniteLaws(Messenger):
    """Keep the values of the base of each site (first axis) and their probabilities; unset sites take the first."""

    def __init__(self, scm: SCM) -> None:
        super().__init__()
        self.scm = scm
        self.values: Tensors = {}
        self.probabilities: Tensors = {}

    def _pyro_sample(self, message: Message) -> None:
        if not is_person(message) or site_is_subsample(message):
            return
        name, law = message["name"], law_of(message)
        values, probabilities = _enumerated(law)
        if not message["infer"].get("_set") and not isinstance(law, dist.Delta):
            message["value"] = values[0].to(self.scm.structure.dtypes[name])
        if isinstance(law, torch.distributions.OneHotCategorical):
            values = values.argmax(-1)
        people = torch.broadcast_shapes(values.shape[1:], probabilities.shape[1:])
        self.values[name] = values.double().expand(len(values), *people)
        self.probabilities[name] = probabilities.expand(len(values), *people)


def _enumerated(law: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the values that the base of a law becomes, and their probabilities, along a first axis."""
    if isinstance(law, dist.Delta):
        return law.v.unsqueeze(0), torch.ones_like(law.v, dtype=torch.float64).unsqueeze(0)
    if isinstance(law, TransformedDistribution):
        values, probabilities = _enumerated(law.base_dist)
        for transform in law.transforms:
            values = transform(values)
        return values, probabilities
    values = law.enumerate_support()
    return values, law.log_prob(values).exp()
