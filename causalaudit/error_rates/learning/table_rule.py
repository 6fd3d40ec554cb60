"""The best decision rule over a table of discrete features, by linear programming."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from causalaudit.error_rates.learning.linear_terms import LinearTerms
from causalaudit.errors import CausalAuditError


class InfeasibleError(CausalAuditError):
    """No decision rule satisfies the bounds; `smallest` are bounds that one does satisfy."""

    def __init__(self, message: str, smallest: Mapping[str, float]) -> None:
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


def fit_table_rule(
    rows: pd.DataFrame,
    positive: np.ndarray,
    weights: np.ndarray,
    terms: LinearTerms | None,
    bounds: Mapping[str, float],
    min_accuracy: float | None,
) -> TableRule:
    """Find the most accurate rule within the bounds: the first canonical setting of section 5, equation 9.

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
    bounds
        For each bounded term, its largest absolute value.
    min_accuracy
        An accuracy the rule must reach.
    """
    seen = weights > 0  # a combination that only people without weight have is never seen
    rows, positive, weights = rows[seen], positive[seen], weights[seen]
    everyone = rows if terms is None else pd.concat([rows, terms.rows], ignore_index=True)
    cells, table = pd.factorize(pd.MultiIndex.from_frame(everyone))
    gain = np.bincount(cells[: len(rows)], weights * np.where(positive, 1.0, -1.0), len(table))
    chosen = tuple(bounds)
    matrix = np.zeros((0, len(table)))
    if terms is not None and chosen:
        places = cells[len(rows) :]
        matrix = np.stack([np.bincount(places, terms.coefficients(term), len(table)) for term in chosen])
    floor = None if min_accuracy is None else min_accuracy - float(weights[~positive].sum())
    probability = _solve(gain, matrix, dict(zip(chosen, [bounds[term] for term in chosen], strict=True)), floor)
    most = float(weights[positive].sum() > 0.5)
    return TableRule(table.to_frame(index=False).set_axis(rows.columns, axis=1), probability, most)


def _solve(gain: np.ndarray, matrix: np.ndarray, bounds: Mapping[str, float], floor: float | None) -> np.ndarray:
    """Maximise the gain in accuracy over rules in [0, 1] per cell, within bounds on both sides."""
    limits = np.array([*bounds.values()] * 2)
    sides = np.vstack([matrix, -matrix])
    if floor is not None:
        sides, limits = np.vstack([sides, -gain]), np.append(limits, -floor)
    solution = linprog(-gain, sides, limits, bounds=(0, 1), method="highs", options=_PRECISION)
    if solution.status == 2:
        raise _infeasible(gain, matrix, bounds, floor)
    if solution.x is None:
        raise CausalAuditError(f"The linear program was not solved: {solution.message}")
    return np.clip(solution.x, 0.0, 1.0)


_PRECISION = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def _infeasible(
    gain: np.ndarray, matrix: np.ndarray, bounds: Mapping[str, float], floor: float | None
) -> InfeasibleError:
    """Say how much wider the bounds must be at least: a linear program with one slack more."""
    attainable = float(gain.clip(0).sum())
    if not bounds or floor is None or attainable < floor:
        return InfeasibleError(
            "min_accuracy cannot be reached by any rule over these features, whatever the bounds: "
            f"the most accurate one falls short by {(floor or 0.0) - attainable:.4g}.",
            {},
        )
    cells, count = len(gain), len(bounds)
    sides = np.hstack([np.vstack([matrix, -matrix]), -np.ones((2 * count, 1))])
    sides = np.vstack([sides, np.append(-gain, 0.0)])
    limits = np.append(np.array([*bounds.values()] * 2), -floor)
    cost = np.append(np.zeros(cells), 1.0)
    ranges = [(0.0, 1.0)] * cells + [(0.0, None)]
    slack = float(linprog(cost, sides, limits, bounds=ranges, method="highs", options=_PRECISION).x[-1])
    return infeasible({term: bound + slack for term, bound in bounds.items()})


def infeasible(smallest: Mapping[str, float]) -> InfeasibleError:
    """Return the error that gives the smallest feasible bounds."""
    wider = ", ".join(f"eps_{term}={bound:.6g}" for term, bound in smallest.items())
    return InfeasibleError(
        f"No classifier satisfies the bounds and reaches min_accuracy. The smallest feasible bounds are {wider} (each "
        "widened by the same amount): widen the bounds, or lower min_accuracy.",
        smallest,
    )
