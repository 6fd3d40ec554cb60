"""Some people, counted, and what is expected of them."""

from dataclasses import dataclass

import numpy as np

from causalaudit.bias_scan.counterfactual import average_counterfactuals
from causalaudit.bias_scan.expectations import Draws, Expected, Models
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
    draws : Draws or None
        The same for each posterior draw.
    """

    question: Question
    strata: Strata
    expected: Expected | None
    scan: np.ndarray
    mean: np.ndarray
    draws: Draws | None

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
        overall, each = average_counterfactuals(question, strata, worlds, event)
        everything, strata_of = slice(None), np.arange(len(strata.kept))
        scan, mean = overall.scan(everything)[0], overall.mean(everything, strata_of)[0]
        return View(question, strata, None, scan, mean, each.thinned(draws) if draws else None)
    expected = models.expect(strata, strata.protected_counts(question.protected)[None])
    chance = expected.chance[0]
    drawn = draw_expectations(question, strata, draws, seed, progress) if draws else None
    return View(question, strata, expected, chance, chance, drawn)
