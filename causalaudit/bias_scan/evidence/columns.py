"""The columns of the default models: plain, as the paper has them, or with splines and interactions of pairs."""

from dataclasses import dataclass

import numpy as np

from causalaudit.adjustment import SplineBasis, fit_logistic, odds, predict_logistic, standardising_penalty
from causalaudit.bias_scan.evidence.robust_fit import Sums, expected_loss
from causalaudit.bias_scan.question.strata import Strata

_PEOPLE = 10  # for each column, at least: with fewer the columns stay plain
_MOST = 300  # columns
_CONDITION_STEPS = 4  # of a conditioning variable with many values


@dataclass(frozen=True, eq=False)
class Columns:
    """Rows of the default models.

    Attributes
    ----------
    covariates : numpy.ndarray
        Distinct covariates × columns, for P(A | X).
    status : numpy.ndarray
        Strata × columns, for P(A | X, C).
    outcome : numpy.ndarray
        Kept strata × columns, for the event; the conditioning variable, if it is not filtered on, is the last.
    flexible : tuple of bool
        Whether those of A and of the event have splines and interactions.
    """

    covariates: np.ndarray
    status: np.ndarray
    outcome: np.ndarray
    flexible: tuple[bool, bool] = (False, False)

    @property
    def ranks(self) -> tuple[int, int]:
        """How many numbers the models of A given C and of the event have to fit."""
        status, outcome = (_rank(rows) + 1 for rows in (self.status, self.outcome))
        return status, outcome


def _rank(rows: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(rows.T @ rows)) if rows.shape[1] else 0


def plain_columns(strata: Strata) -> Columns:
    """Return dummies without the first value, and numbers, beside the conditioning variable."""
    rows = strata.design[strata.covariates_of]
    status = rows if strata.status_condition is None else np.column_stack([rows, strata.status_condition])
    return Columns(strata.design, status, strata.outcome_design)


def flexible_columns(strata: Strata) -> Columns:
    """Return splines of numbers, dummies of bins, and the products of all pairs, with the conditioning variable's too.

    What a subgroup of two features deviates by is then learnt from the others, and a number may have any smooth form.
    """
    levels = _dummies(strata.codes)
    pairs = [
        (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
        for place, one in enumerate(levels)
        for other in levels[place + 1 :]
    ]
    numbers = strata.design[:, [len(np.unique(column)) > 2 for column in strata.design.T]]
    covariates = _varying(np.column_stack([SplineBasis().fit_transform(numbers), *levels, *pairs]))
    condition = strata.status_condition
    rows = covariates[strata.covariates_of]
    status, outcome = rows, rows[strata.kept]
    if condition is not None:
        crossed = np.column_stack([part[strata.covariates_of] * condition[:, None] for part in levels])
        bends = _dummies(_steps(condition)[:, None])[0]
        status = np.column_stack([rows, crossed, bends, condition])
        if strata.condition is not None:
            outcome = status[strata.kept]
    return Columns(covariates, status, outcome, (True, True))


def choose_columns(strata: Strata, protected: np.ndarray) -> Columns:
    """Choose the columns of each model by the log loss to be expected for people whom it was not fitted to.

    That is the loss for those whom it was fitted to, and the trace of H⁻¹J (Takeuchi's information criterion; what
    leaving people out one by one comes to in large samples), whatever the law of the events and with any weights.

    Parameters
    ----------
    strata
        The people.
    protected
        How many people of each record are protected.
    """
    plain = plain_columns(strata)
    if _width(strata) > min(_MOST, strata.count.sum() / _PEOPLE):
        return plain
    flexible = flexible_columns(strata)
    status = _status_loss(strata, protected, flexible.status) < _status_loss(strata, protected, plain.status)
    chosen = flexible if status else plain
    ours, everyone = (strata.by_covariates(part)[None] for part in (protected, strata.count))
    propensity = predict_logistic(chosen.covariates, fit_logistic(chosen.covariates, ours, everyone))[0]
    weight = odds(propensity)[strata.covariates_of[strata.kept]]
    losses = [_outcome_loss(strata, strata.count - protected, weight, one.outcome) for one in (flexible, plain)]
    outcome = losses[0] < losses[1]
    rows = flexible.outcome if outcome else plain.outcome
    return Columns(chosen.covariates, chosen.status, rows, (status, outcome))


def _status_loss(strata: Strata, protected: np.ndarray, rows: np.ndarray) -> float:
    ours, everyone = (strata.by_all_strata(part) for part in (protected, strata.count))
    return expected_loss(rows, Sums(everyone, ours, ours), np.ones(len(rows)), np.ones((1, rows.shape[1])))


def _outcome_loss(strata: Strata, others: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> float:
    sums = Sums(*(strata.by_stratum(others * strata.event**power) for power in (0, 1, 2)))
    penalty = standardising_penalty(rows, sums.size[None], strata.condition is not None)
    return expected_loss(rows, sums, weight, penalty)


def _width(strata: Strata) -> int:
    """Return how many columns the flexible ones would be, at most."""
    sizes = strata.codes.max(axis=0) + 1
    pairs = (sizes.sum() ** 2 - (sizes**2).sum()) // 2
    return int(pairs + 2 * sizes.sum() + 8 * strata.design.shape[1] + _CONDITION_STEPS)


def _dummies(codes: np.ndarray) -> list[np.ndarray]:
    """Return a column for each value, so that under a penalty none of them is special."""
    return [np.eye(int(column.max()) + 1)[column] for column in codes.T]


def _steps(condition: np.ndarray) -> np.ndarray:
    """Return the quarter of a conditioning variable with many values, a single one if it has two."""
    if len(np.unique(condition)) <= 2:
        return np.zeros(len(condition), dtype=int)
    edges = np.quantile(condition, np.arange(1, _CONDITION_STEPS) / _CONDITION_STEPS)
    return np.searchsorted(np.unique(edges), condition)


def _varying(rows: np.ndarray) -> np.ndarray:
    return rows[:, np.ptp(rows, axis=0) > 0] if len(rows) else rows
