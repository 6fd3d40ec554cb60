"""Run the soak test from the command line."""

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl

from tools.soak.calls import all_calls
from tools.soak.fuzz import Tally, fuzz
from tools.soak.scene import Scene


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
        tally = Tally()
        numbers = iter(asked.only) if asked.only else _until(time.monotonic() + 60 * asked.minutes)
        fuzz(calls, asked.seed, numbers, tally)
    print(tally)
    return min(len(tally.found), 1)


def _until(end: float) -> Iterator[int]:
    number = 0
    while time.monotonic() < end:
        yield number
        number += 1


if __name__ == "__main__":
    sys.exit(main())
