"""Some people, counted, and what is expected of them (section 2.2 of the paper)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from causalaudit.bias_scan.evidence.counterfactual_expectations import average_counterfactuals
from causalaudit.bias_scan.evidence.expectation_draws import draw_expectations
from causalaudit.bias_scan.evidence.expectations import (
    ExpectationDraws,
    ExpectationModels,
    FittedExpectations,
    LogisticModels,
)
from causalaudit.bias_scan.evidence.model_influence import FittedRows
from causalaudit.bias_scan.evidence.scores import Evidence, dispersion_of, evidence_of
from causalaudit.bias_scan.question.numbers import fewest_draws
from causalaudit.bias_scan.question.scan_question import ScanQuestion
from causalaudit.bias_scan.question.strata import Strata
from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.storage import storable


@storable
@dataclass(frozen=True, eq=False)
class ExpectedPeople:
    """Some people and their expectations.

    Attributes
    ----------
    question, strata
        The people, one by one and counted.
    fitted : FittedExpectations or None
        What the two models say; None in a counterfactual scan.
    scan, mean : numpy.ndarray
        Kept strata: the expectation that the scan compares with, and the expected mean event.
    dispersion : float
        What scores are divided by: see `dispersion_of`.
    draws : ExpectationDraws or None
        Of the expectation that the scan compares with; None without, or with fewer than an interval needs.
    rows : FittedRows or None
        What the default models saw; None without draws, and for models that were given.
    """

    question: ScanQuestion
    strata: Strata
    fitted: FittedExpectations | None
    scan: np.ndarray
    mean: np.ndarray
    dispersion: float
    draws: ExpectationDraws | None
    rows: FittedRows | None = None

    @property
    def counterfactual(self) -> bool:
        """Whether expectations are what would have happened to the protected people themselves."""
        return self.fitted is None

    @property
    def protected(self) -> np.ndarray:
        """How many people of each record are protected."""
        return self.strata.protected_counts(self.question.protected)

    @property
    def evidence(self) -> Evidence:
        """What the protected people show against their expectation."""
        return evidence_of(
            self.question, self.strata, self.protected[None], self.scan[None], np.array([self.dispersion])
        )


def expect_people(
    question: ScanQuestion, models: ExpectationModels, worlds: CounterfactualDraws | None, numbers: dict[str, Any]
) -> ExpectedPeople:  # fmt: skip
    """Count people, and compute their expectations: by the models, or from counterfactuals of the event.

    Parameters
    ----------
    question
        About the people.
    models
        Of who is protected and of the event.
    worlds
        Counterfactuals, which replace the models.
    numbers
        `posterior_draws`, `draws`, `prob` and `seed`, as asked for.
    """
    strata = question.strata()
    if worlds is not None:
        overall, each = average_counterfactuals(question, strata, worlds)
        scan, mean = overall.chance(slice(None))[0], overall.mean
        used = each.thinned(numbers["draws"])
        enough = used.number >= fewest_draws(numbers["prob"])
        return ExpectedPeople(question, strata, None, scan, mean, overall.dispersion, used if enough else None)
    protected = strata.protected_counts(question.protected)[None]
    models = models.of(strata, protected[0])
    fitted = models.expect(strata, protected)
    dispersion = float(dispersion_of(question, strata, strata.count - protected, fitted.chance)[0])
    chance, number = fitted.chance[0], numbers["posterior_draws"]
    drawn, rows = None, None
    if number:
        columns = models.default_columns(strata)
        drawn = draw_expectations(strata, protected[0], fitted.propensity[0], columns.outcome, number, numbers["seed"])
        rows = FittedRows(columns.covariates, columns.outcome) if isinstance(models, LogisticModels) else None
    return ExpectedPeople(question, strata, fitted, chance, chance, dispersion, drawn, rows)
