"""Parameters in unconstrained space: one real vector for all of them."""

from collections.abc import Mapping

import numpy as np
import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch import distributions as laws
from torch.distributions import Distribution, Transform, biject_to

from causalaudit.randomness import seeded
from causalaudit.scm import SCM
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Message, Record, Tensors, is_person, run

_CLOSE_TO_ZERO = 0.1  # share of a prior's width below which a positive parameter is measured by its logarithm


def unconstraining(law: Distribution) -> Transform:
    """Return the map from unconstrained numbers to the support of a law.

    It is that of torch, but for positive numbers whose density does not vanish at zero. Their logarithm would have a
    long tail, along which posteriors are curved ridges: a loading and a noise that share a variance, for example. It
    is taken only close to zero; elsewhere the numbers are proportional to the parameter (a scaled softplus).
    """
    base = law.base_dist if isinstance(law, laws.Independent) else law
    if not isinstance(base, laws.HalfNormal | laws.HalfCauchy | laws.Exponential):
        return biject_to(law.support)
    width = 1 / base.log_prob(torch.zeros(())).exp()
    return laws.ComposeTransform([laws.SoftplusTransform(), laws.AffineTransform(0.0, _CLOSE_TO_ZERO * width)])


class Unconstrain(Messenger):
    """Give each parameter the value that unconstrained numbers stand for, and add up its log-densities.

    The support of a parameter may depend on other parameters: the transform is taken where the site is.
    """

    def __init__(self, numbers: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self.numbers = numbers
        self._known: dict[tuple[str, bool], tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = {}

    def __enter__(self) -> "Unconstrain":
        # The program may be run several times with the same parameters; they count once.
        self.values: Tensors = {}
        self.log_prior: Tensors = {}
        self.log_jacobian: torch.Tensor = torch.zeros(())
        super().__enter__()
        return self

    def _pyro_sample(self, message: Message) -> None:
        name = message["name"]
        if name not in self.numbers:
            return
        # Runs with the same parameters compute them once, and once more if slopes are wanted.
        key = (name, torch.is_grad_enabled())
        if key not in self._known:
            self._known[key] = self._values(message["fn"], self.numbers[name])
        value, self.log_prior[name], log_jacobian = self._known[key]
        message["value"] = self.values[name] = value
        self.log_jacobian = self.log_jacobian + log_jacobian

    @staticmethod
    def _values(law: Distribution, number: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the value of a parameter, its log-prior and its log-Jacobian."""
        transform = unconstraining(law)
        value = transform(number)
        return value, law.log_prob(value).sum(), transform.log_abs_det_jacobian(number, value).sum()

    def _pyro_post_sample(self, message: Message) -> None:
        if message["infer"].get("_deterministic") and not is_person(message):
            self.values[message["name"]] = message["value"]


class _Invert(Messenger):
    """Find the unconstrained numbers of given parameter values."""

    def __init__(self, values: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self.values = values
        self.numbers: Tensors = {}

    def _pyro_sample(self, message: Message) -> None:
        name = message["name"]
        if name in self.values and not site_is_subsample(message):
            message["value"] = self.values[name]
            self.numbers[name] = unconstraining(message["fn"]).inv(self.values[name])


class UnconstrainedParameters:
    """The parameters of an SCM as one vector in unconstrained space."""

    def __init__(self, scm: SCM) -> None:
        self.scm = scm
        record = Record()
        with numerics(), torch.no_grad(), seeded(0, "space"):
            run(scm.program, 1, record)
            found = self._invert({name: record.values[name] for name in scm.parameters})
        self.shapes = {name: tuple(number.shape) for name, number in found.numbers.items()}
        self.sizes = {name: int(np.prod(shape)) for name, shape in self.shapes.items()}
        self.size = sum(self.sizes.values())

    def _invert(self, values: Mapping[str, torch.Tensor]) -> _Invert:
        messenger = _Invert(values)
        with seeded(0, "space"):  # the one person of this run is drawn, and forgotten
            run(self.scm.program, 1, messenger)
        return messenger

    @property
    def labels(self) -> list[str]:
        """The names of the unconstrained numbers."""
        return [
            name if not self.shapes[name] else f"{name}[{', '.join(map(str, position))}]"
            for name in self.shapes
            for position in np.ndindex(self.shapes[name])
        ]

    def split(self, vector: torch.Tensor) -> Tensors:
        """Cut vectors (the last axis) into the numbers of each parameter."""
        parts = vector.split(list(self.sizes.values()), dim=-1) if self.sizes else ()
        return {
            name: part.reshape((*vector.shape[:-1], *self.shapes[name]))
            for name, part in zip(self.shapes, parts, strict=True)
        }

    def inverse(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the unconstrained vector of one draw of parameter values."""
        with numerics(), torch.no_grad():
            tensors = {name: torch.from_numpy(np.array(value, dtype=float)) for name, value in values.items()}
            numbers = self._invert(tensors).numbers
            return np.concatenate([numbers[name].numpy().ravel() for name in self.shapes] or [np.empty(0)])

    def prior_vectors(self, draws: int, seed: int) -> np.ndarray:
        """Draw unconstrained vectors from the prior: those of the same seed's `prior_draws`."""
        vectors = np.empty((draws, self.size))
        with numerics(), torch.no_grad(), seeded(seed, "prior"):
            for vector in vectors:
                record = Record()
                run(self.scm.program, 1, record)
                numbers = (unconstraining(record.laws[name]).inv(record.values[name]) for name in self.shapes)
                vector[:] = np.concatenate([number.numpy().ravel() for number in numbers] or [np.empty(0)])
        return vectors
