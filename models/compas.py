"""Recidivism in Broward County (Zhang and Bareinboim 2018, figure 1 and experiment 2), on ProPublica's columns.

Columns: `race` (Caucasian, African-American), the protected X; `age` in years and `sex` (Male, Female), the
demographics Z; `priors_count` and `c_charge_degree` (M: misdemeanour, F: felony), the criminal history W;
`two_year_recid` (0, 1), the outcome Y. `prepare` cuts the table of `causalaudit.datasets.load_compas` to them.

Diagram of `figure_1`::

    age -> race
    sex -> race
    age -> priors_count
    sex -> priors_count
    race -> priors_count
    age -> c_charge_degree
    sex -> c_charge_degree
    race -> c_charge_degree
    priors_count -> c_charge_degree
    age -> two_year_recid
    sex -> two_year_recid
    race -> two_year_recid
    priors_count -> two_year_recid
    c_charge_degree -> two_year_recid

The paper's figure joins X and Z by a bidirected edge: an association of unknown origin. A program must draw one from
the other, and this one draws race given age and sex, as the paper's own simulation does (appendix B.3). Nobody's age
causes a race: the edges into `race` only carry the association. Under do(race := ...) age and sex stay as they are in
both readings, so counterfactuals of race do not depend on it; do(age := ...) would, and is not meant to be asked.

With t = log((age − 16) / 15), which is 0 at 31 years, the median, and h = log(1 + priors_count)::

    age             = 17 + A,    A ~ Gamma(age_shape, mean age_above_17)
    sex             ~ Bernoulli(share_female)
    race            ~ Bernoulli(logits = linear in 1, t, female)
    priors_count    ~ NegativeBinomial(mean = exp(linear in 1, t, t², female, race), concentration)
    c_charge_degree ~ Bernoulli(logits = linear in 1, t, female, race, h)
    two_year_recid  ~ Bernoulli(logits = linear in 1, t, female, race, h, felony)

Age and sex are drawn independently; in the data the mean ages of men and women differ by a month. The
parameters of an equation are ``<variable>_base`` and ``<variable>_by_<term>``, the terms being called age (t),
age_squared, female, race, priors (h) and felony.

Priors: Normal(0, 1.5) for all coefficients, on the scale of log-odds and log-counts; LogNormal(log 18, 0.5) years
for age_above_17; LogNormal(log 2, 0.5) for age_shape; LogNormal(0, 1) for the concentration; Beta(1, 1) for the
share of women.

Noise: that of age is a quantile, exact, and never used by a question about race. The others are discrete, with monotone
noise: the person who is at the 70 % point of the prior counts of people like them stays there in the other
world. No data can check that.

What the fitted model gets wrong: the concentration of prior counts is one number, while in truth young people's counts
vary less around their mean; and whole years of age are treated as continuous.
"""

import math

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch
from torch.distributions.transforms import AffineTransform

from causalaudit.arguments import check_types
from causalaudit.errors import DataError
from causalaudit.people import find_column, pick_column
from causalaudit.scm import SCM

LEVELS = {
    "race": ["Caucasian", "African-American"],
    "sex": ["Male", "Female"],
    "c_charge_degree": ["M", "F"],
}
_YOUNGEST = 17.0
_SCREENING = ["days_b_screening_arrest", "is_recid"]


def prepare(people: pd.DataFrame, screened: bool = True) -> pd.DataFrame:
    """Keep Caucasian and African-American defendants, and, if asked for, ProPublica's selection of them.

    Parameters
    ----------
    people
        The table of `causalaudit.datasets.load_compas`.
    screened
        Keep those whose score is at most 30 days from their arrest and whose recidivism is known, as ProPublica did
        (5,278 people). Otherwise all of the two groups (6,150).

    Returns
    -------
    pandas.DataFrame
        The same columns and index, fewer rows.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"race": ["Caucasian", "Other"], "age": [30, 40]})
    >>> len(prepare(people, screened=False))
    1
    """
    check_types(prepare, locals())
    _check_columns(people, ["race", *(_SCREENING if screened else [])])
    kept = people["race"].isin(LEVELS["race"])
    return people[kept & _screened(people) if screened else kept]


