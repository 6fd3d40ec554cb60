"""What is refused, with which exception, and whether the message says what was given and what to do."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from torch.distributions.transforms import ExpTransform
from wages import LEVELS, people, table, wages

import causalaudit as ca
from causalaudit.errors import (
    DataError,
    InterventionError,
    ProgramError,
)


@pytest.fixture(scope="module")
def scm():
    return ca.SCM(wages, levels=LEVELS)


@pytest.fixture(scope="module")
def posterior(scm):
    return ca.fit(scm, table(), method="map", draws=5, chains=2, progress=False)


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
        (table().assign(wage=np.nan), "'wage' is missing for everybody"),
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
