"""Expectations of the event under the null hypothesis, from people who are not protected (section 2.2 of the paper)."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from causalaudit.adjustment import (
    SMALLEST,
    check_estimator,
    fit_estimator,
    fit_logistic,
    odds,
    one_sided,
    predict_logistic,
    standardise,
    standardising_penalty,
)
from causalaudit.bias_scan.evidence.columns import Columns, choose_columns, plain_columns
from causalaudit.bias_scan.question.strata import Strata
from causalaudit.storage import storable

_PLAIN = "logistic regression, L2 with C = 1"
_FLEXIBLE = f"{_PLAIN}, with splines and interactions of pairs"


@storable
@dataclass(frozen=True, eq=False)
class FittedExpectations:
    """What the two models say, for each of one or more tables of statuses.

    Attributes
    ----------
    propensity : numpy.ndarray
        Tables × distinct covariates: P(A = 1 | X).
    chance : numpy.ndarray
        Tables × kept strata: the expectation of the event given X and C.
    separated : str
        What had to be kept from diverging, in words; empty if nothing.
    """

    propensity: np.ndarray
    chance: np.ndarray
    separated: str = ""


class ExpectationDraws(Protocol):
    """Draws of expectations, computed for some draws at a time."""

    @property
    def number(self) -> int:
        """How many draws there are."""

    def chance(self, draws: slice) -> np.ndarray:
        """Return what the scan compares with: draws × kept strata."""


class ExpectationModels(Protocol):
    """The propensity model and the outcome model."""

    @property
    def names(self) -> tuple[str, str]:
        """What they are, for the settings of a result."""

    def of(self, strata: Strata, protected: np.ndarray) -> "ExpectationModels":
        """Return the models for these people, given how many of each record are protected: chosen once."""

    def default_columns(self, strata: Strata) -> Columns:
        """Return the columns of the default models, or those that stand in for the models that are given."""

    def expect(self, strata: Strata, protected: np.ndarray) -> FittedExpectations:
        """Fit both models, given how many people of each record are protected (tables × records)."""

    def status(self, strata: Strata, protected: np.ndarray) -> np.ndarray:
        """Return P(A = 1 | X, C) of each record."""


@dataclass(frozen=True, eq=False)
class LogisticModels:
    """Logistic regressions with L2 penalty C = 1 and a free intercept, fitted to full convergence.

    The plain covariates, the paper's, are dummies without the first value, and standardised numbers. The outcome model
    sees them standardised on the people it is fitted to, and the conditioning variable as it is. Because the others
    have the odds of being protected as weights, and the residuals of a logistic regression add up to nothing in each of
    its columns (but for the penalty), the expectation of every subgroup that columns span is doubly robust.

    Attributes
    ----------
    columns : Columns or None
        What they see; None: the plain covariates.
    chosen : bool
        Whether the columns are to be chosen for the people, of plain and flexible ones.
    """

    columns: Columns | None = None
    chosen: bool = False

    @property
    def names(self) -> tuple[str, str]:
        flexible = (False, False) if self.columns is None else self.columns.flexible
        propensity, outcome = (_FLEXIBLE if one else _PLAIN for one in flexible)
        return propensity, outcome

    def of(self, strata: Strata, protected: np.ndarray) -> "LogisticModels":
        return LogisticModels(choose_columns(strata, protected)) if self.chosen else self

    def default_columns(self, strata: Strata) -> Columns:
        return plain_columns(strata) if self.columns is None else self.columns

    def expect(self, strata: Strata, protected: np.ndarray) -> FittedExpectations:
        ours, everyone = strata.by_covariates(protected), strata.by_covariates(strata.count)
        rows = self.default_columns(strata).covariates
        propensity = predict_logistic(rows, fit_logistic(rows, ours, np.broadcast_to(everyone, ours.shape)))
        others = strata.count - protected
        size, events = strata.by_stratum(others), strata.by_stratum(others * strata.event)
        weight = odds(propensity)[:, strata.covariates_of[strata.kept]]
        rows = self.default_columns(strata).outcome
        coefficients = fit_logistic(
            rows, events * weight, size * weight, standardising_penalty(rows, size, strata.condition is not None)
        )
        bad = "the outcome model" if len(size) == 1 and one_sided(events, size) else ""
        return FittedExpectations(
            propensity, np.clip(predict_logistic(rows, coefficients), SMALLEST, 1 - SMALLEST), bad
        )

    def status(self, strata: Strata, protected: np.ndarray) -> np.ndarray:
        rows = self.default_columns(strata).status
        ours, everyone = (strata.by_all_strata(part)[None] for part in (protected, strata.count))
        return predict_logistic(rows, fit_logistic(rows, ours, everyone))[0][strata.stratum_of]


@dataclass(frozen=True, eq=False)
class EstimatorModels:
    """Any pair of scikit-learn classifiers; where one is None, a logistic regression on the plain columns.

    They see the plain columns: dummies without the first value and numbers, for the outcome model
    standardised on the people it is fitted to and followed by the conditioning variable. The outcome model must take
    `sample_weight`.
    """

    propensity: Any = None
    outcome: Any = None

    @property
    def names(self) -> tuple[str, str]:
        propensity, outcome = (
            _PLAIN if model is None else type(model).__name__ for model in (self.propensity, self.outcome)
        )
        return propensity, outcome

    def of(self, strata: Strata, protected: np.ndarray) -> "EstimatorModels":
        return self

    def default_columns(self, strata: Strata) -> Columns:
        return plain_columns(strata)

    def expect(self, strata: Strata, protected: np.ndarray) -> FittedExpectations:
        parts = [self._expect(strata, one) for one in protected]
        propensity, chance = (np.stack([getattr(part, name) for part in parts]) for name in ("propensity", "chance"))
        return FittedExpectations(propensity, chance, parts[0].separated)

    def _expect(self, strata: Strata, protected: np.ndarray) -> FittedExpectations:
        status, record = _people(strata, protected)
        covariates = strata.covariates_of[strata.stratum_of[record]]
        chance = fit_estimator(self.propensity, strata.design[covariates], status, None, strata.design)
        others = (status == 0) & np.isin(strata.stratum_of[record], strata.kept)
        place = np.searchsorted(strata.kept, strata.stratum_of[record[others]])
        rows = strata.outcome_design
        rows = standardise(rows, place, strata.condition is not None)
        weight = odds(chance)[covariates[others]]
        expected = fit_estimator(self.outcome, rows[place], strata.event[record[others]], weight, rows)
        said = [
            name
            for name, values in (("the propensity model", chance), ("the outcome model", expected))
            if ((values < SMALLEST) | (values > 1 - SMALLEST)).any()
        ]
        chance, expected = (np.clip(values, SMALLEST, 1 - SMALLEST) for values in (chance, expected))
        return FittedExpectations(chance, expected, " and ".join(said))

    def status(self, strata: Strata, protected: np.ndarray) -> np.ndarray:
        status, record = _people(strata, protected)
        rows = plain_columns(strata).status
        return fit_estimator(self.propensity, rows[strata.stratum_of[record]], status, None, rows)[strata.stratum_of]


def choose_models(propensity: Any, outcome: Any, scale: str) -> ExpectationModels:
    """Return the models that are given, else the paper's on its scale, else those to be chosen for the people."""
    if propensity is None and outcome is None:
        return LogisticModels(chosen=scale != "paper")
    for name, model in (("propensity", propensity), ("expectation", outcome)):
        if model is not None:
            check_estimator(name, model)
    return EstimatorModels(propensity, outcome)


def _people(strata: Strata, protected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the status and the record of each person, given how many of each record are protected."""
    order = np.argsort(strata.record_of, kind="stable")
    record = strata.record_of[order]
    first = np.cumsum(strata.count) - strata.count
    status = np.empty(len(record), dtype=int)
    status[order] = np.arange(len(record)) - first[record] < protected[record]
    return status, strata.record_of
