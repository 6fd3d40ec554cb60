"""Situation testing beside a plain pandas loop after Algorithm 1 of the paper; and over draws, time and memory.

The loop is what one writes from the pseudo-code: for each complainant, the distances to both groups, the k nearest, the
shares. Both sides are given the same counterfactuals and must find the same differences.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import causalaudit as ca
from benchmarks.counterfactual_draws import people as law_school
from benchmarks.report import Figure, Report, cpu_seconds, median_cpu_seconds, peak_gigabytes
from causalaudit.errors import DataError

K = 15
DRAWS = 1_000
LAW_DRAWS = 500
LAW_SIZES = [15, 30, 50, 100, 250]
FEATURES = ["salary", "balance"]
_SHARED = Path(__file__).parents[2] / "shared" / "data" / "loan_application.csv"


def applicants() -> tuple[pd.DataFrame, str]:
    """Return the loan data of the paper, or generated ones; and which."""
    beside = None if os.environ.get("CAUSALAUDIT_DATA") or not _SHARED.is_file() else _SHARED
    try:
        return ca.datasets.load_loan(beside), "the published loan applications"
    except DataError:
        return ca.datasets.make_loan(4_993, seed=0), "make_loan, since loan_application.csv was not found"


def bank(people: pd.DataFrame) -> pd.Series:
    """The rule of the paper."""
    return people["salary"] + 5 * people["balance"] > 225_000


def admission(people: pd.DataFrame) -> pd.Series:
    """The rule of the paper for law schools."""
    return (0.6 * people["UGPA"] + 0.4 * people["LSAT"]).round(6) >= 20.80


def algorithm_1(data: pd.DataFrame, counterfactual: pd.DataFrame, k: int) -> pd.Series:
    """Return the difference of the shares of each complainant, by a plain loop (CST w/o)."""
    ranges = data[FEATURES].max() - data[FEATURES].min()
    control_space = data[data["gender"] == "female"]
    test_space = data[data["gender"] == "male"]
    deltas = {}
    for complainant in control_space.index:
        others = control_space.drop(index=complainant)
        away = ((others[FEATURES] - data.loc[complainant, FEATURES]).abs() / ranges).mean(axis=1)
        control = away.nsmallest(k).index
        away = ((test_space[FEATURES] - counterfactual.loc[complainant, FEATURES]).abs() / ranges).mean(axis=1)
        test = away.nsmallest(k).index
        share_control = (others.loc[control, "approved"] == 0).sum() / k
        share_test = (test_space.loc[test, "approved"] == 0).sum() / k
        deltas[complainant] = share_control - share_test
    return pd.Series(deltas)


def loan() -> tuple[list[Figure], list[str]]:
    """One counterfactual for each complainant, and a thousand."""
    data, source = applicants()
    posterior = ca.fit(ca.models.loan.linear(), data, seed=0, progress=False)
    women = data["gender"] == "female"
    worlds = ca.counterfactuals(posterior, {"gender": "male"}, rows=women, draws=DRAWS, seed=0, progress=False)
    one = ca.CounterfactualDraws.from_frame(worlds.point, do={"gender": "male"})

    def test(counterfactuals: ca.CounterfactualDraws, decision: Any = bank) -> Callable[[], Any]:
        return lambda: ca.situation_testing(
            data,
            decision,
            {"gender": "female"},
            features=FEATURES,
            counterfactuals=counterfactuals,
            k=K,
            progress=False,
        )

    deltas, looped = cpu_seconds(lambda: algorithm_1(data, worlds.point, K))
    found = test(one)()
    if not np.allclose(found.at(K)["delta"], deltas, rtol=0, atol=1e-12):
        raise RuntimeError("The loop and causalaudit find different differences.")
    single = median_cpu_seconds(test(one), 15)
    before = peak_gigabytes()
    _, many = cpu_seconds(test(worlds))
    data["coin"] = np.random.default_rng(0).integers(0, 2, len(data))
    _, random = cpu_seconds(test(worlds, "coin"))
    figures = [
        Figure("one counterfactual, ours", single, "s"),
        Figure("one counterfactual, pandas loop", looped, "s"),
        Figure("ours / pandas loop", single / looped, below=1 / 200),
        Figure(f"{DRAWS:,} draws, CPU time", many, "s", below=10),
        Figure(f"{DRAWS:,} draws, decided by a coin, CPU time", random, "s", below=10),
        Figure(f"{DRAWS:,} draws, peak memory of the process", peak_gigabytes(), "GB", below=1),
        Figure("peak memory before", before, "GB"),
    ]
    notes = [
        f"Loan: {int(women.sum()):,} complainants of {len(data):,} people ({source}), k = {K}, CST w/o; "
        f"the loop takes {looped / single:,.0f} times as long as ours (median of 15 warm runs), which also computes "
        "four intervals and the counterfactual decisions, and finds the same differences. A coin is the worst case: "
        "where all possible neighbours were decided alike, nobody needs to be ranked.",
    ]
    return figures, notes


def law() -> tuple[list[Figure], list[str]]:
    """The race test of the law-school data over draws, for several k at once."""
    data, source = law_school()
    posterior = ca.fit(ca.models.law_school.level_3(), data, seed=0, progress=False)
    protected = data["Race"] == "NonWhite"
    worlds = ca.counterfactuals(posterior, {"Race": "White"}, rows=protected, draws=LAW_DRAWS, seed=0, progress=False)
    result, seconds = cpu_seconds(
        lambda: ca.situation_testing(
            data,
            admission,
            {"Race": "NonWhite"},
            features=["LSAT", "UGPA"],
            counterfactuals=worlds,
            k=LAW_SIZES,
            progress=False,
        )
    )
    expected = ", ".join(f"{value:.0f}" for value in result.summary()["expected_cases"])
    figures = [Figure(f"law school, race, {LAW_DRAWS} draws, CPU time", seconds, "s", below=300)]
    notes = [
        f"Law school: {int(protected.sum()):,} complainants of {len(data):,} people ({source}), k = "
        f"{', '.join(map(str, LAW_SIZES))} in one search; expected cases {expected}. Peak memory of the process "
        f"{peak_gigabytes():.2f} GB.",
    ]
    return figures, notes


def run() -> Report:
    """Measure all."""
    figures, notes = loan()
    more_figures, more_notes = law()
    return Report([*figures, *more_figures], [*notes, *more_notes])
