"""A thousand draws of the counterfactuals of everyone in the law-school data: CPU time and peak memory."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

import causalaudit as ca
from benchmarks.report import Figure, Report, cpu_seconds, peak_gigabytes
from causalaudit.errors import DataError

DRAWS = 1_000
PEOPLE = 21_790
_SHARED = Path(__file__).parents[2] / "shared" / "data" / "law_school.csv"


def people() -> tuple[pd.DataFrame, str]:
    """Return the law-school data with LSAT rounded, as in the paper, or a stand-in of the same size; and which."""
    beside = None if os.environ.get("CAUSALAUDIT_DATA") or not _SHARED.is_file() else _SHARED
    try:
        table, source = ca.datasets.load_law_school(beside), "the law-school survey"
    except DataError:
        table, source = simulated(PEOPLE), "simulated people, since law_school.csv was not found"
    return table.assign(LSAT=table.LSAT.round()), source


def simulated(n: int, seed: int = 0) -> pd.DataFrame:
    """Draw people from the level-3 equations, with the survey's maximum-likelihood parameters; UGPA in tenths."""
    rng = np.random.default_rng(seed)
    female, nonwhite = rng.random(n) < 0.44, rng.random(n) < 0.16
    return pd.DataFrame(
        {
            "Gender": np.where(female, "Female", "Male"),
            "Race": np.where(nonwhite, "NonWhite", "White"),
            "LSAT": 37.8 - 0.6 * female - 4.6 * nonwhite + 5.2 * rng.standard_normal(n),
            "UGPA": np.round(3.21 + 0.13 * female - 0.22 * nonwhite + 0.4 * rng.standard_normal(n), 1),
        }
    )


def run() -> Report:
    """Fit level 3, then ask what everyone would have been as a man."""
    table, source = people()
    posterior, fitting = cpu_seconds(lambda: ca.fit(ca.models.law_school.level_3(), table, seed=0, progress=False))
    before = peak_gigabytes()
    worlds, asking = cpu_seconds(
        lambda: ca.counterfactuals(posterior, do={"Gender": "Male"}, draws=DRAWS, seed=0, progress=False)
    )
    peak = peak_gigabytes()
    sizes = dict(worlds.dataset.sizes)
    if sizes != {"draw": DRAWS, "individual": len(table)}:
        raise RuntimeError(f"The counterfactuals have sizes {sizes}.")
    return Report(
        [
            Figure("counterfactuals, CPU time", asking, "s", below=10),
            Figure("peak memory of the process", peak, "GB", below=1.5),
            Figure("peak memory before counterfactuals", before, "GB"),
            Figure("fit, CPU time", fitting, "s"),
        ],
        [
            f"{DRAWS:,} draws of {len(table):,} people ({source}), law school level 3, do(Gender := Male); "
            f"the result takes {worlds.dataset.nbytes / 1e9:.2f} GB.",
            f"The fit has {len(posterior.draw_numbers()):,} draws, by method {posterior.settings['method']!r}.",
        ],
    )
