"""Draws of the components of a posterior, each by itself, put together."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch

from causalaudit.inference.components.part_of_program import part_of_program, reference_person
from causalaudit.inference.components.partition import Component
from causalaudit.inference.density.log_density import DensityParts, ProgramDensity, log_joint
from causalaudit.inference.density.unconstrained import UnconstrainedParameters
from causalaudit.inference.samplers.registry import Method, MethodDraws, Request
from causalaudit.inference.sandwich.respread import respread
from causalaudit.progress import parallel
from causalaudit.randomness import spawn
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics, over_draws
from causalaudit.scm.handlers import Intervene, Record, Tensors, run

DensityOf = Callable[[SCM, Tensors], ProgramDensity]
_SUMS = ("energy", "n_steps")  # of trajectories of several components, which are one trajectory of all


@dataclass
class _SharedPrior:
    """Vectors of the prior of the whole program, cut into those of its components: starts, and scales."""

    parameters: UnconstrainedParameters
    seed: int
    known: dict[int, dict[str, np.ndarray]] = field(default_factory=dict)

    def of(self, names: Sequence[str], draws: int) -> np.ndarray:
        """Return the numbers of some of the parameters."""
        if draws not in self.known:
            vectors = self.parameters.prior_vectors(draws, self.seed)
            ends = np.cumsum(list(self.parameters.sizes.values()))[:-1]
            self.known[draws] = dict(zip(self.parameters.sizes, np.split(vectors, ends, axis=1), strict=True))
        return np.concatenate([self.known[draws][name] for name in names], axis=1)


@dataclass(frozen=True)
class ComponentFit:
    """What a component needs to be fitted, wherever it runs."""

    scm: SCM
    values: Tensors
    density_of: DensityOf
    method: Method
    request: Request
    prior: _SharedPrior

    def __call__(self, task: tuple[int, Component]) -> MethodDraws:
        """Fit a component by its own seed."""
        number, component = task
        density = self.density(component)
        if not density.size:
            nothing = np.zeros((1, 0))
            return MethodDraws("exact", nothing, density.over(nothing))
        seed = int(spawn(self.request.seed, "component", number).generate_state(1)[0])
        return self.method.run(density, self.request.with_seed(seed))

    def density(self, component: Component) -> ProgramDensity:
        """Return the density of a component."""
        density = self.density_of(*part_of_program(self.scm, component, self.values))
        if not density.size:
            return density
        density = density.with_prior(partial(self.prior.of, component.parameters))
        return density if self.request.start is None else density.with_start(self.request.start)


def draws_by_component(
    scm: SCM,
    values: Tensors,
    components: Sequence[Component],
    density_of: DensityOf,
    method: Method,
    request: Request,
    weights: np.ndarray | None = None,
) -> MethodDraws:
    """Fit each component by itself, on its own distinct rows, and combine their draws independently.

    Components are fitted in parallel, by `joblib`, each with a seed of its own: the draws of one do not depend on
    those of another, nor on the number of workers. Densities multiply, and so does the evidence.

    Parameters
    ----------
    scm
        The whole program.
    values
        The encoded data.
    components
        Those of the program.
    density_of
        Makes the density of a component's program and columns.
    method, request
        How to draw, and how many.
    weights
        Of the people, which the densities have already: the spread of the draws of all components together becomes that
        of a survey (`respread`).
    """
    task = ComponentFit(
        scm, values, density_of, method, request, _SharedPrior(UnconstrainedParameters(scm), request.seed)
    )
    found = list(parallel(task, list(enumerate(components)), "Components", request.progress))
    fitted = [(part, one) for part, one in zip(components, found, strict=True) if one.vectors.shape[1]]
    if weights is not None and fitted:
        densities = [task.density(part) for part, _ in fitted]
        moved = respread(densities, [one for _, one in fitted], weights, request.seed)
        fitted = [(part, one) for (part, _), one in zip(fitted, moved, strict=True)]
    known = sum(float(one.parts.likelihood[0]) for one in found if not one.vectors.shape[1])
    parts = _joined(scm, values, [one.parts for _, one in fitted], known)
    methods = sorted({one.method for _, one in fitted})
    vectors = np.concatenate([one.vectors for _, one in fitted], axis=1)
    statistics = _statistics(fitted, known)
    return MethodDraws(" and ".join(methods), vectors, parts, statistics, _by_draw([one for _, one in fitted], parts))


def _joined(
    scm: SCM, values: Tensors, pieces: Sequence[DensityParts[np.ndarray]], known: float
) -> DensityParts[np.ndarray]:
    """Put the densities and values of independent components together, draw by draw."""
    theta = {name: value for piece in pieces for name, value in piece.values.items() if name in scm.parameters}
    return DensityParts(
        np.asarray(sum(piece.likelihood for piece in pieces) + known),
        np.asarray(sum(piece.jacobian for piece in pieces)),
        {name: piece.prior[name] for name in scm.parameters for piece in pieces if name in piece.prior},
        _with_derived(scm, values, theta),
        {name: value for piece in pieces for name, value in piece.latents.items()},
    )


def _with_derived(scm: SCM, values: Tensors, theta: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Add what the program computes from parameters, which may be of several components."""
    person = {name: value for name, value in reference_person(scm, values).items() if name in scm.variables}

    def one_draw(draw: Tensors, people: Tensors) -> Tensors:
        record = Record()
        run(scm.program, 1, record, Intervene({**person, **draw}))
        return {name: value for name, value in record.values.items() if name not in person}

    if not scm.derived:
        return {name: theta[name] for name in scm.parameters}
    with numerics(), torch.no_grad():
        tensors = {name: torch.from_numpy(np.array(value, dtype=float)) for name, value in theta.items()}
        found = over_draws(one_draw, tensors, {}, len(next(iter(tensors.values()))))
    return {name: theta[name] if name in theta else value.numpy() for name, value in found.items()}


