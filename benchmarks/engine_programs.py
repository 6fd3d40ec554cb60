"""The programs of the benchmark of the engine, each with the people whom it gives; their twins are in `peers`.

Normal and logistic sites, so that no two rows are equal and nothing is saved by counting them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch

import causalaudit as ca

PARENTS = 3


def five(n: int) -> None:
    """Five parameters in a Normal and a logistic site."""
    a, b, c, d = (pyro.sample(name, dist.Normal(0.0, 2.0)) for name in "abcd")
    spread = pyro.sample("spread", dist.HalfNormal(2.0))
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        x = pyro.sample("x", dist.Normal(a + b * group, spread))
        pyro.sample("y", dist.Bernoulli(logits=c + d * x))


def latent(n: int) -> None:
    """Six parameters, and a continuous latent that enters both sites."""
    a, b, c, d = (pyro.sample(name, dist.Normal(0.0, 2.0)) for name in "abcd")
    loading, spread = pyro.sample("loading", dist.Normal(0.0, 2.0)), pyro.sample("spread", dist.HalfNormal(2.0))
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.5))
        u = pyro.sample("u", dist.Normal(0.0, 1.0))
        pyro.sample("x", dist.Normal(a + b * group + loading * u, spread))
        pyro.sample("y", dist.Bernoulli(logits=c + d * group + u))


def network(sites: int) -> Callable[[int], None]:
    """Normal sites, each with a level, three slopes on those before it, and a spread."""

    def program(n: int) -> None:
        parameters = [
            (
                pyro.sample(f"level{site}", dist.Normal(0.0, 2.0)),
                [pyro.sample(f"tilt{site}_{back}", dist.Normal(0.0, 1.0)) for back in range(1, PARENTS + 1)],
                pyro.sample(f"spread{site}", dist.HalfNormal(2.0)),
            )
            for site in range(sites)
        ]
        with pyro.plate("individuals", n):
            before = [pyro.sample(f"root{number}", dist.Normal(0.0, 1.0)) for number in range(PARENTS)]
            for site, (level, slopes, spread) in enumerate(parameters):
                mean = level + sum(slope * before[-back] for back, slope in enumerate(slopes, start=1))
                before.append(pyro.sample(f"x{site}", dist.Normal(mean, spread)))

    return program


def regression(coefficients: int) -> Callable[[int], None]:
    """A logistic regression on a level and columns that are known: all its parameters in one component."""

    def program(n: int) -> None:
        level = pyro.sample("level", dist.Normal(0.0, 2.0))
        slopes = [pyro.sample(f"tilt{column}", dist.Normal(0.0, 1.0)) for column in range(coefficients - 1)]
        with pyro.plate("individuals", n):
            columns = [pyro.sample(f"x{column}", dist.Normal(0.0, 1.0)) for column in range(coefficients - 1)]
            score = level + sum(slope * column for slope, column in zip(slopes, columns, strict=True))
            pyro.sample("y", dist.Bernoulli(logits=score))

    return program


def mixed(n: int) -> None:
    """Seventy parameters in eleven sites of five kinds, five of which share a continuous latent."""
    normal, half = dist.Normal(0.0, 1.0), dist.HalfNormal(1.0)

    def terms(site: str, names: tuple[str, ...]) -> dict[str, torch.Tensor]:
        return {name: pyro.sample(f"{site}_{name}", normal) for name in names}

    background = ("female", "foreign", "age")
    weights = {
        "schooling": terms("schooling", ("level", *background)),
        "grade": terms("grade", (*background, "schooling")),
        "smoker": terms("smoker", ("level", *background, "schooling")),
        "children": terms("children", ("level", *background, "schooling")),
        "visits": terms("visits", ("level", *background, "smoker")),
        "income": terms("income", ("level", *background, "schooling", "children")),
        "hours": terms("hours", ("level", *background, "schooling", "children")),
        "debt": terms("debt", ("level", *background, "income", "children")),
        "score": terms("score", ("level", *background, "schooling", "income", "debt", "hours", "smoker")),
        "approved": terms("approved", ("level", *background, "schooling", "income", "debt", "hours", "score")),
    }
    loading = {name: pyro.sample(f"loading_{name}", half) for name in ("schooling", "income", "score", "visits")}
    spread = {name: pyro.sample(f"spread_{name}", half) for name in ("schooling", "income", "hours", "debt", "score")}
    first, gap = pyro.sample("cut", dist.Normal(0.0, 1.0)), pyro.sample("gap", dist.HalfNormal(1.0))
    with pyro.plate("individuals", n):
        at = {"level": torch.ones(())}
        at["female"] = pyro.sample("female", dist.Bernoulli(0.5))
        at["foreign"] = pyro.sample("foreign", dist.Bernoulli(0.2))
        at["age"] = pyro.sample("age", dist.Normal(0.0, 1.0))
        ability = pyro.sample("ability", dist.Normal(0.0, 1.0))

        def mean(site: str) -> torch.Tensor:
            total = sum(weight * at[name] for name, weight in weights[site].items())
            return total + loading[site] * ability if site in loading else total

        at["schooling"] = pyro.sample("schooling", dist.Normal(mean("schooling"), spread["schooling"]))
        cuts = torch.stack([first, first + gap], dim=-1)
        pyro.sample("grade", dist.OrderedLogistic(mean("grade") + ability, cuts))
        at["smoker"] = pyro.sample("smoker", dist.Bernoulli(logits=mean("smoker")))
        at["children"] = pyro.sample("children", dist.Poisson(mean("children").exp()))
        pyro.sample("visits", dist.Poisson(mean("visits").exp()))
        income = pyro.sample("income", dist.LogNormal(mean("income"), spread["income"]))
        at["income"] = income.log()
        at["hours"] = pyro.sample("hours", dist.Normal(mean("hours"), spread["hours"]))
        debt = pyro.sample("debt", dist.LogNormal(mean("debt"), spread["debt"]))
        at["debt"] = debt.log()
        at["score"] = pyro.sample("score", dist.Normal(mean("score"), spread["score"]))
        pyro.sample("approved", dist.Bernoulli(logits=mean("approved")))


@dataclass(frozen=True)
class Case:
    """A program with people whom it gives, and what is asked of the engine.

    Attributes
    ----------
    program
        The program, by the name that its twin for NumPyro has.
    people, latents
        How many there are, and which variables nobody observed.
    most_seconds, most_gigabytes
        The targets, None where there are none.
    peer
        Warm-up and draws of NumPyro's chain; None where that takes too long.
    """

    program: str
    people: int
    latents: tuple[str, ...] = ()
    most_seconds: float | None = None
    most_gigabytes: float | None = None
    peer: tuple[int, int] | None = (300, 300)

    def scm(self) -> ca.SCM:
        """Return the program as an SCM."""
        return ca.SCM(PROGRAMS[self.program], latents=list(self.latents), name=self.program)

    def table(self) -> pd.DataFrame:
        """Draw the people at parameters that are near zero, spreads near one half."""
        scm, rng = self.scm(), np.random.default_rng(0)
        truth = {name: torch.tensor(_true_value(name, rng), dtype=torch.float64) for name in scm.parameters}
        names = [name for name in scm.variables if name not in self.latents]
        with torch.random.fork_rng(), pyro.poutine.trace() as traced, pyro.poutine.condition(data=truth):
            torch.manual_seed(0)
            PROGRAMS[self.program](self.people)
        values = {name: traced.trace.nodes[name]["value"].double().numpy() for name in names}
        return pd.DataFrame({name: value.astype(int) if name in _COUNTS else value for name, value in values.items()})


def _true_value(name: str, rng: np.random.Generator) -> float:
    return 0.5 + 0.2 * rng.random() if name.startswith(_POSITIVE) else 0.2 * rng.standard_normal()


PROGRAMS: dict[str, Callable[[int], None]] = {
    "five": five,
    "latent": latent,
    "network50": network(10),
    "network100": network(20),
    "regression50": regression(50),
    "regression100": regression(100),
    "mixed": mixed,
}
_COUNTS = ("group", "y", "female", "foreign", "smoker", "children", "visits", "grade", "approved")
_POSITIVE = ("spread", "gap", "loading")
