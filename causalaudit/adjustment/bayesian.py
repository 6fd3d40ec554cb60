"""A Bayesian regression of events or probabilities on rows of covariates: draws of its expectations."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch
from scipy.special import expit

from causalaudit.adjustment.propensity import SMALLEST, log_odds
from causalaudit.inference import fit
from causalaudit.scm import SCM
from causalaudit.storage import storable

_CHAINS = 4
_GRID, _MASS = np.polynomial.hermite_e.hermegauss(15)


@storable
@dataclass(frozen=True, eq=False)
class RegressionDraws:
    """Draws of the coefficients of a regression, and the rows at which it is expected something.

    Attributes
    ----------
    base, effects : numpy.ndarray
        Draws, and draws × columns.
    spread : numpy.ndarray or None
        Draws of the spread of log-odds, if the event is a probability.
    rows : numpy.ndarray
        Rows × columns.
    """

    base: np.ndarray
    effects: np.ndarray
    spread: np.ndarray | None
    rows: np.ndarray

    @property
    def number(self) -> int:
        """How many draws there are."""
        return len(self.base)

    def chance(self, draws: slice) -> np.ndarray:
        """Return the probability of an event, or the middle of probabilities on the scale of log-odds: draws × rows."""
        return np.clip(expit(self._eta(draws, self.rows)), SMALLEST, 1 - SMALLEST)

    def mean(self, draws: slice, which: np.ndarray) -> np.ndarray:
        """Return the expected mean event at some of the rows: draws × rows."""
        eta = self._eta(draws, self.rows[which])
        if self.spread is None:
            return np.clip(expit(eta), SMALLEST, 1 - SMALLEST)
        # The mean of a probability whose log-odds are normal.
        spread = self.spread[draws, None]
        mean: np.ndarray = sum(mass * expit(eta + node * spread) for node, mass in zip(_GRID, _MASS, strict=True))
        return mean / _MASS.sum()

    def _eta(self, draws: slice, rows: np.ndarray) -> np.ndarray:
        return self.base[draws, None] + self.effects[draws] @ rows.T


def draw_regression(
    rows: np.ndarray,
    place: np.ndarray,
    event: np.ndarray,
    *,
    probabilities: bool,
    draws: int,
    seed: int = 0,
    progress: bool = True,
) -> RegressionDraws:
    """Draw from the posterior of a regression with the priors that the default penalty amounts to.

    The event is ``Bernoulli(logits=η)`` with η = base + Σ effect · x; the log-odds of a probability are ``Normal(η,
    spread)``. Priors: base ~ Normal(0, 5), effects ~ Normal(0, 1) as the L2 penalty with C = 1, spread ~ HalfNormal(1).
    People are not weighted: given their covariates, weights would only change how much the data are worth.

    Parameters
    ----------
    rows
        Distinct rows × columns, in units of their spread (see `standardise`).
    place, event
        Of each person: which row, and what happened.
    probabilities
        Whether events are probabilities.
    draws
        How many to make.
    seed
        Same seed, same draws.
    progress
        Show a bar when it is long.

    Examples
    --------
    >>> import numpy as np
    >>> rows, place = np.array([[-1.0], [1.0]]), np.repeat([0, 1], 200)
    >>> event = (np.arange(400) % 4 < np.where(place, 3, 1)).astype(float)
    >>> drawn = draw_regression(rows, place, event, probabilities=False, draws=200, progress=False)
    >>> drawn.chance(slice(None)).mean(axis=0).round(1)
    array([0.3, 0.7])
    """
    rows = rows if rows.shape[1] else np.zeros((len(rows), 1))  # covariates without a choice of values
    table = pd.DataFrame({f"x{at + 1}": rows[place, at] for at in range(rows.shape[1])}, index=range(len(place)))
    table["event"] = log_odds(event) if probabilities else event
    program = _regression(rows.shape[1], probabilities)
    posterior = fit(program, table, draws=-(-draws // _CHAINS), chains=_CHAINS, seed=seed, progress=progress)
    values = posterior.parameters(draws)
    return RegressionDraws(values["base"], values["effects"], values.get("spread"), rows)


@lru_cache(maxsize=32)
def _regression(columns: int, probabilities: bool) -> SCM:
    """Return the regression as a program, so that it is fitted, checked and warned of like all others."""

    def program(n: int) -> None:
        base = pyro.sample("base", dist.Normal(0.0, 5.0))
        effects = pyro.sample("effects", dist.Normal(torch.zeros(columns), 1.0).to_event(1))
        if probabilities:
            spread = pyro.sample("spread", dist.HalfNormal(1.0))
        with pyro.plate("individuals", n):
            eta = base
            for place in range(columns):
                eta = eta + effects[..., place] * pyro.sample(f"x{place + 1}", dist.Normal(0.0, 1.0))
            pyro.sample("event", dist.Normal(eta, spread) if probabilities else dist.Bernoulli(logits=eta))

    return SCM(program, name="regression")
