"""Bounds that hold in the population with confidence, for a table that was learnt from the same people."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.adjustment import fold_of
from causalaudit.error_rates.groups import read_as
from causalaudit.error_rates.learning.limits import Limits
from causalaudit.error_rates.learning.linear_terms import BOUNDED
from causalaudit.error_rates.learning.problem import DecisionRule, Estimated, Problem
from causalaudit.error_rates.learning.table_rule import InfeasibleError, TableRule


def solve_with_confidence(
    problem: Problem, limits: Limits, seed: int, start: DecisionRule | None = None
) -> tuple[DecisionRule, Estimated, pd.DataFrame]:
    """Return the best rule of which it is sure enough that its terms are within limits, and its terms in these people.

    The last is, of each bounded term, what was found: `estimate, sd, limit, bound`.

    A randomised table is the mean of tables that were learnt from the people of all folds but one. Terms are linear in
    the rule: what the people left out say about each table is, on average, an estimate of the terms of the mean to
    which nobody was fitted. Where that estimate and `z` standard errors (from the influence of each person) exceed a
    bound, the mean is mixed with a rule that decides alike for everybody, which scales terms and errors.

    Other rules are not averaged: they spare `z` standard errors of their terms in the people they were learnt from.
    """
    if not (problem.as_table and problem.randomised) or problem.terms is None or not limits.names:
        rule, found = problem.solve(limits, start)
        return rule, found, _table(limits, found.of(limits), found.errors)
    averaged = _Averaged.of(problem, limits, seed)
    values, errors = averaged.held_out(limits)
    reach = np.maximum(np.abs(values) + limits.z * errors, 1e-300)
    share = min(1.0, float((limits.high / reach).min()))
    mixed = averaged.mean.towards_constant(share)
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
class _Averaged:
    """Tables learnt without the people of each fold, and their mean."""

    problem: Problem
    fold: np.ndarray
    rules: list[TableRule]
    mean: TableRule

    @classmethod
    def of(cls, problem: Problem, limits: Limits, seed: int) -> "_Averaged":
        people = problem.people
        group = pd.factorize(pd.MultiIndex.from_arrays([people.table[people.protected], people.labels]))[0]
        sizes = np.bincount(group)
        fold = fold_of(np.where(sizes[group] > 1, group, sizes.argmax()), seed)
        rules: list[Any] = [problem.only(fold != k).within(limits, None) for k in range(fold.max() + 1)]
        everyone = pd.concat([rule.table for rule in rules]).drop_duplicates(ignore_index=True)
        share = np.mean([rule.score(everyone) for rule in rules], axis=0)
        most = float(people.weights[problem.positive].sum() > 0.5)
        return cls(problem, fold, rules, TableRule(everyone, share, most))

    def held_out(self, limits: Limits) -> tuple[np.ndarray, np.ndarray]:
        """Return the terms and their errors, each person being decided upon by the table learnt without their fold."""
        terms = self.problem.terms
        if terms is None:
            raise ValueError("nothing is bounded")
        decided = self._said(terms.rows, terms.person)
        means, influences = terms.means(decided), terms.influences(decided)
        for group in self.problem.robust:
            for key, (rate, influence) in group.rates(self.mean.decide, said=self._read).items():
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
