"""Distributions of torch itself, which Pyro can neither call nor expand, made into Pyro's."""

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from functools import cache, wraps
from typing import Any

import torch
from pyro.distributions.torch_distribution import TorchDistributionMixin
from pyro.poutine.messenger import Messenger
from torch.distributions import Distribution

from causalaudit.randomness import seeded
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Message, Program
from causalaudit.scm.tracing import WithoutParam


@cache
def _callable_family(family: Any) -> Any:
    return type(family.__name__, (family, TorchDistributionMixin), {})


class _AsPyro(Messenger):
    """Give a distribution of torch what Pyro asks of its own, and note whether there was one."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = False

    def _pyro_sample(self, message: Message) -> None:
        law = message["fn"]
        if isinstance(law, Distribution) and not isinstance(law, TorchDistributionMixin):
            self.seen = True
            ours: Any = copy(law)
            family: Any = type(law)
            ours.__class__ = _callable_family(family)
            shape = list(law.batch_shape)
            for frame in (frame for frame in message["cond_indep_stack"] if frame.vectorized):
                shape = [1] * (-frame.dim - len(shape)) + shape
                shape[frame.dim] = frame.size
            message["fn"] = ours.expand(shape)


def uses_plain_torch(program: Program, n: int) -> bool:
    """Tell whether a program samples from distributions of torch itself."""
    with numerics(), torch.no_grad(), seeded(0, "inspection"), WithoutParam(), _AsPyro() as watch, suppress(Exception):
        program(n)  # what is wrong with it is said when it is inspected
    return bool(watch.seen)


def with_pyro_families(program: Program) -> Callable[[int], Any]:
    """Return the program with its distributions of torch made into Pyro's."""

    @wraps(program)
    def converted(n: int) -> Any:
        with _AsPyro():
            return program(n)

    return converted
