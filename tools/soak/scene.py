"""Few people, a program, its posterior and a result of each kind: what valid calls are made of, all of it tiny."""

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch

import causalaudit as ca
from causalaudit.bias_scan import evaluate_power
from causalaudit.recourse import audit_attributes

PEOPLE = 48
LEVELS = {"sex": ["m", "f"]}
EDGES = [("sex", "job"), ("skill", "job"), ("job", "good"), ("skill", "good"), ("sex", "wage"), ("job", "wage")]
COVARIATES = ["sex", "skill", "job"]


def program(n: int) -> None:
    """Four discrete variables and a number."""
    gap = pyro.sample("gap", dist.Normal(0.0, 1.0))
    spread = pyro.sample("spread", dist.HalfNormal(3.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        skill = pyro.sample("skill", dist.Binomial(2, torch.tensor(0.5)))
        job = pyro.sample("job", dist.Bernoulli(torch.sigmoid(gap * sex + skill - 1.0)))
        pyro.sample("good", dist.Bernoulli(torch.sigmoid(1.5 * job + skill - 1.5)))
        pyro.sample("wage", dist.Normal(20.0 + 2.0 * job - sex, spread))


def finite_program(n: int) -> None:
    """The same without the number."""
    gap = pyro.sample("gap", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        skill = pyro.sample("skill", dist.Binomial(2, torch.tensor(0.5)))
        job = pyro.sample("job", dist.Bernoulli(torch.sigmoid(gap * sex + skill - 1.0)))
        pyro.sample("good", dist.Bernoulli(torch.sigmoid(1.5 * job + skill - 1.5)))


def model_of_sites(cause: Any, effect: Any, parameter: Any = "gap") -> Any:
    """Return a model of two variables of which the names are given, fitted and asked."""

    def named(n: int) -> None:
        gap = pyro.sample(parameter, dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            first = pyro.sample(cause, dist.Bernoulli(0.5))
            pyro.sample(effect, dist.Normal(gap * first, 1.0))

    rng = np.random.default_rng(0)
    people = pd.DataFrame({cause: rng.integers(0, 2, 20), effect: rng.normal(size=20)})
    posterior = ca.fit(ca.SCM(named), people, "ml", draws=3, chains=1, progress=False)
    worlds = ca.counterfactuals(posterior, {cause: 1}, progress=False)
    worlds.to_inference_data()
    posterior.summary()
    return worlds


def rule(people: pd.DataFrame) -> Any:
    """Ask more of women."""
    return (people["skill"] >= 1 + (people["sex"] == "f")).astype(int)


def chance(people: pd.DataFrame) -> Any:
    """Give probabilities."""
    return (0.2 + 0.3 * people["skill"]).clip(0, 1).astype(float)


def make_people() -> pd.DataFrame:
    """Draw the people."""
    rng = np.random.default_rng(3)
    sex, skill = rng.integers(2, size=PEOPLE), rng.binomial(2, 0.5, size=PEOPLE)
    job = (rng.random(PEOPLE) < 1 / (1 + np.exp(-(skill - 1 - sex)))).astype(int)
    good = (rng.random(PEOPLE) < 1 / (1 + np.exp(-(1.5 * job + skill - 1.5)))).astype(int)
    table = pd.DataFrame({"sex": np.array(["m", "f"])[sex], "skill": skill, "job": job, "good": good})
    race = np.array(["Asian", "Black", "White"])[rng.integers(3, size=PEOPLE)]
    return table.assign(
        wage=20.0 + 2.0 * job - sex + rng.normal(size=PEOPLE),
        race=race,
        decided=np.where(rng.random(PEOPLE) < 0.8, rule(table), 1 - rule(table)),
        score=rng.uniform(0.05, 0.95, PEOPLE),
        weight=rng.uniform(0.5, 2.0, PEOPLE),
    )


@dataclass
class Scene:
    """What calls are made of; results are made when they are first needed, and warn of how few people there are."""

    people: pd.DataFrame = field(default_factory=make_people)

    @property
    def women(self) -> "pd.Series[bool]":
        """Who is protected."""
        return self.people["sex"] == "f"

    @property
    def graph(self) -> Any:
        """The diagram of the program."""
        return ca.diagram(EDGES)

    @cached_property
    def scm(self) -> ca.SCM:
        """The program."""
        return ca.SCM(program, levels=LEVELS)

    @cached_property
    def finite(self) -> ca.SCM:
        """The program without the number."""
        return ca.SCM(finite_program, levels=LEVELS)

    @cached_property
    def posterior(self) -> ca.Posterior:
        """A fit."""
        return ca.fit(self.scm, self.people, "laplace", draws=10, chains=2, progress=False)

    @cached_property
    def finite_posterior(self) -> ca.Posterior:
        """A fit of finite variables."""
        return ca.fit(self.finite, self.people, "laplace", draws=10, chains=2, progress=False)

    @cached_property
    def trusted(self) -> ca.Posterior:
        """A fit with as many draws as diagnostics ask for."""
        return ca.fit(self.finite, self.people, draws=500, chains=2, progress=False)

    @cached_property
    def worlds(self) -> ca.CounterfactualDraws:
        """What women would be as men."""
        return ca.counterfactuals(self.posterior, {"sex": "m"}, rows=self.women, progress=False)

    @cached_property
    def situation(self) -> Any:
        """A counterfactual situation test."""
        return ca.situation_testing(
            self.people, rule, {"sex": "f"}, features=["skill", "wage"], counterfactuals=self.worlds, k=[3, 5],
            progress=False,
        )  # fmt: skip

    @cached_property
    def by_race(self) -> Any:
        """A standard situation test."""
        return ca.situation_testing(self.people, rule, {"race": "Black"}, features=["skill"], k=3, progress=False)

    @cached_property
    def rates(self) -> Any:
        """Error rates of a posterior."""
        return ca.decompose_error_rates(
            self.finite_posterior, rule, {"sex": "f"}, outcome="good", features=["sex", "skill"], population="exact",
            progress=False,
        )  # fmt: skip

    @cached_property
    def estimate(self) -> Any:
        """Error rates of data."""
        return ca.estimate_error_rates(
            self.people, self.graph, rule, protected={"sex": "f"}, outcome="good", features=["sex", "skill"],
            method="ipw", progress=False,
        )  # fmt: skip

    @cached_property
    def recourse(self) -> Any:
        """An audit of recourse."""
        return ca.audit_recourse(self.people, rule, {"sex": "f"}, ["skill", "job"], support=0.1, progress=False)

    @cached_property
    def causal_recourse(self) -> Any:
        """An audit of causal recourse."""
        return ca.audit_recourse(
            self.people, rule, {"sex": "f"}, ["skill", "job"], support=0.1, posterior=self.finite_posterior, draws=4,
            progress=False,
        )  # fmt: skip

    @cached_property
    def several_recourse(self) -> Any:
        """Audits of two attributes."""
        return audit_attributes(
            self.people, rule, {"sex": "f", "race": "Black"}, ["skill", "job"], support=0.1, progress=False
        )

    @cached_property
    def scan(self) -> Any:
        """A bias scan."""
        return ca.scan_bias(
            self.people, {"sex": "f"}, "good", recommendation="decided", features=["skill", "job"], permutations=5,
            draws=20, scale="mean", propensity=self.logistic, expectation=self.logistic, progress=False,
        )  # fmt: skip

    @cached_property
    def logistic(self) -> Any:
        """A classifier that is fast."""
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression()

    @cached_property
    def power(self) -> Any:
        """An evaluation of scans."""
        covariates = pd.concat([self.people[["sex", "race", "job"]]] * 2, ignore_index=True)
        return evaluate_power(
            covariates, pd.DataFrame({"mu_sep": [0.0, 0.5]}), 1, protected={"sex": "f"}, progress=False
        )

    @cached_property
    def comparison(self) -> Any:
        """Two worlds."""
        other = self.trusted.with_coupling("independent")
        return ca.compare_worlds({"one": self.trusted, "two": other}, audit_of_cases, "equal", progress=False)

    @cached_property
    def sweep(self) -> Any:
        """A sweep over couplings."""
        return ca.coupling_sensitivity(self.finite_posterior, audit_of_cases, ["job"], [0.0, 1.0], threshold=3.0)

    @cached_property
    def fair(self) -> ca.FairClassifier:
        """A fair classifier."""
        graph = ca.diagram([*EDGES, ("sex", "good")])
        return ca.FairClassifier(graph, {"sex": "f"}, "good", eps_total=0.1).fit(
            self.people[COVARIATES], self.people["good"]
        )

    def prepare(self) -> "Scene":
        """Make everything, once; that few people are few is no news."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name in [name for name, value in vars(type(self)).items() if isinstance(value, cached_property)]:
                getattr(self, name)
        return self


def audit_of_rates(posterior: ca.Posterior) -> Any:
    """Audit in a world, at every draw."""
    return ca.decompose_error_rates(
        posterior, rule, {"sex": "f"}, outcome="good", features=["sex", "skill"], population="exact", progress=False
    )


def audit_of_cases(posterior: ca.Posterior) -> Any:
    """Audit in a world."""
    people = posterior.data
    worlds = ca.counterfactuals(posterior, {"sex": "m"}, rows=people["sex"] == "f", draws=10, progress=False)
    return ca.situation_testing(
        people, rule, {"sex": "f"}, features=["skill", "job"], counterfactuals=worlds, k=5, progress=False
    )
