"""Power-scaling: how far draws move when a part of the density is raised to a power a little off one."""

import numpy as np

from causalaudit.arviz_versions import pareto_smoothed
from causalaudit.progress import pieces

DELTA = 0.01  # by how much the power differs from one, as in the reference


def scaled_weights(log_part: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the weights of draws when a part of the density has the powers 1/(1 + δ) and 1 + δ, and the worst tail.

    Parameters
    ----------
    log_part
        The logarithm of the part (the prior, or the likelihood) at each draw.

    Returns
    -------
    numpy.ndarray, float
        Pareto-smoothed weights, powers × draws, each row adding up to one; the greater Pareto k.

    Examples
    --------
    >>> weights, k = scaled_weights(np.random.default_rng(0).normal(size=1000))
    >>> weights.shape, bool(k < 0.7)
    ((2, 1000), True)
    """
    powers = np.array([1 / (1 + DELTA), 1 + DELTA])
    if np.ptp(log_part) == 0:
        return np.full((2, len(log_part)), 1 / len(log_part)), 0.0
    smoothed, shapes = pareto_smoothed((powers[:, None] - 1) * log_part)
    weights = np.exp(smoothed)
    return weights / weights.sum(axis=1, keepdims=True), float(np.max(shapes))


def sensitivity(draws: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the gradient of the cumulative Jensen-Shannon distance of weighted draws from themselves.

    Parameters
    ----------
    draws
        Of one number.
    weights
        Sets of weights at both powers: sets × powers × draws.

    References
    ----------
    Kallioinen, Paananen, Bürkner and Vehtari (2024), Detecting and diagnosing prior and likelihood sensitivity with
    power-scaling. Statistics and Computing 34.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> theta = rng.normal(size=2000)
    >>> prior, _ = scaled_weights(-0.5 * theta**2)  # the posterior is as wide as the prior
    >>> bool(sensitivity(theta, prior[None])[0] > 0.05)
    True
    """
    found = np.empty(len(weights))
    order = np.argsort(draws, kind="stable")
    for part in pieces(len(weights), 2 * len(draws)):
        forward = _distance(draws[order], weights[part][..., order])
        turned = _distance(-draws[order[::-1]], weights[part][..., order[::-1]])
        found[part] = np.maximum(forward, turned).sum(axis=-1) / (2 * np.log2(1 + DELTA))
    return found


def _distance(ordered: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the distance of the law of ordered draws from that of the same draws with weights (last axis)."""
    number, steps = len(ordered), np.diff(ordered)
    plain = np.linspace(1 / number, 1 - 1 / number, number - 1)
    weighted = np.cumsum(weights, axis=-1)[..., :-1]
    mixed = np.log2(0.5 * (plain + weighted))
    plain_area, weighted_area = plain @ steps, weighted @ steps
    tilt = (weighted_area - plain_area) * 0.5 / np.log(2)
    one = (plain * (np.log2(plain) - mixed)) @ steps + tilt
    positive = np.where(weighted > 0, weighted, 1.0)
    other = (weighted * (np.log2(positive) - mixed)) @ steps - tilt
    total = np.maximum(one, 0) + np.maximum(other, 0)
    area = plain_area + weighted_area
    return np.sqrt(np.divide(total, area, out=np.zeros_like(total), where=area > 0))
