"""The engine at the size of real tables: CPU time and peak memory of fits, beside NumPyro's NUTS.

Each fit has a process of its own. What NumPyro draws jointly, the latents of all people, is integrated out here.
"""

import json
import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import causalaudit as ca
from benchmarks.engine_programs import Case
from benchmarks.peers.environments import interpreter, printed_by
from benchmarks.report import Figure, Report, cpu_seconds, peak_gigabytes

CASES = {
    "10,000 people, 5 parameters": Case("five", 10_000),
    "100,000 people, 5 parameters": Case("five", 100_000, most_seconds=6, most_gigabytes=1),
    "1,000,000 people, 5 parameters": Case("five", 1_000_000, most_seconds=60, most_gigabytes=2, peer=None),
    "10,000 people, 6 parameters, a latent": Case("latent", 10_000, ("u",), most_seconds=8),
    "100,000 people, 6 parameters, a latent": Case("latent", 100_000, ("u",), peer=None),
    "1,000 people, 50 parameters in 10 sites": Case("network50", 1_000),
    "1,000 people, 100 parameters in 20 sites": Case("network100", 1_000, most_seconds=10),
    "1,000 people, 50 parameters in one site": Case("regression50", 1_000),
    "1,000 people, 100 parameters in one site": Case("regression100", 1_000, most_seconds=10),
    "2,000 people, 70 parameters, a latent": Case("mixed", 2_000, ("ability",), most_seconds=20, peer=(500, 1_000)),
}
GROWTH = {"without a latent": ("five", 100_000, 1_000_000), "with a latent": ("latent", 10_000, 100_000)}
MOST_PEER_SECONDS = 300
_PEER = Path(__file__).parent / "peers" / "numpyro_engine.py"


@dataclass(frozen=True)
class Measured:
    """What a fit took, and what it found."""

    seconds: float
    gigabytes: float
    method: str
    mean: dict[str, float]
    sd: dict[str, float]
    ess: float


def ours(case: Case) -> Measured:
    """Fit a case in this process."""
    scm, table = case.scm(), case.table()
    posterior, seconds = cpu_seconds(lambda: ca.fit(scm, table, seed=0, progress=False))
    found = posterior.summary()
    ess = float(posterior.diagnostics().numbers["ess"])
    return Measured(
        seconds, peak_gigabytes(), posterior.settings["method"], dict(found["mean"]), dict(found["sd"]), ess
    )


def alone(case: Case) -> Measured:
    """Fit a case in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(ours, case).result()


def theirs(case: Case) -> dict | None:
    """Return what NumPyro's NUTS takes and finds; None if that is more than it is given."""
    if case.peer is None:
        return None
    python = interpreter("numpyro", "numpyro", "pandas")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "people.csv"
        case.table().to_csv(source, index=False)
        command = [str(python), str(_PEER), case.program, str(source), *map(str, case.peer), str(MOST_PEER_SECONDS)]
        try:
            found: dict = json.loads(printed_by(command).splitlines()[-1])
        except RuntimeError:
            return None
    return found


def beside(name: str, case: Case, mine: Measured, peer: dict | None) -> list[Figure]:
    """Return the figures of a case, and of NumPyro where it came to an end."""
    figures = [
        Figure(f"{name}, CPU time", mine.seconds, "s", below=case.most_seconds),
        Figure(f"{name}, peak memory", mine.gigabytes, "GB", below=case.most_gigabytes),
    ]
    if peer is None:
        return figures
    names = list(peer["mean"])
    shift = [abs(mine.mean[one] - peer["mean"][one]) / mine.sd[one] for one in names]
    noise = [np.sqrt(1 / mine.ess + 1 / peer["ess"][one]) for one in names]
    ratio = [abs(np.log(mine.sd[one] / peer["sd"][one])) for one in names]
    return [
        *figures,
        Figure(f"{name}, NumPyro, CPU time", peer["seconds"], "s"),
        Figure(f"{name}, NumPyro, peak memory", peer["gigabytes"], "GB"),
        Figure(f"{name}, NumPyro, smallest effective sample size", min(peer["ess"].values())),
        Figure(f"{name}, greatest difference of means, in sd", max(shift)),
        # Of as many normal numbers as there are parameters, the greatest is seldom beyond this.
        Figure(f"{name}, the same in Monte Carlo errors", max(np.divide(shift, noise)), below=4.5),
        Figure(f"{name}, greatest difference of log sd", max(ratio)),
    ]


def run() -> Report:
    """Fit all cases, and print how the time grows with the people."""
    figures, seconds, versions = [], {}, set()
    for name, case in CASES.items():
        mine, peer = alone(case), theirs(case)
        seconds[case.program, case.people] = mine.seconds
        versions |= {peer["version"]} if peer else set()
        figures += beside(name, case, mine, peer)
    for name, (program, few, many) in GROWTH.items():
        exponent = np.log(seconds[program, many] / seconds[program, few]) / np.log(many / few)
        figures.append(Figure(f"growth exponent in people, {name}, {few:,} to {many:,}", exponent, below=1.1))
    notes = [
        "Ours: fit(method='auto'), 4 × 1,000 draws, the latent integrated out; the fit alone, each in a process of its "
        "own, whose peak memory includes all that is imported (some 0.36 GB).",
        f"NumPyro {', '.join(sorted(versions))}: one chain of 300 + 300 draws by NUTS (of the 70 parameters, 500 + "
        f"1,000), latents drawn jointly, compilation included. No figures: more than {MOST_PEER_SECONDS} CPU seconds, "
        "or not run (1,000,000 people, and 100,000 with a latent).",
    ]
    return Report(figures, notes)
