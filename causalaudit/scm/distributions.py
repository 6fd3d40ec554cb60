"""Distributions that neither torch nor Pyro has: truncated, censored, and with a hurdle at zero."""

import math
from typing import Any

import torch
from pyro.distributions import TorchDistribution
from torch.distributions import Distribution, constraints
from torch.nn.functional import logsigmoid

from causalaudit.errors import ProgramError
from causalaudit.scm.noise.both_tails import Tails, both_tails, is_discrete
from causalaudit.scm.noise.inverses import beyond, quantile_of, within
from causalaudit.scm.noise.inverted import near
from causalaudit.scm.noise.log_tails import log_one_minus_exp, log_tails
from causalaudit.scm.noise.tails import from_tails, from_uniform

__all__ = ["Censored", "Hurdle", "Truncated"]

Limit = torch.Tensor | float


class _Limited(TorchDistribution):
    """A one-dimensional base with a lower and an upper limit, each for everybody or by person."""

    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}  # noqa: RUF012

    def __init__(self, base: Any, low: Limit = -torch.inf, high: Limit = torch.inf) -> None:
        if base.event_shape or is_discrete(base):
            raise ProgramError(f"{type(self).__name__} takes a continuous one-dimensional base, not {base}.")
        lowest, highest = torch.as_tensor(low), torch.as_tensor(high)
        shape = torch.broadcast_shapes(base.batch_shape, lowest.shape, highest.shape)
        self.base, self.low, self.high = base.expand(shape), lowest.expand(shape), highest.expand(shape)
        super().__init__(shape, validate_args=False)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "_Limited":
        return type(self)(self.base.expand(batch_shape), self.low.expand(batch_shape), self.high.expand(batch_shape))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    def _inside(self, value: torch.Tensor) -> torch.Tensor:
        """Return values at which the base has a density, so that no slope is undefined."""
        return torch.minimum(torch.maximum(value, self.low), self.high)


class Truncated(_Limited):
    """A continuous distribution, given that its value is between two limits.

    Parameters
    ----------
    base
        A distribution with a distribution function: Normal, LogNormal, Weibull, Exponential, Logistic, Laplace,
        Cauchy, Gumbel, or any other that has a `cdf`.
    low, high
        The limits, numbers or one for each person.

    Examples
    --------
    >>> import causalaudit as ca, pyro.distributions as dist
    >>> law = ca.distributions.Truncated(dist.Normal(0.0, 1.0), low=0.0)
    >>> round(float(law.log_prob(torch.tensor(1.0)).exp()), 3)  # twice that of the normal
    0.484
    """

    def sample(self, sample_shape: Any = ()) -> torch.Tensor:
        return _sampled(self, sample_shape)

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        density = self.base.log_prob(self._inside(value)) - _log_mass(self.base, self.low, self.high)
        return torch.where((value >= self.low) & (value <= self.high), density, -torch.inf)

    def both_tails(self, value: torch.Tensor) -> Tails:
        """Return P(X <= value) and P(X > value) for a value between the limits."""
        total = _log_mass(self.base, self.low, self.high)
        below, above = _log_mass(self.base, self.low, value), _log_mass(self.base, value, self.high)
        return (below - total).exp(), (above - total).exp()

    def quantile(self, signed: torch.Tensor) -> torch.Tensor:
        """Return the value at signed quantiles: those of the base between the tails that are cut off."""
        total = _log_mass(self.base, self.low, self.high).exp() * signed.abs()
        (below_low, above_low), (below_high, above_high) = (
            tuple(tail.exp() for tail in _log_tails_at(self.base, limit)) for limit in (self.low, self.high)
        )
        below = torch.where(signed > 0, below_low + total, below_high - total)
        above = torch.where(signed > 0, above_low - total, above_high + total)
        return self._inside(quantile_of(self.base, from_tails(below, above)))


class Censored(_Limited):
    """A continuous distribution of which values beyond two limits are recorded as the limit (Tobin 1958).

    A limit has the probability of what lies beyond it, values between the limits have the density of the base. For
    survival times, `high` is the time until which a person was followed: a person whose time equals it had no event.
    The noise is the quantile of the base: of who is at a limit it is known to lie beyond it, and is drawn there.

    Parameters
    ----------
    base
        As for `Truncated`.
    low, high
        The limits, numbers or one for each person.

    Examples
    --------
    >>> import causalaudit as ca, pyro.distributions as dist
    >>> tobit = ca.distributions.Censored(dist.Normal(0.0, 1.0), low=0.0)
    >>> round(float(tobit.log_prob(torch.tensor(0.0)).exp()), 3)
    0.5
    """

    has_atoms = True

    def sample(self, sample_shape: Any = ()) -> torch.Tensor:
        with torch.no_grad():
            return self._inside(self.base.sample(torch.Size(sample_shape)))

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        inside, between = (value > self.low) & (value < self.high), self._inside(value)
        density = torch.where(inside, self.base.log_prob(between), -torch.inf)
        below, _ = _log_tails_at(self.base, self.low)
        _, above = _log_tails_at(self.base, self.high)
        return torch.where(value == self.low, below, torch.where(value == self.high, above, density))

    def both_tails(self, value: torch.Tensor) -> Tails:
        """Return P(X <= value) and P(X > value) for a value between the limits."""
        return both_tails(self.base, value)

    def quantile(self, signed: torch.Tensor) -> torch.Tensor:
        """Return the value at signed quantiles."""
        return self._inside(quantile_of(self.base, signed))


