"""What people can do about a decision: what changes cost, and which are feasible."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from causalaudit.arguments import check_value
from causalaudit.errors import DataError, nearest

FeatureCost = float | Callable[[Any, Any], float]
Weights = Mapping[str, FeatureCost] | Callable[[dict[str, Any], dict[str, Any]], float]
Stands = Mapping[str, Mapping[Any, Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Actions:
    """Costs and feasibility of the changes that an action may make (Kavouras et al. 2023, appendix A).

    Attributes
    ----------
    numeric, ordinal
        Features whose changes cost in proportion to the difference over the range in the data, and to the difference of
        positions. A change of any other costs the same, whatever it is.
    orders
        Feature → its values, lowest first. Numbers and ordered categories have their own order.
    weights
        Feature → what its cost is multiplied by (default 1), or a function of the old and the new value that returns
        the cost; or one function of two dicts, the features of a subgroup before and after an action, that returns the
        cost of the whole action.
    immutable, increasing
        Features that may not change, and that may not go down (by `orders`, whatever their cost).
    never
        Values that no action may lead to, such as "Unknown".
    subsets
        Whether an action may also set only some of the features of a subgroup, each to another value, and leave the
        others as they are (step (b)(i) of the paper to the letter). By default it sets exactly these features, some
        perhaps to what they are: together they must be frequent among the people who have the favourable label.
    values
        With a posterior, for features that are binned in the data but not in the fit: feature → bin → the value that an
        action sets the variable to. Which bin a value belongs to is learned from the people, who are found in the fit
        by the labels of the index.

    Examples
    --------
    >>> import causalaudit as ca
    >>> actions = ca.Actions(ordinal=["education"], orders={"education": ["school", "college"]}, immutable=["age"])
    >>> actions.immutable, actions.cost_kind("education"), actions.cost_kind("age")
    (('age',), 'ordinal', 'categorical')
    """

    numeric: Collection[str] = ()
    ordinal: Collection[str] = ()
    orders: Mapping[str, Sequence[Any]] | None = None
    weights: Weights | None = None
    immutable: Collection[str] = ()
    increasing: Collection[str] = ()
    never: Collection[Any] = ()
    subsets: bool = False
    values: Stands | None = None

    def __post_init__(self) -> None:
        for name in ("numeric", "ordinal", "immutable", "increasing", "never"):
            object.__setattr__(self, name, _listed(name, getattr(self, name)))
        both = [name for name in self.numeric if name in self.ordinal]
        if both:
            raise DataError(f"{both[0]!r} is in numeric and in ordinal, but has one cost: choose.")
        if not isinstance(self.subsets, bool):
            raise DataError(f"subsets is {self.subsets!r}, but must be True or False.")
        object.__setattr__(self, "orders", _orders(self.orders))
        if not callable(self.weights):
            object.__setattr__(self, "weights", _weights(self.weights))
        object.__setattr__(self, "values", _stands(self.values))

    def cost_kind(self, feature: str) -> str:
        """Return how the cost of a feature is made: "numeric", "ordinal" or "categorical"."""
        return "numeric" if feature in self.numeric else "ordinal" if feature in self.ordinal else "categorical"

    def order(self, feature: str) -> Sequence[Any] | None:
        """Return the order of a feature that was given."""
        return (self.orders or {}).get(feature)

    def weight(self, feature: str) -> FeatureCost:
        """Return the weight of a feature, or the function that gives its cost."""
        return 1.0 if self.weights is None or callable(self.weights) else self.weights.get(feature, 1.0)

    def check_names(self, features: Sequence[str]) -> None:
        """Refuse what is said about something that is not a feature."""
        named = {name: getattr(self, name) for name in ("numeric", "ordinal", "immutable", "increasing")}
        named |= {"orders": self.orders or {}, "weights": {} if callable(self.weights) else self.weights or {}}
        for argument, names in named.items():
            for name in names:
                if name not in features:
                    raise DataError(
                        f"{argument} names {name!r}, which is not a feature: {nearest(str(name), features)}"
                    )

    @property
    def setting(self) -> dict[str, Any]:
        """What was said, for the settings of a result: plain values, a function by its name."""
        weights = self.weights
        return {
            "numeric": list(self.numeric),
            "ordinal": list(self.ordinal),
            "orders": {name: list(order) for name, order in (self.orders or {}).items()},
            "weights": weights if callable(weights) else dict(weights or {}),
            "immutable": list(self.immutable),
            "increasing": list(self.increasing),
            "never": list(self.never),
            "subsets": self.subsets,
            "values": {name: dict(stands) for name, stands in (self.values or {}).items()},
        }


def _listed(argument: str, names: Any) -> tuple[Any, ...]:
    if isinstance(names, str):
        raise DataError(f"{argument} is the text {names!r}, but must be a list: [{names!r}].")
    if not isinstance(names, Collection) or isinstance(names, Mapping):
        raise DataError(f"{argument} is {names!r}, but must be a list.")
    for name in names:
        check_value(f"What {argument} lists", name)
    return tuple(names)


def _orders(orders: Mapping[str, Sequence[Any]] | None) -> dict[str, tuple[Any, ...]] | None:
    if orders is not None and not isinstance(orders, Mapping):
        raise DataError(f"orders is {orders!r}, but must map a feature to its values, lowest first.")
    for name, order in (orders or {}).items():
        for value in order if isinstance(order, Collection) and not isinstance(order, str) else ():
            check_value(f"A value in the order of {name!r}", value)
        if isinstance(order, str) or not isinstance(order, Collection) or len(set(order)) != len(list(order)):
            raise DataError(f"The order of {name!r} must be a list of different values, but is {order!r}.")
    return None if orders is None else {name: tuple(order) for name, order in orders.items()}


def _weights(weights: Any) -> dict[str, FeatureCost] | None:
    if weights is not None and not isinstance(weights, Mapping):
        raise DataError(f"weights is {weights!r}, but must map a feature to its weight, or be a function.")
    for name, weight in (weights or {}).items():
        number = isinstance(weight, Real) and not isinstance(weight, bool) and np.isfinite(float(weight))
        if not callable(weight) and not (number and float(weight) >= 0):
            raise DataError(
                f"The weight of {name!r} is {weight!r}, but must be a number of at least 0, or a function of the old "
                "and the new value that returns the cost."
            )
    return None if weights is None else dict(weights)


def _stands(values: Any) -> dict[str, dict[Any, Any]] | None:
    if values is None:
        return None
    if not isinstance(values, Mapping) or not all(isinstance(stands, Mapping) for stands in values.values()):
        raise DataError(f"values is {values!r}, but must map a feature to what its bins stand for: {{bin: value}}.")
    return {name: dict(stands) for name, stands in values.items()}
