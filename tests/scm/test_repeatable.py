"""Programs that draw random numbers beside their sites are refused; others are not, and leave global states alone."""

import random

import numpy as np
import pyro
import pyro.distributions as dist
import pytest
import torch
from wages import normal, people

import causalaudit as ca
from causalaudit.errors import ProgramError

CONSTANT = float(np.random.default_rng(0).normal())


def drawing(shift):
    """Return a program whose mean is shifted by what a function draws."""

    def program(n):
        mean = normal("mean")
        shifted = mean + shift(n)
        with people(n):
            pyro.sample("wage", dist.Normal(shifted, 1.0))

    return program


@pytest.mark.parametrize(
    ("shift", "where"),
    [
        (lambda n: np.random.normal(), "from the global state of numpy"),  # noqa: NPY002, what is tested
        (lambda n: float(np.random.rand() < 2), "from the global state of numpy"),  # noqa: NPY002
        (lambda n: random.random(), "from the global state of Python's random"),
        (lambda n: float(np.random.default_rng().normal()), "of its own"),
        (lambda n: torch.randn(()), "of its own"),
    ],
)
def test_a_program_that_draws_beside_its_sites_is_refused(shift, where):
    before = (random.getstate(), pyro.util.get_rng_state()["numpy"][1].tolist())
    with pytest.raises(ProgramError, match=f"draws random numbers {where}.*Write what is random as pyro.sample"):
        ca.SCM(drawing(shift))
    assert (random.getstate(), pyro.util.get_rng_state()["numpy"][1].tolist()) == before


@pytest.mark.parametrize("shift", [lambda n: CONSTANT, lambda n: float(np.random.default_rng(3).normal())])
def test_constants_are_not_refused(shift):
    assert ca.SCM(drawing(shift)).parameters == ("mean",)


def test_a_program_that_changes_a_value_in_place_is_refused():
    def program(n):
        mean = normal("mean")
        with people(n):
            hours = normal("hours")
            hours += 1.0
            normal("wage", mean * hours)

    with pytest.raises(ProgramError, match=r"changes 'hours' in place .* as in hours = hours \+ 1"):
        ca.SCM(program)
