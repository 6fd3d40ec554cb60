"""The log-probability of people under a program."""

from collections.abc import Collection

import pyro.distributions as dist
import torch
from pyro.poutine.messenger import Messenger
from pyro.poutine.util import site_is_subsample
from torch.distributions import Distribution

from causalaudit.scm.handlers import Message, is_person, law_of
from causalaudit.scm.noise.copula import Partner


class Score(Messenger):
    """Add up the log-probabilities of the variables of each person: of all, or of `names`; not of what is given.

    Two confounded variables have one log-probability together, and the second alone has that given the first.
    """

    def __init__(self, names: Collection[str] | None = None) -> None:
        super().__init__()
        self.names = names
        self.total: torch.Tensor = torch.zeros(())

    def _pyro_post_sample(self, message: Message) -> None:
        if not is_person(message) or site_is_subsample(message):
            return
        name, value, pair = message["name"], message["value"], message["infer"].get("_pair")
        wanted = self._wanted(name, message["infer"].get("_given"))
        if pair is None and wanted:
            self.total = self.total + log_probability(law_of(message), value)
        elif pair is not None and name == pair.second:
            self.total = self.total + self._of_pair(law_of(message), value, wanted, message["infer"]["_partner"])

    def _wanted(self, name: str, given: bool | None) -> bool:
        return (self.names is None or name in self.names) and not given

    def _of_pair(self, law: Distribution, value: torch.Tensor, wanted: bool, partner: Partner) -> torch.Tensor | float:
        partner_wanted = self._wanted(partner.name, partner.is_given)
        alone = log_probability(partner.law, partner.value) if wanted != partner_wanted else 0.0
        if not wanted:
            return alone
        return partner.log_probability(law, value) - alone


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