class Hurdle(TorchDistribution):
    """Zero with a probability of its own, otherwise a positive value of another distribution (Cragg 1971).

    The base is a count, of which only the values above zero are taken, or has a positive continuous range.

    Parameters
    ----------
    base
        The distribution of what is not zero: Poisson, NegativeBinomial, LogNormal, Gamma, ...
    gate, gate_logits
        The probability of zero, or its log-odds.

    Examples
    --------
    >>> import causalaudit as ca, pyro.distributions as dist
    >>> visits = ca.distributions.Hurdle(dist.Poisson(2.0), gate=torch.tensor(0.6))
    >>> round(float(visits.log_prob(torch.tensor(0.0)).exp()), 3)
    0.6
    """

    arg_constraints = {"gate": constraints.unit_interval}  # noqa: RUF012

    def __init__(self, base: Any, *, gate: Any = None, gate_logits: Any = None) -> None:
        if (gate is None) == (gate_logits is None):
            raise ProgramError("A Hurdle takes either gate, the probability of zero, or gate_logits.")
        if base.event_shape or float(getattr(base.support, "lower_bound", -1.0)) != 0.0:
            raise ProgramError(f"The base of a Hurdle has one dimension and no negative values, but is {base}.")
        logits = torch.as_tensor(gate_logits if gate is None else torch.logit(torch.as_tensor(gate)))
        shape = torch.broadcast_shapes(base.batch_shape, logits.shape)
        self.base, self.gate_logits = base.expand(shape), logits.expand(shape)
        self.has_atoms = not is_discrete(base)
        super().__init__(shape, validate_args=False)

    @property
    def gate(self) -> torch.Tensor:
        return torch.sigmoid(self.gate_logits)

    def expand(self, batch_shape: Any, _instance: Any = None) -> "Hurdle":
        return Hurdle(self.base.expand(batch_shape), gate_logits=self.gate_logits.expand(batch_shape))

    @constraints.dependent_property(event_dim=0)
    def support(self) -> Any:
        return constraints.nonnegative if self.has_atoms else self.base.support

    @property
    def _log_positive(self) -> torch.Tensor | float:
        """The logarithm of the probability that the base is not zero."""
        return 0.0 if self.has_atoms else log_one_minus_exp(self.base.log_prob(torch.zeros(self.batch_shape)))

    def sample(self, sample_shape: Any = ()) -> torch.Tensor:
        return _sampled(self, sample_shape)

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        zero = value == 0
        positive = self.base.log_prob(torch.where(zero, 1.0, value)) - self._log_positive
        return torch.where(zero, logsigmoid(self.gate_logits), logsigmoid(-self.gate_logits) + positive)

    def both_tails(self, value: torch.Tensor) -> Tails:
        """Return P(X <= value) and P(X > value) for a value that is not negative."""
        above = both_tails(self.base, value)[1] * torch.sigmoid(-self.gate_logits)
        above = above / torch.as_tensor(self._log_positive).exp()
        first = both_tails(self.base, torch.zeros_like(value))[0]
        share = (both_tails(self.base, value)[0] - first) / torch.as_tensor(self._log_positive).exp()
        return self.gate + torch.sigmoid(-self.gate_logits) * share, above

    def quantile(self, signed: torch.Tensor) -> torch.Tensor:
        """Return the value at signed quantiles."""
        rest = torch.sigmoid(-self.gate_logits)
        if self.has_atoms:
            positive = quantile_of(self.base, beyond(signed, self.gate, rest))
            zero = torch.where(signed > 0, signed <= self.gate, -signed >= rest)
            return torch.where(zero, 0.0, positive)
        at_zero = both_tails(self.base, torch.zeros_like(signed))[0]
        signed_base = within(beyond(signed, self.gate, rest), at_zero, torch.as_tensor(self._log_positive).exp())
        return near(self, quantile_of(self.base, signed_base), signed)


def _sampled(law: Any, sample_shape: Any) -> torch.Tensor:
    """Draw values by their quantiles."""
    with torch.no_grad():
        uniform = torch.rand(law._extended_shape(torch.Size(sample_shape)))
        drawn: torch.Tensor = law.quantile(from_uniform(uniform.clamp(1e-16, 1 - 1e-16)))
        return drawn


def _log_tails_at(base: Distribution, limit: torch.Tensor) -> Tails:
    """Return the log-tails at a limit that may be infinite, where their slopes would be undefined."""
    finite = limit.isfinite()
    below, above = log_tails(base, torch.where(finite, limit, 1.0))
    return (
        torch.where(finite, below, torch.where(limit > 0, 0.0, -torch.inf)),
        torch.where(finite, above, torch.where(limit > 0, -torch.inf, 0.0)),
    )


def _log_mass(base: Distribution, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """Return log P(low < X <= high), by the tails that are small."""
    (below_low, above_low), (below_high, above_high) = _log_tails_at(base, low), _log_tails_at(base, high)
    return torch.where(
        below_low > math.log(0.5),
        above_low + log_one_minus_exp(above_high - above_low),
        below_high + log_one_minus_exp(below_low - below_high),
    )
