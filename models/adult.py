"""Working life in the United States census of 1994 (UCI Adult), with the features that recourse acts on.

Columns, as `prepare` makes them from the table of `causalaudit.datasets.load_adult`: `age` in years, `sex` (Male,
Female), `race` (five groups), `education-num` (8: no diploma, 9: high school, to 16: doctorate), `marital-status`
(Never-married, Married, Formerly-married), `workclass` (Private, Self-employed, Government, Unknown), `occupation`
(Professional, Office, Manual, Service, Unknown), `hours-per-week`, `capital` (0, 1: whether there is any capital gain
or loss), and `income` (<=50K, >50K).

Diagram of `census`::

    age -> sex
    age -> education-num
    sex -> education-num
    race -> education-num
    age -> marital-status
    sex -> marital-status
    race -> marital-status
    age -> workclass
    sex -> workclass
    race -> workclass
    education-num -> workclass
    sex -> occupation
    race -> occupation
    education-num -> occupation
    workclass -> occupation
    age -> hours-per-week
    sex -> hours-per-week
    education-num -> hours-per-week
    marital-status -> hours-per-week
    workclass -> hours-per-week
    occupation -> hours-per-week
    age -> capital
    education-num -> capital
    marital-status -> capital
    workclass -> capital
    age -> income
    sex -> income
    race -> income
    education-num -> income
    marital-status -> income
    workclass -> income
    occupation -> income
    hours-per-week -> income
    capital -> income

The diagram is a plausible one, in the order of a life: people are born, go to school, marry, find an employer and an
occupation, work some hours, own something, and earn. It leaves out what the census did not ask (region, health,
parents), and effects that go back, such as from income to marriage. The edge into `sex` carries an association (the
women are younger than the men), not a cause: under do(sex := ...) ages stay, and do(age := ...) is not meant to be
asked. That there are more women among the Black people of the sample is not represented.

With a = (age − 38) / 10, s = education-num − 10, black and other for two groups of race, against White (other: all the
rest), and h = (hours-per-week − 40) / 10::

    age            = 15 + 85 / (1 + exp(−age_location − age_spread · U)),      U ~ Normal(0, 1)
    sex            ~ Bernoulli(logits linear in 1, a)
    race           ~ Categorical(race_shares)
    education-num  ~ OrderedLogistic(linear in a, a², female, black, other; cut points from education-num_shares)
    marital-status ~ Categorical(logits linear in 1, a, a², female, black, other)
    workclass      ~ Categorical(logits linear in 1, a, female, black, other, s)
    occupation     ~ Categorical(logits linear in 1, female, black, other, s, self-employed, government)
    hours-per-week = 40 + 10 · (linear in 1, a, a², female, s, married, self-employed, government, unknown,
                     professional, manual, service) + hours_spread · U,        U ~ StudentT(3)
    capital        ~ Bernoulli(logits linear in 1, a, s, married, self-employed)
    income         ~ Bernoulli(logits linear in 1, a, a², female, black, other, s, married, self-employed, government,
                     unknown, professional, manual, service, h, capital)

An occupation is unknown exactly where the workclass is. The parameters of an equation are one vector,
``<variable>_effects``, in the order of `TERMS`, which is the one above; for categorical variables a matrix with a
column for each level but the first (occupation: for Office, Manual and Service, against Professional). The shares of
education are those of White men of 38 years.

Priors: Normal(0, 1) for all effects, Normal(0, 2) for intercepts; Dirichlet(1, ..., 1) for shares; Normal(−1, 1)
for age_location, HalfNormal(1) for age_spread, HalfNormal(10) hours for hours_spread.

Noise: residuals, exact, for age and hours-per-week. Education-num, sex, capital and income have monotone noise, the
categorical ones Gumbel-max noise; no data can check either.

What the model gets wrong: half of the people work exactly 40 hours, and the Student t only crowds there; hours may
leave the range of 1 to 99 in counterfactuals; schooling comes in diplomas. The survey weights (`fnlwgt`) are not used.
"""

from typing import Any

import pandas as pd
import pyro
import pyro.distributions as dist
import torch
from torch.distributions.transforms import AffineTransform, SigmoidTransform

from causalaudit.arguments import check_types
from causalaudit.errors import DataError
from causalaudit.scm import SCM

