"""Some people, counted, and what is expected of them."""

from dataclasses import dataclass

import numpy as np

from causalaudit.bias_scan.counterfactual import counterfactual_expectation
from causalaudit.bias_scan.expectations import Expected, Models
from causalaudit.bias_scan.posterior import draw_expectations
from causalaudit.bias_scan.question import Question
from causalaudit.bias_scan.scores import Evidence
from causalaudit.bias_scan.strata import Strata
from causalaudit.counterfactuals import CounterfactualDraws


@dataclass(frozen=True)
class View:
    """Some people and their expectations.

    Attributes
    ----------
    question, strata
        The people, one by one and counted.
    expected : Expected or None
        What the two models say; None in a counterfactual scan.
    scan, mean : numpy.ndarray
        Kept strata: the expectation that the scan compares with, and the expected mean event.
    scan_draws, mean_draws : numpy.ndarray or None
        The same for each posterior draw: draws × kept strata.
    """

    question: Question
    strata: Strata
    expected: Expected | None
    scan: np.ndarray
    mean: np.ndarray
    scan_draws: np.ndarray | None
    mean_draws: np.ndarray | None

    @property
    def protected(self) -> np.ndarray:
        """How many people of each record are protected."""
        return self.strata.protected_counts(self.question.protected)

    @property
    def evidence(self) -> Evidence:
        """What the protected people show against their expectation."""
        return self.question.evidence(self.strata, self.protected[None], self.scan[None])


def view(
    question: Question,
    models: Models,
    worlds: CounterfactualDraws | None,
    event: str,
    draws: int,
    seed: int,
    progress: bool,
) -> View:
    """Count people, and compute their expectations: by the models, or from counterfactuals of the column `event`."""
    strata = question.strata()
    if worlds is not None:
        of = counterfactual_expectation(question, strata, worlds, event, draws)
        drawn = (of.scan_draws, of.mean_draws) if draws else (None, None)
        return View(question, strata, None, of.scan, of.mean, *drawn)
    expected = models.expect(strata, strata.protected_counts(question.protected)[None])
    chance = expected.chance[0]
    drawn = draw_expectations(question, strata, draws, seed, progress) if draws else (None, None)
    return View(question, strata, expected, chance, chance, *drawn)
