"""Logarithms of incomplete gamma and beta functions that do not underflow, for numpy arrays."""

from collections.abc import Callable

import numpy as np
from scipy import special

_SMALLEST = 1e-290  # below which the special functions lose digits, or are zero
_TERMS = 500  # of series and fractions; so far out they are few that matter


def _where_tiny(value: np.ndarray, far: Callable[..., np.ndarray], *arguments: np.ndarray) -> np.ndarray:
    """Return logarithms of probabilities, by another formula where these are too small for a double."""
    result = np.log(value)
    tiny = value < _SMALLEST
    if tiny.any():
        result[tiny] = far(*(np.broadcast_to(argument, value.shape)[tiny] for argument in arguments))
    return result


def log_gammainc(shape: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the logarithm of the regularised lower incomplete gamma function."""
    return _where_tiny(np.asarray(special.gammainc(shape, x)), _lower_gamma, shape, x)


def log_gammaincc(shape: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the logarithm of the regularised upper incomplete gamma function."""
    return _where_tiny(np.asarray(special.gammaincc(shape, x)), _upper_gamma, shape, x)


def log_betainc(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the logarithm of the regularised incomplete beta function."""
    return _where_tiny(np.asarray(special.betainc(a, b, x)), _lower_beta, a, b, x)


def _lower_gamma(shape: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return log x^a e^(-x) / Γ(a + 1) · Σ x^n / ((a + 1) … (a + n))."""
    term, total = np.ones_like(x), np.ones_like(x)
    for place in range(1, _TERMS):
        term = term * x / (shape + place)
        total = total + term
    return np.asarray(shape * np.log(x) - x - special.gammaln(shape + 1) + np.log(total))


def _upper_gamma(shape: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the same of the upper tail, by Legendre's continued fraction from its far end."""
    fraction = x + 2 * _TERMS + 1 - shape
    for place in range(_TERMS, 0, -1):
        fraction = x + 2 * place - 1 - shape - place * (place - shape) / fraction
    return np.asarray(shape * np.log(x) - x - special.gammaln(shape) - np.log(fraction))


def _lower_beta(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return log x^a (1 - x)^b / (a B(a, b)) · Σ (a + b) … (a + b + n - 1) / ((a + 1) … (a + n)) x^n."""
    term, total = np.ones_like(x), np.ones_like(x)
    for place in range(1, _TERMS):
        term = term * x * (a + b + place - 1) / (a + place)
        total = total + term
    return np.asarray(a * np.log(x) + b * np.log1p(-x) - np.log(a) - special.betaln(a, b) + np.log(total))
