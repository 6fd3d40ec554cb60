"""Which exogenous sites of a program are the noise of a computed site, and why others are not."""

from collections.abc import Collection, Iterator
from typing import Any

import pyro.distributions as dist
import torch

from causalaudit.errors import ProgramError
from causalaudit.randomness import seeded
from causalaudit.scm.entering import map_of_noise, reference_points, with_noises_entered
from causalaudit.scm.execution import numerics
from causalaudit.scm.graph import Diagram
from causalaudit.scm.handlers import Program, Record, has_noise, run
from causalaudit.scm.inspection import Structure
from causalaudit.scm.noise import is_discrete
from causalaudit.scm.noise.inverses import quantile_of
from causalaudit.scm.tracing import PEOPLE

_RUNS = 3
_QUANTILES = 13


def enter_noises(program: Program, structure: Structure, latents: Collection[str]) -> tuple[Program, dict[str, str]]:
    """Return a program whose computed sites have as noise the latents that are nothing else, and which these are."""
    noises: dict[str, str] = {}
    affine: set[str] = set()
    for latent in latents:
        children = list(structure.graph.successors(latent))
        if not _is_free(structure, latent) or len(children) != 1:
            continue
        (site,) = children
        computed = isinstance(structure.laws[site], dist.Delta)
        kind = _kind(program, latent, site) if computed and site not in {*latents, *noises} else "no map"
        if kind in ("affine", "monotone"):
            noises[site] = latent
            affine |= {site} if kind == "affine" else set()
    return (with_noises_entered(program, noises, frozenset(affine)) if noises else program), noises


def unnamed_noises(structure: Structure, latents: Collection[str], columns: Collection[Any]) -> list[str]:
    """Return sites without a column that are not named as latents, but can only be the noise of a computed column."""
    names = [name for name in structure.variables if name not in {*latents, *columns} and _is_free(structure, name)]
    return [name for name in names if _computed_columns(structure, name, columns) == list(structure.graph[name])]


def _is_free(structure: Structure, name: str) -> bool:
    """Tell whether a site is continuous, one-dimensional and without causes."""
    law: Any = structure.laws[name]
    if not has_noise(law) or law.event_shape or is_discrete(law):
        return False
    return not list(structure.graph.predecessors(name))


def _kind(program: Program, noise: str, site: str) -> str:
    """Say how a computed site follows from a noise: "affine", "monotone", or "not monotone"."""
    kinds = set()
    with numerics(), torch.no_grad():
        for seed in range(_RUNS):
            record = Record()
            with seeded(seed, "inspection"):
                run(program, PEOPLE, record)
            before = dict(list(record.values.items())[: list(record.values).index(site)])
            function, base = map_of_noise(program, PEOPLE, noise, site, before), record.laws[noise]
            normal = torch.linspace(-3.0, 3.0, _QUANTILES)
            tail = 0.5 * torch.erfc(normal.abs() / 2**0.5)
            signed = torch.where(normal < 0, tail, -tail).unsqueeze(-1).expand(-1, PEOPLE)
            points = torch.stack([quantile_of(base, quantiles) for quantiles in signed])
            values = torch.stack([function(point).double() for point in points])
            first, second = (point.expand(PEOPLE) for point in reference_points(base))
            slope = (function(second) - function(first)) / (second - first)
            line = function(first) + slope * (points - first)
            steps = values.diff(dim=0).sign()
            if not bool(((steps == steps[0]) & (steps != 0)).all()):
                return "not monotone"
            kinds.add("affine" if torch.allclose(values, line, rtol=1e-10, atol=1e-12) else "monotone")
    return "affine" if kinds == {"affine"} else "monotone"


def refuse_bound_latents(structure: Structure, latents: Collection[str], columns: Collection[Any]) -> None:
    """Refuse continuous latents that a computed site with a column determines, and that are not its noise alone."""
    for latent in latents:
        law: Any = structure.laws[latent]
        if not has_noise(law) or is_discrete(law):
            continue
        bound = [name for name in _computed_columns(structure, latent, columns) if name not in latents]
        if bound:
            raise ProgramError(
                f"The continuous latent {latent!r} enters the computed site {bound[0]!r}, which has a column, so that "
                f"the column determines it. It is the noise of {bound[0]!r} if it has no causes, enters this site "
                f"alone and directly, and {bound[0]!r} rises or falls with it everywhere; but "
                f"{_reason(structure.graph, latent, bound[0])}. Give {bound[0]!r} a distribution of its own "
                f"(pyro.sample), or a noise that is its alone."
            )


def _reason(graph: Diagram, latent: str, site: str) -> str:
    causes, effects = list(graph.predecessors(latent)), list(graph.successors(latent))
    if causes:
        return f"it depends on {', '.join(map(repr, causes))}"
    if effects != [site]:
        return f"it enters {', '.join(map(repr, effects))}"
    return f"{site!r} does not"


def _computed_columns(structure: Structure, name: str, columns: Collection[Any]) -> list[str]:
    """Return the computed sites with a column that follow from a site, directly or through computed ones without."""

    def follow(cause: str) -> Iterator[str]:
        for site in structure.graph.successors(cause):
            if isinstance(structure.laws[site], dist.Delta):
                yield from [site] if site in columns else follow(site)

    return list(dict.fromkeys(follow(name)))
