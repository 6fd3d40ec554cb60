"""How long a user waits for the package, and for the first name that needs Pyro, in a fresh interpreter."""

import resource
import subprocess
import sys
from statistics import median

from benchmarks.report import Figure, Report

REPEATS = 5


def cpu_seconds_of(code: str) -> float:
    """Return the CPU seconds, user and system, of a fresh interpreter that runs the code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def run() -> Report:
    """Measure the package alone, with the name that every session begins with, and what Pyro itself takes."""
    package, program, pyro = (
        median(cpu_seconds_of(code) for _ in range(REPEATS))
        for code in ("import causalaudit", "import causalaudit as ca; ca.SCM", "import pandas, pyro")
    )
    figures = [
        Figure("import causalaudit", package, "s", below=3),
        Figure("import causalaudit as ca; ca.SCM", program, "s"),
        Figure("import pandas, pyro", pyro, "s"),
    ]
    return Report(figures, [f"CPU seconds of a fresh interpreter, the median of {REPEATS}."])
