"""Small programs and tables whose posteriors are hard: several modes, funnels, flat directions, heavy tails, units.

Each has a table of people drawn once, and quantities whose posterior mean and spread are in `hard_posteriors.json`,
with how they were obtained. No sampler of ours was used for these.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch

import causalaudit as ca

REFERENCE = json.loads((Path(__file__).parent / "hard_posteriors.json").read_text())
HARD = {}


def several(name, law, count):
    """A parameter with several entries."""
    return pyro.sample(name, law.expand([count]).to_event(1))


def parameter(name, law):
    """A parameter."""
    return pyro.sample(name, law)


def people(n):
    """The plate of people."""
    return pyro.plate("individuals", n)


def sees(name, law):
    """A variable of a person."""
    return pyro.sample(name, law)


@dataclass(frozen=True)
class Hard:
    """A program, its people, and what is asked about its posterior.

    Attributes
    ----------
    program, data
        What is fitted.
    folded
        Quantities that copies of a mode share: functions of the parameters' draws.
    options
        Of the SCM.

    Entries of a parameter whose moments do not exist have no reference.
    """

    program: object
    data: pd.DataFrame
    folded: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)

    def quantities(self, draws):
        """Each entry of each parameter, and the folded quantities, by name: arrays by draw."""
        entries = {
            name if value.ndim == 1 else f"{name}[{','.join(map(str, at))}]": value[(slice(None), *at)]
            for name, value in draws.items()
            for at in np.ndindex(value.shape[1:])
        }
        return entries | {name: function(draws) for name, function in self.folded.items()}

    def fit(self, draws=1000, seed=0, **options):
        """The answer of `auto`."""
        return ca.fit(
            ca.SCM(self.program, **self.options), self.data, draws=draws, seed=seed, progress=False, **options
        )


def hard(data, folded=None, **options):
    """Register a program under its name."""

    def register(program):
        HARD[program.__name__] = Hard(program, data, folded or {}, options)
        return program

    return register


def _rng(seed):
    return np.random.default_rng(seed)


def _table(seed, n, **columns):
    """Columns made from generators of their own, in order: functions of it and of the columns before."""
    rng, made = _rng(seed), {}
    for name, make in columns.items():
        made[name] = make(rng, made, n)
    return pd.DataFrame(made).round(6)


def _normal_x(rng, made, n):
    return rng.normal(size=n)


# Several modes


@hard(_table(1, 30, y=lambda r, c, n: r.normal(1.5**2, 1, n)), {"abs(t)": lambda d: np.abs(d["t"])})
def square(n):
    t = parameter("t", dist.Normal(0.0, 2.0))
    with people(n):
        sees("y", dist.Normal(t**2, 1.0))


@hard(
    _table(2, 40, x=_normal_x, y=lambda r, c, n: r.normal(0.8 * c["x"], 1)),
    {"a*b": lambda d: d["a"] * d["b"], "abs(a)": lambda d: np.abs(d["a"])},
)
def product(n):
    a, b = parameter("a", dist.Normal(0.0, 1.0)), parameter("b", dist.Normal(0.0, 1.0))
    with people(n):
        x = sees("x", dist.Normal(0.0, 1.0))
        sees("y", dist.Normal(a * b * x, 1.0))


@hard(
    _table(3, 60, x=_normal_x, k=lambda r, c, n: r.random(n) < 0.4,
           y=lambda r, c, n: np.where(c["k"], 2 + c["x"], -1 - 0.5 * c["x"]) + 0.4 * r.normal(size=n)),
    {"max(a)": lambda d: d["a"].max(-1), "min(a)": lambda d: d["a"].min(-1)},
)  # fmt: skip
def two_lines(n):
    a, b = several("a", dist.Normal(0.0, 3.0), 2), several("b", dist.Normal(0.0, 3.0), 2)
    w, s = parameter("w", dist.Beta(2.0, 2.0)), parameter("s", dist.HalfNormal(1.0))
    with people(n):
        x = sees("x", dist.Normal(0.0, 1.0))
        shares = dist.Categorical(torch.stack([w, 1 - w]).expand(n, 2))
        sees("y", dist.MixtureSameFamily(shares, dist.Normal(a + b * x[:, None], s)))


@hard(_table(4, 40, x=lambda r, c, n: r.uniform(0, 5, n), y=lambda r, c, n: r.normal(np.sin(3.3 * c["x"]), 0.5)))
def sine(n):
    f, s = parameter("f", dist.Normal(0.0, 4.0)), parameter("s", dist.HalfNormal(1.0))
    with people(n):
        x = sees("x", dist.Uniform(0.0, 5.0))
        sees("y", dist.Normal(torch.sin(f * x), s))


@hard(
    _table(5, 30, x=lambda r, c, n: r.uniform(0, 5, n), y=lambda r, c, n: r.normal(np.cos(2.0 * c["x"]), 0.7)),
    {"abs(f)": lambda d: np.abs(d["f"])},
)
def cosine(n):
    f = parameter("f", dist.Normal(0.0, 4.0))
    with people(n):
        x = sees("x", dist.Uniform(0.0, 5.0))
        sees("y", dist.Normal(torch.cos(f * x), 0.7))


@hard(_table(6, 20, y=lambda r, c, n: r.normal(0.3, 2, n)))
def cubic(n):
    t = parameter("t", dist.Normal(0.0, 2.0))
    with people(n):
        sees("y", dist.Normal(t**3 - 3 * t, 2.0))


@hard(
    _table(7, 50, y=lambda r, c, n: r.choice([-3.0, 0.5, 4.0], n, p=[0.3, 0.4, 0.3]) + r.normal(size=n)),
    {"max(m)": lambda d: d["m"].max(-1), "min(m)": lambda d: d["m"].min(-1)},
)
def exchangeable_mixture(n):
    m, w = several("m", dist.Normal(0.0, 5.0), 3), parameter("w", dist.Dirichlet(2.0 * torch.ones(3)))
    with people(n):
        sees("y", dist.MixtureSameFamily(dist.Categorical(w.expand(n, 3)), dist.Normal(m.expand(n, 3), 1.0)))


@hard(pd.DataFrame({"y": [-5.0, -4.6, -4.9, 5.2, 6.0, 5.5]}))
def cauchy_conflict(n):
    m = parameter("m", dist.Normal(0.0, 10.0))
    with people(n):
        sees("y", dist.Cauchy(m, 0.7))


@hard(_table(8, 12, y=lambda r, c, n: np.where(r.random(n) < 0.3, r.normal(8, 0.3, n), r.normal(0, 3, n))))
def narrow_beside_wide(n):
    """A location under which a part of the people is clustered; a second, lower mode far away."""
    m = parameter("m", dist.Normal(0.0, 5.0))
    with people(n):
        shares = dist.Categorical(torch.tensor([0.3, 0.7]).expand(n, 2))
        scales = torch.tensor([0.3, 3.0])
        sees("y", dist.MixtureSameFamily(shares, dist.Normal(torch.stack([m, 0.0 * m]).expand(n, 2), scales)))


def _loadings(rng, made, n):
    made["u"] = rng.normal(size=n)
    return 0.9 * made["u"] + 0.5 * rng.normal(size=n)


@hard(
    _table(9, 40, y0=_loadings, y1=lambda r, c, n: 0.7 * c["u"] + 0.5 * r.normal(size=n),
           y2=lambda r, c, n: -0.8 * c["u"] + 0.5 * r.normal(size=n)).drop(columns="u"),
    {"abs(load[0])": lambda d: np.abs(d["load"][:, 0])}, latents=["u"],
)  # fmt: skip
def factor_with_free_signs(n):
    load, s = several("load", dist.Normal(0.0, 1.0), 3), several("s", dist.HalfNormal(1.0), 3)
    with people(n):
        u = sees("u", dist.Normal(0.0, 1.0))
        for at in range(3):
            sees(f"y{at}", dist.Normal(load[at] * u, s[at]))


# Funnels and shrinkage


@hard(pd.DataFrame({"x": [0.1, -0.2]}))
def funnel(n):
    v = parameter("v", dist.Normal(0.0, 3.0))
    z = parameter("z", dist.Normal(0.0, torch.exp(v / 2)))
    with people(n):
        sees("x", dist.Normal(z, 20.0))


SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def _schools(n, effects):
    with people(n):
        g = sees("g", dist.Categorical(torch.ones(8)))
        errors = torch.tensor(ERRORS)
        sees("y", dist.Normal(effects[..., g.long()], errors[g.long()]))


@hard(pd.DataFrame({"g": range(8), "y": SCHOOLS}))
def schools_centred(n):
    mu, tau = parameter("mu", dist.Normal(0.0, 5.0)), parameter("tau", dist.HalfCauchy(5.0))
    _schools(n, several("effects", dist.Normal(mu, tau), 8))


@hard(pd.DataFrame({"g": range(8), "y": SCHOOLS}))
def schools_standardised(n):
    mu, tau = parameter("mu", dist.Normal(0.0, 5.0)), parameter("tau", dist.HalfCauchy(5.0))
    _schools(n, mu + tau * several("raw", dist.Normal(0.0, 1.0), 8))


X_HORSESHOE = _rng(10).normal(size=(40, 6))


@hard(pd.DataFrame(X_HORSESHOE, columns=[f"x{at}" for at in range(6)]).round(6).assign(
    y=np.round(X_HORSESHOE[:, 0] * 1.5 + _rng(11).normal(size=40), 6)))  # fmt: skip
def horseshoe(n):
    tau, local = parameter("tau", dist.HalfCauchy(0.3)), several("local", dist.HalfCauchy(1.0), 6)
    raw = several("raw", dist.Normal(0.0, 1.0), 6)
    with people(n):
        xs = [sees(f"x{at}", dist.Normal(0.0, 1.0)) for at in range(6)]
        sees("y", dist.Normal(sum(raw[at] * local[at] * tau * xs[at] for at in range(6)), 1.0))


# Separation and zeros


@hard(pd.DataFrame({"x": [-2.0, -1.5, -1.0, -0.5, 0.4, 0.9, 1.4, 2.2], "y": [0, 0, 0, 0, 1, 1, 1, 1]}))
def separated(n):
    a, b = parameter("a", dist.Normal(0.0, 10.0)), parameter("b", dist.Normal(0.0, 10.0))
    with people(n):
        x = sees("x", dist.Normal(0.0, 1.0))
        sees("y", dist.Bernoulli(logits=a + b * x))


@hard(pd.DataFrame({"x": [0, 0, 0, 0, 0, 1, 1, 1, 1, 1], "y": [0, 1, 0, 1, 0, 1, 1, 1, 1, 1]}))
def half_separated(n):
    a, b = parameter("a", dist.StudentT(4.0, 0.0, 2.5)), parameter("b", dist.StudentT(4.0, 0.0, 2.5))
    with people(n):
        x = sees("x", dist.Bernoulli(0.5))
        sees("y", dist.Bernoulli(logits=a + b * x))


@hard(pd.DataFrame({"x": [0] * 8 + [1] * 8, "y": [3, 1, 2, 4, 2, 3, 1, 2] + [0] * 8}))
def no_counts(n):
    a, b = parameter("a", dist.Normal(0.0, 3.0)), parameter("b", dist.Normal(0.0, 5.0))
    with people(n):
        x = sees("x", dist.Bernoulli(0.5))
        sees("y", dist.Poisson(torch.exp(a + b * x)))


@hard(pd.DataFrame({"y": [0] * 25}))
def never(n):
    p = parameter("p", dist.Beta(0.5, 0.5))
    with people(n):
        sees("y", dist.Bernoulli(p))


# Heavy tails


@hard(_table(12, 25, y=lambda r, c, n: 1 + r.standard_t(2, n)))
def student(n):
    m, s = parameter("m", dist.Normal(0.0, 5.0)), parameter("s", dist.HalfNormal(3.0))
    nu = parameter("nu", dist.Gamma(2.0, 0.1))
    with people(n):
        sees("y", dist.StudentT(nu, m, s))


@hard(pd.DataFrame({"y": [0.5, -1.0]}), {"log(s)": lambda d: np.log(d["s"])})
def scale_of_two(n):
    s = parameter("s", dist.HalfNormal(10.0))
    with people(n):
        sees("y", dist.Normal(0.0, s))


@hard(pd.DataFrame({"y": [12.0]}))
def heavy_prior(n):
    m = parameter("m", dist.StudentT(5.0, 0.0, 2.0))
    with people(n):
        sees("y", dist.StudentT(5.0, m, 2.0))


@hard(_table(13, 15, x=_normal_x, y=lambda r, c, n: 1 + c["x"] + r.laplace(0, 1, n)))
def laplace_noise(n):
    a, b, s = (parameter("a", dist.Normal(0.0, 5.0)), parameter("b", dist.Normal(0.0, 5.0)),
               parameter("s", dist.HalfNormal(2.0)))  # fmt: skip
    with people(n):
        x = sees("x", dist.Normal(0.0, 1.0))
        sees("y", dist.Laplace(a + b * x, s))


# Units


@hard(_table(14, 40, salary=lambda r, c, n: r.normal(52_000, 9_000, n)))
def dollars(n):
    m, s = parameter("m", dist.Normal(0.0, 100_000.0)), parameter("s", dist.HalfNormal(100_000.0))
    with people(n):
        sees("salary", dist.Normal(m, s))


_POISSON = {
    "salary": lambda r, c, n: r.normal(52_000, 9_000, n).round(),
    "y": lambda r, c, n: r.poisson(np.exp(-2 + 5e-5 * c["salary"])),
}


@hard(_table(15, 40, **_POISSON), {"1e5*b": lambda d: 1e5 * d["b"]})
def counts_by_dollars(n):
    a, b = parameter("a", dist.Normal(0.0, 10.0)), parameter("b", dist.Normal(0.0, 1.0))
    with people(n):
        salary = sees("salary", dist.Normal(50_000.0, 10_000.0))
        sees("y", dist.Poisson(torch.exp(a + b * salary)))


@hard(
    _table(16, 60, salary=lambda r, c, n: r.normal(52_000, 9_000, n).round(),
           y=lambda r, c, n: (r.random(n) < 1 / (1 + np.exp(-(c["salary"] - 50_000) / 6_000))).astype(int)),
    {"1e5*b": lambda d: 1e5 * d["b"]},
)  # fmt: skip
def odds_by_dollars(n):
    a, b = parameter("a", dist.Normal(0.0, 100.0)), parameter("b", dist.Normal(0.0, 1.0))
    with people(n):
        salary = sees("salary", dist.Normal(50_000.0, 10_000.0))
        sees("y", dist.Bernoulli(logits=a + b * salary))


@hard(_table(17, 30, x=lambda r, c, n: 1e6 * r.normal(size=n), y=lambda r, c, n: 3e-6 * c["x"] + r.normal(size=n)),
      {"1e6*b": lambda d: 1e6 * d["b"]})  # fmt: skip
def millions(n):
    b, s = parameter("b", dist.Normal(0.0, 10.0)), parameter("s", dist.HalfNormal(100.0))
    with people(n):
        x = sees("x", dist.Normal(0.0, 1e6))
        sees("y", dist.Normal(b * x, s))


# Trade-offs

COMMON = _rng(18).normal(size=(60, 1))
X_CORRELATED = np.round(COMMON + 0.1 * _rng(19).normal(size=(60, 50)), 6)
_Y = np.round(X_CORRELATED @ np.linspace(-1, 1, 50) + _rng(20).normal(size=60), 6)


@hard(pd.DataFrame(X_CORRELATED, columns=[f"x{at}" for at in range(50)]).assign(y=_Y))
def fifty_correlated(n):
    b = several("b", dist.Normal(0.0, 1.0), 50)
    with people(n):
        xs = [sees(f"x{at}", dist.Normal(0.0, 1.0)) for at in range(50)]
        sees("y", dist.Normal((torch.stack(xs, -1) * b).sum(-1), 1.0))


@hard(_table(21, 20, y=lambda r, c, n: r.normal(1.0, 1.0, n)), {"a+b": lambda d: d["a"] + d["b"]})
def only_the_sum(n):
    a, b = parameter("a", dist.Normal(0.0, 100.0)), parameter("b", dist.Normal(0.0, 100.0))
    with people(n):
        sees("y", dist.Normal(a + b, 1.0))


@hard(_table(22, 10, y=lambda r, c, n: r.normal(1.0, 1.0, n)))
def banana(n):
    a, b = parameter("a", dist.Normal(0.0, 2.0)), parameter("b", dist.Normal(0.0, 1.0))
    with people(n):
        sees("y", dist.Normal(a + b**2, 1.0))


@hard(_table(23, 40, x=lambda r, c, n: np.sort(r.uniform(0, 10, n)),
             y=lambda r, c, n: r.normal(np.where(c["x"] > 6, 2.0, 0.0), 1)))  # fmt: skip
def change_point(n):
    c = parameter("c", dist.Uniform(0.0, 10.0))
    m = several("m", dist.Normal(0.0, 3.0), 2)
    with people(n):
        x = sees("x", dist.Uniform(0.0, 10.0))
        sees("y", dist.Normal(torch.where(x > c, m[..., 1], m[..., 0]), 1.0))


_PAIRS = _rng(24).multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 8).round(6)


@hard(pd.DataFrame(_PAIRS, columns=["y0", "y1"]), {"rho": lambda d: d["root"][:, 1, 0]})
def few_correlated_pairs(n):
    root = parameter("root", dist.LKJCholesky(2, torch.tensor(1.5)))
    s = several("s", dist.HalfNormal(2.0), 2)
    with people(n):
        y0 = sees("y0", dist.Normal(0.0, s[..., 0]))
        sees("y1", dist.Normal(s[..., 1] * root[..., 1, 0] * y0 / s[..., 0], s[..., 1] * root[..., 1, 1]))
