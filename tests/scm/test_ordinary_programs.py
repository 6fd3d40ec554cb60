"""Programs as Pyro's users write them: float32, plates of parameters and of people, recorded quantities, networks."""

import numpy as np
import pyro
import pyro.distributions as dist
import pytest
import torch

import causalaudit as ca
from causalaudit.errors import ProgramError


def people_of(scm, n=200, seed=0):
    drawn = scm.prior_predictive(n, draws=1, seed=seed)[list(scm.columns)].isel(draw=0)
    return drawn.to_dataframe()[list(scm.columns)]


def groups(single, plate="individuals"):
    """Effects of groups; the dummy is float32 if `single`."""

    def program(n):
        with pyro.plate("effects", 3):
            b = pyro.sample("b", dist.Normal(0.0, 1.0))
        s = pyro.sample("s", dist.HalfNormal(1.0))
        with pyro.plate(plate, n):
            race = pyro.sample("race", dist.Categorical(torch.tensor([0.5, 0.3, 0.2])))
            z = pyro.sample("z", dist.Normal(0.0, 1.0))
            dummy = (race == 1).float() if single else (race == 1).double()
            pyro.sample("y", dist.Normal(b[0] + b[1] * dummy + b[2] * z, s))

    return ca.SCM(program)


def test_float32_inside_a_program_is_float64():
    """It made float32 of everything, and no mode was found."""
    single, double = groups(True), groups(False)
    assert single.structure.dtypes["y"] == torch.float64
    people = people_of(double)
    one, two = (ca.fit(scm, people, draws=50, chains=1, method="laplace") for scm in (single, double))
    for name in ("b", "s"):
        np.testing.assert_array_equal(one.parameters()[name], two.parameters()[name])
    worlds = [ca.counterfactuals(posterior, {"race": 1}).dataset["y"].to_numpy() for posterior in (one, two)]
    np.testing.assert_array_equal(*worlds)


