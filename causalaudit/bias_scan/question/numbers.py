"""The settings of a bias scan that are numbers or words, checked."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from causalaudit.errors import DataError, check_count
from causalaudit.people import check_draws, check_seed, check_share

NULLS = ("propensity", "permutation")


def fewest_draws(prob: float) -> int:
    """Return how many draws there must be for both ends of an interval to lie among them.

    Examples
    --------
    >>> fewest_draws(0.9)
    19
    """
    return math.ceil(2 / (1 - prob) - 1e-9) - 1


def check_numbers(
    *,
    penalty: Any,
    iterations: Any,
    permutations: Any,
    null: Any,
    posterior_draws: Any,
    draws: Any,
    split: Any,
    top: Any,
    alpha: Any,
    prob: Any,
    seed: Any,
) -> dict[str, Any]:
    """Refuse settings that make no sense, and return them as plain values."""
    check_count("iterations", iterations)
    check_count("top", top)
    for name, count in (("permutations", permutations), ("posterior_draws", posterior_draws)):
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
            raise DataError(f"{name} is {count!r}, but must be a whole number of at least 0.")
    if 0 < posterior_draws < fewest_draws(check_share("prob", prob)):
        raise DataError(
            f"posterior_draws is {posterior_draws}, but an interval of {prob:.0%} needs at least {fewest_draws(prob)} "
            "draws (0: no interval)."
        )
    if isinstance(penalty, bool) or not isinstance(penalty, Real) or not 0 <= float(penalty) < np.inf:
        raise DataError(f"penalty is {penalty!r}, but must be a number of at least 0.")
    if null not in NULLS:
        raise DataError(f"null is {null!r}, but must be 'propensity' or 'permutation'.")
    return {
        "penalty": float(penalty),
        "iterations": int(iterations),
        "permutations": int(permutations),
        "null": str(null),
        "posterior_draws": int(posterior_draws),
        "draws": check_draws(draws),
        "split": None if split is None else check_share("split", split),
        "top": int(top),
        "alpha": check_share("alpha", alpha),
        "prob": check_share("prob", prob),
        "seed": check_seed(seed),
    }
