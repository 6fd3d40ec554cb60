"""The best decision rule over a table of discrete features, by linear or integer programming."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from causalaudit.error_rates.learning.limits import Limits, listed, widened
from causalaudit.error_rates.learning.linear_terms import LinearTerms
from causalaudit.errors import CausalAuditError

_PRECISION = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_WHOLE = {"mip_rel_gap": 1e-6, "node_limit": 20_000}
_CUTS = 20  # rounds of cutting planes
_SCALED_AWAY = 0.01  # the share of a limit that they may leave


class InfeasibleError(CausalAuditError):
    """No decision rule satisfies the bounds; `smallest` are bounds that one does satisfy."""

    def __init__(self, message: str, smallest: Mapping[Any, float]) -> None:
        super().__init__(message)
        self.smallest = dict(smallest)


@dataclass(frozen=True, eq=False)
class TableRule:
    """The probability of deciding 1, for each combination of feature values that occurs."""

    table: pd.DataFrame
    probability: np.ndarray
    otherwise: float

    def score(self, rows: pd.DataFrame) -> np.ndarray:
        """Return the probability of deciding 1; a combination never seen is decided as most people are."""
        places = pd.MultiIndex.from_frame(self.table).get_indexer(pd.MultiIndex.from_frame(rows[self.table.columns]))
        return np.where(places >= 0, self.probability[places], self.otherwise)

    decide = score

    def towards_constant(self, share: float) -> "TableRule":
        """Return a rule that follows this one with a probability, and else decides alike for everybody."""
        mixed = share * self.probability + (1 - share) * self.otherwise
        return TableRule(self.table, mixed, self.otherwise)


def fit_table_rule(
    rows: pd.DataFrame,
    positive: np.ndarray,
    weights: np.ndarray,
    terms: LinearTerms | None,
    limits: Limits,
    *,
    min_accuracy: float | None = None,
    randomised: bool = True,
) -> TableRule:
    """Find the most accurate rule within limits: the first canonical setting of section 5, equation 9.

    Standard errors that are to be spared are convex in the rule, and taken in by cutting planes.

    Parameters
    ----------
    rows
        The features of the people.
    positive
        Whether the outcome is 1.
    weights
        Of the people; they add up to one.
    terms
        What is bounded, and where. None if nothing is.
    limits
        Of the bounded terms.
    min_accuracy
        An accuracy the rule must reach.
    randomised
        Whether it may decide at random.
    """
    seen = weights > 0  # a combination that only people without weight have is never seen
    rows, positive, weights = rows[seen], positive[seen], weights[seen]
    everyone = rows if terms is None else pd.concat([rows, terms.rows], ignore_index=True)
    cells, table = pd.factorize(pd.MultiIndex.from_frame(everyone))
    gain = np.bincount(cells[: len(rows)], weights * np.where(positive, 1.0, -1.0), len(table))
    places = cells[len(rows) :]

    def by_cell(coefficients: np.ndarray) -> np.ndarray:
        return np.bincount(places, coefficients, len(table))

    matrix = np.zeros((0, len(table)))
    if terms is not None and limits.names:
        matrix = np.stack([by_cell(terms.coefficients(name)) for name in limits.names])
    floor = None if min_accuracy is None else min_accuracy - float(weights[~positive].sum())
    program = _Program(gain, matrix, limits, floor, randomised)
    most = float(weights[positive].sum() > 0.5)
    found = program.solve() if terms is None or limits.z == 0 else _sparing(program, terms, places, by_cell, most)
    return TableRule(table.to_frame(index=False).set_axis(rows.columns, axis=1), found, most)


def _sparing(
    program: "_Program",
    terms: LinearTerms,
    places: np.ndarray,
    by_cell: Callable[[np.ndarray], np.ndarray],
    constant: float,
) -> np.ndarray:
    """Solve with standard errors to spare: they lie above their tangent at any rule, which is added as a constraint."""
    limits = program.limits
    close = _SCALED_AWAY * limits.high if program.randomised else np.zeros(len(limits.high))
    for _ in range(_CUTS):
        found = program.solve()
        spare = limits.spare(terms, found[places])
        excess = limits.excess(program.matrix @ found, spare)
        if (excess <= close).all():
            break
        for place in np.flatnonzero(excess > close):
            tangent = limits.z * by_cell(terms.error_slope(limits.names[place], found[places]))
            program = program.cut(int(place), tangent)
    if not program.randomised:
        return found if (excess <= 0).all() else np.full(len(found), constant)
    # What is left scales with the distance from a rule that decides alike for everybody.
    spare = limits.spare(terms, found[places])
    reach = np.abs(program.matrix @ found) + spare
    share = min(1.0, float((limits.high / np.maximum(reach, 1e-300)).min()))
    return share * found + (1 - share) * constant


@dataclass(frozen=True, eq=False)
class _Program:
    """Maximise the gain in accuracy over rules in [0, 1] per cell, within limits on both sides."""

    gain: np.ndarray
    matrix: np.ndarray
    limits: Limits
    floor: float | None
    randomised: bool
    cuts: tuple[tuple[np.ndarray, float], ...] = ()

    def cut(self, place: int, tangent: np.ndarray) -> "_Program":
        """Add what must be spared, on both sides of a term."""
        row = self.matrix[place]
        both = ((row + tangent, self.limits.high[place]), (tangent - row, -self.limits.low[place]))
        return _Program(self.gain, self.matrix, self.limits, self.floor, self.randomised, (*self.cuts, *both))

    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        sides = np.vstack([self.matrix, -self.matrix, *(row[None] for row, _ in self.cuts)])
        return sides, np.concatenate([self.limits.high, -self.limits.low, [limit for _, limit in self.cuts]])

    def solve(self) -> np.ndarray:
        sides, limits = self._sides()
        if self.floor is not None:
            sides, limits = np.vstack([sides, -self.gain]), np.append(limits, -self.floor)
        status, found, message = self._optimise(-self.gain, sides, limits, np.ones(len(self.gain)))
        if status == 2:
            raise self._infeasible()
        if found is None:
            raise CausalAuditError(f"The program of the table was not solved: {message}")
        return np.clip(found, 0.0, 1.0) if self.randomised else np.round(found)

    def _optimise(
        self, cost: np.ndarray, sides: np.ndarray, limits: np.ndarray, upper: np.ndarray
    ) -> tuple[int, np.ndarray | None, str]:
        if self.randomised:
            ranges = np.column_stack([np.zeros(len(cost)), upper])
            solution = linprog(cost, sides, limits, bounds=ranges, method="highs", options=_PRECISION)
        else:
            whole = np.arange(len(cost)) < len(self.gain)
            within = LinearConstraint(sides, ub=limits)
            options = {"integrality": whole, "bounds": Bounds(0, upper), "options": _WHOLE}
            solution = milp(cost, constraints=within if len(sides) else None, **options)
        return solution.status, solution.x, solution.message

    def _infeasible(self) -> InfeasibleError:
        """Say how much wider the bounds must be at least: a program with one slack more."""
        attainable = float(self.gain.clip(0).sum())
        if not self.limits.names or self.floor is None or attainable < self.floor:
            return InfeasibleError(
                "min_accuracy cannot be reached by any rule over these features, whatever the bounds: "
                f"the most accurate one falls short by {(self.floor or 0.0) - attainable:.4g}.",
                {},
            )
        sides, limits = self._sides()
        sides = np.vstack([np.hstack([sides, -np.ones((len(sides), 1))]), np.append(-self.gain, 0.0)])
        cost = np.append(np.zeros(len(self.gain)), 1.0)
        upper = np.append(np.ones(len(self.gain)), np.inf)
        _, found, _ = self._optimise(cost, sides, np.append(limits, -self.floor), upper)
        return infeasible(widened(self.limits, float("nan") if found is None else float(found[-1])))


def infeasible(smallest: Mapping[Any, float]) -> InfeasibleError:
    """Return the error that gives the smallest feasible bounds."""
    return InfeasibleError(
        f"No classifier satisfies the bounds and reaches min_accuracy. The smallest feasible bounds are "
        f"{listed(smallest)} (each widened by the same amount): widen the bounds, or lower min_accuracy.",
        smallest,
    )
