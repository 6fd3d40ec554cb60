"""How probable two values of a finite variable are in two worlds that share its noise."""

import numpy as np
from scipy.special import ndtr, ndtri, owens_t


def monotone_joint(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the length of the uniform noise that two steps of distribution functions share.

    Examples
    --------
    >>> import numpy as np
    >>> one, other = (np.array([0.0]), np.array([0.7])), (np.array([0.4]), np.array([1.0]))
    >>> monotone_joint(one, other).round(3)
    array([0.3])
    """
    shared: np.ndarray = np.minimum(one[1], other[1]) - np.maximum(one[0], other[0])
    return np.maximum(shared, 0.0)


def correlated_joint(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray], r: float) -> np.ndarray:
    """Return the probability that two uniform noises are in two steps, if their normal numbers have a correlation r.

    Examples
    --------
    >>> import numpy as np
    >>> lower = (np.array([0.0]), np.array([0.5]))
    >>> [correlated_joint(lower, lower, r).round(3).tolist() for r in (-1.0, 0.0, 0.5, 1.0)]
    [[0.0], [0.25], [0.333], [0.5]]
    """
    if r == 0:
        return np.asarray((one[1] - one[0]) * (other[1] - other[0]))
    if abs(r) == 1:
        return monotone_joint(one, other if r > 0 else (1 - other[1], 1 - other[0]))
    normal = [[ndtri(np.clip(end, 0.0, 1.0)) for end in step[::-1]] for step in (one, other)]
    corners = [_quadrant(h, k, r) for h in normal[0] for k in normal[1]]
    return np.maximum(corners[0] - corners[1] - corners[2] + corners[3], 0.0)


def _quadrant(h: np.ndarray, k: np.ndarray, r: float) -> np.ndarray:
    """Return P(Z ≤ h, Z' ≤ k) of standard normal numbers with a correlation r (Owen 1956)."""
    h, k = np.broadcast_arrays(h, k)
    # Beyond 39 standard deviations a double has nothing, and by zero the formula would divide.
    h, k = (np.where(np.abs(z) < 1e-300, 1e-300, np.clip(z, -39.0, 39.0)) for z in (h, k))
    root = np.sqrt(1 - r * r)
    halves = 0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, (k - r * h) / (h * root)) - owens_t(k, (h - r * k) / (k * root))
    return np.asarray(halves - np.where((h > 0) == (k > 0), 0.0, 0.5))


def gumbel_joint(p: np.ndarray, i: np.ndarray, q: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return the probability that argmax(log p + g) is i and argmax(log q + g) is j, for the same Gumbel noises g.

    With exponential waiting times in place of the noises, i is the first to arrive at rates p, and j at rates q. Given
    the ratio r of the two waiting times everything else is an exponential tail, and the integral over r is that of
    1 / (a + b r)² on pieces.

    Parameters
    ----------
    p, q
        Probabilities along the last axis.
    i, j
        Positions on that axis, of the shape of the others.

    Examples
    --------
    >>> import numpy as np
    >>> p, q = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    >>> joint = [[float(gumbel_joint(p, np.array(i), q, np.array(j))) for j in range(3)] for i in range(3)]
    >>> np.allclose(np.sum(joint, axis=1), p), np.allclose(np.sum(joint, axis=0), q)
    (True, True)
    """
    p, q = np.broadcast_arrays(p, q)
    i, j = (np.broadcast_to(place, p.shape[:-1])[..., None] for place in (i, j))
    p_i, q_i, p_j, q_j = (np.take_along_axis(*pair, axis=-1) for pair in ((p, i), (q, i), (p, j), (q, j)))
    with np.errstate(divide="ignore", invalid="ignore"):
        same = 1 / np.maximum(p / p_i, q / q_i).sum(axis=-1)
        others = (np.arange(p.shape[-1]) != i) & (np.arange(p.shape[-1]) != j)
        a, b = np.where(others, p / p_i, 0.0), np.where(others, q / q_j, 0.0)
        breaks = np.where(others, np.nan_to_num(a / b, nan=0.0, posinf=np.inf), 0.0)
        low, high = p_j / p_i, q_j / q_i
        ends = np.sort(np.clip(np.concatenate([breaks, low, high], axis=-1), low, np.maximum(low, high)), axis=-1)
        different = _pieces(ends, a, b, breaks)
    joint = np.where((i == j)[..., 0], same, different)
    return np.where((p_i > 0)[..., 0] & (q_j > 0)[..., 0], joint, 0.0)


def _pieces(ends: np.ndarray, a: np.ndarray, b: np.ndarray, breaks: np.ndarray) -> np.ndarray:
    """Integrate 1 / (1 + r + sum of max(a, b r))² over the pieces between consecutive ends."""
    first, last = ends[..., :-1], ends[..., 1:]
    before = ((first + last) / 2)[..., None] < breaks[..., None, :]
    level = 1 + np.where(before, a[..., None, :], 0.0).sum(axis=-1)
    slope = 1 + np.where(before, 0.0, b[..., None, :]).sum(axis=-1)
    pieces = (last - first) / ((level + slope * first) * (level + slope * last))
    return np.where(np.isfinite(last), pieces, 1 / (slope * (level + slope * first))).sum(axis=-1)
