"""Weights of worlds: stacking, evidence, equal, or the user's."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

from causalaudit.arguments import is_number
from causalaudit.errors import DataError, InferenceError, nearest

METHODS = ("stacking", "evidence", "equal")
_STEPS = 1000
_TOLERANCE = 1e-13  # of the mean log score, whose curvature is of order one


def check_weights(weights: Any, worlds: Sequence[str]) -> None:
    """Refuse what is neither the name of a method nor a number for each world."""
    if isinstance(weights, str):
        if weights not in METHODS:
            raise DataError(
                f"weights is {weights!r}, but must be one of {', '.join(map(repr, METHODS))}, or map worlds to numbers."
            )
        return
    if not isinstance(weights, Mapping):
        raise DataError(f"weights is {weights!r}, but must be one of {', '.join(map(repr, METHODS))}, or a mapping.")
    for world in weights:
        if world not in worlds:
            raise DataError(f"weights name {world!r}, which is not a world: {nearest(str(world), list(worlds))}")
    missing = [world for world in worlds if world not in weights]
    if missing:
        raise DataError(f"weights leave out {missing[0]!r}: give every world a number; 0 is one.")
    given = [weights[world] for world in worlds]
    numbers = np.array(given if all(map(is_number, given)) else [np.nan], dtype=float)
    if not np.isfinite(numbers).all() or (numbers < 0).any() or numbers.sum() <= 0:
        raise DataError(f"weights are {dict(weights)}, but must be numbers of at least 0, not all of them 0.")


def stacking_weights(elpd: np.ndarray) -> np.ndarray:
    """Return the weights of the mixture of worlds that predicts people best who were left out.

    The mean over people of log Σ w · exp(elpd) is concave in the weights, and is climbed with its gradient.

    Parameters
    ----------
    elpd
        Log predictive densities: people × worlds.

    References
    ----------
    Yao, Vehtari, Simpson and Gelman (2018), Using stacking to average Bayesian predictive distributions. Bayesian
    Analysis 13.

    Examples
    --------
    >>> import numpy as np
    >>> stacking_weights(np.log([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]])).round(3)
    array([0.778, 0.222])
    """
    scaled = np.exp(elpd - elpd.max(axis=1, keepdims=True))
    worlds = scaled.shape[1]
    if worlds == 1:
        return np.ones(1)

    def score(weights: np.ndarray) -> tuple[float, np.ndarray]:
        mixed = np.maximum(scaled @ weights, np.finfo(float).tiny)
        return -float(np.log(mixed).mean()), -(scaled / mixed[:, None]).mean(axis=0)

    found = minimize(
        score, np.full(worlds, 1 / worlds), jac=True, method="SLSQP", bounds=[(0.0, 1.0)] * worlds,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"maxiter": _STEPS, "ftol": _TOLERANCE},
    )  # fmt: skip
    if not np.isfinite(found.x).all():
        raise InferenceError(f"The stacking weights were not found: {found.message}.")
    weights = np.clip(found.x, 0, None)
    return np.asarray(weights / weights.sum())


def evidence_weights(log_evidence: np.ndarray) -> np.ndarray:
    """Return the posterior probabilities of worlds that are equally probable a priori.

    Examples
    --------
    >>> import numpy as np
    >>> evidence_weights(np.log([3.0, 1.0])).round(3)
    array([0.75, 0.25])
    """
    relative = np.exp(log_evidence - log_evidence.max())
    return np.asarray(relative / relative.sum())
