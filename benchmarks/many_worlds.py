"""Counterfactuals beyond memory: a million people, written to disk a block of draws at a time."""

import os
import shutil
import tempfile
from pathlib import Path

import causalaudit as ca
from benchmarks.engine_programs import Case
from benchmarks.report import Figure, Report, cpu_seconds, peak_gigabytes

PEOPLE = 1_000_000
DRAWS = int(os.environ.get("CAUSALAUDIT_WORLDS", "48"))
ALL = 500


def run() -> Report:
    """Fit, ask what everybody would have been in the other group, and take the mean of every draw from disk."""
    case = Case("five", PEOPLE)
    scm, table = case.scm(), case.table()
    posterior = ca.fit(scm, table, seed=0, progress=False)
    before = peak_gigabytes()
    folder = Path(tempfile.mkdtemp(prefix="worlds"))
    try:
        other = {"group": 1 - table["group"]}
        path = folder / "worlds.zarr"
        worlds, writing = cpu_seconds(
            lambda: ca.counterfactuals(posterior, other, draws=DRAWS, seed=0, path=path, progress=False)
        )
        _, reading = cpu_seconds(lambda: [part.dataset["x"].mean("individual") for part in worlds.in_memory(["x"])])
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file()) / 1e9
    finally:
        shutil.rmtree(folder)
    return Report(
        [
            Figure("peak memory of the process", peak_gigabytes(), "GB", below=4),
            Figure("peak memory before counterfactuals", before, "GB"),
            Figure(f"writing, CPU time for {ALL} draws", writing * ALL / DRAWS, "s"),
            Figure(f"reading a variable, CPU time for {ALL} draws", reading * ALL / DRAWS, "s"),
            Figure(f"on disk, {ALL} draws", size * ALL / DRAWS, "GB"),
        ],
        [
            f"{DRAWS} draws of {PEOPLE:,} people, three variables, all of whom the intervention changes; times and "
            f"size are in proportion for {ALL}. Memory does not depend on the number of draws: it holds the people, "
            "one pass and one block (16 draws of a million people, 128 MiB a variable). CAUSALAUDIT_WORLDS=500 runs "
            "them all.",
        ],
    )