LEVELS: dict[str, list[Any]] = {
    "sex": ["Male", "Female"],
    "race": ["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"],
    "education-num": list(range(8, 17)),
    "marital-status": ["Never-married", "Married", "Formerly-married"],
    "workclass": ["Private", "Self-employed", "Government", "Unknown"],
    "occupation": ["Professional", "Office", "Manual", "Service", "Unknown"],
    "income": ["<=50K", ">50K"],
}
_COARSE = {
    "marital-status": {
        "Never-married": "Never-married",
        "Married": "Married-civ-spouse Married-AF-spouse",
        "Formerly-married": "Divorced Separated Widowed Married-spouse-absent",
    },
    "workclass": {
        "Private": "Private",
        "Self-employed": "Self-emp-not-inc Self-emp-inc Without-pay",
        "Government": "Federal-gov State-gov Local-gov",
        "Unknown": "Never-worked",
    },
    "occupation": {
        "Professional": "Prof-specialty Exec-managerial Tech-support",
        "Office": "Adm-clerical Sales",
        "Manual": "Craft-repair Machine-op-inspct Transport-moving Handlers-cleaners Farming-fishing",
        "Service": "Other-service Priv-house-serv Protective-serv Armed-Forces",
    },
}
_YOUNGEST, _OLDEST = 15.0, 100.0
_NEVER = -60.0  # log-odds of what does not occur
_GROUP, _JOB = (
    ("female", "black", "other"),
    ("self-employed", "government", "unknown", "professional", "manual", "service"),
)
TERMS: dict[str, tuple[str, ...]] = {
    "sex": ("base", "age"),
    "education-num": ("age", "age²", *_GROUP),
    "marital-status": ("base", "age", "age²", *_GROUP),
    "workclass": ("base", "age", *_GROUP, "schooling"),
    "occupation": ("base", *_GROUP, "schooling", "self-employed", "government"),
    "hours-per-week": ("base", "age", "age²", "female", "schooling", "married", *_JOB),
    "capital": ("base", "age", "schooling", "married", "self-employed"),
    "income": ("base", "age", "age²", *_GROUP, "schooling", "married", *_JOB, "hours", "capital"),
}
_SHIFTED = {"marital-status": 2, "workclass": 3, "occupation": 3}  # levels whose odds against the first have effects


def prepare(people: pd.DataFrame) -> pd.DataFrame:
    """Merge the levels of the census table, name what is unknown, and add `capital`.

    Schooling that ended without a diploma (`education-num` 1 to 8) becomes 8. A missing `workclass` or `occupation`,
    and the ten people who never worked, become ``"Unknown"`` in both. Unpaid workers in a family business count as
    self-employed.

    Parameters
    ----------
    people
        The table of `causalaudit.datasets.load_adult`.

    Returns
    -------
    pandas.DataFrame
        All rows and columns; `education-num`, `marital-status`, `workclass` and `occupation` with fewer values, and
        the new column `capital`.

    Examples
    --------
    >>> import pandas as pd
    >>> person = {"education-num": 5, "marital-status": "Divorced", "workclass": None, "occupation": None}
    >>> prepared = prepare(pd.DataFrame([{**person, "capital-gain": 0, "capital-loss": 12}]))
    >>> prepared[["marital-status", "occupation"]].iloc[0].to_list(), prepared["capital"].item()
    (['Formerly-married', 'Unknown'], 1)
    """
    check_types(prepare, locals())
    lacking = [
        name for name in ["education-num", *_COARSE, "capital-gain", "capital-loss"] if name not in people.columns
    ]
    if lacking:
        raise DataError(f"The table lacks the columns {', '.join(lacking)} of the Adult data.")
    result = people.assign(**{"education-num": people["education-num"].clip(lower=8)})
    for column, groups in _COARSE.items():
        coarse = {level: group for group, levels in groups.items() for level in levels.split()}
        strange = sorted(set(people[column].dropna()) - set(coarse))
        if strange:
            raise DataError(f"{column!r} has the values {', '.join(map(repr, strange[:5]))}, unlike the Adult data.")
        result[column] = people[column].map(coarse).astype(object)
    unknown = result[["workclass", "occupation"]].isna().any(axis=1) | (result["workclass"] == "Unknown")
    result.loc[unknown, ["workclass", "occupation"]] = "Unknown"
    return result.assign(capital=((people["capital-gain"] > 0) | (people["capital-loss"] > 0)).astype(int))


