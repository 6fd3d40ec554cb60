"""The log-probability of people under a program."""

from collections.abc import Collection

import pyro.distributions as dist
import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch.distributions import Distribution

from causalaudit.scm.handlers import Message, is_person, law_of


class Score(Messenger):
    """Add up the log-probabilities of the variables of each person: of all, or of `names`; not of what is given.

    Two confounded variables have one log-probability together, and the second alone has that given the first.
    """

    def __init__(self, names: Collection[str] | None = None) -> None:
        super().__init__()
        self.names = names
        self.total: torch.Tensor = torch.zeros(())

    def _pyro_post_sample(self, message: Message) -> None:
        wanted = self.names is None or message["name"] in self.names
        wanted = wanted and not message["infer"].get("_given")
        if wanted and is_person(message) and not site_is_subsample(message):
            self.total = self.total + self._of(message)

    def _of(self, message: Message) -> torch.Tensor | float:
        law, value, pair = law_of(message), message["value"], message["infer"].get("_pair")
        if pair is None:
            return log_probability(law, value)
        if message["name"] == pair.first:
            together = self.names is None or pair.second in self.names
            return 0.0 if together else log_probability(law, value)
        partner = message["infer"]["_partner"]
        both = partner.log_probability(law, value)
        together = self.names is None or pair.first in self.names
        return both if together else both - log_probability(partner.law, partner.value)


def log_probability(law: Distribution, value: torch.Tensor) -> torch.Tensor:
    """Return log p(value); a computed value must agree to rounding."""
    if isinstance(law, dist.Delta):
        computed = law.v.double()
        close = (value.double() - computed).abs() <= 1e-9 * computed.abs().clamp(min=1.0)
        return torch.where(close, 0.0, -torch.inf)
    density: torch.Tensor = law.log_prob(value)
    if isinstance(law, torch.distributions.TransformedDistribution):
        # Without validation an inverse may go beyond the base: a Pareto would have a density below its scale.
        return torch.where(law.support.check(value), density, -torch.inf)
    return density
