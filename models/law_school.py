"""Law-school admission (Kusner et al. 2017; Alvarez and Ruggieri 2025, section 5.3, figure 6).

Columns: `Gender` (Male, Female), `Race` (White, NonWhite), `LSAT` and `UGPA`; `intersectional` uses `GenderRace`
(Other, Female-NonWhite) in place of the first two.

Diagram of `level_3` and `level_3_interaction` (that of the paper's figure 6)::

    Gender -> LSAT
    Gender -> UGPA
    Race -> LSAT
    Race -> UGPA

Diagram of `intersectional`::

    GenderRace -> LSAT
    GenderRace -> UGPA

Diagram of `level_2` (knowledge is latent)::

    Gender -> LSAT
    Gender -> UGPA
    Race -> LSAT
    Race -> UGPA
    knowledge -> LSAT
    knowledge -> UGPA

`level_3` is the additive-noise model, for each score s of LSAT and UGPA::

    s = b_s + female_s · Gender + nonwhite_s · Race + spread_s · U_s,    U_s ~ Normal(0, 1)

`level_3_interaction` adds ``both_s · Gender · Race``; `intersectional` has one effect, of being female and nonwhite.
The paper's figure 6 writes LSAT as an exponential, but the published counterfactuals are those of the linear
equation above, with LSAT rounded to whole numbers before fitting.

`level_2` has a latent cause of both scores::

    UGPA = ugpa0 + female_UGPA · Gender + nonwhite_UGPA · Race + eta_u · knowledge + sigma_g · U,    U ~ Normal(0, 1)
    LSAT ~ Poisson(exp(lsat0 + female_LSAT · Gender + nonwhite_LSAT · Race + eta_l · knowledge))
    knowledge ~ Normal(0, 1)

with standard normal priors of the effects, eta_u ~ HalfNormal(1), which fixes the sign of knowledge, and sigma_g^2 ~
InverseGamma(1, 1). How much of UGPA is knowledge and how much is noise is told by LSAT alone, which depends on
knowledge little: sigma_g depends strongly on its prior, even with all 21,790 people of the survey (0.179, sd 0.010),
and so do the counterfactuals of UGPA. LSAT has the monotone noise of a count, an assumption.

Noise of the others: residuals, exact. Gender, Race and GenderRace are roots; their monotone noise is never used.
"""

from functools import partial

import pyro
import pyro.distributions as dist
import torch

from causalaudit.scm import SCM

GENDER = ["Male", "Female"]
RACE = ["White", "NonWhite"]
GENDER_RACE = ["Other", "Female-NonWhite"]
_UNITS = {"LSAT": (35.0, 10.0), "UGPA": (3.0, 1.0)}  # where the priors of a score are centred, and their scale


def _intercept_and_spread(score: str) -> tuple[torch.Tensor, torch.Tensor]:
    centre, scale = _UNITS[score]
    intercept = pyro.sample(f"intercept_{score}", dist.Normal(centre, scale))
    return intercept, pyro.sample(f"spread_{score}", dist.HalfNormal(scale))


def _effect(of: str, score: str) -> torch.Tensor:
    return pyro.sample(f"{of}_{score}", dist.Normal(0.0, _UNITS[score][1]))


def level_3_program(n: int, interaction: bool = False) -> None:
    """Additive noise, with the effects of gender and race, and of both together if asked for."""
    share_female = pyro.sample("share_female", dist.Beta(1.0, 1.0))
    share_nonwhite = pyro.sample("share_nonwhite", dist.Beta(1.0, 1.0))
    ends = {score: _intercept_and_spread(score) for score in _UNITS}
    effects = {score: (_effect("female", score), _effect("nonwhite", score)) for score in _UNITS}
    both = {score: _effect("both", score) if interaction else 0.0 for score in _UNITS}
    with pyro.plate("individuals", n):
        gender = pyro.sample("Gender", dist.Bernoulli(share_female))
        race = pyro.sample("Race", dist.Bernoulli(share_nonwhite))
        for score, (intercept, spread) in ends.items():
            female, nonwhite = effects[score]
            mean = intercept + female * gender + nonwhite * race + both[score] * gender * race
            pyro.sample(score, dist.Normal(mean, spread))


