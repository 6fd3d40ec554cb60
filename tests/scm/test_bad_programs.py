"""Programs that are refused, with which exception, and whether the message says what to do."""

import numpy as np
import pyro
import pyro.distributions as dist
import pytest
import torch
from pyro import poutine
from torch.distributions.transforms import AbsTransform
from wages import normal, people

import causalaudit as ca
from causalaudit.errors import (
    CausalAuditError,
    ProgramError,
)

# Programs that are not structural causal models


def no_plate(n):
    normal("x")


def empty_plate(n):
    normal("x")
    with people(n):
        pass


def two_plates(n):
    with people(n):
        x = normal("x")
    with pyro.plate("others", n):
        normal("y", x)


def plate_opened_twice(n):
    with people(n):
        x = normal("x")
    with people(n):
        normal("y", x)


def subsampled_plate(n):
    with pyro.plate("individuals", n, subsample_size=max(1, n // 2)):
        normal("x")


def sequential_plate(n):
    for i in people(n):
        normal(f"x{i}")


def inner_plate(n):
    with people(n), pyro.plate("tests", 3):
        normal("x")


def plate_of_fixed_size(n):
    with people(10):
        normal("x")


def plate_on_another_axis(n):
    with pyro.plate("individuals", n, dim=-2):
        normal("x")


def one_number_of_people_only(n):
    with people(n):
        normal("x", torch.linspace(0.0, 1.0, 8))


def sites_come_and_go(n):
    with people(n):
        x = normal("x")
        if torch.rand(()) > 0.5:
            normal("y", x)


def sites_depend_on_values(n):
    with people(n):
        x = pyro.sample("x", dist.Bernoulli(0.5))
        if x.sum() > 4:
            normal("y")


def same_name_twice(n):
    with people(n):
        normal("x")
        normal("x")


def not_one_value_each(n):
    with people(n):
        pyro.deterministic("x", torch.zeros(()))


def observed_inside(n):
    with people(n):
        pyro.sample("x", dist.Normal(0.0, 1.0), obs=torch.zeros(n))


def param(n):
    with people(n):
        normal("x", pyro.param("a", torch.tensor(0.0)))


def factor(n):
    with people(n):
        pyro.factor("penalty", -normal("x"))


def masked(n):
    with people(n), poutine.mask(mask=torch.ones(n, dtype=torch.bool)):
        normal("x")


def scaled(n):
    with people(n), poutine.scale(scale=2.0):
        normal("x")


def weighted(n):
    with people(n), poutine.scale(scale=torch.full((n,), 2.0)):
        normal("x")


def unsupported_family(n):
    with people(n):
        pyro.sample("angle", dist.VonMises(0.0, 1.0))


def vector_per_person(n):
    with people(n):
        pyro.sample("scores", dist.Normal(torch.zeros(2), 1.0).to_event(1))


def transform_without_inverse(n):
    with people(n):
        pyro.sample("size", dist.TransformedDistribution(dist.Normal(0.0, 1.0), [AbsTransform()]))


def discrete_parameter(n):
    regime = pyro.sample("regime", dist.Bernoulli(0.5))
    with people(n):
        normal("x", regime)


def parameter_after_people(n):
    with people(n):
        x = normal("x")
    normal("a", x.sum())


def raises(n):
    with people(n):
        normal("x")
        raise KeyError("the rate of 1987")


def takes_no_argument():
    with people(3):
        normal("x")


PLATE = r"with pyro\.plate\('individuals', n\)"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (no_plate, rf"no plate: put the per-person sites into `{PLATE}"),
        (empty_plate, "plate 'individuals' is empty: it must hold"),
        (
            two_plates,
            "plates 'individuals', 'others' changes with the number of people: put all per-person sites into one",
        ),
        (plate_opened_twice, "'individuals' is opened twice: put all per-person sites into one"),
        (subsampled_plate, "'individuals' is subsampled: .* remove subsample_size"),
        (sequential_plate, rf"'x0' is in a sequential plate .* write `{PLATE}"),
        (inner_plate, "'x' is in the plate 'tests' beside that of the people: .* Write one site for each"),
        (plate_of_fixed_size, rf"size 10 when the program is run for 8 people: write `{PLATE}"),
        (plate_on_another_axis, r"'x' has values of shape \(8, 1\) for 8 people; expected \(8,\)"),
        (one_number_of_people_only, "'one_number_of_people_only' raised ValueError when it was run for 5 people: .*x"),
        (sites_come_and_go, r"come and go between runs \(y\).*torch\.where"),
        (sites_depend_on_values, r"come and go between runs \(y\).*torch\.where"),
        (same_name_twice, "site name 'x' is used twice"),
        (not_one_value_each, r"'x' has values of shape \(\) for 8 people; expected \(8,\)"),
        (observed_inside, "'x' is written with obs=.*remove it"),
        (param, r"pyro\.param\('a'\) is not part of an SCM: a parameter is a pyro\.sample outside the plate"),
        (factor, r"pyro\.factor\('penalty'\) is not part of an SCM"),
        (masked, "'x' is scaled or masked"),
        (scaled, "'x' is scaled or masked"),
        (weighted, "'x' is scaled or masked"),
        (unsupported_family, r"'angle' has the distribution VonMises.*Supported: .*Normal.*Poisson"),
        (vector_per_person, r"'scores' has vectors of 2 numbers, but its columns are \[\]: name one for each"),
        (transform_without_inverse, r"'size'.*must be invertible.*AbsTransform\(\).*explicit latent sites"),
        (discrete_parameter, "'regime'.*Bernoulli"),
        (parameter_after_people, "parameter 'a' depends on the variable 'x': sample parameters first"),
        (raises, "'raises' raised KeyError when it was run for 8 people: 'the rate of 1987'"),
        (takes_no_argument, "'takes_no_argument' raised TypeError .* takes 0 positional arguments"),
    ],
)
def test_program_is_refused(program, message):
    with pytest.raises(ProgramError, match=message):
        ca.SCM(program)


