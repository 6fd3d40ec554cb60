"""Spline flows of a number, conditional on parents or not, as Pyro writes them."""

from copy import deepcopy

import numpy as np
import pyro
import pyro.distributions as dist
import pyro.distributions.transforms as transforms
import pytest
import torch
from pyro.nn import DenseNN

import causalaudit as ca
from causalaudit.scm.execution import numerics
from causalaudit.scm.handlers import Intervene, run
from causalaudit.scm.score import Score


def network(order):
    torch.manual_seed(1)
    sizes = [4, 4, 3, 4] if order == "linear" else [4, 4, 3]
    return DenseNN(2, [8], param_dims=sizes).requires_grad_(False)


def program(dense, order, alone):
    flow = transforms.ConditionalSpline(dense, 1, 4, order=order)

    def flows(n):
        slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            x = pyro.sample("x", dist.Bernoulli(0.5))
            base = dist.Normal(torch.zeros(1), torch.ones(1)).to_event(1)
            w = pyro.sample("w", dist.TransformedDistribution(base, [alone]))
            given = torch.cat([x.unsqueeze(-1), w], -1)
            y = pyro.sample("y", dist.ConditionalTransformedDistribution(base, [flow]).condition(given))
            pyro.sample("z", dist.Normal(slope * y.squeeze(-1), 1.0))

    return flows


@pytest.mark.slow
@pytest.mark.parametrize("order", ["linear", "quadratic"])
def test_a_conditional_spline_is_inverted_as_by_pyro(order):
    """Its network is float32, as it was trained, and its masked assignments are no obstacle to running many draws."""
    dense, alone = network(order), transforms.Spline(1, count_bins=4).requires_grad_(False)
    scm = ca.SCM(program(dense, order, alone))
    assert set(scm.graph.edges) == {("x", "y"), ("w", "y"), ("y", "z")}
    table = scm.prior_predictive(60, draws=1, seed=1).isel(draw=0)[list(scm.columns)].to_dataframe()[list(scm.columns)]
    table.loc[0, "y"] = 4.5  # beyond the box of the spline
    worlds = ca.counterfactuals(ca.fit(scm, table, draws=10, chains=1, method="laplace"), {"x": 1})
    with numerics(), torch.no_grad():
        flow = transforms.ConditionalSpline(deepcopy(dense).double(), 1, 4, order=order)
        x, w, y = (torch.tensor(table[name].to_numpy()) for name in ("x", "w", "y"))
        before, after = (flow.condition(torch.stack([group, w], -1)) for group in (x, torch.ones_like(x)))
        expected = after(before.inv(y.unsqueeze(-1))).squeeze(-1)
        standard = dist.Normal(torch.zeros(1), torch.ones(1)).to_event(1)
        density = dist.TransformedDistribution(standard, [before]).log_prob(y.unsqueeze(-1))
        score = Score(["y"])
        run(scm.program, 60, score, Intervene({"x": x, "w": w, "y": y, "slope": torch.tensor(0.0)}))
    np.testing.assert_allclose(worlds.dataset["y"], np.broadcast_to(expected, (10, 60)), atol=1e-9)
    np.testing.assert_allclose(score.total, density, atol=1e-9)
    assert next(dense.parameters()).dtype == torch.float32
