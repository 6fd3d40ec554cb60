"""Random programs over all supported families, and people in their far tails."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch
from hypothesis import strategies as st
from pyro.poutine.messenger import Messenger

import causalaudit as ca
from causalaudit.models.standard_prediction import Xor
from causalaudit.scm.distributions import Censored, Hurdle, Truncated
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import is_person, law_of, run
from causalaudit.scm.noise.residual import Residual
from causalaudit.scm.noise.transformed import Transformed

Law = Callable[[torch.Tensor], dist.Distribution]


def _logits(eta: torch.Tensor) -> torch.Tensor:
    return torch.stack([eta, 0.5 - eta, 0.1 * eta, torch.zeros_like(eta)], -1)


def _mixture(parts: dist.Distribution, eta: torch.Tensor) -> dist.Distribution:
    return dist.MixtureSameFamily(dist.Categorical(logits=torch.stack([eta, torch.zeros_like(eta)], -1)), parts)


FAMILIES: dict[str, Law] = {
    "Normal": lambda eta: dist.Normal(eta, 0.5 + eta**2),
    "Laplace": lambda eta: dist.Laplace(eta, 1.5),
    "StudentT": lambda eta: dist.StudentT(3.0, eta, 2.0),
    "StudentT, df of parents": lambda eta: dist.StudentT(2.0 + eta.exp(), eta, 2.0),
    "Logistic": lambda eta: dist.Logistic(eta, torch.ones_like(eta)),
    "Cauchy": lambda eta: dist.Cauchy(eta, 1.0),
    "Gumbel": lambda eta: dist.Gumbel(eta, torch.ones_like(eta)),
    "Uniform": lambda eta: dist.Uniform(eta - 1.0, eta + 2.0),
    "HalfNormal": lambda eta: dist.HalfNormal(eta.exp()),
    "HalfCauchy": lambda eta: dist.HalfCauchy(eta.exp()),
    "Exponential": lambda eta: dist.Exponential(eta.exp()),
    "LogNormal": lambda eta: dist.LogNormal(eta, 0.7),
    "Weibull": lambda eta: dist.Weibull(eta.exp(), torch.full_like(eta, 1.5)),
    "Pareto": lambda eta: dist.Pareto(eta.exp(), torch.full_like(eta, 2.5)),
    "InverseGamma": lambda eta: dist.InverseGamma(2.0 + eta.exp(), torch.ones_like(eta)),
    "Gamma": lambda eta: dist.Gamma(0.3 + eta.exp(), 1.5),
    "Beta": lambda eta: dist.Beta(0.5 + eta.exp(), 2.0),
    "Bernoulli": lambda eta: dist.Bernoulli(logits=eta),
    "Bernoulli, extreme": lambda eta: dist.Bernoulli(logits=30.0 * torch.tanh(3.0 * eta)),
    "Bernoulli, probabilities": lambda eta: dist.Bernoulli(torch.sigmoid(eta)),
    "Binomial": lambda eta: dist.Binomial(9, logits=eta),
    "Poisson": lambda eta: dist.Poisson((2.0 + eta).exp()),
    "Geometric": lambda eta: dist.Geometric(torch.sigmoid(eta)),
    "NegativeBinomial": lambda eta: dist.NegativeBinomial(3.5, logits=eta),
    "OrderedLogistic": lambda eta: dist.OrderedLogistic(eta, torch.tensor([-1.0, 0.2, 1.5])),
    "Categorical": lambda eta: dist.Categorical(logits=_logits(eta)),
    "OneHotCategorical": lambda eta: dist.OneHotCategorical(logits=_logits(eta)),
    "GammaPoisson": lambda eta: dist.GammaPoisson(0.5 + eta.exp(), torch.full_like(eta, 0.4)),
    "BetaBinomial": lambda eta: dist.BetaBinomial(0.5 + eta.exp(), torch.full_like(eta, 2.0), 12),
    "ZeroInflatedPoisson": lambda eta: dist.ZeroInflatedPoisson((1.0 + eta).exp(), gate_logits=eta),
    "ZeroInflatedNegativeBinomial": lambda eta: dist.ZeroInflatedNegativeBinomial(
        torch.full_like(eta, 3.5), logits=eta, gate=torch.sigmoid(-eta)
    ),
    "Hurdle of a count": lambda eta: Hurdle(dist.NegativeBinomial(3.5, logits=eta), gate_logits=eta),
    "Mixture of counts": lambda eta: _mixture(dist.Poisson(torch.stack([eta.exp(), (2.0 + eta).exp()], -1)), eta),
    "Mixture": lambda eta: _mixture(dist.Normal(torch.stack([eta - 1.0, 1.0 - eta], -1), 0.8), eta),
    "Truncated": lambda eta: Truncated(dist.Normal(eta, 1.5), low=-1.0, high=eta + 2.0),
    "Truncated LogNormal": lambda eta: Truncated(dist.LogNormal(eta, 1.0), high=5.0),
    "Censored": lambda eta: Censored(dist.Normal(eta, 1.5), low=-1.0, high=2.0),
    "Censored Weibull": lambda eta: Censored(dist.Weibull(eta.exp(), torch.full_like(eta, 1.5)), high=1.0 + eta.exp()),
    "Hurdle": lambda eta: Hurdle(dist.LogNormal(eta, 0.7), gate_logits=eta),
    "SoftLaplace": lambda eta: dist.SoftLaplace(eta, torch.ones_like(eta)),
    "Normal of torch": lambda eta: torch.distributions.Normal(eta, 0.5 + eta**2),
    "Xor": lambda eta: dist.TransformedDistribution(
        dist.Bernoulli(torch.full_like(eta, 0.2)), [Xor((eta > 0).to(eta.dtype))]
    ),
}


@dataclass(frozen=True)
class Site:
    """A site of a random program: its family, an intercept, and coefficients of earlier sites."""

    family: str
    intercept: float
    coefficients: tuple[float, ...]


def _number(value: torch.Tensor, family: str) -> torch.Tensor:
    """Return a bounded number that a child can depend on."""
    if family == "OneHotCategorical":
        value = value @ torch.arange(4.0, dtype=value.dtype)
    return torch.tanh(value / 3.0)


@dataclass(frozen=True)
class RandomProgram:
    """A program whose sites are named a, b, c, ..."""

    sites: tuple[Site, ...]

    @property
    def names(self) -> list[str]:
        return ["abcdefgh"[position] for position in range(len(self.sites))]

    def __call__(self, n: int) -> None:
        values: list[torch.Tensor] = []
        with pyro.plate("individuals", n):
            for name, site in zip(self.names, self.sites, strict=True):
                eta = torch.full((n,), site.intercept)
                for coefficient, value in zip(site.coefficients, values, strict=True):
                    if coefficient:
                        eta = eta + coefficient * value
                values.append(_number(pyro.sample(name, FAMILIES[site.family](eta)), site.family))


@st.composite
def programs(draw: st.DrawFn, families: tuple[str, ...] = tuple(FAMILIES)) -> RandomProgram:
    """Random programs with two to four sites."""
    sites: list[Site] = []
    for position in range(draw(st.integers(2, 4))):
        coefficients = draw(st.tuples(*[st.sampled_from([0.0, -1.5, 0.7, 2.0])] * position))
        sites.append(Site(draw(st.sampled_from(families)), draw(st.sampled_from([-1.0, 0.0, 0.8])), coefficients))
    return RandomProgram(tuple(sites))


class _Tails(Messenger):
    """Give each site the values of chosen noises: some ordinary, some nine standard deviations out."""

    def __init__(self, scm: ca.SCM, rng: np.random.Generator) -> None:
        super().__init__()
        self.noises, self.dtypes, self.rng = scm.mechanisms().noises, scm.structure.dtypes, rng
        self.values: dict[str, torch.Tensor] = {}

    def _pyro_sample(self, message):
        if not is_person(message):
            return
        name, law = message["name"], law_of(message)
        noise = self.noises[name]
        n, width = len(self.rng.random(8)), noise.width(law)
        uniform = torch.from_numpy(self.rng.uniform(0.001, 0.999, (n,) if width is None else (n, width)))
        chosen = noise.fresh(law, uniform)
        if width is None:
            core = noise.base if isinstance(noise, Transformed) else noise
            if isinstance(law, Truncated | dist.SoftLaplace):
                pass  # at a limit, or with a cdf alone, a value does not tell how small its tail is
            elif not isinstance(core, Residual):  # signed quantiles: 9 sigma on either side
                chosen[:2] = torch.tensor([1e-19, -1e-19])
            elif not isinstance(law, dist.Uniform | dist.HalfNormal | dist.HalfCauchy | dist.Exponential) and not (
                isinstance(noise, Transformed)
            ):
                far = 1e6 if isinstance(law, dist.StudentT | dist.Cauchy) else 9.0
                chosen[:2] = (
                    torch.tensor([-far, far]) if not isinstance(law, dist.Gumbel) else torch.tensor([-3.0, far])
                )
        value = noise.push(law, chosen)
        message["value"] = value if self.dtypes[name].is_floating_point else value.to(self.dtypes[name])
        self.values[name] = message["value"]


def people_in_the_tails(scm: ca.SCM, seed: int) -> pd.DataFrame:
    """Return eight people of a program, two of them far out in every variable."""
    tails = _Tails(scm, np.random.default_rng(seed))
    with numerics(), torch.no_grad():
        run(scm.program, 8, tails)
    return pd.DataFrame({name: scm.codec.numbers(name, value) for name, value in tails.values.items()})
