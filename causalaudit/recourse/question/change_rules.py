"""What a change costs, and which changes are feasible."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError
from causalaudit.people import distinct_rows
from causalaudit.recourse.question.actions import Actions, FeatureCost
from causalaudit.recourse.question.coding import CodedPeople

# Costs are sums; the last digits are noise of the arithmetic, which would tell equal costs apart.
DECIMALS = 12


@dataclass(frozen=True)
class FeatureRule:
    """Cost and feasibility of the changes of one feature.

    Attributes
    ----------
    place
        For each code its place on a line, times weight; None: a change costs `weight` whatever it is.
    weight
        What a change costs if there is no line, or the user's function of the old and the new value.
    values
        The value of each code.
    immutable, increasing
        Whether it may not change, or not go down.
    forbidden
        For each code whether no action may lead to it.
    low, high
        The lowest and the highest value (codes) of what a subgroup may say of the feature.
    """

    place: np.ndarray | None
    weight: FeatureCost
    values: tuple[Any, ...]
    immutable: bool
    increasing: bool
    forbidden: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def cost(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the cost of each change of a subgroup; to change nothing costs nothing.

        From one side of a threshold it is the largest that any value there has: an action is within a budget if it is
        for everybody of the subgroup (A_c in section 2.2 of the paper).
        """
        if (self.low[before] == self.high[before]).all():
            return self._between(before, after)
        costs = np.zeros(len(before))
        for value in range(len(self.values)):
            inside = (self.low[before] <= value) & (value <= self.high[before])
            moved = np.flatnonzero(inside & (before != after))
            costs[moved] = np.maximum(costs[moved], self._between(np.full(len(moved), value), after[moved]))
        return costs

    def _between(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the cost of each change of a value (appendix A of the paper)."""
        if self.place is not None:
            return np.abs(self.place[before] - self.place[after])
        if callable(self.weight):
            return self._asked(before, after)
        return np.where(before == after, 0.0, self.weight)

    def _asked(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the costs of the user's function, which is asked once for each distinct change."""
        before, after = np.broadcast_arrays(before, after)
        codes = np.stack([before.ravel(), after.ravel()])
        distinct = distinct_rows(list(codes))
        pairs = [(self.values[old], self.values[new]) for old, new in codes[:, distinct.first].T.tolist()]
        costs = [0.0 if old == new else _checked(self.weight(old, new), old, new) for old, new in pairs]  # type: ignore[operator]
        return np.array(costs)[distinct.inverse].reshape(before.shape)

    def feasible(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return which changes are feasible; to keep what a subgroup says always is.

        From one side of a threshold the change leads to a value on the other.
        """
        same = before == after
        if self.immutable:
            return same
        value = np.minimum(after, len(self.values) - 1)
        up, down = value > self.high[before], value < self.low[before]
        moves = (value == after) & ~self.forbidden[value] & (up if self.increasing else up | down)
        return np.asarray(same | moves)


@dataclass(frozen=True)
class ChangeRules:
    """The rules of all features, and the user's cost of whole actions if there is one."""

    rules: tuple[FeatureRule, ...]
    whole: Callable[[dict[str, Any], dict[str, Any]], float] | None
    names: tuple[str, ...]

    def feasible(self, places: np.ndarray, before: np.ndarray, after: np.ndarray, each: bool = False) -> np.ndarray:
        """Return which of the actions (columns) are valid for which subgroups (rows): feasible, and a change.

        `before` and `after` hold codes of the features at `places`, -1 where an action leaves a feature as it is. With
        `each`, all that an action sets must change.
        """
        allowed = np.ones((len(before), len(after)), dtype=bool)
        changed = np.full_like(allowed, each)
        for column, place in enumerate(places):
            old, new = before[:, None, column], after[None, :, column]
            left = new < 0
            allowed &= left | self.rules[place].feasible(old, new)
            changed = changed & (left | (old != new)) if each else changed | (~left & (old != new))
        return allowed & changed

    def cost(self, places: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the costs of actions, row by row: the sum over features, or what the user's function says."""
        if self.whole is None:
            parts = [self.rules[place].cost(before[:, at], after[:, at]) for at, place in enumerate(places)]
            return np.round(np.sum(parts, axis=0), DECIMALS) + 0.0
        rows = zip(self._named(places, before), self._named(places, after), strict=True)
        return np.array([_checked(self.whole(old, new), old, new) for old, new in rows], dtype=float)

    def _named(self, places: np.ndarray, codes: np.ndarray) -> list[dict[str, Any]]:
        columns = [np.asarray(self.rules[place].values, dtype=object)[codes[:, at]] for at, place in enumerate(places)]
        names = [self.names[place] for place in places]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _checked(cost: Any, old: Any, new: Any) -> float:
    if not (np.isscalar(cost) and np.isreal(cost) and float(cost) >= 0 and np.isfinite(float(cost))):  # type: ignore[arg-type]
        raise DataError(f"The cost function returned {cost!r} for {old!r} → {new!r}, but must return a number ≥ 0.")
    return float(cost)  # type: ignore[arg-type]


def make_rules(people: CodedPeople, data: pd.DataFrame, actions: Actions) -> ChangeRules:
    """Make rules of what the user said about features (appendix A of the paper).

    Numerical features cost weight × |difference| over the range of `data`, ordinal ones weight × |difference of
    positions|, all others weight if they change at all.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from causalaudit.recourse.question.coding import code_people
    >>> data = pd.DataFrame({"sex": ["f", "m", "m"], "years": [0, 5, 20], "job": ["a", "b", "a"]})
    >>> actions = Actions(numeric=["years"], weights={"job": 3})
    >>> rules = make_rules(code_people(data, "sex", ["years", "job"]), data, actions)
    >>> rules.cost(np.array([0, 1]), np.array([[0, 0], [1, 0]]), np.array([[1, 1], [2, 0]]))  # codes of years, job
    array([3.25, 0.75])
    """
    names = people.vocabulary.features
    actions.check_names(names)
    if callable(actions.weights) and people.vocabulary.thresholds:
        raise DataError(
            "weights is one function of whole actions, but with thresholds the people of a subgroup differ in what "
            "they have before: give costs by feature, as in weights={feature: function}."
        )
    rules = []
    for place, name in enumerate(names):
        kind, weight, values = actions.cost_kind(name), actions.weight(name), people.vocabulary.levels[place]
        if not people.ordered[place] and (kind == "ordinal" or name in actions.increasing):
            what = "ordinal" if kind == "ordinal" else "increasing"
            raise DataError(
                f"{name!r} is {what}, but its values have no order: give it, as in orders={{{name!r}: "
                f"{list(values[:3])}}}, lowest first."
            )
        line = None if callable(weight) else _line(kind, weight, values, data[name])
        forbidden = np.array([value in actions.never for value in values])
        rules.append(
            FeatureRule(
                line,
                weight,
                values,
                name in actions.immutable,
                name in actions.increasing,
                forbidden,
                *people.vocabulary.ranges[place],
            )
        )
    return ChangeRules(tuple(rules), actions.weights if callable(actions.weights) else None, names)


def _line(kind: str, weight: float, values: tuple[Any, ...], column: "pd.Series[Any]") -> np.ndarray | None:
    """Return the place of each value on a line, in units of cost."""
    if kind == "categorical":
        return None
    if kind == "ordinal":
        return weight * np.arange(len(values), dtype=float)
    if not pd.api.types.is_numeric_dtype(column):
        raise DataError(f"{column.name!r} is in numeric, but holds {column.dtype} values; ordinal takes an order.")
    span = float(column.max()) - float(column.min())
    return weight * (np.array(values, dtype=float) - float(column.min())) / (span if span > 0 else 1.0)
