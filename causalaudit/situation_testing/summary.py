"""Counting cases: as the tables of the papers do, and beside them who is left of these after a correction."""

import numpy as np
import pandas as pd

from causalaudit.intervals import shortest_run
from causalaudit.situation_testing.discovery import listed_error


def count_cases(table: pd.DataFrame, draw_cases: np.ndarray | None, prob: float, rate: float) -> pd.DataFrame:
    """Return the number of complainants and of cases of several kinds, a row for each `k`.

    Parameters
    ----------
    table
        Indexed by `k` and complainant.
    draw_cases
        The number of cases by k and draw, if there are draws.
    prob
        The probability of the interval of the number of cases.
    rate
        The false-discovery rate of the discoveries.
    """
    rows = table.groupby(level="k")
    columns = {
        "complainants": rows.size(),
        "cases": rows["beyond_tau"].sum(),
        "rejected_cases": (table["beyond_tau"] & table["rejected"]).groupby(level="k").sum(),
        "significant_cases": rows["significant"].sum(),
        "adjusted_cases": rows["significant_adjusted"].sum(),
    }
    if "cf_flip" in table:
        columns["cf_cases"] = rows["cf_flip"].sum()
        columns["cf_significant_cases"] = (table["cf_flip"] & table["significant"]).groupby(level="k").sum()
    if "prob_population" in table:
        columns["discoveries"] = rows.apply(_discoveries, rate, "benjamini-hochberg")
        columns["posterior_discoveries"] = rows.apply(_discoveries, rate, "posterior")
    summary = pd.DataFrame(columns)
    if draw_cases is not None:
        summary["expected_cases"] = draw_cases.mean(axis=1)
        summary["expected_low"], summary["expected_high"] = shortest_run(draw_cases.T, prob)
    return summary


def _discoveries(table: pd.DataFrame, rate: float, correction: str) -> int:
    doubts = 1 - table["prob_population"].to_numpy()
    return int((listed_error(doubts, table["beyond_tau"].to_numpy(), correction) <= rate + 1e-12).sum())
