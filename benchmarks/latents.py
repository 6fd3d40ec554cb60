"""Law school level 2, a latent for everyone: effective draws a second beside NumPyro, and counterfactuals.

NumPyro draws the 21,790 latents jointly with the parameters; here they are integrated out, and drawn on demand.
"""

import json
import tempfile
from pathlib import Path

import pandas as pd

import causalaudit as ca
from benchmarks.counterfactual_draws import people
from benchmarks.peers.environments import interpreter, printed_by
from benchmarks.report import Figure, Report, cpu_seconds, median_cpu_seconds

WARMUP, PEER_DRAWS = 150, 150
DRAWS = 200
_PEER = Path(__file__).parent / "peers" / "numpyro_level_2.py"


def theirs(table: pd.DataFrame) -> dict:
    """Return what NumPyro's joint NUTS finds, and what its draws are worth."""
    python = interpreter("numpyro", "numpyro", "pandas")
    coded = table[["UGPA", "LSAT"]].assign(
        female=(table.Gender == "Female").astype(int), nonwhite=(table.Race == "NonWhite").astype(int)
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "people.csv"
        coded.to_csv(source, index=False)
        found: dict = json.loads(
            printed_by([str(python), str(_PEER), str(source), str(WARMUP), str(PEER_DRAWS)]).splitlines()[-1]
        )
    return found


def run() -> Report:
    """Fit both ways; then ask what everybody would have been with the other race, and the non-white as white people."""
    table, source = people()
    table = table.assign(LSAT=table.LSAT.astype(int))
    scm = ca.models.law_school.level_2()
    posterior, seconds = cpu_seconds(lambda: ca.fit(scm, table, method="laplace", seed=0, progress=False))
    ess, means = posterior.diagnostics().numbers["ess"], posterior.summary()["mean"]

    def ask(do: dict, rows: pd.Series | None = None) -> float:
        def once() -> None:
            ca.counterfactuals(posterior, do, rows=rows, draws=DRAWS, progress=False)

        return median_cpu_seconds(once, 3)

    # Whom an intervention leaves as they are cost nothing, so this one changes everybody.
    everybody = ask({"Race": lambda people: people.Race.map({"White": "NonWhite", "NonWhite": "White"})})
    nonwhite = ask({"Race": "White"}, table.Race == "NonWhite")
    peer = theirs(table)
    rate, peer_rate = ess / seconds, min(peer["ess"].values()) / peer["seconds"]
    figures = [
        Figure("fit, CPU time", seconds, "s"),
        Figure("fit, effective sample size", ess, above=1000),
        Figure("effective draws a CPU second, ours", rate, "/s", above=300),
        Figure("effective draws a CPU second, NumPyro", peer_rate, "/s"),
        Figure("effective draws a CPU second, ours / NumPyro", rate / peer_rate),
        Figure("largest r-hat, NumPyro", max(peer["r_hat"].values())),
        Figure("eta_u, ours", means["eta_u"]),
        Figure("eta_u, NumPyro", peer["mean"]["eta_u"]),
        Figure(f"counterfactuals of all people, {DRAWS} draws, CPU time", everybody, "s", below=8),
        Figure(f"counterfactuals of the non-white, {DRAWS} draws, CPU time", nonwhite, "s", below=2),
    ]
    notes = [
        f"{len(table):,} people ({source}). Ours: fit(method='laplace'), 4 × 1,000 draws, latents integrated out and "
        "not drawn; the effective sample size is 1 / sum(w^2), the same for all parameters.",
        f"NumPyro {peer['version']}: one chain of {WARMUP} + {PEER_DRAWS} draws by NUTS, the latents drawn jointly, on "
        "one thread, compilation included; the effective sample size is that of the worst parameter, and an r-hat far "
        "above 1.01 says that even this is too much.",
    ]
    return Report(figures, notes)
