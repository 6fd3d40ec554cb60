"""The likelihood of scored columns alone: given what has no causes, and by rounding cells where asked for."""

from collections.abc import Callable, Collection
from copy import copy
from functools import wraps
from typing import Any

import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch.distributions import Distribution

from causalaudit.scm import SCM
from causalaudit.scm.handlers import Message, Program, is_person, law_of
from causalaudit.scm.noise.both_tails import both_tails, ends, is_discrete
from causalaudit.scm.noise.log_tails import LOG_TAILS, log_one_minus_exp, log_tails
from causalaudit.worlds.scored_columns import ScoredColumns


class RoundingCell:
    """A continuous law seen through rounding: log P(x − ½ < X ≤ x + ½), exact in both tails.

    Examples
    --------
    >>> import torch, pyro.distributions as dist
    >>> law = dist.Normal(torch.tensor(0.0, dtype=torch.float64), 1.0)
    >>> round(float(RoundingCell(law).log_prob(torch.tensor(0.0, dtype=torch.float64)).exp()), 4)
    0.3829
    """

    def __init__(self, law: Distribution) -> None:
        self.law: Any = law

    def __call__(self, *args: Any, **more: Any) -> torch.Tensor:
        """Draw from the law itself, where a program is run without data."""
        drawn: torch.Tensor = self.law(*args, **more)
        return drawn

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        """Return the log-probability of the cell around whole numbers."""
        low, high = ends(self.law)
        (below_low, above_low), (below_high, above_high) = (
            _log_tails(self.law, torch.minimum(torch.maximum(value.double() + side, low), high)) for side in (-0.5, 0.5)
        )
        lower = below_high + log_one_minus_exp((below_low - below_high).clamp(max=0))
        upper = above_low + log_one_minus_exp((above_high - above_low).clamp(max=0))
        # The difference of the two that are small is the one that is exact.
        return torch.where(below_high < above_low, lower, upper)


def _log_tails(law: Distribution, value: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    if set(type(law).__mro__) & set(LOG_TAILS):
        return log_tails(law, value)
    below, above = both_tails(law, value)
    return below.log(), above.log()


class _Scored(Messenger):
    """Leave the density of sites out, and see others through rounding."""

    def __init__(self, left_out: Collection[str], rounded: Collection[str]) -> None:
        super().__init__()
        self.left_out, self.rounded = left_out, rounded

    def _pyro_sample(self, message: Message) -> None:
        if site_is_subsample(message) or not is_person(message):
            return
        if message["name"] in self.left_out:
            law_of(message)  # remembers what a deterministic site computed
            message["infer"]["_given"] = True
        elif message["name"] in self.rounded:
            message["fn"] = RoundingCell(law_of(message))


def scored_program(scm: SCM, scored: ScoredColumns) -> SCM:
    """Return the program whose likelihood is that of the scored columns, given the others.

    What is left out has no parents, so that its density is a factor of its own.
    """
    left_out = frozenset(scm.columns) - frozenset(scored.names)
    model = copy(scm)
    rounded = frozenset(name for name in scored.rounded if not is_discrete(scm.structure.laws[name]))
    model.program = _seen(scm.program, left_out, rounded)
    return model


def _seen(program: Program, left_out: Collection[str], rounded: Collection[str]) -> Callable[[int], Any]:
    @wraps(program)
    def seen(n: int) -> Any:
        with _Scored(left_out, rounded):
            return program(n)

    return seen
