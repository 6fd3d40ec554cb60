"""How much each person moves a posterior mean, from the draws alone: against closed forms."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import xarray as xr
from finite_programs import posterior_of

import causalaudit as ca
from causalaudit.errors import InferenceError
from causalaudit.inference.influence import posterior_influence


def one_mean(n):
    centre = pyro.sample("centre", dist.Normal(0.0, 10.0))
    with pyro.plate("individuals", n):
        pyro.sample("A", dist.Normal(centre, 2.0))


def of_a_mean(people, draws):
    """The exact posterior of the mean of people with a known spread."""
    rng = np.random.default_rng(1)
    precision = len(people) / 4 + 1 / 100
    centre = rng.normal(people["A"].sum() / 4 / precision, precision**-0.5, draws)
    return posterior_of(ca.SCM(one_mean), people, {"centre": centre})


def test_the_influence_on_a_mean_is_the_deviation_from_it():
    people = pd.DataFrame({"A": np.random.default_rng(0).gamma(2.0, 2.0, 300)})  # no normal: the spread is wrong too
    posterior = of_a_mean(people, 4000)
    figures = posterior.parameters()["centre"][:, None]
    found = posterior_influence(posterior, figures, np.arange(4000))[:, 0]
    exact = (people["A"] - people["A"].mean()).to_numpy()
    assert np.allclose(found - found.mean(), exact, rtol=0.06)  # of 4,000 draws: a variance is known to 2 %
    assert np.std(found) / np.sqrt(300) == pytest.approx(people["A"].std() / np.sqrt(300), rel=0.06)  # the sandwich


def test_equal_people_have_equal_influence_and_some_draws_may_be_used():
    people = pd.DataFrame({"A": [1.0, 3.0, 1.0, 2.0]})
    posterior = of_a_mean(people, 200)
    numbers = posterior.draw_numbers(50)
    found = posterior_influence(posterior, posterior.parameters()["centre"][numbers, None] ** 2, numbers)
    assert found.shape == (4, 1)
    assert found[0] == found[2]


def test_people_without_a_likelihood_of_their_own_are_refused():
    people = pd.DataFrame({"A": [1.0, 3.0]})
    posterior = of_a_mean(people, 5)
    posterior.idata.add_groups({"latents": xr.Dataset({"U": (("chain", "draw", "individual"), np.zeros((1, 5, 2)))})})
    with pytest.raises(InferenceError, match=r'no likelihood of their own: .* Use population="simulate"'):
        posterior_influence(posterior, np.zeros((5, 1)), np.arange(5))
