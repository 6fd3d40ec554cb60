"""Monte-Carlo error of draws that are averages over simulated people: how great it is, and how it is taken out."""

import numpy as np

_NOTHING = 1e-10  # variances below this share of the largest are rounding


def noise_covariance(halves: np.ndarray) -> np.ndarray:
    """Return the covariance of the Monte-Carlo error of a draw, from the differences of its two halves."""
    gap = (halves[0] - halves[1]).reshape(halves.shape[1], -1) / 2
    return np.asarray(gap.T @ gap / len(gap))


def without_noise(draws: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Move draws so that their covariance is what it would be without Monte-Carlo error.

    The error is independent of the draw and has mean zero: it adds its covariance to that of the posterior. The draws
    are moved by the linear map that takes the one normal distribution to the other by the shortest way, so that sums of
    rates stay sums.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth, error = rng.normal(size=(5000, 1)), rng.normal(size=(5000, 1))
    >>> float(without_noise(truth + error, np.ones((1, 1))).std().round(1))
    1.0
    """
    flat = draws.reshape(len(draws), -1)
    mean = flat.mean(axis=0)
    total = (flat - mean).T @ (flat - mean) / max(1, len(flat) - 1)
    root, inverse = _roots(total)
    way = inverse @ _roots(root @ (total - noise) @ root)[0] @ inverse
    return np.asarray(mean + (flat - mean) @ way).reshape(draws.shape)


def _roots(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the square root of the positive part of a symmetric matrix, and its pseudo-inverse."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    roots = np.sqrt(np.maximum(values, 0.0))
    kept = values > _NOTHING * max(values.max(), 0.0)
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=kept)
    return (vectors * np.where(kept, roots, 0.0)) @ vectors.T, (vectors * inverse) @ vectors.T