def test_the_error_of_a_program_is_chained():
    with pytest.raises(ProgramError) as refused:
        ca.SCM(raises)
    assert isinstance(refused.value.__cause__, KeyError)
    assert isinstance(refused.value, CausalAuditError)


# Hidden dependences


def person_numpy(n):
    with people(n):
        x = normal("x")
        normal("y", torch.as_tensor(2 * x.numpy()))


def person_item(n):
    with people(n):
        x = normal("x")
        normal("y", torch.tensor([value.item() for value in x]))


def person_float(n):
    with people(n):
        x = normal("x")
        normal("y", torch.tensor([float(value) for value in x]))


def person_if(n):
    with people(n):
        x = pyro.sample("x", dist.Bernoulli(0.5))
        normal("y", torch.tensor([1.0 if value else 0.0 for value in x]))


def person_mask(n):
    with people(n):
        x = pyro.sample("x", dist.Bernoulli(0.5))
        mean = torch.zeros(n)
        mean[x == 1] = 1.0
        normal("y", mean)


def global_numpy(n):
    a = normal("a")
    with people(n):
        normal("y", torch.as_tensor(np.exp(a.numpy())))


def global_item(n):
    a = normal("a")
    with people(n):
        normal("y", a.item())


def global_float(n):
    a = normal("a")
    with people(n):
        normal("y", float(a))


def global_if(n):
    a = normal("a")
    with people(n):
        normal("y", 1.0 if a > 0 else -1.0)


HIDDEN = (
    r"'y' depends on '{}' in a way that cannot be tracked.*numpy.*\.item\(\), float\(\).*`if`.*Use torch operations"
)


@pytest.mark.parametrize("program", [person_numpy, person_item, person_float, person_if, person_mask])
def test_dependence_on_a_variable_must_not_be_hidden(program):
    with pytest.raises(ProgramError, match=HIDDEN.format("x")):
        ca.SCM(program)


@pytest.mark.parametrize("program", [global_numpy, global_item, global_float, global_if])
def test_dependence_on_a_parameter_must_not_be_hidden(program):
    with pytest.raises(ProgramError, match=HIDDEN.format("a")):
        ca.SCM(program)


def rare_if(n):
    a = normal("a")
    mean = 1.0 if a > 50 else -1.0
    with people(n):
        normal("y", mean)


def test_an_if_that_never_switches_is_found_by_its_line():
    message = r"Line \d+ of test_bad_programs\.py, `mean = 1\.0 if a > 50 else -1\.0`.*torch\.where"
    with pytest.raises(ProgramError, match=message):
        ca.SCM(rare_if)


# People who influence each other, or differ by their place in the table


def mean_of_all(n):
    with people(n):
        x = normal("x")
        normal("y", x - x.mean())


def sorted_people(n):
    with people(n):
        normal("y", normal("x").sort().values)


def ranked_people(n):
    with people(n):
        normal("y", normal("x").argsort().argsort().double())


def neighbour(n):
    with people(n):
        normal("y", normal("x").roll(1))


def largest_of_all(n):
    with people(n):
        normal("y", pyro.sample("x", dist.Bernoulli(0.5)).max())


def next_but_one(n):
    with people(n):
        normal("y", normal("x").roll(2))


@pytest.mark.parametrize(
    "program", [mean_of_all, sorted_people, ranked_people, neighbour, largest_of_all, next_but_one]
)
def test_people_must_not_influence_each_other(program):
    with pytest.raises(ProgramError, match=r"'y'.* person.* alone"):
        ca.SCM(program)


COVARIATE = torch.linspace(0.0, 1.0, 100)


def numbered(n):
    with people(n):
        normal("x", torch.arange(n) / 10)


def covariate_from_outside(n):
    with people(n):
        normal("x", COVARIATE[:n])


def randomness_from_outside(n):
    with people(n):
        normal("x", torch.randn(n))


@pytest.mark.parametrize("program", [numbered, covariate_from_outside, randomness_from_outside])
def test_equations_must_not_depend_on_the_place_in_the_table(program):
    with pytest.raises(ProgramError, match="'x'"):
        ca.SCM(program)
