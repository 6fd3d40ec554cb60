"""A Bayesian outcome model, and how stable the best subgroup is over its draws."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch
from scipy.special import expit

from causalaudit.bias_scan.expectations import SMALLEST, log_odds, standardise
from causalaudit.bias_scan.question import Question
from causalaudit.bias_scan.search import Search
from causalaudit.bias_scan.strata import Strata
from causalaudit.inference import fit
from causalaudit.progress import watched
from causalaudit.scm import SCM

_CHAINS = 4
_TABLES = 50  # draws scanned in one pass
_GRID, _MASS = np.polynomial.hermite_e.hermegauss(15)


@lru_cache(maxsize=32)
def outcome_model(columns: int, gaussian: bool) -> SCM:
    """Return the Bayesian outcome model: a regression with the priors that the default penalty amounts to.

    The event is ``Bernoulli(logits=η)`` with η = base + Σ effect · x; the log-odds of a probability are ``Normal(η,
    spread)``. Priors: base ~ Normal(0, 5), effects ~ Normal(0, 1) as the L2 penalty with C = 1, spread ~ HalfNormal(1).
    The covariates x1, x2, … are standardised; the conditioning variable comes last, as it is. People are not weighted:
    given X and C, weights would only change how much the data are worth.

    Examples
    --------
    >>> outcome_model(2, gaussian=False).variables
    ('x1', 'x2', 'event')
    """

    def program(n: int) -> None:
        base = pyro.sample("base", dist.Normal(0.0, 5.0))
        effects = pyro.sample("effects", dist.Normal(torch.zeros(columns), 1.0).to_event(1))
        if gaussian:
            spread = pyro.sample("spread", dist.HalfNormal(1.0))
        with pyro.plate("individuals", n):
            eta = base
            for place in range(columns):
                eta = eta + effects[..., place] * pyro.sample(f"x{place + 1}", dist.Normal(0.0, 1.0))
            pyro.sample("event", dist.Normal(eta, spread) if gaussian else dist.Bernoulli(logits=eta))

    return SCM(program, name="outcome model")


def draw_expectations(
    question: Question, strata: Strata, draws: int, seed: int, progress: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Draw expectations of the event from the posterior of the outcome model, fitted to those who are not protected.

    Returns
    -------
    tuple of numpy.ndarray
        Draws × kept strata: what the scan compares with, and the mean event (they differ for probabilities, which the
        scan compares on the scale of log-odds).
    """
    gaussian = question.criterion.gaussian
    others = np.flatnonzero(~question.protected & question.inside)
    place = np.searchsorted(strata.kept, strata.stratum_of[strata.record_of[others]])
    rows = standardise(strata.outcome_design, place, strata.condition is not None)
    rows = rows if rows.shape[1] else np.zeros((len(rows), 1))  # features without a choice of values
    table = pd.DataFrame({f"x{at + 1}": rows[place, at] for at in range(rows.shape[1])}, index=range(len(place)))
    table["event"] = log_odds(question.event[others]) if gaussian else question.event[others]
    posterior = fit(
        outcome_model(rows.shape[1], gaussian), table, draws=-(-draws // _CHAINS), chains=_CHAINS, seed=seed,
        progress=progress,
    )  # fmt: skip
    values = posterior.parameters(draws)
    eta = values["base"][:, None] + values["effects"] @ rows.T
    chance = np.clip(expit(eta), SMALLEST, 1 - SMALLEST)
    if not gaussian:
        return chance, chance
    mean = sum(mass * expit(eta + node * values["spread"][:, None]) for node, mass in zip(_GRID, _MASS, strict=True))
    return chance, mean / _MASS.sum()


def inclusion(question: Question, strata: Strata, search: Search, chance: np.ndarray, progress: bool) -> pd.DataFrame:
    """Return how often the best subgroup of a draw holds each value.

    Parameters
    ----------
    question, strata, search
        The people who are searched, and how.
    chance
        Draws × kept strata: expectations.

    Returns
    -------
    pandas.DataFrame
        `feature, value, share`; a draw without a positive score holds no value.
    """
    parts = watched(
        _holdings(question, strata, search, chance), -(-len(chance) // _TABLES), "scanning posterior draws", progress
    )
    share = sum(parts) / len(chance)
    pairs = [(feature.name, value) for feature in question.features for value in feature.values]
    return pd.DataFrame(pairs, columns=["feature", "value"]).assign(share=share)


def _holdings(question: Question, strata: Strata, search: Search, chance: np.ndarray) -> Iterator[np.ndarray]:
    protected = strata.protected_counts(question.protected)
    for first in range(0, len(chance), _TABLES):
        part = chance[first : first + _TABLES]
        tables = np.broadcast_to(protected, (len(part), len(protected)))
        held, scores = search.best_of_each(question.evidence(strata, tables, part), first=1 + first)
        yield (held & (scores > 0)[:, None]).sum(axis=0)
