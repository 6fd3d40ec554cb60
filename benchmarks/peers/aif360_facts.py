"""FACTS by AIF360 on sampled pairs of a subgroup and an action; runs where AIF360 is installed, without causalaudit.

Usage: ``python aif360_facts.py PEOPLE.csv MODEL.json PROTECTED SUPPORT PAIRS``. All subgroups and actions are mined and
matched; the effectiveness of so many sampled pairs is computed, and so are the cumulative ones (micro viewpoint) of
sampled subgroups with about as many pairs. The last line printed is JSON, with AIF360's version, the number of pairs,
CPU seconds of each step (for mining and matching all; for the other two as sampled and as extrapolated by the number
of pairs), and the sampled pairs.
"""

import json
import random
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from aif360.sklearn.detectors.facts import misc
from aif360.sklearn.detectors.facts.parameters import ParameterProxy, feature_change_builder
from frozen_rule import Logistic


def interval(text: str) -> pd.Interval:
    """Return what AIF360 expects as an age."""
    low, high = text.strip("(]").split(",")
    return pd.Interval(float(low), float(high))


def timed(function: Any, *arguments: Any, **named: Any) -> tuple[Any, float]:
    started = time.process_time()
    found = function(*arguments, **named)
    return found, time.process_time() - started


def matched(people: pd.DataFrame, model: Logistic, protected: str, support: float) -> tuple[list, list, float]:
    """Return all valid pairs, what their effectiveness is computed with, and the seconds of finding them."""
    seen: list = []
    effectiveness = misc.calculate_correctnesses
    misc.calculate_correctnesses = lambda *arguments, **_: seen.append(arguments) or []
    _, seconds = timed(misc.valid_ifthens, people, model, protected, support, drop_above=False, verbose=False)
    misc.calculate_correctnesses = effectiveness
    return seen[0][0], seen[0][1:], seconds


def main(source: str, model_path: str, protected: str, support: str, number: str) -> None:
    """Measure the steps, and print what they take."""
    people, model = pd.read_csv(source), Logistic(json.loads(Path(model_path).read_text()))
    if "age" in people:  # AIF360 knows this name, and expects intervals
        people["age"] = people["age"].map(interval).astype(object)
        effects = model.model["categorical"]["age"]
        model.model["categorical"]["age"] = {interval(text): effect for text, effect in effects.items()}
    pairs, rest, mining = matched(people, model, protected, float(support))
    chooser = random.Random(0)
    sample = chooser.sample(pairs, min(int(number), len(pairs)))
    found, effectiveness = timed(misc.calculate_correctnesses, sample, *rest, verbose=False)

    by_subgroup: dict = {}
    for pair in pairs:
        by_subgroup.setdefault(str(pair[0]), []).append(pair)
    chosen: list = []
    for key in chooser.sample(sorted(by_subgroup), len(by_subgroup)):
        if len(chosen) < int(number):
            chosen += by_subgroup[key]
    categorical = [name for name in people if name not in model.model["numeric"]]
    changes = feature_change_builder(people, list(model.model["numeric"]), categorical, [], {})
    rules = misc.rules2rulesbyif([(*pair, dict.fromkeys(pair[2], 0.0)) for pair in chosen])
    _, cumulative = timed(
        misc.cum_corr_costs_all, rules, people, model, protected, params=ParameterProxy(changes), verbose=False
    )
    report = {
        "version": version("aif360"),
        "mlxtend": version("mlxtend"),
        "pairs": len(pairs),
        "sampled": len(sample),
        "mining": mining,
        "effectiveness": effectiveness,
        "cumulative": cumulative,
        "extrapolated": {
            "effectiveness": effectiveness * len(pairs) / len(sample),
            "cumulative": cumulative * len(pairs) / len(chosen),
        },
        "found": [
            {
                "if": {name: str(value) for name, value in before.to_dict().items()},
                "then": {name: str(value) for name, value in after.to_dict().items()},
                "effectiveness": {str(level): float(share) for level, share in shares.items()},
            }
            for before, after, _, shares in found
        ],
    }
    print(json.dumps(report))


main(*sys.argv[1:])
