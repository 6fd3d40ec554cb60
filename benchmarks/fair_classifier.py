"""Explaining sets of large diagrams, and fair classifiers of many people."""

import itertools
from typing import Any

import numpy as np
import pandas as pd

import causalaudit as ca
from benchmarks.report import Figure, Report, cpu_seconds, median_cpu_seconds

NODES = 200
PEOPLE = 100_000


def large_diagram() -> tuple[Any, list[str]]:
    """Return a random diagram, and twenty features in it."""
    rng = np.random.default_rng(0)
    names = [f"V{number}" for number in range(NODES)]
    pairs = list(itertools.combinations(names, 2))
    directed = [pair for pair in pairs if rng.random() < 0.05]
    bidirected = [pair for pair in pairs if rng.random() < 0.002]
    return ca.diagram(directed, bidirected), names[110:130]


def people_of_b3() -> pd.DataFrame:
    """Return people of appendix B.3."""
    drawn = ca.models.mediation.true_process().prior_predictive(n=PEOPLE, draws=1, seed=0).isel(draw=0)
    return pd.DataFrame({name: drawn[name].to_numpy() for name in "ZXWY"}).astype({"X": int, "Y": int})


def run() -> Report:
    """Measure all."""
    graph, features = large_diagram()
    search = median_cpu_seconds(lambda: ca.find_explaining_set(graph, features, "V100", outcome="V199"), 15)
    found = ca.find_explaining_set(graph, features, "V100", outcome="V199")
    people = people_of_b3()
    scm = ca.models.mediation.true_process()
    posterior = ca.fit(scm, people, draws=1, chains=1, progress=False)
    classifier = ca.FairClassifier(None, "X", "Y", eps_direct=0.01, eps_indirect=0.05, y=1, posterior=posterior)
    fair, seconds = cpu_seconds(lambda: classifier.fit(people[["X", "W", "Z"]], people["Y"]))
    figures = [
        Figure(f"explaining set, diagram of {NODES} nodes", search, "s", below=1),
        Figure(f"bounded logistic regression, {PEOPLE:,} people", seconds, "s", below=30),
        Figure("its accuracy", fair.accuracy_, above=0.92),
    ]
    terms = ", ".join(f"{name} {value:.4f}" for name, value in fair.terms_.items())
    notes = [
        f"The explaining set of {len(features)} features has {len(found)} covariates.",
        f"Appendix B.3, direct and indirect term bounded by 0.01 and 0.05: {terms}.",
    ]
    return Report(figures, notes)
