"""Whether the models fit in every cell, or a misfit may be as large as what was found."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from causalaudit.adjustment import odds
from causalaudit.bias_scan.evidence.expectations import ExpectationModels
from causalaudit.bias_scan.evidence.expected_people import ExpectedPeople
from causalaudit.errors import CausalAuditWarning
from causalaudit.people import distinct_rows

_RARE = 0.01  # how improbable the misfit of all cells together must be, were the model right
_FEW = 10.0  # people that a cell must amount to
_REACH = 2.0  # standard deviations of the misfit that are plausible


@dataclass(frozen=True, eq=False)
class Misfit:
    """How far a model is off, cell by cell.

    Attributes
    ----------
    probability : float
        Of cells that are off as far, or farther, were the model right (a test by the sum of squares).
    size : float
        The root mean square of what the cells are off by, in excess of chance, over the protected people.
    """

    probability: float
    size: float


def warn_of_misfit(people: ExpectedPeople, models: ExpectationModels, found: float) -> None:
    """Warn if one of the models misfits by cell, so that the expectation may be off by as much as was found."""
    status = models.status(people.strata, people.protected)
    columns = models.default_columns(people.strata)
    for sentence in plausible_misfit(people, status, columns.ranks, found):
        warnings.warn(sentence, CausalAuditWarning, stacklevel=3)


def plausible_misfit(people: ExpectedPeople, status: np.ndarray, columns: tuple[int, int], found: float) -> list[str]:
    """Say which model misfits, if the expectation may be off by as much as was found.

    The outcome model is tested on those who are not protected, with their weights; the model of who is protected on
    everyone. A misfit of the second can shift the expectation by as much as the rate of the protected is off, relative
    to the rate, times how far the event differs between cells.

    Parameters
    ----------
    people
        Who were searched.
    status
        P(A = 1 | X, C) of each record.
    columns
        How many numbers the models of A and of the event fit.
    found
        The disparity of the best subgroup.

    Returns
    -------
    list of str
        A sentence for each model, or nothing.
    """
    outcome, spread = _outcome(people, columns[1])
    of_status, rate = _status(people, status, columns[0])
    shifts = {
        "outcome model": (outcome, outcome.size),
        "model of who is protected": (of_status, of_status.size / rate * spread),
    }
    return [
        f"The {name} misfits by cell (p = {misfit.probability:.2g}): expectations may be off by {_REACH * shift:.2f}, "
        f"and what was found is {abs(found):.2f}. A misfit of the size of the finding is plausible: give a more "
        "flexible model, or fewer features."
        for name, (misfit, shift) in shifts.items()
        if misfit.probability < _RARE and _REACH * shift >= abs(found)
    ]


def _outcome(people: ExpectedPeople, columns: int) -> tuple[Misfit, float]:
    """Return the misfit of the outcome model, and the spread of the event between cells."""
    assert people.fitted is not None
    strata = people.strata
    others = strata.count - people.protected
    weight = odds(people.fitted.propensity[0])[strata.covariates_of[strata.kept]]
    size, events = strata.by_stratum(others), strata.by_stratum(others * strata.event)
    chance = people.fitted.chance[0]
    variance = people.dispersion * chance * (1 - chance) if people.question.scale == "mean" else chance * (1 - chance)
    cell = _cells(people)[strata.kept]
    mass, off, error, squares = (
        np.bincount(cell, part)
        for part in (
            size * weight,
            weight * (events - size * chance),
            weight**2 * size * variance,
            weight**2 * size,
        )
    )
    effective = mass**2 / np.maximum(squares, 1e-300)
    ours = np.bincount(cell, strata.by_stratum(people.protected))
    mean = np.bincount(cell, size * weight * chance) / np.maximum(mass, 1e-300)
    middle = np.average(mean, weights=ours)
    spread = float(np.sqrt(np.average((mean - middle) ** 2, weights=ours)))
    return _misfit(off, error, mass, effective, ours, columns), spread


def _status(people: ExpectedPeople, status: np.ndarray, columns: int) -> tuple[Misfit, float]:
    """Return the misfit of the model of who is protected, and the rate of the protected."""
    strata = people.strata
    cell = _cells(people)[strata.stratum_of]
    count, ours = strata.count, people.protected
    parts = (ours - count * status, count * status * (1 - status), count, ours)
    off, error, size, protected = (np.bincount(cell, part) for part in parts)
    return _misfit(off, error, size, size, protected, columns), float(ours.sum() / count.sum())


def _misfit(
    off: np.ndarray, error: np.ndarray, mass: np.ndarray, effective: np.ndarray, ours: np.ndarray, columns: int
) -> Misfit:
    """Test sums of residuals by cell, given their variances; the columns of a model fit as many cells by themselves."""
    held = (effective >= _FEW) & (error > 0)
    free = int(held.sum()) - columns
    if free < 1:
        return Misfit(1.0, 0.0)
    statistic = (off[held] ** 2 / error[held]).sum()
    excess = (off[held] ** 2 - error[held]) / mass[held] ** 2
    size = np.sqrt(max(np.average(excess, weights=ours[held]), 0.0)) if ours[held].sum() else 0.0
    return Misfit(float(chi2.sf(statistic, free)), float(size))


def _cells(people: ExpectedPeople) -> np.ndarray:
    """Return the cell of each stratum: values or bins of the features and covariates, and of a binary condition."""
    strata = people.strata
    codes = strata.codes[strata.covariates_of]
    value = np.zeros(len(codes)) if people.question.criterion.log_odds else strata.condition_value
    return distinct_rows([strata.cell_of_covariates[strata.covariates_of], *codes.T, value]).inverse