def intersectional_program(n: int) -> None:
    """Additive noise, with the one effect of being female and nonwhite."""
    share = pyro.sample("share", dist.Beta(1.0, 1.0))
    ends = {score: _intercept_and_spread(score) for score in _UNITS}
    effects = {score: _effect("female_nonwhite", score) for score in _UNITS}
    with pyro.plate("individuals", n):
        group = pyro.sample("GenderRace", dist.Bernoulli(share))
        for score, (intercept, spread) in ends.items():
            pyro.sample(score, dist.Normal(intercept + effects[score] * group, spread))


def level_3() -> SCM:
    """Return the additive-noise SCM of the paper.

    Examples
    --------
    >>> import causalaudit as ca
    >>> sorted(ca.models.law_school.level_3().graph.predecessors("LSAT"))
    ['Gender', 'Race']
    """
    return SCM(level_3_program, levels={"Gender": GENDER, "Race": RACE}, name="law school, level 3")


def level_3_interaction() -> SCM:
    """Return the additive-noise SCM in which being female and nonwhite has an effect of its own.

    Examples
    --------
    >>> import causalaudit as ca
    >>> "both_LSAT" in ca.models.law_school.level_3_interaction().parameters
    True
    """
    program = partial(level_3_program, interaction=True)
    return SCM(program, levels={"Gender": GENDER, "Race": RACE}, name="law school, level 3, interaction")


def intersectional() -> SCM:
    """Return the additive-noise SCM on the single attribute `GenderRace`.

    Examples
    --------
    >>> import causalaudit as ca
    >>> list(ca.models.law_school.intersectional().graph.edges)
    [('GenderRace', 'LSAT'), ('GenderRace', 'UGPA')]
    """
    return SCM(intersectional_program, levels={"GenderRace": GENDER_RACE}, name="law school, intersectional")


def level_2_program(n: int) -> None:
    """Latent knowledge causes both scores."""
    share_female = pyro.sample("share_female", dist.Beta(1.0, 1.0))
    share_nonwhite = pyro.sample("share_nonwhite", dist.Beta(1.0, 1.0))
    effects = {
        name: pyro.sample(name, dist.Normal(0.0, 1.0))
        for name in ("ugpa0", "female_UGPA", "nonwhite_UGPA", "lsat0", "eta_l", "female_LSAT", "nonwhite_LSAT")
    }
    eta_u = pyro.sample("eta_u", dist.HalfNormal(1.0))
    variance_g = pyro.sample("variance_g", dist.InverseGamma(1.0, 1.0))
    sigma_g = pyro.deterministic("sigma_g", variance_g.sqrt())
    with pyro.plate("individuals", n):
        gender = pyro.sample("Gender", dist.Bernoulli(share_female))
        race = pyro.sample("Race", dist.Bernoulli(share_nonwhite))
        knowledge = pyro.sample("knowledge", dist.Normal(0.0, 1.0))
        grade = effects["ugpa0"] + effects["female_UGPA"] * gender + effects["nonwhite_UGPA"] * race
        pyro.sample("UGPA", dist.Normal(grade + eta_u * knowledge, sigma_g))
        rate = effects["lsat0"] + effects["female_LSAT"] * gender + effects["nonwhite_LSAT"] * race
        pyro.sample("LSAT", dist.Poisson(torch.exp(rate + effects["eta_l"] * knowledge)))


def level_2() -> SCM:
    """Return the SCM in which a latent knowledge causes both scores; LSAT must be rounded to whole numbers.

    Examples
    --------
    >>> import causalaudit as ca
    >>> sorted(ca.models.law_school.level_2().graph.successors("knowledge"))
    ['LSAT', 'UGPA']
    """
    levels = {"Gender": GENDER, "Race": RACE}
    return SCM(level_2_program, levels=levels, latents=["knowledge"], name="law school, level 2")
