"""Terms of a rule by the counterfactuals of a posterior: in the people of the data, or of a finite SCM itself."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from causalaudit.counterfactuals import population as population_of
from causalaudit.error_rates.explaining.classifier import Rate
from causalaudit.error_rates.explaining.enumerated_rates import enumerated_rates
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.learning.labelled_people import LabelledPeople
from causalaudit.error_rates.learning.linear_terms import GIVEN, MADE_BY, READ, LinearTerms
from causalaudit.errors import DataError, nearest

if TYPE_CHECKING:
    from causalaudit.inference import Posterior


def posterior_terms(
    people: LabelledPeople, posterior: "Posterior", population: str, draws: int | None, seed: int
) -> LinearTerms:
    """Return the terms by a posterior, as means over its draws; its program must hold X and Y."""
    scm = posterior.scm
    for role, name in (("protected column", people.protected), ("outcome", people.outcome)):
        if name not in scm.columns:
            raise DataError(f"The {role} {name!r} is not in the SCM {scm.name!r}: {nearest(name, scm.columns)}")
    if population == "exact":
        return _enumerated(people, posterior, draws)
    return people.observed_terms(people.moved_by_posterior(posterior, draws, seed))


def _enumerated(people: LabelledPeople, posterior: "Posterior", draws: int | None) -> LinearTerms:
    """Return exact coefficients: rates are linear in the rule, so each is the rate of the rule for one cell alone."""
    seen: list[pd.DataFrame] = []
    states = population_of(posterior, kind="enumerated", draws=draws)

    def look(rows: pd.DataFrame) -> np.ndarray:
        seen.append(rows)
        return np.zeros(len(rows))

    def rates(rule: Callable[[pd.DataFrame], Any]) -> np.ndarray:
        rate = Rate(rule, 1, people.outcome, tuple(people.features))
        question = RateQuestion(people.protected, people.levels, people.outcome, people.y, rate)
        return enumerated_rates(question, states).mean(axis=0)[READ, MADE_BY, GIVEN]

    rates(look)
    cells = pd.concat(seen).drop_duplicates(ignore_index=True)
    table = pd.MultiIndex.from_frame(cells)

    def only(cell: int) -> Callable[[pd.DataFrame], np.ndarray]:
        return lambda rows: (table.get_indexer(pd.MultiIndex.from_frame(rows)) == cell).astype(float)

    coefficients = np.stack([rates(only(cell)) for cell in range(len(cells))])
    rows = pd.concat([cells] * coefficients.shape[1], ignore_index=True)
    return LinearTerms(rows, np.repeat(np.arange(coefficients.shape[1]), len(cells)), coefficients.T.ravel())
