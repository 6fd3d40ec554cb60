"""Runs of configurations: what is executed, the stages, the folder that keeps them, and what they will cost."""

from causalaudit.runs.folder import Finished, RunFolder
from causalaudit.runs.prepared import Prepared, prepare
from causalaudit.runs.running import Answers, Run, run_folder

__all__ = ["Answers", "Finished", "Prepared", "Run", "RunFolder", "prepare", "run_folder"]
