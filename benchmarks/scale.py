"""Every auditor, and counterfactuals, at ten thousand, a hundred thousand and a million people.

Each is measured in a process of its own, at each size: CPU time, peak memory, and the exponent with which the time
grows between the two largest sizes. Numbers differ between people, so that nothing is saved by counting equal rows.
"""

import multiprocessing
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch

import causalaudit as ca
from benchmarks.report import Figure, Report, cpu_seconds, peak_gigabytes

SIZES = (10_000, 100_000, 1_000_000)
MOST_GIGABYTES = 4  # at a million people
DRAWS = 10
_FITTED = 2_000  # people from whom the programs learn: fits have a benchmark of their own
DO = {"sex": "m"}
FEATURES = ["skill", "pay"]
GRAPH = ca.diagram([("sex", "pay"), ("skill", "pay"), ("skill", "good"), ("pay", "good")])


def program(n: int) -> None:
    """Skill and pay are numbers, sex and the outcome have two values."""
    gap, slope = pyro.sample("gap", dist.Normal(0.0, 1.0)), pyro.sample("slope", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        skill = pyro.sample("skill", dist.Normal(0.0, 1.0))
        pay = pyro.sample("pay", dist.Normal(gap * sex + slope * skill, 1.0))
        pyro.sample("good", dist.Bernoulli(torch.sigmoid(skill + pay)))


def make_people(n: int) -> pd.DataFrame:
    """Return people of the program, with a recommendation and three columns of a few levels."""
    rng = np.random.default_rng(0)
    sex, skill = rng.integers(2, size=n), rng.standard_normal(n)
    pay = skill - 0.5 * sex + rng.standard_normal(n)
    good = rng.random(n) < 1 / (1 + np.exp(-skill - pay))
    table = pd.DataFrame({"sex": np.array(["m", "f"])[sex], "skill": skill, "pay": pay, "good": good.astype(int)})
    few = {name: rng.integers(levels, size=n) for name, levels in (("region", 6), ("trade", 4), ("age", 5))}
    return table.assign(advice=rule(table), **few)


def rule(people: pd.DataFrame) -> pd.Series:
    """The decision that is audited."""
    return (people["pay"] > 0.5).astype(int)


def rule_of_levels(people: pd.DataFrame) -> pd.Series:
    """A decision by columns of a few levels."""
    return (people["region"] + people["trade"] > 4).astype(int)


def fitted(people: pd.DataFrame) -> Any:
    """Return a posterior of the program."""
    scm = ca.SCM(program, levels={"sex": ["m", "f"]})
    return ca.fit(scm, people[["sex", "skill", "pay", "good"]], method="laplace", draws=50, seed=0, progress=False)


def worlds_of(people: pd.DataFrame, draws: int = DRAWS, **more: Any) -> Any:
    """Return the counterfactuals of everybody, of a program that was fitted to some."""
    columns = people[["sex", "skill", "pay", "good"]]
    return ca.counterfactuals(fitted(people[:_FITTED]), DO, data=columns, draws=draws, progress=False, **more)


def ask_counterfactuals(people: pd.DataFrame) -> Callable[[], object]:
    """Ten draws in memory."""
    return lambda: worlds_of(people)


def ask_folder(people: pd.DataFrame) -> Callable[[], object]:
    """Ten draws in a folder."""

    def ask() -> None:
        with tempfile.TemporaryDirectory() as folder:
            worlds_of(people, path=Path(folder) / "worlds.zarr")

    return ask


def ask_situation_testing(people: pd.DataFrame) -> Callable[[], object]:
    """All women, without counterfactuals."""
    return lambda: ca.situation_testing(people, rule, {"sex": "f"}, features=FEATURES, k=15, progress=False)


def ask_counterfactual_testing(people: pd.DataFrame) -> Callable[[], object]:
    """All women, with their counterfactuals over two draws."""
    worlds = worlds_of(people[people["sex"] == "f"], draws=2)
    return lambda: ca.situation_testing(
        people, rule, {"sex": "f"}, features=FEATURES, counterfactuals=worlds, k=15, progress=False
    )


def ask_scan(people: pd.DataFrame) -> Callable[[], object]:
    """Four features, one of them a number."""
    return lambda: ca.scan_bias(
        people, {"sex": "f"}, "good", recommendation="advice", features=["region", "trade", "age", "skill"],
        iterations=10, permutations=20, progress=False,
    )  # fmt: skip


def ask_recourse(people: pd.DataFrame) -> Callable[[], object]:
    """Subgroups of three columns."""
    features = ["region", "trade", "age"]
    return lambda: ca.audit_recourse(
        people, rule_of_levels, {"sex": "f"}, features=features, support=0.02, progress=False
    )


def ask_estimate(people: pd.DataFrame) -> Callable[[], object]:
    """By inverse propensity weights."""
    return lambda: ca.estimate_error_rates(
        people, GRAPH, rule, protected={"sex": "f"}, outcome="good", features=["pay"]
    )


def ask_decomposition(people: pd.DataFrame) -> Callable[[], object]:
    """Of the people of the data."""
    posterior = fitted(people)
    return lambda: ca.decompose_error_rates(
        posterior, rule, {"sex": "f"}, outcome="good", features=["pay"], draws=20, progress=False
    )


def ask_classifier(people: pd.DataFrame) -> Callable[[], object]:
    """A logistic regression of numbers under a bound."""
    fair = ca.FairClassifier(GRAPH, {"sex": "f"}, "good", eps_indirect=0.1)
    return lambda: fair.fit(people[["sex", *FEATURES]], people["good"])


ASKED: dict[str, Callable[[pd.DataFrame], Callable[[], object]]] = {
    "counterfactuals, 10 draws": ask_counterfactuals,
    "counterfactuals, 10 draws to a folder": ask_folder,
    "situation testing, all women": ask_situation_testing,
    "situation testing, all women over 2 draws": ask_counterfactual_testing,
    "bias scan, 20 null draws": ask_scan,
    "recourse": ask_recourse,
    "error rates estimated": ask_estimate,
    "error rates decomposed, 20 draws": ask_decomposition,
    "fair classifier": ask_classifier,
}


def measured(name: str, n: int) -> tuple[float, float, float]:
    """Return CPU seconds, the peak memory of the process, and that before the question."""
    warnings.simplefilter("ignore")
    ask = ASKED[name](make_people(n))
    before = peak_gigabytes()
    _, seconds = cpu_seconds(ask)
    return seconds, peak_gigabytes(), before


def alone(name: str, n: int) -> tuple[float, float, float]:
    """Measure in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measured, name, n).result()


def growth(name: str, found: dict[int, tuple[float, float, float]]) -> list[Figure]:
    """Return the figures of an auditor at all sizes; the largest two have the target."""
    figures = []
    for n, (seconds, peak, before) in found.items():
        most = MOST_GIGABYTES if n == SIZES[-1] else None
        figures += [
            Figure(f"{name}, {n:,} people, CPU time", seconds, "s"),
            Figure(f"{name}, {n:,} people, peak memory (before: {before:.2f} GB)", peak, "GB", below=most),
        ]
    pairs = list(pairwise(found))
    for few, many in pairs:
        exponent = np.log(found[many][0] / found[few][0]) / np.log(many / few)
        last = (few, many) == pairs[-1]
        figures.append(Figure(f"{name}, exponent, {few:,} to {many:,}", exponent, below=1.1 if last else None))
    return figures


def run() -> Report:
    """Measure all auditors at all sizes."""
    figures = [figure for name in ASKED for figure in growth(name, {n: alone(name, n) for n in SIZES})]
    notes = [
        "A process for each auditor and size; the CPU time is of the question alone, the peak memory of the process, "
        "which includes the people and all that is imported. Exponent: of the CPU time in the people.",
        f"Counterfactuals: of a program fitted to {_FITTED:,} of the people, which is part of their time.",
    ]
    return Report(figures, notes)
