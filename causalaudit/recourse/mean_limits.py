"""Limits of mean costs by a bootstrap that holds for small groups, and at the levels of a search over subgroups."""

import numpy as np
from scipy.stats import norm

from causalaudit.recourse.tallies import Tallies

# Halvings of the logarithm of the tilt's distance, which begins in this range (in units of the range of costs).
_STEPS, _NEAR, _FAR = 50, 1e-13, 1e5


def mean_limits(tallies: Tallies, people: np.ndarray, ends: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper limits of each group's mean cost: 2 × subgroups.

    The Bayesian bootstrap of a group joined by one more person: at the largest cost there can be for the upper limit,
    and at the least one for the lower limit. Resampling only the people at hand has no width where they all pay the
    same, however few they are; with two possible costs, this gives Clopper and Pearson's limits of a proportion.

    A bootstrapped mean lies above m with the probability that Σ γ(cost − m) > 0, each γ being Gamma(1) and independent.
    It is computed by the saddlepoint approximation instead of resampling, which could not reach small levels.

    Parameters
    ----------
    tallies
        Costs, and where the actions of each subgroup begin.
    people
        People who pay the cost of each action: 2 × actions.
    ends
        The least and the largest cost that a person of each subgroup can have: 2 × subgroups.
    level
        The probability with which each limit may be beyond the mean.

    References
    ----------
    Rubin (1981), The Bayesian bootstrap.
    Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable.
    Learned-Miller and Thomas (2019), A new confidence interval for the mean of a bounded random variable.
    Lugannani and Rice (1980), Saddle point approximation for the distribution of the sum of independent variables.

    Examples
    --------
    >>> tallies = Tallies(np.array([0]), np.array([0.0, 1.0]), *np.zeros((3, 2, 1)))
    >>> low, high = mean_limits(tallies, np.array([[5, 5], [10, 0]]), np.array([[0.0], [1.0]]), level=0.025)
    >>> low.round(2).ravel(), high.round(2).ravel()
    (array([0.19, 0.  ]), array([0.81, 0.31]))
    """
    least, largest = ends
    width = np.where(largest > least, largest - least, 1.0)
    places = (tallies.cost - tallies.spread(least)) / tallies.spread(width)
    top = (largest - least) / width
    high = _upper(tallies, people, places, top, level)
    low = top - _upper(tallies, people, tallies.spread(top) - places, top, level)
    return least + width * low, least + width * high


def _upper(tallies: Tallies, people: np.ndarray, places: np.ndarray, top: np.ndarray, level: float) -> np.ndarray:
    """Return the upper limits, of places between 0 and `top` (1, or 0 where all cost the same)."""
    shape = (2, len(tallies.start))
    near, far = np.full(shape, np.log(_NEAR)), np.full(shape, np.log(_FAR))
    for _ in range(_STEPS):
        middle = (near + far) / 2
        _, chance = _tilted(tallies, people, places, top, np.exp(middle))
        far, near = np.where(chance > level, middle, far), np.where(chance > level, near, middle)
    mean, _ = _tilted(tallies, people, places, top, np.exp(near))
    return np.clip(mean, 0.0, top)


def _tilted(
    tallies: Tallies, people: np.ndarray, places: np.ndarray, top: np.ndarray, distance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean under weights ∝ 1 / (pole − place), and the chance of a bootstrapped mean above it.

    The pole lies `distance` above the top. At this mean the saddlepoint is 1 / (pole − mean), so that no equation has
    to be solved for it.
    """
    pole = top + distance
    gap = tallies.spread(pole) - places
    weight, extra = people / gap, 1 / distance
    total = tallies.total(weight) + extra
    mean = (tallies.total(weight * places) + extra * top) / total
    reach = pole - mean
    share = tallies.spread(reach) / gap  # 1 / (1 - s (place - mean))
    exponent = -tallies.total(people * np.log(share)) - np.log(reach / distance)
    curvature = tallies.total(people * (share - 1) ** 2) + (reach / distance - 1) ** 2
    w, u = np.sqrt(np.maximum(2 * exponent, 1e-12)), np.sqrt(np.maximum(curvature, 1e-12))
    return mean, np.where(exponent > 1e-6, norm.sf(w) + norm.pdf(w) * (1 / u - 1 / w), 0.5)
