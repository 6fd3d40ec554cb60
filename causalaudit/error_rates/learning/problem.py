"""One learning problem: labelled people, what of their error rates is bounded, and the best rule within bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.error_rates.explaining.terms import TERMS
from causalaudit.error_rates.learning.labelled_people import LabelledPeople
from causalaudit.error_rates.learning.limits import CLOSE, Limits, names_of, widened, z_of
from causalaudit.error_rates.learning.linear_terms import BOUNDED, LinearTerms
from causalaudit.error_rates.learning.logistic_rule import LogisticRule, fit_logistic_rule
from causalaudit.error_rates.learning.robust_terms import RobustGroup
from causalaudit.error_rates.learning.table_rule import InfeasibleError, TableRule, fit_table_rule, infeasible
from causalaudit.errors import CausalAuditError

DecisionRule = TableRule | LogisticRule
_HALVINGS = 8
_TIGHTER = (0.8, 0.5)  # shares of bounds
_ROUNDS = 4  # in which limits on weighted people are moved to where the doubly robust terms are
_NARROWER = (0.7, 0.4, 0.2, 0.0)  # shares of limits, where these rounds do not end


@dataclass(frozen=True, eq=False)
class Estimated:
    """Terms of a rule, and the standard errors of the bounded ones; by the models of `estimate_error_rates`."""

    values: pd.Series
    errors: np.ndarray

    def of(self, limits: Limits) -> np.ndarray:
        """Return the bounded terms."""
        return np.array([self.values[name] for name in limits.names], dtype=float)

    def outside(self, limits: Limits) -> np.ndarray:
        """Return by how much each bounded term is outside of its limits, with what is to be spared."""
        return limits.excess(self.of(limits), limits.z * self.errors)


@dataclass(frozen=True, eq=False)
class Problem:
    """Equation 9: people and the terms of a rule among them; `terms` is None if nothing is bounded.

    Attributes
    ----------
    robust : sequence of RobustGroup
        Whose rates take models.
    confidence : float or None
        How sure it must be that the bounds hold for everybody; None: they hold in these people.
    """

    people: LabelledPeople
    positive: np.ndarray
    terms: LinearTerms | None
    robust: Sequence[RobustGroup]
    as_table: bool
    penalty: float
    min_accuracy: float | None
    basis: Any = None
    randomised: bool = True
    confidence: float | None = None

    @property
    def rows(self) -> pd.DataFrame:
        """What the classifier reads."""
        return self.people.table[self.people.features]

    def limits(self, bounds: Mapping[str, float]) -> Limits:
        """Return the limits of the bounded terms, each by its name."""
        named = names_of(bounds, self.terms)
        return Limits.of(named, 0.0 if self.confidence is None else z_of(self.confidence, len(named)))

    def solve(self, limits: Limits, start: DecisionRule | None = None) -> tuple[DecisionRule, Estimated]:
        """Return the best rule within limits, which is checked on its decisions, and its terms in these people.

        Where terms take models, the limits on those of weighted people are moved until the doubly robust ones are
        within. `start` is the rule of a neighbour.

        Raises
        ------
        InfeasibleError
            If there is none that is as accurate as asked.
        """
        rule, shift = self.within(limits, start), np.zeros(len(limits.names))
        for _ in range(_ROUNDS):
            found = self.estimate(rule, limits.names)
            over = found.outside(limits)
            if (over <= CLOSE).all():
                return rule, found
            if not self.robust:
                raise CausalAuditError(f"The rule found exceeds its bounds by up to {over.max():.3g}.")
            shift = shift + np.where(over > 0, np.sign(found.of(limits)) * (over + 1e-4), 0.0)
            rule = self.within(limits.shifted(shift), rule, fresh=False)
        return self._narrower(limits)

    def _narrower(self, limits: Limits) -> tuple[DecisionRule, Estimated]:
        """Return a rule within narrower limits, for doubly robust terms that are far from those of weighted people."""
        for share in _NARROWER:
            rule = self.within(limits.scaled(share), None)
            found = self.estimate(rule, limits.names)
            if (found.outside(limits) <= CLOSE).all():
                return rule, found
        raise CausalAuditError(
            "No rule was found whose doubly robust terms are within the bounds: there is too little overlap between "
            "the groups for the models to agree. Use fewer covariates, or bound eps_direct and eps_total alone."
        )

    def estimate(
        self,
        rule: DecisionRule,
        bounded: Sequence[Any] = (),
        reported: Sequence[str] = TERMS,
        drawn: np.ndarray | None = None,
    ) -> Estimated:
        """Return the terms of a rule in these people, and the errors of the bounded ones.

        With numbers `drawn` of the people, those of decisions by them: 1 where its probability is above.
        """
        if self.terms is None:
            return Estimated(pd.Series(np.nan, index=list(reported)), np.zeros(0))
        decided = rule.decide(self.terms.rows)
        if drawn is not None:
            decided = (decided > drawn[self.terms.person]).astype(float)
        means, influences = self.terms.means(decided), {}
        if self.confidence is not None and bounded:
            influences = self.terms.influences(decided)
        for group in self.robust:
            for key, (rate, influence) in group.rates(rule.decide, drawn).items():
                means[key], influences[key] = rate, influence
        names = [*dict.fromkeys([*reported, *(self.terms.names(BOUNDED)[name][1] for name in bounded)])]
        errors = self.terms.errors(influences, bounded) if self.confidence is not None else np.zeros(len(bounded))
        return Estimated(self.terms.combine(means, names), errors)

    def accuracy(self, rule: DecisionRule) -> float:
        """Return the probability that a person's decision is right."""
        decided = rule.decide(self.rows)
        return float(self.people.weights @ np.where(self.positive, decided, 1 - decided))

    def objective(self, rule: DecisionRule) -> float:
        """Return what is minimised: the share of wrong decisions (table), or the penalised loss (logistic)."""
        return rule.loss if isinstance(rule, LogisticRule) else 1 - self.accuracy(rule)

    def only(self, kept: np.ndarray) -> "Problem":
        """Return the problem of some of the people."""
        weights = np.where(kept, self.people.weights, 0.0)
        people = replace(self.people, weights=weights / weights.sum())
        terms = None if self.terms is None else self.terms.only(kept)
        return replace(self, people=people, terms=terms, min_accuracy=None)

    def within(self, limits: Limits, start: DecisionRule | None, fresh: bool = True) -> DecisionRule:
        """Return the best rule whose terms among weighted people are within limits."""
        if self.as_table:
            return fit_table_rule(
                self.rows, self.positive, self.people.weights, self.terms, limits,
                min_accuracy=self.min_accuracy, randomised=self.randomised,
            )  # fmt: skip
        # The problem is not convex: what the search misses within the bounds it may find within tighter ones.
        wanted = 0.0 if self.min_accuracy is None else self.min_accuracy
        for share in (1.0, *_TIGHTER):
            rule = self._regress(limits.scaled(share), start, fresh)
            if self.accuracy(rule) >= wanted:
                return rule
        raise self._short_of_accuracy(wanted, limits)

    def _regress(self, limits: Limits, start: DecisionRule | None = None, fresh: bool = True) -> LogisticRule:
        return fit_logistic_rule(
            self.rows, self.positive, self.people.weights, self.terms, limits, penalty=self.penalty, basis=self.basis,
            starts=[start.coefficients] if isinstance(start, LogisticRule) else [], fresh=fresh,
        )  # fmt: skip

    def _short_of_accuracy(self, wanted: float, limits: Limits) -> InfeasibleError:
        """Find by bisection how much wider the bounds must be."""
        free = self._regress(Limits.of({}))
        if not limits.names or self.accuracy(free) < wanted:
            return InfeasibleError(
                f"min_accuracy={wanted} cannot be reached by logistic regression on these features, whatever the "
                f"bounds: without any, its accuracy is {self.accuracy(free):.4f}.",
                {},
            )
        low, high = 0.0, float(self.estimate(free, limits.names).outside(limits).max())
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            wider = replace(limits, low=limits.low - middle, high=limits.high + middle)
            reached = self.accuracy(self._regress(wider)) >= wanted
            low, high = (low, middle) if reached else (middle, high)
        return infeasible(widened(limits, high))
