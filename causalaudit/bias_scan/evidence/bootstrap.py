"""Means of people with random weights: the Bayesian bootstrap (Rubin 1981)."""

from dataclasses import dataclass

import numpy as np

from causalaudit.progress import pieces

# Jeffreys' prior of a rate: half an event and half a non-event are added to what happened.
_HALF = 0.5


@dataclass(frozen=True, eq=False)
class Deviations:
    """How people deviate from what is expected of them, record by record.

    Attributes
    ----------
    count : numpy.ndarray
        How many people a record holds; half a person in those that a prior adds.
    weight : numpy.ndarray
        What each of them weighs.
    gap : numpy.ndarray
        The event minus its expectation.
    added : int
        How many of the last records a prior adds.
    influence : numpy.ndarray or float
        What one more person of a record adds to the mean by changing the models that others are compared with.
    elsewhere : float
        The variance of the mean from people outside of these records, to whom the models were fitted as well.
    """

    count: np.ndarray
    weight: np.ndarray
    gap: np.ndarray
    added: int
    influence: np.ndarray | float = 0.0
    elsewhere: float = 0.0

    @classmethod
    def of(
        cls,
        count: np.ndarray,
        weight: np.ndarray,
        event: np.ndarray,
        expected: np.ndarray,
        binary: bool,
        *,
        influence: np.ndarray | None = None,
        elsewhere: float = 0.0,
    ) -> "Deviations":
        """Take people, and add half an event and half a non-event at the mean expectation if events are binary.

        Examples
        --------
        >>> import numpy as np
        >>> one = np.ones(4)
        >>> Deviations.of(one, one, np.array([1.0, 0, 0, 0]), one / 4, binary=True).mean()
        0.0
        """
        influence = np.zeros(len(count)) if influence is None else influence
        if not binary or not len(count):
            return cls(count, weight, event - expected, 0, influence, elsewhere)
        middle = np.average(expected, weights=count * weight)
        share = (count @ weight) / count.sum()
        return cls(
            np.append(count, [_HALF, _HALF]),
            np.append(weight, [share, share]),
            np.append(event - expected, [1 - middle, -middle]),
            2,
            np.append(influence, [0.0, 0.0]),
            elsewhere,
        )

    def mean(self) -> float:
        """Return the weighted mean deviation of the people themselves."""
        people = slice(len(self.count) - self.added)
        return float(np.average(self.gap[people], weights=(self.count * self.weight)[people]))

    def means(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """Return draws of the weighted mean."""
        out = np.empty(number)
        for part in pieces(number, each=len(self.count)):
            drawn = rng.gamma(self.count, size=(len(out[part]), len(self.count)))
            out[part] = drawn @ (self.weight * self.gap) / (drawn @ self.weight)
            out[part] += (drawn - self.count) @ np.broadcast_to(self.influence, self.count.shape)
        return out + np.sqrt(self.elsewhere) * rng.standard_normal(number)

    def variance(self) -> float:
        """Return the variance of these draws: exactly if all weigh alike and models are known, else to first order."""
        if not len(self.count):
            return np.nan
        mass, total = self.count * self.weight, self.count.sum()
        mean = mass @ self.gap / mass.sum()
        bearing = self.weight * (self.gap - mean) / mass.sum() + self.influence
        return float(self.count @ bearing**2 * total / (total + 1) + self.elsewhere)


@dataclass(frozen=True, eq=False)
class PairedDeviations:
    """How people deviate from what would have happened to themselves, in each draw: what both worlds share cancels.

    Attributes
    ----------
    gap : numpy.ndarray
        Draws × people: the event minus the counterfactual one.
    binary : bool
        Whether events are: then half a person each with −1, 0 and 1 is added (Jeffreys' prior of three shares).
    """

    gap: np.ndarray
    binary: bool

    @property
    def _people(self) -> Deviations:
        """Everybody's mean deviation from the mean: what a draw adds by chance is in the mean of that draw already."""
        own = self.gap.mean(axis=0)
        added = np.array([-1.0, 0.0, 1.0]) if self.binary else np.zeros(0)
        count = np.append(np.ones(len(own)), np.full(len(added), _HALF))
        return Deviations(count, np.ones(len(count)), np.append(own - own.mean(), added), len(added))

    def means(self, rng: np.random.Generator) -> np.ndarray:
        """Return a draw of the mean for each draw of the counterfactuals."""
        number, people = self.gap.shape
        if not people:
            return np.full(number, np.nan)
        return np.asarray(self.gap.mean(axis=1) + self._people.means(rng, number))

    def variances(self) -> tuple[float, float]:
        """Return the variance of the mean over the draws of the counterfactuals, and from who the people are."""
        if not self.gap.shape[1]:
            return np.nan, np.nan
        return float(self.gap.mean(axis=1).var()), self._people.variance()
