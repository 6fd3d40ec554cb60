"""Parameters are shown by the names that the user gives to their entries."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch

import causalaudit as ca
from causalaudit.errors import ProgramError


def program(n):
    effects = pyro.sample("effects", dist.Normal(torch.zeros(2, 3), 1.0).to_event(2))
    with pyro.plate("individuals", n):
        kind = pyro.sample("kind", dist.Categorical(torch.ones(3)))
        pyro.sample("x", dist.Normal(effects[0, kind], 1.0))
        pyro.sample("y", dist.Normal(effects[1, kind], 1.0))


NAMES = (["of x", "of y"], ["north", "<south>", "west"])


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"kind": np.arange(30) % 3, "x": rng.normal(size=30), "y": rng.normal(size=30)})


@pytest.fixture(scope="module")
def posterior(people):
    return ca.fit(ca.SCM(program, coords={"effects": NAMES}), people, draws=200, chains=1, seed=0)


def test_the_summary_and_the_draws_have_names(posterior):
    assert posterior.summary().index.tolist() == [
        f"effects[{row}, {column}]" for row in NAMES[0] for column in NAMES[1]
    ]
    drawn = posterior.idata["posterior"]["effects"]
    assert [drawn.coords[axis].to_numpy().tolist() for axis in drawn.dims[2:]] == [*NAMES]
    assert float(drawn.sel({drawn.dims[2]: "of y", drawn.dims[3]: "west"}).mean()) == pytest.approx(
        posterior.summary().loc["effects[of y, west]", "mean"]
    )


def test_they_are_shown_and_escaped_in_a_notebook(posterior):
    html = posterior._repr_html_()
    assert "Posterior of" in html
    assert "effects[of y, &lt;south&gt;]" in html
    assert "<south>" not in html


def test_names_along_the_last_axis_alone(people):
    found = ca.fit(ca.SCM(program, coords={"effects": NAMES[1]}), people, draws=100, chains=1).summary()
    assert found.index[0] == "effects[0, north]"


@pytest.mark.parametrize(
    ("coords", "message"),
    [
        ({"effect": ["a", "b", "c"]}, "coords name 'effect', which is not a parameter.*effects"),
        ({"effects": ["a", "b"]}, r"has the shape \(2, 3\)"),
        ({"effects": ["a", "b", "b"]}, "as many distinct names"),
        ({"effects": (["a"], ["b"], ["c"])}, r"has the shape \(2, 3\)"),
    ],
)
def test_names_that_do_not_fit_are_refused(coords, message):
    with pytest.raises(ProgramError, match=message):
        ca.SCM(program, coords=coords)