def _effects(variable: str) -> torch.Tensor:
    """Draw the effects on a variable: a vector, or a matrix with a column for each level but the first."""
    terms, shifted = TERMS[variable], _SHIFTED.get(variable, 0)
    scales = torch.tensor([2.0 if term == "base" else 1.0 for term in terms])
    if shifted:
        scales = scales.unsqueeze(-1).expand(len(terms), shifted)
    return pyro.sample(f"{variable}_effects", dist.Normal(torch.zeros(scales.shape), scales).to_event(scales.dim()))


def _linear(effects: torch.Tensor, *terms: torch.Tensor) -> torch.Tensor:
    """Add the first effect, which is the base, and the terms times the others."""
    return effects[0] + torch.stack(terms, -1) @ effects[1:]


def _logits(effects: torch.Tensor, *terms: torch.Tensor) -> torch.Tensor:
    """The log-odds of all levels along a new last axis, those of the first being zero."""
    return torch.nn.functional.pad(_linear(effects, *terms), (1, 0))


def census_program(n: int) -> None:
    """The equations of the module's documentation."""
    age_location = pyro.sample("age_location", dist.Normal(-1.0, 1.0))
    age_spread = pyro.sample("age_spread", dist.HalfNormal(1.0))
    race_shares = pyro.sample("race_shares", dist.Dirichlet(torch.ones(5)))
    shares = pyro.sample("education-num_shares", dist.Dirichlet(torch.ones(9)))
    hours_spread = pyro.sample("hours_spread", dist.HalfNormal(10.0))
    to = {variable: _effects(variable) for variable in TERMS}
    with pyro.plate("individuals", n):
        to_years = [SigmoidTransform(), AffineTransform(_YOUNGEST, _OLDEST - _YOUNGEST)]
        age = pyro.sample("age", dist.TransformedDistribution(dist.Normal(age_location, age_spread), to_years))
        a = (age - 38.0) / 10.0
        female = pyro.sample("sex", dist.Bernoulli(logits=_linear(to["sex"], a)))
        race = pyro.sample("race", dist.Categorical(race_shares))
        group = (female, 1.0 * (race == 1), 1.0 * (race > 1))
        cuts = torch.logit(shares.cumsum(-1)[..., :-1], eps=1e-12)
        schooling = torch.stack([a, a**2, *group], -1) @ to["education-num"]
        s = pyro.sample("education-num", dist.OrderedLogistic(schooling, cuts)) - 2.0  # code 0 is 8
        wedding = _logits(to["marital-status"], a, a**2, *group)
        married = 1.0 * (pyro.sample("marital-status", dist.Categorical(logits=wedding)) == 1)
        employer = _logits(to["workclass"], a, *group, s)
        workclass = pyro.sample("workclass", dist.Categorical(logits=employer))
        self_employed, government, unknown = (1.0 * (workclass == code) for code in (1, 2, 3))
        known = _logits(to["occupation"], *group, s, self_employed, government)
        no_job = torch.where(workclass == 3, -_NEVER, _NEVER).unsqueeze(-1)
        occupation = pyro.sample("occupation", dist.Categorical(logits=torch.cat([known, no_job], -1)))
        professional, manual, service = (1.0 * (occupation == code) for code in (0, 2, 3))
        job = (self_employed, government, unknown, professional, manual, service)
        mean_hours = 40.0 + 10.0 * _linear(to["hours-per-week"], a, a**2, female, s, married, *job)
        hours = pyro.sample("hours-per-week", dist.StudentT(3.0, mean_hours, hours_spread))
        owning = _linear(to["capital"], a, s, married, self_employed)
        capital = pyro.sample("capital", dist.Bernoulli(logits=owning))
        earning = _linear(to["income"], a, a**2, *group, s, married, *job, (hours - 40.0) / 10.0, capital)
        pyro.sample("income", dist.Bernoulli(logits=earning))


def census() -> SCM:
    """Return the SCM of the census, from age, sex and race to income.

    Examples
    --------
    >>> import causalaudit as ca
    >>> sorted(ca.models.adult.census().graph.predecessors("education-num"))
    ['age', 'race', 'sex']
    """
    return SCM(census_program, levels=LEVELS, name="adult, census")
