"""What `causalaudit check` predicts of the law-school audit in four worlds, beside what the audit then takes."""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.counterfactual_draws import people
from benchmarks.report import Figure, Report

CONFIGURATION = """
model = "law_school.level_3"
data = { path = "people.csv" }
decision = { rule = "rule.py:admitted" }
intervention = [{ name = "as white", do = { Race = "White" }, rows = { Race = "NonWhite" }, draws = 300 }]
[[audit]]
kind = "situation_testing"
protected = { Race = "NonWhite" }
features = ["LSAT", "UGPA"]
counterfactuals = "as white"
[[world]]
name = "interaction"
model = "law_school.level_3_interaction"
[[world]]
name = "level 2"
model = "law_school.level_2"
[[world]]
name = "no Gender → UGPA"
without = [["Gender", "UGPA"]]
"""
RULE = """
def admitted(people):
    return (0.6 * people["UGPA"] + 0.4 * people["LSAT"] >= 20.8).astype(int)
"""


def commanded(command: str, folder: Path) -> tuple[dict, float, float]:
    """Return what a command found, its CPU seconds, and the bytes it held; the largest of all children so far."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    printed = subprocess.run(
        [sys.executable, "-m", "causalaudit", command, str(folder / "audit.toml"), "--json"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(printed), seconds, after.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def run() -> Report:
    """Check, then audit."""
    table, source = people()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "audit.toml").write_text(CONFIGURATION, encoding="utf-8")
        (folder / "rule.py").write_text(RULE, encoding="utf-8")
        table[["Gender", "Race", "LSAT", "UGPA"]].assign(LSAT=table["LSAT"].round()).to_csv(
            folder / "people.csv", index=False
        )
        checked, seconds_of_check, _ = commanded("check", folder)
        _, seconds, memory = commanded("audit", folder)
    estimate = checked["estimate"]
    off = max(estimate["computing_seconds"] / seconds, seconds / estimate["computing_seconds"])
    memory_off = max(estimate["memory_bytes"] / memory, memory / estimate["memory_bytes"])
    figures = [
        Figure("the audit, CPU time", seconds, "s"),
        Figure("the audit, CPU time predicted", estimate["computing_seconds"], "s"),
        Figure("the larger by the smaller", off, below=2),
        Figure("the audit, memory", memory / 1e9, "GB"),
        Figure("the audit, memory predicted", estimate["memory_bytes"] / 1e9, "GB"),
        Figure("the larger memory by the smaller", memory_off, below=2),
        Figure("the check itself, CPU time", seconds_of_check, "s"),
    ]
    return Report(figures, [source, "Law school, 21,790 people, four worlds; one process."])