def scan_table(people: pd.DataFrame) -> pd.DataFrame:
    """Prepare the table that Boxer, McFowland and Neill (2024, section 4) audit for subgroup bias.

    Parameters
    ----------
    people
        The table of `causalaudit.datasets.load_compas`.

    Returns
    -------
    pandas.DataFrame
        ProPublica's selection (6,172 people) of all races, with the same columns and index and four more: `age_group`
        (under 25, 25 and over), `priors` (none, 1 to 5, over 5), `prediction`, the share of reoffenders among people
        with the same decile score (equation 4), and `recommendation`, 1 for scores of 5 and more.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"days_b_screening_arrest": [0, 0, 99], "is_recid": [0, 1, 0], "age": [24, 25, 30],
    ...                        "priors_count": [0, 6, 1], "decile_score": [5, 5, 1], "two_year_recid": [0, 1, 0]})
    >>> scan_table(people)[["age_group", "priors", "prediction", "recommendation"]].values.tolist()
    [['under 25', 'none', 0.5, 1], ['25 and over', 'over 5', 0.5, 1]]
    """
    check_types(scan_table, locals())
    _check_columns(people, [*_SCREENING, "age", "priors_count", "decile_score", "two_year_recid"])
    kept = people[_screened(people)]
    return kept.assign(
        age_group=np.where(kept["age"] < 25, "under 25", "25 and over"),
        priors=np.select([kept["priors_count"] == 0, kept["priors_count"] <= 5], ["none", "1 to 5"], "over 5"),
        prediction=kept.groupby("decile_score")["two_year_recid"].transform("mean"),
        recommendation=(kept["decile_score"] >= 5).astype(int),
    )


def _screened(people: pd.DataFrame) -> "pd.Series[bool]":
    days = people["days_b_screening_arrest"].astype(float)
    return days.between(-30, 30) & (people["is_recid"] != -1)


def _check_columns(people: pd.DataFrame, needed: list[str]) -> None:
    lacking = [name for name in needed if name not in people.columns]
    if lacking:
        raise DataError(f"The table lacks the columns {', '.join(lacking)} of ProPublica's file.")
    for name in needed:
        # Of 307 people it is not known when they were screened; ProPublica leaves them out.
        column = (find_column if name == "days_b_screening_arrest" else pick_column)(people, name, "column")
        if name != "race" and not pd.api.types.is_any_real_numeric_dtype(column):
            raise DataError(f"{name!r} must be a number, as in ProPublica's file, but is of the type {column.dtype}.")


def _effects(variable: str, *terms: str) -> list[torch.Tensor]:
    """Draw the intercept and the effects of an equation."""
    names = [f"{variable}_base", *(f"{variable}_by_{term}" for term in terms)]
    return [pyro.sample(name, dist.Normal(0.0, 1.5)) for name in names]


def _linear(effects: list[torch.Tensor], *terms: torch.Tensor) -> torch.Tensor:
    base, *slopes = effects
    return base + sum(slope * term for slope, term in zip(slopes, terms, strict=True))


def figure_1_program(n: int) -> None:
    """The equations of the module's documentation."""
    age_above_17 = pyro.sample("age_above_17", dist.LogNormal(math.log(18.0), 0.5))
    age_shape = pyro.sample("age_shape", dist.LogNormal(math.log(2.0), 0.5))
    share_female = pyro.sample("share_female", dist.Beta(1.0, 1.0))
    to_race = _effects("race", "age", "female")
    to_priors = _effects("priors_count", "age", "age_squared", "female", "race")
    concentration = pyro.sample("concentration", dist.LogNormal(0.0, 1.0))
    to_charge = _effects("c_charge_degree", "age", "female", "race", "priors")
    to_recid = _effects("two_year_recid", "age", "female", "race", "priors", "felony")
    with pyro.plate("individuals", n):
        years = dist.Gamma(age_shape, age_shape / age_above_17)
        age = pyro.sample("age", dist.TransformedDistribution(years, [AffineTransform(_YOUNGEST, 1.0)]))
        t = torch.log((age - 16.0) / 15.0)
        female = pyro.sample("sex", dist.Bernoulli(share_female))
        race = pyro.sample("race", dist.Bernoulli(logits=_linear(to_race, t, female)))
        log_mean = _linear(to_priors, t, t**2, female, race)
        priors = pyro.sample(
            "priors_count", dist.NegativeBinomial(concentration, logits=log_mean - torch.log(concentration))
        )
        h = torch.log1p(priors)
        felony = pyro.sample("c_charge_degree", dist.Bernoulli(logits=_linear(to_charge, t, female, race, h)))
        pyro.sample("two_year_recid", dist.Bernoulli(logits=_linear(to_recid, t, female, race, h, felony)))


def figure_1() -> SCM:
    """Return the SCM of the paper's figure 1 on the real columns.

    Examples
    --------
    >>> import causalaudit as ca
    >>> sorted(ca.models.compas.figure_1().graph.predecessors("priors_count"))
    ['age', 'race', 'sex']
    """
    return SCM(figure_1_program, levels=LEVELS, name="compas, figure 1")
