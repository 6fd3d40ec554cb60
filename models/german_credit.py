"""Credit applications at a German bank, 1973 to 1975 (South German Credit data).

Columns, as `causalaudit.datasets.load_german_credit(version="south")` gives them: `gender` (Male, Female), `age` in
years, `employment_duration` (1: unemployed, to 5: seven years and more), `savings` (1: none or unknown, to 5: 1,000
marks and more), `amount` in marks, `duration` in months, `credit_risk` (1: good, 0: bad).

Diagram of `applications`::

    age -> gender
    gender -> employment_duration
    age -> employment_duration
    gender -> savings
    age -> savings
    employment_duration -> savings
    gender -> amount
    age -> amount
    employment_duration -> amount
    savings -> amount
    gender -> duration
    age -> duration
    amount -> duration
    gender -> credit_risk
    age -> credit_risk
    employment_duration -> credit_risk
    savings -> credit_risk
    amount -> credit_risk
    duration -> credit_risk

The diagram is a plausible one, not one from a paper: people have a working life, from it savings, then ask for an
amount, agree on a duration, and repay or not. Change it where you know better; `causalaudit` only takes it as true.
The edge into `gender` carries an association (the women of the sample are five years younger), not a cause: under
do(gender := ...) ages stay as they are, and do(age := ...) is not meant to be asked.

With a = (age − 35) / 10, e = employment_duration − 3, s = savings − 2, m = log(amount / 2300), d = log(duration / 18)::

    age                 = 18 + A,    A ~ Gamma(age_shape, mean age_above_18)
    gender              ~ Bernoulli(logits = linear in 1, a)
    employment_duration ~ OrderedLogistic(linear in gender, a, a²; cut points logit(F1), ..., logit(F4))
    savings             ~ OrderedLogistic(linear in gender, a, e; cut points in the same way)
    log amount          = log 2300 + linear in 1, gender, a, e, s + amount_spread · U
    log duration        = log 18 + linear in 1, gender, a, m + duration_spread · U
    credit_risk         ~ Bernoulli(logits = linear in 1, gender, a, e, s, m, d)

The parameters of an equation are ``<variable>_base`` and ``<variable>_by_<term>``, the terms being called female, age,
age_squared, employment, savings, amount and duration. F1, ..., F4 are
the sums of the ``<variable>_shares``: the shares of the five values among people for whom the linear term is zero.

Priors: Normal(0, 1) for all coefficients; Dirichlet(1, ..., 1) for the shares; LogNormal(log 18, 0.5) years
for age_above_18; LogNormal(log 2, 0.5) for age_shape; HalfNormal(1) for the spreads.

Noise: residuals of the logarithm, exact, for amount and duration; an exact quantile for age. The others are discrete,
with monotone noise, which no data can check.

What to know about the data: the sample was drawn with 30 % bad risks, far more than the bank had, so that levels of
risk are not those of a population. And `gender` is as the authors of situation testing derived it: the published code
has one value for women who are not single *and* single men, 310 of the 1,000 people, and all of these are counted as
women. Conclusions about gender from this table are about that column.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch
from sklearn.linear_model import LogisticRegression
from torch.distributions.transforms import AffineTransform

from causalaudit.arguments import check_types
from causalaudit.errors import DataError
from causalaudit.scm import SCM

LEVELS: dict[str, list[Any]] = {
    "gender": ["Male", "Female"],
    "employment_duration": [1, 2, 3, 4, 5],
    "savings": [1, 2, 3, 4, 5],
}
_PAID, _CRITICAL = "all paid or none", "critical, delayed or other"
_STATLOG: dict[str, dict[str, Any]] = {
    "personal_status_sex": {
        "A91": ("male", "non-single"),
        "A92": ("female", "non-single"),
        "A93": ("male", "single"),
        "A94": ("male", "non-single"),
        "A95": ("female", "single"),
    },
    "housing": {"A151": "rent", "A152": "own", "A153": "free"},
    "credit_history": {"A30": _PAID, "A31": _PAID, "A32": _PAID, "A33": _CRITICAL, "A34": _CRITICAL},
}
_YOUNGEST, _AMOUNT, _DURATION = 18.0, 2300.0, 18.0


def scan_table(customers: pd.DataFrame) -> pd.DataFrame:
    """Prepare the table that Boxer, McFowland and Neill (2024, appendix C.2) audit for subgroup bias.

    Parameters
    ----------
    customers
        The table of ``causalaudit.datasets.load_german_credit(version="statlog")``.

    Returns
    -------
    pandas.DataFrame
        With the same index, `gender`, `marital_status`, `age_group`, `housing`, `credit_history`, `untrustworthy` (1
        for a bad customer), `prediction`, by a logistic regression on age group, housing and credit history alone (L2
        with C = 1, as scikit-learn has it), and `recommendation`, 1 for predictions of one half and more.

    Examples
    --------
    >>> import pandas as pd
    >>> customers = pd.DataFrame({"personal_status_sex": ["A92", "A93", "A91"], "age": [25, 26, 40],
    ...     "housing": ["A151", "A152", "A153"], "credit_history": ["A30", "A34", "A32"], "class": [2, 1, 1]})
    >>> scan_table(customers)[["gender", "marital_status", "housing"]].values.tolist()
    [['female', 'non-single', 'rent'], ['male', 'single', 'own'], ['male', 'non-single', 'free']]
    """
    check_types(scan_table, locals())
    lacking = [name for name in (*_STATLOG, "age", "class") if name not in customers.columns]
    if lacking:
        raise DataError(f"The table lacks the columns {', '.join(lacking)} of the Statlog data.")
    gender, marital = (customers["personal_status_sex"].map(_STATLOG["personal_status_sex"]).str[k] for k in (0, 1))
    table = pd.DataFrame(
        {
            "gender": gender,
            "marital_status": marital,
            "age_group": np.where(customers["age"] < 26, "under 26", "26 and over"),
            "housing": customers["housing"].map(_STATLOG["housing"]),
            "credit_history": customers["credit_history"].map(_STATLOG["credit_history"]),
            "untrustworthy": (customers["class"] == 2).astype(int),
        }
    )
    dummies = pd.get_dummies(table[["age_group", "housing", "credit_history"]], dtype=float)
    model = LogisticRegression().fit(dummies, table["untrustworthy"])
    chance = model.predict_proba(dummies)[:, 1]
    return table.assign(prediction=chance, recommendation=(chance >= 0.5).astype(int))


def _effects(variable: str, terms: str) -> list[torch.Tensor]:
    """Draw the effects of an equation; the term ``base`` is its intercept."""
    names = [f"{variable}_base" if term == "base" else f"{variable}_by_{term}" for term in terms.split()]
    return [pyro.sample(name, dist.Normal(0.0, 1.0)) for name in names]


def _linear(effects: list[torch.Tensor], *terms: torch.Tensor | float) -> torch.Tensor:
    return sum((effect * term for effect, term in zip(effects, terms, strict=True)), torch.zeros(()))


def _cut_points(shares: torch.Tensor) -> torch.Tensor:
    return torch.logit(shares.cumsum(-1)[..., :-1], eps=1e-12)


def applications_program(n: int) -> None:
    """The equations of the module's documentation."""
    age_above_18 = pyro.sample("age_above_18", dist.LogNormal(math.log(18.0), 0.5))
    age_shape = pyro.sample("age_shape", dist.LogNormal(math.log(2.0), 0.5))
    to_gender = _effects("gender", "base age")
    to_employment = _effects("employment_duration", "female age age_squared")
    to_savings = _effects("savings", "female age employment")
    employment_cuts = _cut_points(pyro.sample("employment_duration_shares", dist.Dirichlet(torch.ones(5))))
    savings_cuts = _cut_points(pyro.sample("savings_shares", dist.Dirichlet(torch.ones(5))))
    to_amount = _effects("amount", "base female age employment savings")
    to_duration = _effects("duration", "base female age amount")
    to_risk = _effects("credit_risk", "base female age employment savings amount duration")
    amount_spread = pyro.sample("amount_spread", dist.HalfNormal(1.0))
    duration_spread = pyro.sample("duration_spread", dist.HalfNormal(1.0))
    with pyro.plate("individuals", n):
        years = dist.Gamma(age_shape, age_shape / age_above_18)
        age = pyro.sample("age", dist.TransformedDistribution(years, [AffineTransform(_YOUNGEST, 1.0)]))
        a = (age - 35.0) / 10.0
        gender = pyro.sample("gender", dist.Bernoulli(logits=_linear(to_gender, 1.0, a)))
        working_life = _linear(to_employment, gender, a, a**2)
        employment = pyro.sample("employment_duration", dist.OrderedLogistic(working_life, employment_cuts))
        e = employment - 2.0  # codes begin at 0
        savings = pyro.sample("savings", dist.OrderedLogistic(_linear(to_savings, gender, a, e), savings_cuts))
        s = savings - 1.0
        log_amount = math.log(_AMOUNT) + _linear(to_amount, 1.0, gender, a, e, s)
        amount = pyro.sample("amount", dist.LogNormal(log_amount, amount_spread))
        m = torch.log(amount / _AMOUNT)
        log_duration = math.log(_DURATION) + _linear(to_duration, 1.0, gender, a, m)
        duration = pyro.sample("duration", dist.LogNormal(log_duration, duration_spread))
        d = torch.log(duration / _DURATION)
        pyro.sample("credit_risk", dist.Bernoulli(logits=_linear(to_risk, 1.0, gender, a, e, s, m, d)))


def applications() -> SCM:
    """Return the SCM of credit applications.

    Examples
    --------
    >>> import causalaudit as ca
    >>> sorted(ca.models.german_credit.applications().graph.predecessors("duration"))
    ['age', 'amount', 'gender']
    """
    return SCM(applications_program, levels=LEVELS, name="german credit, applications")
