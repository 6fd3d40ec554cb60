"""Run the benchmarks, each in a process of its own and on one thread, and show figures beside targets.

``python -m benchmarks`` runs all, ``python -m benchmarks NAME ...`` some. The exit status is 1 if a target is missed or
a benchmark fails.
"""

import argparse

from rich.console import Console
from rich.table import Table

from benchmarks.processes import run_alone
from benchmarks.report import Report

NAMES = (
    "bias_scan",
    "checking",
    "comparators",
    "counterfactual_draws",
    "dowhy_agreement",
    "engine",
    "error_rates",
    "fair_classifier",
    "import_time",
    "latents",
    "many_worlds",
    "recourse",
    "scale",
    "situation_testing",
    "worlds",
)
_VERDICTS = {True: "[green]met[/green]", False: "[red]missed[/red]", None: ""}


def table(reports: dict[str, Report]) -> Table:
    """Lay out the figures of all reports."""
    grid = Table("benchmark", "figure", "value", "target", "")
    for name, report in reports.items():
        for row, figure in enumerate(report.figures):
            grid.add_row("" if row else name, figure.name, figure.shown, figure.target, _VERDICTS[figure.met])
        grid.add_section()
    return grid


def chosen() -> list[str]:
    """Return the benchmarks that the command line names, by default all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run the benchmarks of causalaudit.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of: {', '.join(NAMES)}; default all")
    names = parser.parse_args().names or list(NAMES)
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    return names


def main() -> int:
    """Run the chosen benchmarks; one that fails does not keep the others from running."""
    console = Console()
    reports = {}
    failures = {}
    for name in chosen():
        console.print(f"Running {name} ...")
        try:
            reports[name] = run_alone(name)
        except Exception as error:
            failures[name] = error
    console.print(table(reports))
    for name, report in reports.items():
        for note in report.notes:
            console.print(f"{name}: {note}", highlight=False, markup=False)
    for name, failure in failures.items():
        console.print(f"{name} failed: {failure!r}", style="red", highlight=False, markup=False)
    missed = any(figure.met is False for report in reports.values() for figure in report.figures)
    return int(missed or bool(failures))


if __name__ == "__main__":
    raise SystemExit(main())
