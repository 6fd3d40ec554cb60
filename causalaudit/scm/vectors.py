"""Sites whose values are vectors, run as one site for each number of the vector, with a column each.

``Y ~ MultivariateNormal(mean, scale_tril=L)`` is ``Y[j] ~ Normal(mean[j] + sum_i<j L[j, i] e[i], L[j, j])``, where e[i]
is the residual of the i-th number: the noise of each is the residual of Cholesky's factor. A Dirichlet breaks a stick,
in the order of the columns; the numbers of an Independent have nothing to do with one another.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any

import pyro
import pyro.distributions as dist
import torch
from pyro.distributions.transforms.spline import ConditionedSpline
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch.distributions import Distribution, OneHotCategorical
from torch.distributions.transforms import Transform

from causalaudit.errors import ProgramError, nearest
from causalaudit.randomness import seeded
from causalaudit.scm.execution import numerics
from causalaudit.scm.graph import Diagram
from causalaudit.scm.handlers import Message, Program, is_person, law_of, run
from causalaudit.scm.splines import SplineOfNumbers

Columns = Mapping[str, Sequence[str]]
Parts = Iterator[Any]
_CORRELATED = (dist.MultivariateNormal, dist.LowRankMultivariateNormal, dist.Dirichlet)


class _FirstOfOne(Transform):
    """A transform of vectors of one number, as one of numbers."""

    bijective = True

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner
        self.domain, self.codomain = (_number(end) for end in (inner.domain, inner.codomain))

    def _call(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x.unsqueeze(-1)).squeeze(-1)

    def _inverse(self, y: torch.Tensor) -> torch.Tensor:
        return self.inner.inv(y.unsqueeze(-1)).squeeze(-1)

    def log_abs_det_jacobian(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.inner.log_abs_det_jacobian(x.unsqueeze(-1), y.unsqueeze(-1))
        return found if self.inner.domain.event_dim else found.squeeze(-1)


def _of_numbers(transform: Any) -> Transform:
    return SplineOfNumbers(transform) if isinstance(transform, ConditionedSpline) else _FirstOfOne(transform)


def _number(constraint: Any) -> Any:
    return getattr(constraint, "base_constraint", constraint)


def _pick(law: Any, place: int) -> Distribution:
    """Return one of the laws along the last axis of a batch."""
    if isinstance(law, dist.TransformedDistribution) and not _arguments(law):
        base = _pick(law.base_dist, place)
        return dist.TransformedDistribution(base, [_of_numbers(transform) for transform in law.transforms])
    picked: Distribution = type(law)(**{name: value[..., place] for name, value in _arguments(law).items()})
    return picked


def _arguments(law: Any) -> dict[str, Any]:
    stored = [name for name in law.arg_constraints if name in law.__dict__]
    return {name: getattr(law, name) for name in stored or law.arg_constraints}


def _parts(law: Any, values: list[torch.Tensor]) -> Parts:
    """Give the law of each number of a vector, given those before it, which are put into `values` meanwhile."""
    if isinstance(law, dist.Dirichlet):
        yield from _sticks(law.concentration, values)
    elif isinstance(law, dist.MultivariateNormal | dist.LowRankMultivariateNormal):
        factor, residuals = law.scale_tril, list[torch.Tensor]()
        for place in range(law.event_shape[0]):
            mean, scale = law.loc[..., place], factor[..., place, place]
            for earlier, residual in enumerate(residuals):
                mean = mean + factor[..., place, earlier] * residual
            yield dist.Normal(mean, scale)
            residuals.append((values[-1] - mean) / scale)
    elif isinstance(law, dist.Independent):
        yield from (_pick(law.base_dist, place) for place in range(law.event_shape[0]))
    else:  # of one number
        base = law.base_dist.base_dist if isinstance(law.base_dist, dist.Independent) else law.base_dist
        transforms = [_of_numbers(transform) for transform in law.transforms]
        yield dist.TransformedDistribution(_pick(base, 0), transforms)


def _sticks(concentration: torch.Tensor, values: list[torch.Tensor]) -> Parts:
    left = torch.ones_like(concentration[..., 0])
    for place in range(concentration.shape[-1] - 1):
        share = dist.Beta(concentration[..., place], concentration[..., place + 1 :].sum(-1))
        yield dist.TransformedDistribution(share, [dist.transforms.AffineTransform(0.0, left)])
        left = left - values[-1]
    yield dist.Delta(left)


class _Split(Messenger):
    """Sample the numbers of vectors one by one."""

    def __init__(self, columns: Columns) -> None:
        super().__init__()
        self.columns = columns

    def _pyro_sample(self, message: Message) -> None:
        name = message["name"]
        if name not in self.columns or not _is_vector(message):
            return
        values: list[torch.Tensor] = []
        for column, law in zip(self.columns[name], _parts(law_of(message), values), strict=True):
            last = isinstance(law, dist.Delta)
            values.append(pyro.deterministic(column, law.v) if last else pyro.sample(column, law))
        message["value"], message["done"], message["stop"] = torch.stack(values, -1), True, True


def _is_vector(message: Message) -> bool:
    if not is_person(message) or site_is_subsample(message) or message["infer"].get("_deterministic"):
        return False
    law = law_of(message)
    return bool(law.event_shape) and not isinstance(law, OneHotCategorical)


class _Vectors(Messenger):
    """Keep the laws of the vectors of a run."""

    def __init__(self) -> None:
        super().__init__()
        self.laws: dict[str, Distribution] = {}

    def _pyro_post_sample(self, message: Message) -> None:
        if _is_vector(message) and not isinstance(message["fn"], dist.Unit):  # pyro.factor is refused by its name
            self.laws[message["name"]] = law_of(message)


def vector_columns(
    program: Program, columns: Columns, latents: Collection[str]
) -> tuple[dict[str, list[str]], list[list[str]]]:
    """Return the columns of each vector of a program (numbered names, if it is latent), and which share noise.

    Raises
    ------
    ProgramError
        If a vector has no columns, not as many as numbers, or a distribution that cannot be split.
    """
    found = _Vectors()
    with numerics(), torch.no_grad(), seeded(0, "inspection"):
        run(program, 2, found)
    for name in columns:
        if name not in found.laws:
            raise ProgramError(f"columns name {name!r}, which is no vector of a person: {nearest(name, [*found.laws])}")
    numbered = {name: [f"{name}[{place}]" for place in range(found.laws[name].event_shape[0])] for name in found.laws}
    default = {name: names for name, names in numbered.items() if name in latents and len(names) > 1}
    split = {name: _named(name, law, {**default, **columns}) for name, law in found.laws.items()}
    shared = [split[name] for name, law in found.laws.items() if isinstance(law, _CORRELATED)]
    return split, [group for group in shared if len(group) > 1]


def _named(name: str, law: Any, columns: Columns) -> list[str]:
    size = tuple(law.event_shape)
    splittable = isinstance(law, (dist.Independent, dist.TransformedDistribution, *_CORRELATED))
    if len(size) > 1 or not splittable or (isinstance(law, dist.TransformedDistribution) and size != (1,)):
        raise ProgramError(
            f"Site {name!r} has values of shape {size} from {type(law).__name__}, whose noise is not defined here: of "
            "vectors, Independent (to_event(1)), MultivariateNormal and Dirichlet are supported, and transformed "
            "distributions of one number. Write one site for each number."
        )
    given = list(columns.get(name, [name] if size == (1,) else []))
    if len(given) != size[0] or len(set(given)) < len(given):
        raise ProgramError(
            f"Site {name!r} has vectors of {size[0]} numbers, but its columns are {given}: name one for each, "
            f"columns={{{name!r}: [...]}}."
        )
    return given


def without_order(graph: Diagram, groups: Sequence[Sequence[str]]) -> None:
    """Give numbers of a vector a latent cause in place of the order in which they are drawn, which causes nothing."""
    for group in groups:
        graph.remove_edges_from([(one, other) for one in group for other in group])
        latent = f"U({','.join(group)})"
        graph.add_node(latent, latent=True)
        graph.add_edges_from((latent, column) for column in group)


def with_vectors_split(program: Program, columns: Columns) -> Callable[[int], Any]:
    """Return the program with a site of its own for each number of a vector."""

    @wraps(program)
    def split(n: int) -> Any:
        with _Split(columns):
            return program(n)

    return split
