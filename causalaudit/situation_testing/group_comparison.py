"""From the counts of both groups of each complainant to shares, differences, intervals and tests."""

import warnings

import numpy as np
import pandas as pd
from scipy.stats import false_discovery_control, norm

from causalaudit.errors import CausalAuditWarning
from causalaudit.intervals import newcombe, wald_width
from causalaudit.situation_testing.question import SituationQuestion

COUNTS = ("rejected_control", "n_control", "rejected_test", "n_test")


def compare_groups(counts: pd.DataFrame, question: SituationQuestion, alpha: float | None = None) -> pd.DataFrame:
    """Return shares, difference, intervals and tests, with the index of the counts.

    The shares of unfavourable decisions are equation 9, their difference delta equation 8, the bounds equations 10
    (one-sided) and 11 (two-sided); with centres both groups have one more member (Remark 4.2). A case is Definition
    4.4, a significant one Definition 4.5; in favour of the complainant Definition B.1 and Definition B.2. (In the
    preliminary paper: equations 8 and 9, Definition 3.2.)

    Parameters
    ----------
    counts
        Sizes and rejections of both groups, by `k` and complainant.
    question
        What is asked.
    alpha
        The level; default that of the question.
    """
    alpha = question.alpha if alpha is None else alpha
    numbers = [counts[name].to_numpy().astype(float) for name in COUNTS]
    control, n_control, test, n_test = numbers
    with np.errstate(invalid="ignore", divide="ignore"):
        delta = difference_of_shares(control, n_control, test, n_test)
        one = wald_width(control, n_control, test, n_test, alpha, question.decimals)
        two = wald_width(control, n_control, test, n_test, alpha / 2, question.decimals)
        low, high = newcombe(control, n_control, test, n_test, alpha)
        shares = control / n_control, test / n_test
    nothing = np.full(len(delta), np.inf)
    ends = {
        "wald_low": delta - one if question.negative else -nothing,
        "wald_high": nothing if question.negative else delta + one,
        "wald2_low": delta - two,
        "wald2_high": delta + two,
    }
    if question.decimals is not None:
        ends = {name: np.round(end, question.decimals) for name, end in ends.items()}
    cases = question.beyond(delta)
    columns = {
        "p_control": shares[0],
        "p_test": shares[1],
        "delta": delta,
        **ends,
        "newcombe_low": low,
        "newcombe_high": high,
        "beyond_tau": cases,
        "significant": cases & question.beyond(ends["wald_low"] if question.negative else ends["wald_high"]),
    }
    return pd.DataFrame(columns, index=counts.index)


def difference_of_shares(
    control: np.ndarray, n_control: np.ndarray, test: np.ndarray, n_test: np.ndarray
) -> np.ndarray:
    """Return equation 8 by a single division, so that it compares exactly with a decimal number."""
    return (control * n_test - test * n_control) / (n_control * n_test)


def sampling_variance(control: np.ndarray, n_control: np.ndarray, test: np.ndarray, n_test: np.ndarray) -> np.ndarray:
    """Return the variance of the difference of two shares, each binomial: what is under the root of equation 10."""
    shares = control / n_control, test / n_test
    return shares[0] * (1 - shares[0]) / n_control + shares[1] * (1 - shares[1]) / n_test


def p_values(counts: pd.DataFrame, question: SituationQuestion) -> np.ndarray:
    """Return the p-values of the one-sided Wald tests; NaN where a group is empty.

    The bound of equation 10 at level alpha excludes tau where the p-value is below alpha. Without variance (both shares
    0 or 1) the bound is delta itself, and the p-value 0 or 1.
    """
    numbers = [counts[name].to_numpy().astype(float) for name in COUNTS]
    with np.errstate(invalid="ignore", divide="ignore"):
        delta = difference_of_shares(*numbers)
        away = (delta - question.tau) / np.sqrt(sampling_variance(*numbers))
    found = norm.sf(away if question.negative else -away)
    certain = np.isinf(away) | (np.isnan(away) & ~np.isnan(delta))
    return np.where(certain, np.where(question.beyond(delta), 0.0, 1.0), found)


def adjusted(values: np.ndarray, alpha: float) -> np.ndarray:
    """Return which tests of a family (one row each) are rejected by Benjamini and Hochberg's procedure at `alpha`.

    It keeps the expected share of false rejections among all rejections below `alpha` if the tests are independent or
    positively dependent, as those of complainants who share neighbours are. Tests that were not made (NaN) do not
    count.

    References
    ----------
    Benjamini and Hochberg (1995), Controlling the false discovery rate. Benjamini and Yekutieli (2001).

    Examples
    --------
    >>> adjusted(np.array([[0.01, 0.03, 0.04, np.nan]]), 0.05).tolist()
    [[True, True, True, False]]
    """
    rejected = np.zeros(values.shape, dtype=bool)
    for row, family in zip(rejected, values, strict=True):
        made = ~np.isnan(family)
        if made.any():
            row[made] = false_discovery_control(family[made], method="bh") <= alpha
    return rejected


def excluded_by_newcombe(table: pd.DataFrame, question: SituationQuestion) -> np.ndarray:
    """Return whose Newcombe interval lies wholly beyond tau; unlike Wald's it has a width at shares of 0 and 1."""
    return question.beyond(table["newcombe_low" if question.negative else "newcombe_high"].to_numpy())


def warn_of_empty_groups(delta: "pd.Series[float]") -> None:
    """Warn of complainants without a delta, who are no cases."""
    empty = int(delta.isna().groupby(level="complainant", sort=False).any().sum())
    if empty:
        warnings.warn(
            f"{empty} complainants have a group without anyone within max_distance: their delta is NaN, and they are "
            "no cases.",
            CausalAuditWarning,
            stacklevel=3,
        )
