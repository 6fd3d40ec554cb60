"""Limits of mean costs, by a Bayesian bootstrap with one more person."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

# The logarithm of a distance (in units of the range of costs) is looked for between these, by halving and then by
# straight lines; smaller probabilities are this one.
_NEAR, _FAR, _HALVINGS, _LINES = np.log(1e-12), np.log(1e4), 9, 4
_SMALLEST = 1e-300


@dataclass(frozen=True)
class Payments:
    """What the people of each subgroup pay: subgroup after subgroup, a few costs each.

    Attributes
    ----------
    start
        Where the costs of each subgroup begin; each has at least one.
    cost
        The costs.
    people
        How many people of the two groups pay each cost: 2 × costs.
    least, largest
        The least and the largest cost that a person of each subgroup can have.
    """

    start: np.ndarray
    cost: np.ndarray
    people: np.ndarray
    least: np.ndarray
    largest: np.ndarray

    def total(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of values (last axis) in each subgroup."""
        return np.add.reduceat(values, self.start, axis=-1)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Repeat what each subgroup has for each of its costs."""
        return np.take(values, self._subgroup, axis=-1)

    @cached_property
    def _subgroup(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.start)), np.diff(np.append(self.start, len(self.cost))))

    def mean_limits(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper limits of the mean cost of each group, at several levels.

        Both are levels × 2 × subgroups.

        They are quantiles of the Bayesian bootstrap of a group joined by one more person: at the largest cost there
        can be for the upper limit, and at the least one for the lower limit. Resampling only the people at hand has no
        width where they all pay the same, however few they are; with two possible costs, this gives Clopper and
        Pearson's limits of a proportion.

        A bootstrapped mean lies above m with the probability that Σ γ(cost − m) > 0, each γ being Gamma(1) and
        independent. It is computed by the saddlepoint approximation; resampling could not reach small levels.

        References
        ----------
        Rubin (1981), The Bayesian bootstrap.
        Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
        variable. Learned-Miller and Thomas (2019), A new confidence interval for the mean of a bounded random variable.
        Lugannani and Rice (1980), Saddle point approximation for the distribution of the sum of independent variables.

        Examples
        --------
        >>> one, zero = np.ones(1), np.zeros(1)
        >>> payments = Payments(np.array([0]), np.array([0.0, 1.0]), np.array([[5, 5], [10, 0]]), zero, one)
        >>> low, high = payments.mean_limits(np.array([0.025]))
        >>> low.round(2).ravel(), high.round(2).ravel()
        (array([0.19, 0.  ]), array([0.81, 0.31]))
        """
        width = np.where(self.largest > self.least, self.largest - self.least, 1.0)
        top = (self.largest - self.least) / width  # 1, or 0 where all cost the same
        places = (self.cost - self.spread(self.least)) / self.spread(width)
        low = top - self._upper(self.spread(top) - places, top, levels)
        return self.least + width * low, self.least + width * self._upper(places, top, levels)

    def _upper(self, places: np.ndarray, top: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Return the upper limits of the means of places between 0 and `top`."""
        wanted = ndtri(levels)[:, None, None]
        shape = (len(levels), 2, len(top))
        near, far = np.full(shape, _NEAR), np.full(shape, _FAR)
        # How far the normal quantiles of the chances are from the wanted ones, which they rise to with the distance.
        below, above = np.broadcast_to(ndtri(_SMALLEST) - wanted, shape), np.broadcast_to(-wanted, shape)
        middle = (near + far) / 2
        for step in range(_HALVINGS + _LINES):
            chance = self._tilted(places, top, np.exp(middle))[1]
            off = ndtri(np.clip(chance, _SMALLEST, 0.999)) - wanted
            high = off > 0
            near, below = np.where(high, near, middle), np.where(high, below, off)
            far, above = np.where(high, middle, far), np.where(high, off, above)
            share = 0.5 if step < _HALVINGS else np.clip(below / np.minimum(below - above, -1e-12), 0, 1)
            middle = near + share * (far - near)
        return np.clip(self._tilted(places, top, np.exp(middle))[0], 0.0, top)

    def _tilted(self, places: np.ndarray, top: np.ndarray, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean under weights ∝ 1 / (pole − place), and the chance of a bootstrapped mean above it.

        The pole lies `distance` above the top. At this mean the saddlepoint is 1 / (pole − mean), so that no equation
        has to be solved for it.
        """
        pole = top + distance
        gap = self.spread(pole) - places
        weight, extra = self.people / gap, 1 / distance
        mean = (self.total(weight * places) + extra * top) / (self.total(weight) + extra)
        tilt, own = self.spread(pole - mean) / gap, (pole - mean) / distance
        exponent = -self.total(self.people * np.log(tilt)) - np.log(own)
        curvature = self.total(self.people * (tilt - 1) ** 2) + (own - 1) ** 2
        w, u = (np.sqrt(np.maximum(square, 1e-12)) for square in (2 * exponent, curvature))
        tail = ndtr(-w) + np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * (1 / u - 1 / w)
        return mean, np.where(exponent > 1e-6, tail, 0.5)
