"""Draws of expectations around the default outcome model, to see how stable a search is."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from causalaudit.adjustment import SMALLEST, odds, standardising_penalty, with_intercept
from causalaudit.bias_scan.evidence.robust_fit import Sums, robust_fit
from causalaudit.bias_scan.question.strata import Strata
from causalaudit.randomness import generator
from causalaudit.storage import storable


@storable
@dataclass(frozen=True, eq=False)
class RegressionDraws:
    """Draws of the coefficients of an outcome model, and the rows at which it expects something.

    Attributes
    ----------
    coefficients : numpy.ndarray
        Draws × (1 + columns).
    rows : numpy.ndarray
        Kept strata × columns.
    """

    coefficients: np.ndarray
    rows: np.ndarray

    @property
    def number(self) -> int:
        """How many draws there are."""
        return len(self.coefficients)

    def chance(self, draws: slice) -> np.ndarray:
        """Return the expectation of the event: draws × kept strata."""
        return np.clip(expit(self.coefficients[draws] @ with_intercept(self.rows).T), SMALLEST, 1 - SMALLEST)


def draw_expectations(
    strata: Strata, protected: np.ndarray, propensity: np.ndarray, rows: np.ndarray, draws: int, seed: int
) -> RegressionDraws:
    """Draw the coefficients of the default outcome model from the normal law that its estimates have in large samples.

    The covariance is the sandwich, H⁻¹JH⁻¹ with J the sum of squared scores, which asks nothing of the shape of what is
    around the expectation (Huber 1967, White 1982): the event may be 0 or 1, or a prediction.

    Parameters
    ----------
    strata
        The people.
    protected
        How many people of each record are protected.
    propensity
        P(A = 1 | X) of the distinct covariates, whose odds are the weights of the others.
    rows
        Kept strata × columns of the model.
    draws, seed
        How many, and of which stream.
    """
    others = strata.count - protected
    sums = Sums(*(strata.by_stratum(others * strata.event**power) for power in (0, 1, 2)))
    weight = odds(propensity)[strata.covariates_of[strata.kept]]
    penalty = standardising_penalty(rows, sums.size[None], strata.condition is not None)
    fit = robust_fit(rows, sums, weight, penalty)
    half = np.linalg.solve(fit.curvature, fit.scores)
    noise = generator(seed, "bias scan expectations").standard_normal((draws, half.shape[1]))
    return RegressionDraws(fit.coefficients + noise @ half.T, rows)
