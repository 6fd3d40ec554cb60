"""Expectations of the event under the null hypothesis, from people who are not protected (section 2.2 of the paper)."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from causalaudit.adjustment import (
    SMALLEST,
    fit_estimator,
    fit_logistic,
    odds,
    one_sided,
    predict_logistic,
    standardise,
    standardising_penalty,
)
from causalaudit.bias_scan.question.strata import Strata
from causalaudit.storage import storable

_DEFAULT = "logistic regression, L2 with C = 1"


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
    """Posterior draws of expectations, computed for some draws and strata at a time."""

    @property
    def number(self) -> int:
        """How many draws there are."""

    def chance(self, draws: slice) -> np.ndarray:
        """Return what the scan compares with: draws × kept strata."""

    def mean(self, draws: slice, which: np.ndarray) -> np.ndarray:
        """Return the expected mean event of some of the kept strata: draws × strata."""


class ExpectationModels(Protocol):
    """The propensity model and the outcome model."""

    @property
    def names(self) -> tuple[str, str]:
        """What they are, for the settings of a result."""

    def expect(self, strata: Strata, protected: np.ndarray) -> FittedExpectations:
        """Fit both models, given how many people of each record are protected (tables × records)."""

    def status(self, strata: Strata, protected: np.ndarray) -> np.ndarray:
        """Return P(A = 1 | X, C) of each record."""


class LogisticModels:
    """The default: logistic regressions with L2 penalty C = 1 and a free intercept, fitted to full convergence.

    The covariates are dummies without the first value, and standardised numbers. The outcome model sees them
    standardised on the people it is fitted to, and the conditioning variable as it is.
    """

    @property
    def names(self) -> tuple[str, str]:
        return _DEFAULT, _DEFAULT

    def expect(self, strata: Strata, protected: np.ndarray) -> FittedExpectations:
        ours, everyone = strata.by_covariates(protected), strata.by_covariates(strata.count)
        propensity = predict_logistic(
            strata.design, fit_logistic(strata.design, ours, np.broadcast_to(everyone, ours.shape))
        )
        others = strata.count - protected
        size, events = strata.by_stratum(others), strata.by_stratum(others * strata.event)
        weight = odds(propensity)[:, strata.covariates_of[strata.kept]]
        rows = strata.outcome_design
        coefficients = fit_logistic(
            rows, events * weight, size * weight, standardising_penalty(rows, size, strata.condition is not None)
        )
        bad = "the outcome model" if len(size) == 1 and one_sided(events, size) else ""
        return FittedExpectations(
            propensity, np.clip(predict_logistic(rows, coefficients), SMALLEST, 1 - SMALLEST), bad
        )

    def status(self, strata: Strata, protected: np.ndarray) -> np.ndarray:
        rows = strata.design[strata.covariates_of]
        if len(np.unique(strata.condition_value)) > 1:
            rows = np.column_stack([rows, _status_condition(strata)])
        runs = strata.stratum_of
        ours = np.bincount(runs, protected)
        chance = predict_logistic(rows, fit_logistic(rows, ours[None], np.bincount(runs, strata.count)[None]))[0]
        return chance[runs]


def _status_condition(strata: Strata) -> np.ndarray:
    return strata.condition_value if strata.condition is None else strata.condition


@dataclass(frozen=True, eq=False)
class EstimatorModels:
    """Any pair of scikit-learn classifiers; where one is None, the default.

    They see the columns of the default: dummies without the first value and numbers, for the outcome model
    standardised on the people it is fitted to and followed by the conditioning variable. The outcome model must take
    `sample_weight`.
    """

    propensity: Any = None
    outcome: Any = None

    @property
    def names(self) -> tuple[str, str]:
        propensity, outcome = (
            _DEFAULT if model is None else type(model).__name__ for model in (self.propensity, self.outcome)
        )
        return propensity, outcome

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
        rows = np.column_stack([strata.design[strata.covariates_of], _status_condition(strata)])
        return fit_estimator(self.propensity, rows[strata.stratum_of[record]], status, None, rows)[strata.stratum_of]


def choose_models(propensity: Any, outcome: Any) -> ExpectationModels:
    """Return the default models, or those that are given."""
    return LogisticModels() if propensity is None and outcome is None else EstimatorModels(propensity, outcome)


def _people(strata: Strata, protected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the status and the record of each person, given how many of each record are protected."""
    order = np.argsort(strata.record_of, kind="stable")
    record = strata.record_of[order]
    first = np.cumsum(strata.count) - strata.count
    status = np.empty(len(record), dtype=int)
    status[order] = np.arange(len(record)) - first[record] < protected[record]
    return status, strata.record_of
