"""One learning problem: labelled people, what of their error rates is bounded, and the best rule within bounds."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from causalaudit.adjustment import Covariates
from causalaudit.error_rates.explaining.terms import TERMS
from causalaudit.error_rates.learning.labelled_people import LabelledPeople
from causalaudit.error_rates.learning.linear_terms import LinearTerms
from causalaudit.error_rates.learning.logistic_rule import LogisticRule, fit_logistic_rule
from causalaudit.error_rates.learning.table_rule import InfeasibleError, TableRule, fit_table_rule, infeasible
from causalaudit.errors import CausalAuditError

DecisionRule = TableRule | LogisticRule
_CLOSE = 1e-8  # what a bound may be exceeded by, the tolerance of the linear programs being 1e-10 in each cell
_HALVINGS = 8
_TIGHTER = (0.8, 0.5)  # shares of bounds


@dataclass(frozen=True, eq=False)
class Problem:
    """Equation 9: people and the terms of a rule among them; `terms` is None if nothing is bounded."""

    people: LabelledPeople
    positive: np.ndarray
    terms: LinearTerms | None
    covariates: Covariates | None
    as_table: bool
    penalty: float
    min_accuracy: float | None

    @property
    def rows(self) -> pd.DataFrame:
        """What the classifier reads."""
        return self.people.table[self.people.features]

    def solve(self, bounds: Mapping[str, float]) -> DecisionRule:
        """Return the best rule within the bounds, which is checked on its decisions.

        Raises
        ------
        InfeasibleError
            If there is none that is as accurate as asked.
        """
        rule = self._table(bounds) if self.as_table else self._logistic(bounds)
        over = self.values(rule)[list(bounds)].abs() - pd.Series(bounds, dtype=float)
        if (over > _CLOSE).any():
            raise CausalAuditError(f"The rule found exceeds its bound on the {over.idxmax()} term by {over.max():.3g}.")
        return rule

    def accuracy(self, rule: DecisionRule) -> float:
        """Return the probability that a person's decision is right."""
        decided = rule.decide(self.rows)
        return float(self.people.weights @ np.where(self.positive, decided, 1 - decided))

    def values(self, rule: DecisionRule) -> pd.Series:
        """Return the terms of a rule."""
        if self.terms is None:
            return pd.Series(np.nan, index=list(TERMS))
        return self.terms.values(rule.decide(self.terms.rows))

    def _table(self, bounds: Mapping[str, float]) -> DecisionRule:
        return fit_table_rule(self.rows, self.positive, self.people.weights, self.terms, bounds, self.min_accuracy)

    def _logistic(self, bounds: Mapping[str, float]) -> DecisionRule:
        # The problem is not convex: what the search misses within the bounds it may find within tighter ones.
        wanted = 0.0 if self.min_accuracy is None else self.min_accuracy
        for share in (1.0, *_TIGHTER):
            rule = self._regress({term: share * bound for term, bound in bounds.items()})
            if self.accuracy(rule) >= wanted:
                return rule
        raise self._short_of_accuracy(wanted, bounds)

    def _regress(self, bounds: Mapping[str, float]) -> LogisticRule:
        return fit_logistic_rule(self.rows, self.positive, self.people.weights, self.terms, bounds, self.penalty)

    def _short_of_accuracy(self, wanted: float, bounds: Mapping[str, float]) -> InfeasibleError:
        """Find by bisection how much wider the bounds must be."""
        free = self._regress({})
        if not bounds or self.accuracy(free) < wanted:
            return InfeasibleError(
                f"min_accuracy={wanted} cannot be reached by logistic regression on these features, whatever the "
                f"bounds: without any, its accuracy is {self.accuracy(free):.4f}.",
                {},
            )
        values = self.values(free)
        low, high = 0.0, max(abs(values[term]) - bound for term, bound in bounds.items())
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            reached = self.accuracy(self._regress({term: bound + middle for term, bound in bounds.items()})) >= wanted
            low, high = (low, middle) if reached else (middle, high)
        return infeasible({term: bound + high for term, bound in bounds.items()})
