"""Run the soak test from the command line: sessions for a tenth of the time, then calls."""

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
from hypothesis import HealthCheck, settings
from hypothesis import seed as with_seed
from hypothesis.stateful import run_state_machine_as_test

from tools.soak.calls import all_calls
from tools.soak.fuzz import Tally, fuzz
from tools.soak.scene import Scene
from tools.soak.session import Session


def main() -> int:
    """Fuzz for as long as asked, and print what was found; the exit status is how much."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of calls to make again")
    asked = parser.parse_args()
    mpl.use("Agg")
    with tempfile.TemporaryDirectory() as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calls = all_calls(Scene().prepare(), Path(folder))
        end, tally = time.monotonic() + 60 * asked.minutes, Tally()
        if not asked.only:
            print(f"{_sessions(asked.minutes, asked.seed)} sessions, in which nothing was wrong")
        numbers = iter(asked.only) if asked.only else _until(end)
        fuzz(calls, asked.seed, numbers, tally)
    print(f"{tally}; {time.process_time() / 60:.1f} minutes of one core")
    return min(len(tally.found), 1)


def _sessions(minutes: float, seed: int) -> int:
    """Have so many sessions as take a tenth of the time; what is wrong ends the run with the steps that show it."""
    number = max(1, round(minutes))
    asked = settings(max_examples=number, stateful_step_count=10, deadline=None, database=None, print_blob=True,
                     suppress_health_check=list(HealthCheck))  # fmt: skip
    run_state_machine_as_test(with_seed(seed)(Session), settings=asked)
    return number


def _until(end: float) -> Iterator[int]:
    number = 0
    while time.monotonic() < end:
        yield number
        number += 1


if __name__ == "__main__":
    sys.exit(main())
