"""Some people, counted, and what is expected of them (section 2.2 of the paper)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from causalaudit.adjustment import RegressionDraws, draw_regression, standardise
from causalaudit.bias_scan.evidence.counterfactual_expectations import average_counterfactuals
from causalaudit.bias_scan.evidence.expectations import ExpectationDraws, ExpectationModels, FittedExpectations
from causalaudit.bias_scan.evidence.scores import Evidence, evidence_of
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
    draws : ExpectationDraws or None
        The same for each posterior draw; None if there are not at least two.
    """

    question: ScanQuestion
    strata: Strata
    fitted: FittedExpectations | None
    scan: np.ndarray
    mean: np.ndarray
    draws: ExpectationDraws | None

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
        return evidence_of(self.question, self.strata, self.protected[None], self.scan[None])


def expect_people(
    question: ScanQuestion, models: ExpectationModels, worlds: CounterfactualDraws | None, numbers: dict[str, Any],
    progress: bool,
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
        `posterior_draws`, `draws` and `seed`, as asked for.
    progress
        Show a bar when it is long.
    """
    strata = question.strata()
    if worlds is not None:
        overall, each = average_counterfactuals(question, strata, worlds)
        everything, strata_of = slice(None), np.arange(len(strata.kept))
        scan, mean = overall.chance(everything)[0], overall.mean(everything, strata_of)[0]
        used = each.thinned(numbers["draws"])
        return ExpectedPeople(question, strata, None, scan, mean, used if used.number > 1 else None)
    fitted = models.expect(strata, strata.protected_counts(question.protected)[None])
    chance, number = fitted.chance[0], numbers["posterior_draws"]
    drawn = draw_expectations(question, strata, number, numbers["seed"], progress) if number else None
    return ExpectedPeople(question, strata, fitted, chance, chance, drawn)


def draw_expectations(question: ScanQuestion, strata: Strata, draws: int, seed: int, progress: bool) -> RegressionDraws:
    """Draw expectations of the kept strata from a Bayesian outcome model, fitted to those who are not protected."""
    others = np.flatnonzero(~question.protected & question.inside)
    place = np.searchsorted(strata.kept, strata.stratum_of[strata.record_of[others]])
    rows = standardise(strata.outcome_design, place, strata.condition is not None)
    probabilities = question.criterion.gaussian
    return draw_regression(rows, place, question.event[others], probabilities=probabilities, draws=draws, seed=seed)
