"""How many people of each subgroup every action helps: what notions and their intervals are computed from."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tallies:
    """The actions tried on subgroups, subgroup after subgroup, and within a subgroup by rising cost.

    Attributes
    ----------
    start
        Where the actions of each subgroup begin; each has at least one.
    cost
        Of each action.
    size
        People of the two protected groups in each subgroup: 2 × subgroups.
    flipped
        People whom each action helps: 2 × actions.
    reached
        People helped by the action or by one before it in the subgroup: 2 × actions.

    Examples
    --------
    >>> import numpy as np
    >>> tallies = Tallies(
    ...     np.array([0]), np.array([1.0, 2.0]), np.array([[40], [300]]), np.array([[4, 9], [90, 60]]),
    ...     np.array([[4, 11], [90, 120]]),
    ... )
    >>> tallies.last(tallies.reached)
    array([[ 11],
           [120]])
    """

    start: np.ndarray
    cost: np.ndarray
    size: np.ndarray
    flipped: np.ndarray
    reached: np.ndarray

    @property
    def actions(self) -> np.ndarray:
        """The number of actions of each subgroup."""
        return np.diff(np.append(self.start, len(self.cost)))

    @property
    def subgroup(self) -> np.ndarray:
        """The subgroup of each action."""
        return np.repeat(np.arange(len(self.start)), self.actions)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Repeat what each subgroup has (last axis) for each of its actions."""
        return np.repeat(values, self.actions, axis=-1)

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest value in each subgroup, of values of actions (last axis)."""
        return np.maximum.reduceat(values, self.start, axis=-1)

    def smallest(self, values: np.ndarray) -> np.ndarray:
        """Return the smallest value in each subgroup."""
        return np.minimum.reduceat(values, self.start, axis=-1)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the sum in each subgroup."""
        return np.add.reduceat(values, self.start, axis=-1)

    def last(self, values: np.ndarray) -> np.ndarray:
        """Return the value of the dearest action of each subgroup."""
        return np.asarray(values[..., self.start + self.actions - 1])

    def running_largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest value so far in each subgroup; values must be between 0 and 1."""
        floors = 2.0 * self.subgroup  # each subgroup on a floor of its own, above all before it
        return np.asarray(np.clip(np.maximum.accumulate(values + floors, axis=-1) - floors, 0, 1))

    @property
    def ends_cost(self) -> np.ndarray:
        """Whether an action is the last of its cost in the subgroup."""
        same = np.append(self.cost[1:] == self.cost[:-1], False)
        same[self.start[1:] - 1] = False
        return ~same

    def new(self) -> np.ndarray:
        """Return the people whom each action is the first to help: 2 × actions."""
        before = np.roll(self.reached, 1, axis=-1)
        before[:, self.start] = 0
        return np.asarray(self.reached - before)

    def all_reached(self, cost: float) -> "Tallies":
        """Return the same with one more action in each subgroup, which helps everybody at this cost."""
        places = self.start + self.actions
        flipped, reached = (np.insert(people, places, self.size, axis=-1) for people in (self.flipped, self.reached))
        start = self.start + np.arange(len(places))
        return Tallies(start, np.insert(self.cost, places, cost), self.size, flipped, reached)
