"""Counterfactuals of the loan model by dowhy.gcm; runs where dowhy is installed, without causalaudit.

Usage: ``python dowhy_counterfactuals.py PEOPLE.csv COUNTERFACTUALS.csv REPEATS``, gender being 0 for men. The last line
printed is JSON, with dowhy's version and the median CPU seconds of the fit and of the counterfactuals.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from statistics import median

import networkx as nx
import numpy as np
import pandas as pd
from dowhy import gcm

EDGES = [("gender", "salary"), ("gender", "balance"), ("salary", "balance")]


def fitted(people: pd.DataFrame) -> gcm.InvertibleStructuralCausalModel:
    """Fit linear regressions with additive noise."""
    model = gcm.InvertibleStructuralCausalModel(nx.DiGraph(EDGES))
    model.set_causal_mechanism("gender", gcm.EmpiricalDistribution())
    for name in ("salary", "balance"):
        model.set_causal_mechanism(name, gcm.AdditiveNoiseModel(gcm.ml.create_linear_regressor()))
    gcm.fit(model, people)
    return model


def as_men(model: gcm.InvertibleStructuralCausalModel, people: pd.DataFrame) -> pd.DataFrame:
    """Set everyone's gender to 0."""
    return gcm.counterfactual_samples(model, {"gender": np.zeros_like}, observed_data=people)


def seconds(function: Callable[[], object], repeats: int) -> float:
    """Return the median CPU seconds of several runs."""
    taken = []
    for _ in range(repeats):
        started = time.process_time()
        function()
        taken.append(time.process_time() - started)
    return median(taken)


def main(source: str, result: str, repeats: int) -> None:
    """Read people, write their counterfactuals, print the times."""
    gcm.config.disable_progress_bars()
    gcm.config.set_default_n_jobs(1)
    people = pd.read_csv(source, float_precision="round_trip")
    model = fitted(people)
    as_men(model, people).to_csv(result, index=False)
    times = {
        "fit": seconds(lambda: fitted(people), repeats),
        "counterfactuals": seconds(lambda: as_men(model, people), repeats),
    }
    print(json.dumps({"version": version("dowhy"), **times}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
