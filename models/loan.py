"""The loan scenario of counterfactual situation testing (Alvarez and Ruggieri 2025, section 5.2, figure 1).

Diagram of `linear` (that of the paper's figure 1)::

    gender -> salary
    gender -> balance
    salary -> balance

`linear` is the additive-noise model that the paper fits::

    gender  ~ Bernoulli(share)
    salary  = base + penalty · gender + spread · U1,                            U1 ~ Normal(0, 1)
    balance = start + gap · gender + saving · salary + swing · U2,              U2 ~ Normal(0, 1)

`true_process` is what the data of section 5.2 were drawn from::

    salary  = −1500 · P1 · gender + 10000 · U1,                P1 ~ Poisson(10),  U1 ~ Poisson(10)
    balance = −300 · P2 · gender + 0.3 · salary + 2500 · U2,   P2 ~ χ²(4),        U2 ~ Normal(0, 1)

Noise: residuals, exact. The variable `gender` is a root; its monotone noise is never used.

What the fitted model gets wrong: in the true process every woman has a penalty of her own, while the fitted one
gives all women the mean penalty. Its 90 % intervals for counterfactual salaries are then far too narrow: they
cover the true counterfactual of about 24 % of the women. On data drawn from the fitted model itself they cover 90 %.

Money is in dollars. The share of women in the published data is 0.35, not the 0.45 of the text.
"""

import pyro
import pyro.distributions as dist
import torch

from causalaudit.scm import SCM

LEVELS = {"gender": ["male", "female"]}


def linear_program(n: int) -> None:
    """The linear-Gaussian program; priors are weak, in dollars."""
    share = pyro.sample("share", dist.Beta(1.0, 1.0))
    base = pyro.sample("base", dist.Normal(100_000.0, 50_000.0))
    penalty = pyro.sample("penalty", dist.Normal(0.0, 25_000.0))
    spread = pyro.sample("spread", dist.HalfNormal(50_000.0))
    start = pyro.sample("start", dist.Normal(0.0, 20_000.0))
    gap = pyro.sample("gap", dist.Normal(0.0, 10_000.0))
    saving = pyro.sample("saving", dist.Normal(0.0, 1.0))
    swing = pyro.sample("swing", dist.HalfNormal(10_000.0))
    with pyro.plate("individuals", n):
        gender = pyro.sample("gender", dist.Bernoulli(share))
        salary = pyro.sample("salary", dist.Normal(base + penalty * gender, spread))
        pyro.sample("balance", dist.Normal(start + gap * gender + saving * salary, swing))


def linear() -> SCM:
    """Return the linear-Gaussian SCM that the paper fits to the loan data.

    Examples
    --------
    >>> import causalaudit as ca
    >>> sorted(ca.models.loan.linear().graph.edges)
    [('gender', 'balance'), ('gender', 'salary'), ('salary', 'balance')]
    """
    return SCM(linear_program, levels=LEVELS, name="loan, linear")


def true_program(n: int) -> None:
    """The generating process of section 5.2, with each person's own penalties."""
    with pyro.plate("individuals", n):
        gender = pyro.sample("gender", dist.Bernoulli(0.35))
        ability = pyro.sample("ability", dist.Poisson(torch.tensor(10.0)))
        salary_penalty = pyro.sample("salary_penalty", dist.Poisson(torch.tensor(10.0)))
        balance_penalty = pyro.sample("balance_penalty", dist.Chi2(torch.tensor(4.0)))
        salary = pyro.deterministic("salary", 10_000.0 * ability - 1_500.0 * salary_penalty * gender)
        pyro.sample("balance", dist.Normal(0.3 * salary - 300.0 * balance_penalty * gender, 2_500.0))


def true_process() -> SCM:
    """Return the generating process of the paper's data, with ability and penalties as latents.

    It has no free parameters and its latents are not finite: use it to simulate, not to fit.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.models.loan.true_process().prior_predictive(n=4, draws=1, seed=0)
    >>> bool((people["salary"] % 500 == 0).all())
    True
    """
    latents = ("ability", "salary_penalty", "balance_penalty")
    return SCM(true_program, levels=LEVELS, latents=latents, name="loan, true process")
