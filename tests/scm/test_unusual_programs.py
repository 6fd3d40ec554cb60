"""Programs that look strange, and are accepted."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from wages import normal, people

import causalaudit as ca


def ordered_logistic(n):
    cut, slope = normal("cut"), normal("slope")
    step = pyro.deterministic("step", torch.exp(cut))
    with people(n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("grade", dist.OrderedLogistic(slope * sex, torch.stack([cut, cut + step])))


def table_lookup(n):
    means = pyro.sample("means", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    with people(n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        logits = torch.stack([torch.zeros_like(sex), sex, 1 - sex], -1)
        region = pyro.sample("region", dist.Categorical(logits=logits))
        normal("wage", means[region])


def one_hot(n):
    means = pyro.sample("means", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    with people(n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        logits = torch.stack([torch.zeros_like(sex), sex, 1 - sex], -1)
        job = pyro.sample("job", dist.OneHotCategorical(logits=logits))
        normal("wage", (job * means).sum(-1))


def derived_parameter(n):
    log_rate = normal("log_rate")
    rate = pyro.deterministic("rate", torch.exp(log_rate))
    with people(n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("visits", dist.Poisson(rate * (1 + sex)))


def vector_of_parameters(n):
    slopes = pyro.sample("slopes", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    with people(n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        age = normal("age")
        features = torch.stack([torch.ones_like(age), sex, age], -1)
        normal("wage", (features * slopes).sum(-1))


def assignment(n):
    gap = normal("gap")
    with people(n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        mean = torch.zeros(n)
        mean[:] = gap * sex
        normal("wage", mean)


UNUSUAL = {
    ordered_logistic: {("sex", "grade")},
    table_lookup: {("sex", "region"), ("region", "wage")},
    one_hot: {("sex", "job"), ("job", "wage")},
    derived_parameter: {("sex", "visits")},
    vector_of_parameters: {("sex", "wage"), ("age", "wage")},
    assignment: {("sex", "wage")},
}
NAMES = {"sex": ["male", "female"], "grade": ["C", "B", "A"], "region": ["x", "y", "z"], "job": ["p", "q", "r"]}


def simulated(scm, n):
    drawn = scm.prior_predictive(n=n, draws=1, seed=3)
    return pd.DataFrame({name: scm.codec.decode(name, drawn[name][0].to_numpy()) for name in scm.columns})


@pytest.mark.parametrize("program", UNUSUAL, ids=lambda program: program.__name__)
def test_unusual_program_is_accepted(program):
    scm = ca.SCM(program)
    scm = ca.SCM(program, levels={name: NAMES[name] for name in scm.columns if name in NAMES})
    assert set(scm.graph.edges) == UNUSUAL[program]
    data = simulated(scm, 30)
    posterior = ca.fit(scm, data, draws=20, chains=2, seed=0, progress=False)
    assert posterior.diagnostics().ok
    worlds = ca.counterfactuals(posterior, {"sex": data.sex}, draws=5, progress=False)
    for frame in worlds.frames():
        pd.testing.assert_frame_equal(frame, data)
    changed = ca.counterfactuals(posterior, {"sex": "female"}, draws=5, progress=False)
    men = (data.sex == "male").to_numpy()
    for frame in changed.frames():
        assert (frame.sex == "female").all()
        pd.testing.assert_frame_equal(frame[~men], data[~men])
        assert not frame[men].drop(columns="sex").equals(data[men].drop(columns="sex"))


def test_derived_parameters_are_reported():
    scm = ca.SCM(derived_parameter)
    assert (scm.parameters, scm.derived) == (("log_rate",), ("rate",))
    data = simulated(scm, 20).astype(int)
    drawn = ca.fit(scm, data, draws=50, chains=2, progress=False).idata["posterior"]
    np.testing.assert_allclose(drawn["rate"], np.exp(drawn["log_rate"]))
