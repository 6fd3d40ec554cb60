"""Draws of expectations from a Bayesian outcome model."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch
from scipy.special import expit

from causalaudit.bias_scan.evidence.expectations import standardise
from causalaudit.bias_scan.question.events import SMALLEST, log_odds
from causalaudit.bias_scan.question.scan_question import ScanQuestion
from causalaudit.bias_scan.question.strata import Strata
from causalaudit.inference import fit
from causalaudit.scm import SCM
from causalaudit.storage import storable

_CHAINS = 4
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


@storable
@dataclass(frozen=True, eq=False)
class RegressionDraws:
    """Draws of the coefficients of the outcome model, and the rows of the kept strata.

    Attributes
    ----------
    base, effects : numpy.ndarray
        Draws, and draws × columns.
    spread : numpy.ndarray or None
        Draws of the spread of log-odds, if the event is a probability.
    rows : numpy.ndarray
        Kept strata × columns.
    """

    base: np.ndarray
    effects: np.ndarray
    spread: np.ndarray | None
    rows: np.ndarray

    @property
    def number(self) -> int:
        return len(self.base)

    def scan(self, draws: slice) -> np.ndarray:
        return np.clip(expit(self._eta(draws, self.rows)), SMALLEST, 1 - SMALLEST)

    def mean(self, draws: slice, strata: np.ndarray) -> np.ndarray:
        eta = self._eta(draws, self.rows[strata])
        if self.spread is None:
            return np.clip(expit(eta), SMALLEST, 1 - SMALLEST)
        # The mean of a probability whose log-odds are normal.
        spread = self.spread[draws, None]
        mean: np.ndarray = sum(mass * expit(eta + node * spread) for node, mass in zip(_GRID, _MASS, strict=True))
        return mean / _MASS.sum()

    def _eta(self, draws: slice, rows: np.ndarray) -> np.ndarray:
        return self.base[draws, None] + self.effects[draws] @ rows.T


def draw_expectations(question: ScanQuestion, strata: Strata, draws: int, seed: int, progress: bool) -> RegressionDraws:
    """Draw from the posterior of the outcome model, fitted to those who are not protected."""
    gaussian = question.criterion.gaussian
    others = np.flatnonzero(~question.protected & question.inside)
    place = np.searchsorted(strata.kept, strata.stratum_of[strata.record_of[others]])
    rows = standardise(strata.outcome_design, place, strata.condition is not None)
    rows = rows if rows.shape[1] else np.zeros((len(rows), 1))  # features without a choice of values
    table = pd.DataFrame({f"x{at + 1}": rows[place, at] for at in range(rows.shape[1])}, index=range(len(place)))
    table["event"] = log_odds(question.event[others]) if gaussian else question.event[others]
    each = -(-draws // _CHAINS)
    scm = outcome_model(rows.shape[1], gaussian)
    posterior = fit(scm, table, draws=each, chains=_CHAINS, seed=seed, progress=progress)
    values = posterior.parameters(draws)
    return RegressionDraws(values["base"], values["effects"], values.get("spread"), rows)
