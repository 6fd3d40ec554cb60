"""What a change costs, and which changes are feasible."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError, nearest
from causalaudit.recourse.people import People

FeatureCost = float | Callable[[Any, Any], float]
Weights = Mapping[str, FeatureCost] | Callable[[dict[str, Any], dict[str, Any]], float]

# Costs are sums; the last digits are noise of the arithmetic, which would tell equal costs apart.
DECIMALS = 12


@dataclass(frozen=True)
class Rule:
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
    """

    place: np.ndarray | None
    weight: FeatureCost
    values: tuple[Any, ...]
    immutable: bool
    increasing: bool
    forbidden: np.ndarray

    def cost(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the cost of each change (appendix A); to change nothing costs nothing."""
        if self.place is not None:
            return np.abs(self.place[before] - self.place[after])
        if callable(self.weight):
            return self._asked(before, after)
        return np.where(before == after, 0.0, self.weight)

    def _asked(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the costs of the user's function, which is asked once for each distinct change."""
        number = len(self.values)
        changes, places = np.unique(before * np.int64(number) + after, return_inverse=True)
        pairs = [(self.values[change // number], self.values[change % number]) for change in changes.tolist()]
        costs = [0.0 if old == new else _checked(self.weight(old, new), old, new) for old, new in pairs]  # type: ignore[operator]
        return np.array(costs)[places].reshape(np.broadcast_shapes(before.shape, after.shape))

    def feasible(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return which changes are feasible; to keep a value always is."""
        same = before == after
        if self.immutable:
            return same
        allowed = same | ~self.forbidden[after]
        return allowed & (after >= before) if self.increasing else allowed


@dataclass(frozen=True)
class Rules:
    """The rules of all features, and the user's cost of whole actions if there is one."""

    rules: tuple[Rule, ...]
    whole: Callable[[dict[str, Any], dict[str, Any]], float] | None
    names: tuple[str, ...]

    def feasible(self, places: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return which of the actions (columns) are valid for which subgroups (rows): feasible, and a change.

        `before` and `after` hold codes of the features at `places`.
        """
        allowed = np.ones((len(before), len(after)), dtype=bool)
        changed = np.zeros_like(allowed)
        for column, place in enumerate(places):
            old, new = before[:, None, column], after[None, :, column]
            allowed &= self.rules[place].feasible(old, new)
            changed |= old != new
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


def make_rules(
    people: People,
    data: pd.DataFrame,
    numeric: Collection[str] = (),
    ordinal: Collection[str] = (),
    weights: Weights | None = None,
    immutable: Collection[str] = (),
    increasing: Collection[str] = (),
    never: Collection[Any] = (),
) -> Rules:
    """Check what the user said about features, and make rules of it.

    Numerical features cost weight × |difference| over the range of `data`, ordinal ones weight × |difference of
    positions|, all others weight if they change at all.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from causalaudit.recourse.people import code_people
    >>> data = pd.DataFrame({"sex": ["f", "m", "m"], "years": [0, 5, 20], "job": ["a", "b", "a"]})
    >>> rules = make_rules(code_people(data, "sex", ["years", "job"]), data, numeric=["years"], weights={"job": 3})
    >>> rules.cost(np.array([0, 1]), np.array([[0, 0], [1, 0]]), np.array([[1, 1], [2, 0]]))  # codes of years, job
    array([3.25, 0.75])
    """
    named = {"numeric": numeric, "ordinal": ordinal, "immutable": immutable, "increasing": increasing}
    for argument, names in named.items():
        _check_names(argument, names, people)
    both = [name for name in numeric if name in ordinal]
    if both:
        raise DataError(f"{both[0]!r} is in numeric and in ordinal, but has one cost: choose.")
    if isinstance(never, str):
        raise DataError(f"never is {never!r}, but must be a list of values: [{never!r}].")
    whole = weights if callable(weights) else None
    by_feature = _check_weights(None if callable(weights) else weights, people)
    rules = []
    for place, name in enumerate(people.features):
        kind = "numeric" if name in numeric else "ordinal" if name in ordinal else "categorical"
        if not people.ordered[place] and (kind == "ordinal" or name in increasing):
            what = "ordinal" if kind == "ordinal" else "increasing"
            raise DataError(
                f"{name!r} is {what}, but its values have no order: give it, as in orders={{{name!r}: "
                f"{[people.value(place, code) for code in range(min(3, len(people.levels[place])))]}}}, lowest first."
            )
        weight = by_feature.get(name, 1.0)
        values = tuple(people.value(place, code) for code in range(len(people.levels[place])))
        line = None if callable(weight) else _line(kind, weight, values, data[name])
        forbidden = np.array([value in list(never) for value in values])
        rules.append(Rule(line, weight, values, name in immutable, name in increasing, forbidden))
    return Rules(tuple(rules), whole, people.features)


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


def _check_names(argument: str, names: Collection[str], people: People) -> None:
    if isinstance(names, str):
        raise DataError(f"{argument} is {names!r}, but must be a list of features: [{names!r}].")
    for name in names:
        if name not in people.features:
            raise DataError(f"{argument} names {name!r}, which is not a feature: {nearest(str(name), people.features)}")


def _check_weights(weights: Mapping[str, FeatureCost] | None, people: People) -> Mapping[str, FeatureCost]:
    for name, weight in (weights or {}).items():
        if name not in people.features:
            raise DataError(f"There is a weight for {name!r}, which is not a feature: {nearest(name, people.features)}")
        if not callable(weight) and not (np.isreal(weight) and np.isfinite(weight) and weight >= 0):
            raise DataError(
                f"The weight of {name!r} is {weight!r}, but must be a number of at least 0, or a function of the old "
                "and the new value that returns the cost."
            )
    return weights or {}
