"""Four worlds of the law school on the race of applicants: fits, scores, weights, audits, in one call."""

import numpy as np
import pandas as pd

import causalaudit as ca
from benchmarks.counterfactual_draws import people as law_school
from benchmarks.report import Figure, Report, cpu_seconds, peak_gigabytes
from causalaudit.models import law_school as models
from causalaudit.results import AuditResult
from causalaudit.worlds import WorldsResult

ELPD = [-78_120.4, -77_769.0, -77_756.8, -78_022.9]
STACKING = [0.23, 0.0, 0.77, 0.0]
CASES = [297, 297, 264, 297]
SHARED = [264, 33, 3_209]  # cases in all, some and none of the worlds
DRAWS, CHAINS = 75, 4


def admission(people: pd.DataFrame) -> pd.Series:
    """The rule of the paper for law schools."""
    return (0.6 * people["UGPA"] + 0.4 * people["LSAT"]).round(6) >= 20.80


def compared(people: pd.DataFrame) -> WorldsResult:
    """Fit four programs, audit race in each, and compare."""
    scms = {
        "level 2": models.level_2(),
        "level 3": models.level_3(),
        "interaction": models.level_3_interaction(),
        "without Gender → UGPA": models.level_3().without(("Gender", "UGPA")),
    }
    posteriors = {name: ca.fit(scm, people, draws=DRAWS, chains=CHAINS, progress=False) for name, scm in scms.items()}

    def audit(posterior: ca.Posterior) -> AuditResult:
        nonwhite = people["Race"] == "NonWhite"
        worlds = ca.counterfactuals(posterior, {"Race": "White"}, rows=nonwhite, progress=False)
        return ca.situation_testing(
            people, admission, {"Race": "NonWhite"}, features=["LSAT", "UGPA"], counterfactuals=worlds, progress=False
        )

    return ca.compare_worlds(posteriors, audit, progress=False)


def run() -> Report:
    """Everything in one call, on one thread; with `joblib` worlds are audited in parallel."""
    people, source = law_school()
    result, seconds = cpu_seconds(lambda: compared(people))
    figures = [
        Figure("CPU time of four fits, their scores and audits, 300 draws", seconds, "s", below=120),
        Figure("peak memory of the process", peak_gigabytes(), "GB"),
    ]
    if source == "the law-school survey":
        cases = [int(result.table[f"case_{world}"].sum()) for world in result.worlds]
        shared = result.agreement["case"].to_numpy()
        figures += [
            Figure("greatest deviation of an elpd", float(np.abs(result.loo["elpd"] - ELPD).max()), below=1),
            Figure(
                "greatest deviation of a stacking weight", float(np.abs(result.loo["stacking"] - STACKING).max()),
                below=0.1,
            ),
            Figure("greatest deviation of a number of cases", float(np.abs(np.subtract(cases, CASES)).max()), below=1),
            Figure("greatest deviation of cases in all, some, none", float(np.abs(shared - SHARED).max()), below=1),
        ]  # fmt: skip
    return Report(figures, [f"{source}, {len(people):,} people; references are those of a prototype."])
