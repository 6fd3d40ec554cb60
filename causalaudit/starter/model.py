"""A bank's applicants as a causal model, and the bank's rule: the one file of Python that an audit needs.

Change it to say what you believe about your people. Sample sites outside of the plate are parameters, with their
priors; sites inside of it are the columns of the data, each drawn given what causes it.
"""

import pandas as pd
import pyro
import pyro.distributions as dist
import torch


def applicants(n: int) -> None:
    """Gender and education shape income, income shapes debts, income and debts shape who repays.

    ::

        gender    ~ Bernoulli(share_female)
        education ~ Bernoulli(share_college)
        income    ~ Poisson(exp(income_base + income_gap · gender + income_college · education)), in 10,000 dollars
        debts     ~ Bernoulli(logits = debts_base + debts_by_income · income)
        repaid    ~ Bernoulli(logits = repaid_base + repaid_by_income · income + repaid_by_debts · debts)

    Discrete variables have monotone noise by default: an assumption that no data can check.
    """
    share_female = pyro.sample("share_female", dist.Beta(1.0, 1.0))
    share_college = pyro.sample("share_college", dist.Beta(1.0, 1.0))
    income_base = pyro.sample("income_base", dist.Normal(1.0, 1.0))
    income_gap = pyro.sample("income_gap", dist.Normal(0.0, 0.5))
    income_college = pyro.sample("income_college", dist.Normal(0.0, 0.5))
    debts_base = pyro.sample("debts_base", dist.Normal(0.0, 1.5))
    debts_by_income = pyro.sample("debts_by_income", dist.Normal(0.0, 0.5))
    repaid_base = pyro.sample("repaid_base", dist.Normal(0.0, 1.5))
    repaid_by_income = pyro.sample("repaid_by_income", dist.Normal(0.0, 0.5))
    repaid_by_debts = pyro.sample("repaid_by_debts", dist.Normal(0.0, 1.5))
    with pyro.plate("individuals", n):
        gender = pyro.sample("gender", dist.Bernoulli(share_female))
        education = pyro.sample("education", dist.Bernoulli(share_college))
        rate = torch.exp(income_base + income_gap * gender + income_college * education)
        income = pyro.sample("income", dist.Poisson(rate))
        debts = pyro.sample("debts", dist.Bernoulli(logits=debts_base + debts_by_income * income))
        odds = repaid_base + repaid_by_income * income + repaid_by_debts * debts
        pyro.sample("repaid", dist.Bernoulli(logits=odds))


def bank(people: pd.DataFrame) -> pd.Series:
    """Approve whoever earns enough, counting debts; the invented bank asks more of women who have debts."""
    enough = 3 + 2 * (people["debts"] == "yes") + ((people["gender"] == "female") & (people["debts"] == "yes"))
    return (people["income"] >= enough).astype(int)
