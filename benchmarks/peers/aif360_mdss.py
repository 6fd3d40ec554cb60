"""A scan by AIF360's MDSS with given expectations; runs where AIF360 is installed, without causalaudit.

Usage: ``python aif360_mdss.py PEOPLE.csv DIRECTION PENALTY RESTARTS``. All columns but the last two, `event` and
`expectation`, are scanned. The last line printed is JSON: AIF360's version, CPU seconds, and the score and the subgroup
it finds.
"""

import json
import sys
import time
from importlib.metadata import version

import pandas as pd
from aif360.detectors.mdss.MDSS import MDSS
from aif360.detectors.mdss.ScoringFunctions import Bernoulli


def main(source: str, direction: str, penalty: float, restarts: int) -> None:
    """Read people, scan them, print what was found."""
    people = pd.read_csv(source, keep_default_na=False)
    features = people.columns[:-2]
    scanner = MDSS(Bernoulli(direction=direction))
    started = time.process_time()
    subgroup, score = scanner.scan(
        people[features], people["expectation"], people["event"], penalty, restarts, seed=0, mode="binary"
    )
    seconds = time.process_time() - started
    print(json.dumps({"version": version("aif360"), "seconds": seconds, "score": float(score), "subgroup": subgroup}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
