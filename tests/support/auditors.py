"""Every auditor with a question that it can answer, parts of which can be replaced."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch

import causalaudit as ca

PEOPLE = 400


def program(n):
    gap = pyro.sample("gap", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        skill = pyro.sample("skill", dist.Binomial(2, torch.tensor(0.5)))
        job = pyro.sample("job", dist.Bernoulli(torch.sigmoid(gap * sex + skill - 1.0)))
        pyro.sample("good", dist.Bernoulli(torch.sigmoid(1.5 * job + skill - 1.5)))


GRAPH = ca.diagram([("sex", "job"), ("skill", "job"), ("job", "good"), ("skill", "good")])


def make_people():
    rng = np.random.default_rng(3)
    sex = rng.integers(2, size=PEOPLE)
    skill = rng.binomial(2, 0.5, size=PEOPLE)
    job = (rng.random(PEOPLE) < 1 / (1 + np.exp(-(skill - 1 - sex)))).astype(int)
    good = (rng.random(PEOPLE) < 1 / (1 + np.exp(-(1.5 * job + skill - 1.5)))).astype(int)
    table = pd.DataFrame({"sex": np.array(["m", "f"])[sex], "skill": skill, "job": job, "good": good})
    return table.assign(
        race=np.array(["Asian", "Black", "White"])[rng.integers(3, size=PEOPLE)],
        rank=np.where(rng.random(PEOPLE) < 0.8, rule(table), 1 - rule(table)),
        hole=np.nan,
    )


def fit_posterior(people):
    return ca.fit(ca.SCM(program, levels={"sex": ["m", "f"]}), people, draws=25, chains=2, seed=0, progress=False)


def rule(people):
    """Ask more of women."""
    return (people.skill >= 1 + (people.sex == "f")).astype(int)


class Asked:
    """An auditor with a question that it can answer; a part of which is replaced."""

    arguments: frozenset[str]
    bare = False
    takes_probabilities = False

    def __init__(self, people, posterior):
        self.people, self.posterior = people, posterior

    def __repr__(self):
        return type(self).__name__


class SituationTesting(Asked):
    arguments = frozenset({"data", "protected", "features", "decision", "alpha", "prob", "seed"})

    def __call__(self, data=None, decision=rule, protected=None, features=("skill", "job"), **more):
        data = self.people if data is None else data
        return ca.situation_testing(data, decision, protected or {"sex": "f"}, features=features, k=5, **more)


class Decompose(Asked):
    arguments = frozenset({"protected", "features", "decision", "prob", "draws", "seed"})
    bare = takes_probabilities = True

    def __call__(self, decision=rule, protected=None, features=("sex", "skill"), **more):
        return ca.decompose_error_rates(
            self.posterior, decision, protected or {"sex": "f"}, outcome="good", features=features, population="exact",
            progress=False, **more,
        )  # fmt: skip


class Estimate(Asked):
    arguments = frozenset({"data", "protected", "features", "decision", "alpha", "seed"})
    bare = takes_probabilities = True

    def __call__(self, data=None, decision=rule, protected=None, features=("sex", "skill"), **more):
        data = self.people if data is None else data
        return ca.estimate_error_rates(
            data, GRAPH, decision, protected=protected or {"sex": "f"}, outcome="good", features=features, **more
        )


class Recourse(Asked):
    arguments = frozenset({"data", "protected", "features", "decision", "alpha", "prob", "draws", "seed"})
    bare = True

    def __call__(self, data=None, decision=rule, protected=None, features=("skill", "job"), **more):
        data = self.people if data is None else data
        causal = {"posterior": self.posterior} if "draws" in more else {}
        return ca.audit_recourse(
            data, decision, protected or {"sex": "f"}, features=features, support=0.02, progress=False, **causal, **more
        )


class Scan(Asked):
    arguments = frozenset({"data", "protected", "features", "alpha", "prob", "draws", "seed"})

    def __call__(self, data=None, protected=None, features=("skill", "job"), **more):
        data = self.people if data is None else data
        question = {"recommendation": "rank", "features": features, **(self._worlds() if "draws" in more else {})}
        return ca.scan_bias(data, protected or {"sex": "f"}, "good", **question, progress=False, **more)

    def _worlds(self):
        """Draws of counterfactuals, of which some are used: of what the program models."""
        women = self.people.sex == "f"
        worlds = ca.counterfactuals(self.posterior, {"sex": "m"}, rows=women, progress=False)
        return {"counterfactuals": worlds, "recommendation": "job", "features": ["skill"]}


class Fair(Asked):
    arguments = frozenset({"data", "protected", "features", "draws", "confidence", "seed"})
    bare = takes_probabilities = True

    def __call__(self, data=None, protected=None, **more):
        data = self.people if data is None else data
        graph = ca.diagram([*GRAPH.edges, ("sex", "good")])
        more |= {"posterior": self.posterior} if "draws" in more else {}
        fair = ca.FairClassifier(graph, protected or {"sex": "f"}, "good", eps_direct=0.1, **more)
        return fair.fit(data.drop(columns=["good", "rank", "hole", "race"]), data["good"])


AUDITORS = [SituationTesting, Decompose, Estimate, Recourse, Scan, Fair]
