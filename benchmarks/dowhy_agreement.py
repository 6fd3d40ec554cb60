"""Agreement with dowhy.gcm on a linear structural causal model, and the time that both take.

dowhy needs an older scipy than causalaudit has, so it lives in an environment of its own, `.venv-dowhy`, which is made
when it is first needed; the two sides exchange CSV files, with all digits.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

import causalaudit as ca
from benchmarks.peers.environments import interpreter, printed_by
from benchmarks.report import Figure, Report, median_cpu_seconds

PEOPLE = 5_000
REPEATS = 5
TOLERANCE = 1e-8
COLUMNS = ["salary", "balance"]
_PEER = Path(__file__).parent / "peers" / "dowhy_counterfactuals.py"


def theirs(applicants: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the counterfactuals of dowhy.gcm, and its version and CPU seconds."""
    python = interpreter("dowhy", "dowhy")
    with tempfile.TemporaryDirectory() as folder:
        source, result = Path(folder) / "people.csv", Path(folder) / "counterfactuals.csv"
        coded = applicants[["gender", *COLUMNS]].assign(gender=(applicants.gender == "female").astype(float))
        coded.to_csv(source, index=False)
        printed = printed_by([str(python), str(_PEER), str(source), str(result), str(REPEATS)])
        found = pd.read_csv(result, float_precision="round_trip")
    return found, json.loads(printed.splitlines()[-1])


def ours(applicants: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return our counterfactuals, and our CPU seconds."""
    scm = ca.models.loan.linear()

    def fit() -> ca.Posterior:
        return ca.fit(scm, applicants, method="ml", draws=1, chains=1, progress=False)

    def ask() -> pd.DataFrame:
        return ca.counterfactuals(posterior, do={"gender": "male"}, progress=False).point

    posterior = fit()
    point = ask()
    return point, {"fit": median_cpu_seconds(fit, REPEATS), "counterfactuals": median_cpu_seconds(ask, REPEATS)}


def run() -> Report:
    """Ask both what every applicant would have been as a man."""
    applicants = ca.datasets.make_loan(PEOPLE, seed=0)
    point, seconds = ours(applicants)
    peer, peer_seconds = theirs(applicants)
    difference = (point[COLUMNS] - peer[COLUMNS]).abs().max()
    relative = difference / applicants[COLUMNS].std()
    moved = (point[COLUMNS] - applicants[COLUMNS]).abs().max()
    steps = ("fit", "counterfactuals")
    figures = [
        Figure("greatest difference / std", relative.max(), below=TOLERANCE),
        *(Figure(f"greatest difference, {name}", difference[name], "dollars") for name in COLUMNS),
        *(Figure(f"{step}, ours", seconds[step], "s") for step in steps),
        *(Figure(f"{step}, dowhy", peer_seconds[step], "s") for step in steps),
        *(Figure(f"{step}, ours / dowhy", seconds[step] / peer_seconds[step]) for step in steps),
    ]
    notes = [
        f"dowhy {peer_seconds['version']}, loan model, {PEOPLE:,} applicants of make_loan, do(gender := male), which "
        f"moves salaries by up to {moved['salary']:,.0f} and balances by up to {moved['balance']:,.0f} dollars.",
        "std is the standard deviation of the column as observed.",
        f"CPU seconds, median of {REPEATS} warm runs, imports and files excluded. Ours: fit(method='ml', draws=1, "
        "chains=1), and counterfactuals(...).point, which computes the one draw and the point. dowhy: gcm.fit of an "
        "InvertibleStructuralCausalModel with linear additive-noise mechanisms, and gcm.counterfactual_samples.",
    ]
    return Report(figures, notes)
