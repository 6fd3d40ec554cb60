"""Bounds that hold in the population with confidence, for a rule that was learnt from the same people."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from causalaudit.adjustment import fold_of
from causalaudit.error_rates.groups import read_as
from causalaudit.error_rates.learning.limits import Limits
from causalaudit.error_rates.learning.linear_terms import BOUNDED, LinearTerms
from causalaudit.error_rates.learning.problem import DecisionRule, Estimated, Problem
from causalaudit.error_rates.learning.table_rule import InfeasibleError, TableRule


def solve_with_confidence(
    problem: Problem, limits: Limits, seed: int, start: DecisionRule | None = None
) -> tuple[DecisionRule, Estimated, pd.DataFrame]:
    """Return the best rule of which it is sure enough that its terms are within limits, and its terms in these people.

    The last is, of each bounded term, what was found: `estimate, sd, limit, bound`. It rests on rules that were learnt
    from the people of all folds but one, and on what the people left out say about them.

    A randomised table is the mean of such tables. Terms are linear in the rule: what was found for people left out is,
    on average, an estimate of the terms of the mean to which nobody was fitted. Where that estimate and `z` standard
    errors (from the influence of each person) exceed a bound, the mean is mixed with a rule that decides alike for
    everybody, which scales terms and errors.

    Other rules cannot be averaged: they are learnt from everybody, with `z` standard errors to spare. That the best of
    many rules seems fairer in the people it was chosen by than it is, by up to a standard error, is spared, too: by how
    much terms differ between people left out and those who were learnt from.
    """
    if problem.terms is None or not limits.names:
        rule, found = problem.solve(limits, start)
        return rule, found, _table(limits, found.of(limits), found.errors)
    by_fold = _ByFold.of(problem, limits, seed)
    if not (problem.as_table and problem.randomised):
        fitted = by_fold.fitted(problem.terms, limits)
        rule, found = problem.solve(limits.narrowed(fitted), start)
        values = found.of(limits)
        return rule, found, _table(limits, values + np.sign(values) * fitted, found.errors)
    mean = by_fold.mean()
    values, errors = by_fold.held_out(limits, mean)
    reach = np.maximum(np.abs(values) + limits.z * errors, 1e-300)
    share = min(1.0, float((limits.high / reach).min()))
    mixed = mean.towards_constant(share)
    _refuse_inaccurate(problem, mixed)
    return mixed, problem.estimate(mixed, limits.names), _table(limits, share * values, share * errors)


def _table(limits: Limits, values: np.ndarray, errors: np.ndarray) -> pd.DataFrame:
    index = pd.Index(list(limits.names), name="term", tupleize_cols=False)
    reach = np.abs(values) + limits.z * errors
    return pd.DataFrame({"estimate": values, "sd": errors, "limit": reach, "bound": limits.high}, index=index)


def _refuse_inaccurate(problem: Problem, rule: TableRule) -> None:
    reached, wanted = problem.accuracy(rule), problem.min_accuracy
    if wanted is not None and reached < wanted:
        raise InfeasibleError(
            f"With confidence {problem.confidence} in the bounds the accuracy is {reached:.4f}, below min_accuracy="
            f"{wanted}: widen the bounds, lower the confidence or min_accuracy, or learn from more people.",
            {},
        )


@dataclass(frozen=True, eq=False)
class _ByFold:
    """Rules learnt without the people of each fold."""

    problem: Problem
    fold: np.ndarray
    rules: list[DecisionRule]

    @classmethod
    def of(cls, problem: Problem, limits: Limits, seed: int) -> "_ByFold":
        people = problem.people
        group = pd.factorize(pd.MultiIndex.from_arrays([people.table[people.protected], people.labels]))[0]
        sizes = np.bincount(group)
        fold = fold_of(np.where(sizes[group] > 1, group, sizes.argmax()), seed)
        return cls(problem, fold, [problem.only(fold != k).within(limits, None) for k in range(fold.max() + 1)])

    def fitted(self, terms: LinearTerms, limits: Limits) -> np.ndarray:
        """Return how far each term of people left out is from that of the people whom rules were learnt from.

        Both are means over the same people, five times: of a rule that does not depend on them they are equal, whatever
        the sampling error.
        """
        own = np.zeros(len(limits.names))
        for k, rule in enumerate(self.rules):
            learnt_from = terms.only(self.fold != k)
            own += learnt_from.matrix(limits.names) @ rule.decide(learnt_from.rows) / len(self.rules)
        left_out = terms.matrix(limits.names) @ self._said(terms.rows, terms.person)
        return np.asarray(np.abs(left_out - own))

    def mean(self) -> TableRule:
        """Return the mean of tables."""
        people, tables = self.problem.people, [rule for rule in self.rules if isinstance(rule, TableRule)]
        everyone = pd.concat([rule.table for rule in tables]).drop_duplicates(ignore_index=True)
        share = np.mean([rule.score(everyone) for rule in tables], axis=0)
        return TableRule(everyone, share, float(people.weights[self.problem.positive].sum() > 0.5))

    def held_out(self, limits: Limits, mean: TableRule) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms and their errors, each person being decided upon by the table learnt without their fold."""
        terms = self.problem.terms
        if terms is None:
            raise ValueError("nothing is bounded")
        decided = self._said(terms.rows, terms.person)
        means, influences = terms.means(decided), terms.influences(decided)
        for group in self.problem.robust:
            for key, (rate, influence) in group.rates(mean.decide, said=self._read).items():
                means[key], influences[key] = rate, influence
        values = terms.combine(means, [*dict.fromkeys(terms.names(BOUNDED)[name][1] for name in limits.names)])
        return np.array([values[name] for name in limits.names]), terms.errors(influences, limits.names)

    def _said(self, rows: pd.DataFrame, person: np.ndarray) -> np.ndarray:
        by_fold = np.stack([rule.decide(rows) for rule in self.rules])
        return by_fold[self.fold[person], np.arange(len(rows))]

    def _read(self, person: np.ndarray, level: int) -> np.ndarray:
        people = self.problem.people
        rows = people.table.iloc[person][people.features]
        return self._said(read_as(rows, people.protected, people.levels[level]), person)
