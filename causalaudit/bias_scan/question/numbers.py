"""The settings of a bias scan that are numbers or words, checked."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from causalaudit.arguments import check_count, check_seed, check_share
from causalaudit.errors import DataError

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
    for name, count in (
        ("permutations", permutations),
        ("posterior_draws", posterior_draws),
        ("draws", 0 if draws is None else draws),
    ):
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
            raise DataError(f"{name} is {count!r}, but must be a whole number of at least 0.")
    check_share("prob", prob)
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
        "draws": None if draws is None else int(draws),
        "split": None if split is None else check_share("split", split),
        "top": int(top),
        "alpha": check_share("alpha", alpha),
        "prob": check_share("prob", prob),
        "seed": check_seed(seed),
    }


def draws_to_make(numbers: dict[str, Any]) -> int:
    """Return how many draws of the disparity to make where there are no counterfactuals, by either argument."""
    made, used, prob = (numbers[name] for name in ("posterior_draws", "draws", "prob"))
    if made and used is not None and used != made:
        raise DataError(
            f"draws is {used} and posterior_draws {made}, but without counterfactuals both are the number of draws of "
            "the disparity that are made: give one of them."
        )
    name, number = ("posterior_draws", made) if used is None else ("draws", used)
    if 0 < number < fewest_draws(prob):
        raise DataError(
            f"{name} is {number}, but an interval of {prob:.0%} needs at least {fewest_draws(prob)} draws (0: no "
            "interval)."
        )
    return int(number)