def _statistics(fitted: Sequence[tuple[Component, MethodDraws]], known: float) -> dict[str, Any]:
    """Return the worst of each number, what adds up, and the numbers of each component."""
    rows = [one.statistics for _, one in fitted]
    if not any(rows):  # points
        return {}

    def of(name: str) -> list[Any]:
        return [row[name] for row in rows if name in row]

    worst: dict[str, Any] = {name: max(of(name)) for name in ("pareto_k", "r_hat", "beyond_curvature") if of(name)}
    worst |= {name: min(of(name)) for name in ("ess", "ess_tail", "efficiency", "first_share") if of(name)}
    if of("divergences"):
        worst["divergences"] = sum(of("divergences"))
    if of("worst"):
        worst["worst"] = max((row for row in rows if "r_hat" in row), key=lambda row: row["r_hat"])["worst"]
    if len(of("log_evidence")) == len(rows):
        worst["log_evidence"] = sum(of("log_evidence")) + known
        worst["log_evidence_error"] = float(np.sqrt(np.sum(np.square(of("log_evidence_error")))))
    by_component = [
        {"parameters": part.parameters, "sites": part.sites, "method": one.method, **one.statistics}
        for part, one in fitted
    ]
    return {**worst, "components": json.dumps(by_component)}


def _by_draw(found: Sequence[MethodDraws], parts: DensityParts[np.ndarray]) -> dict[str, np.ndarray]:
    """Return the numbers about each draw, if some components were sampled by trajectories."""
    chains = [one.by_draw for one in found if one.by_draw]
    if not chains:
        return {}
    return {
        "diverging": np.any([one["diverging"] for one in chains], axis=0),
        "acceptance_rate": np.mean([one["acceptance_rate"] for one in chains], axis=0),
        "lp": log_joint(parts),
        **{name: np.sum([one[name] for one in chains], axis=0) for name in _SUMS},
    }