def test_a_plate_of_parameters_is_a_vector_of_them():
    def by_event(n):
        b = pyro.sample("b", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
        s = pyro.sample("s", dist.HalfNormal(1.0))
        with pyro.plate("individuals", n):
            race = pyro.sample("race", dist.Categorical(torch.tensor([0.5, 0.3, 0.2])))
            z = pyro.sample("z", dist.Normal(0.0, 1.0))
            pyro.sample("y", dist.Normal(b[0] + b[1] * (race == 1).double() + b[2] * z, s))

    people = people_of(groups(False))
    one, two = (ca.fit(scm, people, draws=50, chains=1, method="laplace") for scm in (groups(False), ca.SCM(by_event)))
    np.testing.assert_allclose(one.parameters()["b"], two.parameters()["b"], rtol=1e-9)


def test_people_may_be_in_a_plate_of_any_name():
    usual, other = groups(False), groups(False, plate="applicants")
    assert other.columns == usual.columns
    people = people_of(usual)
    one, two = (ca.fit(scm, people, draws=20, chains=1, method="laplace") for scm in (usual, other))
    np.testing.assert_array_equal(one.parameters()["b"], two.parameters()["b"])
    assert list(other.graph.edges) == list(usual.graph.edges)


def two_that_grow(n):
    with pyro.plate("men", n):
        pyro.sample("x", dist.Normal(0.0, 1.0))
    with pyro.plate("women", n):
        pyro.sample("y", dist.Normal(0.0, 1.0))


def test_which_plate_holds_the_people_must_be_clear():
    with pytest.raises(ProgramError, match="plates 'men', 'women' changes with the number of people"):
        ca.SCM(two_that_grow)
    with pytest.raises(ProgramError, match="plate='children', but the program has 'men', 'women'"):
        ca.SCM(two_that_grow, plate="children")


def recorded(n):
    a = pyro.sample("a", dist.Normal(0.0, 1.0))
    b = pyro.sample("b", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        x = pyro.sample("x", dist.Bernoulli(0.5))
        mu = pyro.deterministic("mu", a + b * x)
        twice = pyro.deterministic("twice", 2 * mu)
        pyro.sample("y", dist.Normal(twice - mu, 1.0))


def plain(n):
    a = pyro.sample("a", dist.Normal(0.0, 1.0))
    b = pyro.sample("b", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        x = pyro.sample("x", dist.Bernoulli(0.5))
        pyro.sample("y", dist.Normal(a + b * x, 1.0))


def test_a_recorded_quantity_without_a_column_is_computed(tmp_path):
    people = people_of(ca.SCM(plain))
    program = ca.SCM(recorded)
    one = ca.fit(program, people, draws=40, chains=1, method="laplace")
    two = ca.fit(ca.SCM(plain), people, draws=40, chains=1, method="laplace")
    assert set(one.scm.latents) == {"mu", "twice"}
    assert program.latents == ()  # the program itself stays as it is: another table may have the column
    np.testing.assert_allclose(one.parameters()["b"], two.parameters()["b"], rtol=1e-8)
    worlds = [ca.counterfactuals(posterior, {"x": 1}).dataset["y"].to_numpy() for posterior in (one, two)]
    np.testing.assert_allclose(*worlds, rtol=1e-8)
    one.save(tmp_path / "posterior.nc")
    np.testing.assert_array_equal(
        ca.Posterior.load(tmp_path / "posterior.nc", program).parameters()["a"], one.parameters()["a"]
    )


def narrow(network, spread):
    def program(n):
        with pyro.plate("individuals", n):
            x = pyro.sample("x", dist.Bernoulli(0.5))
            z = pyro.sample("z", dist.Normal(0.0, 100.0))
            pyro.sample("y", dist.Normal(100 * network(torch.stack([x, z], -1)).squeeze(-1), spread))

    return program


def test_a_wide_network_with_a_narrow_law_is_not_refused_for_rounding():
    """Sums in another order moved its density by 1e-3: it was said to depend on the other people."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(2, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers, torch.nn.Linear(512, 1)).requires_grad_(False)
    assert set(ca.SCM(narrow(network, 1e-6)).graph.edges) == {("x", "y"), ("z", "y")}


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_dependence_on_others_is_found_in_any_unit(unit):
    with pytest.raises(ProgramError, match=r"alone in the table|of one person changes"):
        ca.SCM(narrow(lambda inputs: unit * inputs[:, 1].cumsum(0) * 1e-6, unit))
    with pytest.raises(ProgramError, match="alone in the table"):
        ca.SCM(narrow(lambda inputs: unit * 1e-4 * torch.arange(len(inputs)) + 0.0 * inputs[:, 1], unit))


def test_a_frozen_network_is_a_mechanism():
    """Its float32 weights made every person's distribution depend on the others, by rounding."""
    network = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).requires_grad_(False)
    with torch.no_grad():
        for number, weights in enumerate(network.parameters()):
            weights.copy_(torch.sin(torch.arange(weights.numel()) + number).reshape(weights.shape))

    def program(n):
        s = pyro.sample("s", dist.HalfNormal(1.0))
        with pyro.plate("individuals", n):
            x = pyro.sample("x", dist.Bernoulli(0.5))
            z = pyro.sample("z", dist.Normal(0.0, 1.0))
            pyro.sample("y", dist.Normal(network(torch.stack([x, z], -1)).squeeze(-1), s))

    scm = ca.SCM(program)
    people = people_of(scm)
    worlds = ca.counterfactuals(ca.fit(scm, people, draws=20, chains=1), {"x": 1})
    double = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).double()
    double.load_state_dict(network.state_dict())
    z = torch.tensor(people["z"].to_numpy())
    with torch.no_grad():
        at = [double(torch.stack([torch.from_numpy(np.broadcast_to(x, z.shape).copy()), z], -1)).squeeze(-1).numpy()
              for x in (people["x"].to_numpy(), 1.0)]  # fmt: skip
    expected = people["y"].to_numpy() + at[1] - at[0]
    np.testing.assert_allclose(worlds.dataset["y"].to_numpy(), np.broadcast_to(expected, (20, 200)), atol=1e-12)
    assert network[0].weight.dtype == torch.float32  # the user's own module is left alone
