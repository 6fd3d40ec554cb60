"""What is refused, with which exception, and whether the message says what was given and what to do."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from pyro import poutine
from torch.distributions.transforms import AbsTransform, ExpTransform

import causalaudit as ca
from causalaudit.errors import (
    CausalAuditError,
    DataError,
    InferenceError,
    InterventionError,
    ProgramError,
)

LEVELS = {"gender": ["male", "female"]}


def people(n):
    return pyro.plate("individuals", n)


def normal(name, mean=0.0, spread=1.0):
    return pyro.sample(name, dist.Normal(mean, spread))


def wages(n):
    gap = pyro.sample("gap", dist.Normal(0.0, 5.0))
    double = pyro.deterministic("double", 2 * gap)
    with people(n):
        gender = pyro.sample("gender", dist.Bernoulli(0.45))
        hours = pyro.sample("hours", dist.Poisson(torch.exp(1.0 + 0.2 * gender)))
        pyro.sample("wage", dist.Normal(20.0 + double * gender + hours, 4.0))


def table():
    return pd.DataFrame(
        {
            "gender": ["male", "female", "male", "female", "male", "female"],
            "hours": [2, 3, 1, 0, 4, 6],
            "wage": [21.5, 25.0, 19.0, 24.5, 26.0, 30.0],
        },
        index=["ann", "bob", "cem", "dua", "eli", "fay"],
    )


@pytest.fixture(scope="module")
def scm():
    return ca.SCM(wages, levels=LEVELS)


@pytest.fixture(scope="module")
def posterior(scm):
    return ca.fit(scm, table(), method="map", draws=5, chains=2, progress=False)


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


def other_plate_name(n):
    with pyro.plate("people", n):
        normal("x")


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
        (two_plates, "plate 'others'; an SCM has one plate, named 'individuals'"),
        (plate_opened_twice, "'individuals' is opened twice: put all per-person sites into one"),
        (other_plate_name, "plate 'people'; an SCM has one plate, named 'individuals'"),
        (subsampled_plate, "'individuals' is subsampled: .* remove subsample_size"),
        (sequential_plate, rf"'x0' is in a sequential plate .* write `{PLATE}"),
        (inner_plate, r"plate 'tests'.* no other beside or inside it.*expand\(\[k\]\)\.to_event\(1\)"),
        (plate_of_fixed_size, rf"size 10 when the program is run for 8 people: write `{PLATE}"),
        (plate_on_another_axis, r"'x' has values of shape \(8, 1\) for 8 people; expected \(8,\)"),
        (one_number_of_people_only, "'one_number_of_people_only' raised ValueError when it was run for 1 people: .*x"),
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
        (vector_per_person, r"'scores' has the distribution Independent.*Supported: "),
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
    message = r"Line \d+ of test_bad_input\.py, `mean = 1\.0 if a > 50 else -1\.0`.*torch\.where"
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


# Latents, levels and couplings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latents": ["gendre"]}, "latent 'gendre' is not a site inside the plate: did you mean 'gender'"),
        ({"latents": ["gap"]}, "latent 'gap' is not a site inside the plate: there are 'gender', 'hours', 'wage'"),
        ({"latents": "gender"}, r"is the text 'gender': write \['gender'\]"),
        ({"latents": ["gender", "gender"]}, "'gender'.*twice"),
        ({"latents": ["gender", "hours", "wage"]}, "latent"),
        ({"levels": {"gendre": ["male", "female"]}}, "levels name 'gendre'.*did you mean 'gender'"),
        ({"levels": {"gap": ["low", "high"]}}, "levels name 'gap', which is not a variable with a column"),
        ({"levels": LEVELS, "latents": ["gender"]}, "levels name 'gender', which is not a variable with a column"),
        (
            {"levels": {"gender": ["male", "female", "other"]}},
            r"'gender' has 3 levels \['male', 'female', 'other'\].*\(Bernoulli\) has 2 values\. Give one level",
        ),
        ({"levels": {"gender": ["male"]}}, r"'gender' has 1 levels \['male'\].*has 2 values"),
        ({"levels": {"gender": ["male", "male"]}}, r"levels of 'gender' are not distinct: \['male', 'male'\]"),
        ({"levels": {"wage": ["low", "high"]}}, "'wage'.*Normal"),
        ({"levels": {"hours": ["few", "many"]}}, "'hours'.*Poisson"),
    ],
)
def test_latents_and_levels_are_refused(options, message):
    with pytest.raises(ProgramError, match=message):
        ca.SCM(wages, **options)


@pytest.mark.parametrize(
    ("coupling", "message"),
    [
        ("gumble", "coupling 'gumble' is not one of monotone, gumbel, independent"),
        ({"gender": "gumble"}, "coupling 'gumble' is not one of monotone, gumbel, independent"),
        ({"gendre": "gumbel"}, "coupling is given for 'gendre', which has no noise: did you mean 'gender'"),
        ({"gap": "monotone"}, "coupling is given for 'gap', which has no noise: there are 'gender', 'hours', 'wage'"),
        ({"wage": "gumbel"}, r"'wage' \(Normal\) cannot have the coupling 'gumbel': use one of monotone, independent"),
        ({"hours": "gumbel"}, r"'hours' \(Poisson\) cannot have the coupling 'gumbel': use one of monotone, indep"),
    ],
)
def test_coupling_is_refused(scm, posterior, coupling, message):
    with pytest.raises(ProgramError, match=message):
        scm.couplings(coupling)
    with pytest.raises(ProgramError, match=message):
        ca.counterfactuals(posterior, {"gender": "male"}, coupling=coupling, progress=False)


# Tables


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (table().rename(columns={"wage": "wages"}), "site 'wage'.*no such column: did you mean 'wages'.*`latents`"),
        (table()[["gender"]].assign(zzzzzz=1), "site 'hours'.*no such column: there are 'gender', 'zzzzzz'"),
        (table().assign(wage=[1.0, np.nan, 2.0, np.nan, 3.0, 4.0]), "'wage' has missing values in 2 of 6 rows.*impute"),
        (table().replace({"gender": {"male": None}}), "'gender' has missing values in 3 of 6 rows"),
        (table().replace({"gender": {"male": "Male"}}), r"'gender' has the values 'Male', but .* \['male', 'female'\]"),
        (table().assign(wage="much"), r"'wage' holds .* values; give their order, for example levels=.*'much'"),
        (table().assign(wage=pd.Timestamp("2020-01-01")), "'wage' holds datetime64.* values"),
        (table().assign(hours=-1), r"'hours' has the value -1\.0 in 6 of 6 rows.*Poisson cannot give"),
        (table().assign(hours=[1.5, 1, 1, 1, 1, 1]), r"'hours' has the value 1\.5 in 1 of 6 rows.*Poisson cannot give"),
        (table().iloc[:0], "no rows: at least one person"),
        (
            table().rename(index={"bob": "ann"}),
            r"not unique \('ann' occurs twice\): use data\.reset_index\(drop=True\)",
        ),
        (table().to_dict(), "must be a pandas DataFrame, but is dict"),
        (table()["wage"], "must be a pandas DataFrame, but is Series"),
        (None, "must be a pandas DataFrame, but is NoneType"),
        (pd.concat([table(), table()[["wage"]]], axis=1), "'wage'.*twice"),
        (table().assign(wage=1j), "'wage' holds complex128 values"),
    ],
)
def test_table_is_refused(scm, data, message):
    with pytest.raises(DataError, match=message):
        ca.fit(scm, data, progress=False)


def test_new_people_are_checked_too(posterior):
    for data, message in (
        (table().drop(columns="wage"), "site 'wage'.*no such column"),
        (table().assign(hours=-1), "Poisson cannot give"),
        (table().iloc[:0], "no rows"),
        (table().to_dict(), "but is dict"),
    ):
        with pytest.raises(DataError, match=message):
            ca.counterfactuals(posterior, {"gender": "male"}, data=data, progress=False)


@pytest.mark.parametrize(
    ("law", "bad", "good"),
    [
        (dist.Bernoulli(torch.tensor(0.5)), 2, 1),
        (dist.Bernoulli(torch.tensor(0.5)), 0.5, 1),
        (dist.Poisson(torch.tensor(2.0)), -1, 0),
        (dist.Poisson(torch.tensor(2.0)), 1.5, 3),
        (dist.Binomial(3, torch.tensor(0.5)), 4, 3),
        (dist.Geometric(torch.tensor(0.5)), -1, 0),
        (dist.Categorical(torch.ones(3)), 3, 2),
        (dist.Categorical(torch.ones(3)), 0.5, 2),
        (dist.OneHotCategorical(torch.ones(3)), 3, 2),
        (dist.OneHotCategorical(torch.ones(3)), 0.5, 0),
        (dist.OrderedLogistic(torch.tensor(0.0), torch.tensor([0.0, 1.0])), 3, 2),
        (dist.LogNormal(0.0, 1.0), -1, 1),
        (dist.Gamma(1.0, 1.0), -1, 1),
        (dist.Beta(1.0, 1.0), 1.5, 0.5),
        (dist.HalfNormal(1.0), -1, 1),
        (dist.Exponential(1.0), -1, 1),
    ],
)
def test_value_outside_the_support(law, bad, good):
    def program(n):
        with people(n):
            pyro.sample("v", law)

    scm = ca.SCM(program)
    with pytest.raises(DataError, match=r"'v' (has the value .* in 1 of 3 rows.*cannot give|must hold whole numbers)"):
        scm.encode(pd.DataFrame({"v": [good, bad, good]}))
    posterior = ca.fit(scm, pd.DataFrame({"v": [good]}), draws=1, chains=1, progress=False)
    with pytest.raises(InterventionError, match="Impossible intervention: 'v' "):
        ca.counterfactuals(posterior, {"v": bad}, progress=False)


@pytest.mark.parametrize(
    ("law", "good", "bad"),
    [
        (dist.Uniform(0.0, 1.0), 0.5, 2.0),
        (dist.TransformedDistribution(dist.Normal(0.0, 1.0), [ExpTransform()]), 0.5, -1.0),
        (dist.Pareto(torch.tensor(1.0), torch.tensor(1.0)), 1.5, 0.5),
    ],
    ids=["Uniform", "TransformedDistribution", "Pareto"],
)
def test_value_outside_a_range_that_may_depend_on_parameters(law, good, bad):
    def program(n):
        with people(n):
            pyro.sample("v", law)

    data = pd.DataFrame({"v": [good, bad]}, index=["first", "second"])
    with pytest.raises(DataError, match=r"1 of 2 rows are impossible under the program 'program'.*row 'second'"):
        ca.fit(ca.SCM(program), data, progress=False)


# Interventions


@pytest.mark.parametrize(
    ("do", "message"),
    [
        ({"gap": 0.0}, "'gap' is a parameter of the program; only variables of people can be set"),
        ({"double": 0.0}, "'double' is a parameter of the program; only variables of people can be set"),
        ({"wages": 20.0}, "no variable 'wages' to intervene on: did you mean 'wage'"),
        ({"height": 1.8}, "no variable 'height' to intervene on: "),
        ({"wage": [20.0, 21.0]}, "values given for 'wage' are 2, but 6 people are asked about"),
        ({"gender": "Male"}, r"'gender' has the values 'Male', but its levels are \['male', 'female'\]"),
        ({"gender": ["male", "x", "male", "male", "male", "male"]}, r"'gender' has the values 'x'"),
        ({"gender": 0}, r"'gender' has the values 0, but its levels are \['male', 'female'\]"),
        ({"gender": None}, "'gender' has missing values for 6 people"),
        ({"wage": np.nan}, "'wage' has missing values for 6 people"),
        ({"wage": lambda frame: frame.wage.where(frame.wage > 20)}, "'wage' has missing values for 1 people"),
        ({"wage": "much"}, "Impossible intervention: .*'wage' holds"),
        ({"wage": np.inf}, "'wage' is not finite for 6 people, the first being 'ann'"),
        ({"hours": -1}, r"Impossible intervention: 'hours' has the value -1\.0 .*Poisson cannot give"),
        ({"hours": 1.5}, r"Impossible intervention: 'hours' has the value 1\.5 .*Poisson cannot give"),
        ({"wage": pd.Series([20.0, 21.0], index=["ann", "bob"])}, "Series given for 'wage' lacks some of the people"),
        ({"wage": pd.Series(np.arange(6.0))}, "Series given for 'wage' lacks some of the people"),
        ("gender", "do.*'gender'"),
    ],
)
def test_intervention_is_refused(posterior, do, message):
    with pytest.raises(InterventionError, match=message):
        ca.counterfactuals(posterior, do, progress=False)


@pytest.mark.parametrize(
    "edges",
    [
        [("wage", "gender")],
        [("gender", "height")],
        [("gender",)],
        ("gender", "wage"),
    ],
)
def test_edges_are_refused(posterior, edges):
    with pytest.raises(InterventionError, match=r"is not an edge of 'wages'; its edges are \[\('gender', 'hours'\)"):
        ca.counterfactuals(posterior, {"gender": "male"}, edges=edges, progress=False)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([True, False], "mask of length 2, but the data have 6 rows"),
        (pd.Series([True] * 6), "boolean Series whose index is not that of the data"),
        (["ann", "zoe"], "rows names .*'zoe'.*, which is not in the index"),
        ([False] * 6, "rows selects nobody"),
        ([], "rows selects nobody"),
        (["ann", "ann"], "'ann' occurs twice"),
        ("ann", "rows.*'ann'"),
    ],
)
def test_rows_are_refused(posterior, rows, message):
    with pytest.raises(DataError, match=message):
        ca.counterfactuals(posterior, {"gender": "male"}, rows=rows, progress=False)


@pytest.mark.parametrize(
    ("draws", "message"),
    [
        (0, "draws is 0, but the posterior has 10: choose a number from 1 to 10"),
        (11, "draws is 11, but the posterior has 10: choose a number from 1 to 10"),
        (1.5, r"draws is 1\.5"),
    ],
)
def test_counterfactual_draws_are_refused(posterior, draws, message):
    with pytest.raises(DataError, match=message):
        ca.counterfactuals(posterior, {"gender": "male"}, draws=draws, progress=False)


@pytest.mark.parametrize("chunk", [-1, 0])
def test_chunk_is_refused(posterior, chunk):
    with pytest.raises(DataError, match=f"chunk is {chunk}"):
        ca.counterfactuals(posterior, {"gender": "male"}, chunk=chunk, progress=False)


# Fitting


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "mcmc"}, InferenceError, "method 'mcmc' is not one of auto, laplace, nuts, svi, map, ml"),
        ({"draws": 0}, DataError, "draws is 0, but must be a whole number of at least 1"),
        ({"draws": -3}, DataError, "draws is -3, but must be"),
        ({"draws": 2.5}, DataError, r"draws is 2\.5, but must be a whole number"),
        ({"chains": 0}, DataError, "chains is 0, but must be a whole number of at least 1"),
    ],
)
def test_fit_options_are_refused(scm, options, error, message):
    with pytest.raises(error, match=message):
        ca.fit(scm, table(), **options, progress=False)


def test_numpy_integers_are_whole_numbers(scm):
    assert (
        ca.fit(scm, table(), method="map", draws=np.int64(2), chains=np.int64(1), progress=False).settings["draws"] == 2
    )


@pytest.mark.parametrize(("n", "draws", "message"), [(0, 2, "n is 0"), (-1, 2, "n is -1"), (2, 0, "draws is 0")])
def test_prior_predictive_is_refused(scm, n, draws, message):
    with pytest.raises(DataError, match=message):
        scm.prior_predictive(n=n, draws=draws)


def two_intercepts(n):
    a, b = normal("a"), normal("b")
    with people(n):
        normal("x", a + b)


def unused_parameter(n):
    a = normal("a")
    normal("b")
    with people(n):
        normal("x", a)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (two_intercepts, r"likelihood is flat along 'a', 'b': .*Use a method with priors \(map, laplace\)"),
        (unused_parameter, "likelihood is flat along 'b': .*Use a method with priors"),
    ],
)
def test_flat_likelihood(program, message):
    data = pd.DataFrame({"x": [0.3, -1.2, 0.8]})
    with pytest.raises(InferenceError, match=message):
        ca.fit(ca.SCM(program), data, method="ml", progress=False)
    ca.fit(ca.SCM(program), data, method="map", draws=1, chains=1, progress=False)


def mean_and_spread(n):
    spread, mean = pyro.sample("spread", dist.HalfNormal(1.0)), normal("mean")
    with people(n):
        normal("x", mean, spread)


def spread_only(n):
    spread = pyro.sample("spread", dist.HalfNormal(1.0))
    with people(n):
        normal("x", 1.0, spread)


def logit(n):
    slope = normal("slope")
    with people(n):
        x = normal("x")
        pyro.sample("y", dist.Bernoulli(logits=slope * x))


SAME = pd.DataFrame({"x": [1.0] * 20})
SEPARATED = pd.DataFrame({"x": [-2.0, -1.0, 1.0, 2.0], "y": [0, 0, 1, 1]})


@pytest.mark.parametrize(
    ("program", "data", "parameter"),
    [(mean_and_spread, SAME, "(spread|mean)"), (spread_only, SAME, "spread"), (logit, SEPARATED, "slope")],
)
def test_unbounded_likelihood(program, data, parameter):
    with pytest.raises(InferenceError, match=rf"(?=.*(unbounded|flat|rises))(?=.*'{parameter}')"):
        ca.fit(ca.SCM(program), data, method="ml", draws=1, chains=1, progress=False)


def narrow_range(n):
    top = pyro.sample("top", dist.Beta(1.0, 1.0))
    with people(n):
        pyro.sample("x", dist.Uniform(0.0, top))


def test_data_impossible_under_every_prior_draw():
    message = (
        r"probability zero under each of 64 draws from the prior of 'narrow_range'\. 2 people are impossible, "
        r"for example \{'x': 7\.0\}\. Check that the priors are in the units of the data"
    )
    with pytest.raises(InferenceError, match=message):
        ca.fit(ca.SCM(narrow_range), pd.DataFrame({"x": [7.0, 0.0001, 7.0]}), progress=False)


def exogenous(n):
    with people(n):
        noise = pyro.sample("noise", dist.Bernoulli(0.5))
        a = pyro.sample("a", dist.Bernoulli(0.5))
        pyro.deterministic("x", a + noise)


CONSISTENT = pd.DataFrame({"a": [0, 1, 0], "x": [0, 1, 1]}, index=["ann", "bob", "cem"])
INCONSISTENT = CONSISTENT.assign(x=[0, 1, 2])
IMPOSSIBLE = "1 of 3 rows are impossible under the program 'exogenous', the first being row 'cem'.*Correct the data"


def test_inconsistent_row_is_named():
    with pytest.raises(DataError, match=IMPOSSIBLE):
        ca.fit(ca.SCM(exogenous, latents=["noise"]), INCONSISTENT, progress=False)


def test_inconsistent_new_person_is_named():
    posterior = ca.fit(ca.SCM(exogenous, latents=["noise"]), CONSISTENT, draws=2, chains=1, progress=False)
    with pytest.raises(DataError, match=IMPOSSIBLE):
        ca.counterfactuals(posterior, {"a": 0}, data=INCONSISTENT, progress=False)


def many_latents(n):
    with people(n):
        latents = [pyro.sample(f"u{i}", dist.Bernoulli(0.5)) for i in range(9)]
        normal("x", sum(latents))


def test_too_many_latent_states():
    scm = ca.SCM(many_latents, latents=[f"u{i}" for i in range(9)])
    with pytest.raises(InferenceError, match=r"latents u0, .*, u8 have 512 joint states.*at most 256.*fewer latents"):
        ca.fit(scm, pd.DataFrame({"x": [1.0]}), progress=False)


def test_as_many_latent_states_as_are_allowed():
    scm = ca.SCM(many_latents, latents=[f"u{i}" for i in range(8)])
    posterior = ca.fit(scm, pd.DataFrame({"u8": [0, 1], "x": [4.0, 2.0]}), draws=1, chains=1, progress=False)
    assert np.isfinite(posterior.idata["sample_stats"]["log_likelihood"]).all()


def test_latent_that_is_neither_finite_nor_continuous():
    def program(n):
        with people(n):
            normal("x", pyro.sample("u", dist.Poisson(torch.tensor(3.0))))

    message = r"latent 'u' \(Poisson\) has infinitely many values.*Give it a finite or a continuous distribution"
    with pytest.raises(InferenceError, match=message):
        ca.fit(ca.SCM(program, latents=["u"]), pd.DataFrame({"x": [1.0]}), progress=False)


# Unusual programs that are accepted


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
