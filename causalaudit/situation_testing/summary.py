"""Counting cases, as the tables of the papers do."""

import numpy as np
import pandas as pd

from causalaudit.intervals import shortest_run


def count_cases(table: pd.DataFrame, draw_cases: np.ndarray | None, prob: float) -> pd.DataFrame:
    """Return the number of complainants and of cases of several kinds, a row for each `k`.

    Parameters
    ----------
    table
        Indexed by `k` and complainant.
    draw_cases
        The number of cases by k and draw, if there are draws.
    prob
        The probability of the interval of the number of cases.
    """
    rows = table.groupby(level="k")
    columns = {
        "complainants": rows.size(),
        "cases": rows["beyond_tau"].sum(),
        "significant_cases": rows["significant"].sum(),
    }
    if "cf_flip" in table:
        columns["cf_cases"] = rows["cf_flip"].sum()
        columns["cf_significant_cases"] = (table["cf_flip"] & table["significant"]).groupby(level="k").sum()
    summary = pd.DataFrame(columns)
    if draw_cases is not None:
        summary["expected_cases"] = draw_cases.mean(axis=1)
        summary["expected_low"], summary["expected_high"] = shortest_run(draw_cases.T, prob)
    return summary
