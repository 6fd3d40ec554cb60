"""Applying actions to some of the affected people, with or without a causal model."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from causalaudit.errors import DataError
from causalaudit.recourse.causal.counterfactual_answers import CounterfactualAnswers
from causalaudit.recourse.causal.draw_counts import RecourseByDraw, count_draws
from causalaudit.recourse.causal.modelled_people import model_people
from causalaudit.recourse.causal.tried_changes import try_changes
from causalaudit.recourse.causal.twins import TwinComparison
from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.evidence.evaluation import SameFeatures, evaluate
from causalaudit.recourse.evidence.known_answers import KnownAnswers
from causalaudit.recourse.question.actions import Stands
from causalaudit.recourse.question.change_rules import ChangeRules
from causalaudit.recourse.question.coding import CodedPeople

if TYPE_CHECKING:
    from causalaudit.inference import Posterior


@dataclass(frozen=True, eq=False)
class Measured:
    """What actions do for some people.

    Attributes
    ----------
    candidates
        Subgroups and actions with their counts; expected ones with a posterior.
    counts, twins
        With a posterior: the counts in every draw, and what asks about twins.
    unmeasured
        Subgroups that were left out, because one of the groups has nobody in them.
    """

    candidates: Candidates
    counts: RecourseByDraw | None
    twins: TwinComparison | None
    unmeasured: int


@dataclass(frozen=True, eq=False)
class Measurement:
    """Applies the actions that were mined to whichever affected people it is asked about."""

    people: CodedPeople
    data: pd.DataFrame
    blocks: list[SameFeatures]
    rules: ChangeRules
    answers: KnownAnswers
    posterior: "Posterior | None"
    values: Stands | None
    draws: int | None
    seed: int
    prob: float
    progress: bool

    def __call__(self, who: np.ndarray) -> Measured:
        """Apply every action to those of its subgroup among some affected people (flags)."""
        found = evaluate(self.people, who, self.blocks, self.rules, self.answers, self.progress)
        inhabited = np.asarray((found.sizes > 0).all(axis=0))
        unmeasured = int((~inhabited).sum())
        if unmeasured == len(found):
            raise DataError(
                f"None of the {len(found):,} subgroups that were mined has people of both groups among those who are "
                "measured: raise the support, or search fewer people by a smaller split."
            )
        candidates = found.where(inhabited) if unmeasured else found
        if self.posterior is None:
            return Measured(candidates, None, None, unmeasured)
        modelled = model_people(self.posterior, self.data, self.people, who, self.values, self.draws, self.seed)
        asked = CounterfactualAnswers(modelled, self.answers)
        trials = try_changes(candidates, asked, self.progress)
        counts = count_draws(candidates, trials, modelled.draws, self.progress)
        return Measured(counts.candidates, counts, TwinComparison(asked, trials, candidates, self.prob), unmeasured)
