"""Explained error rates over draws: the finite SCM by enumeration, and COMPAS by simulated people."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import torch
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import causalaudit as ca
from benchmarks.report import Figure, Report, cpu_seconds, median_cpu_seconds, peak_gigabytes
from causalaudit.errors import DataError

DRAWS, COMPAS_DRAWS = 2_000, 500
_SHARED = Path(__file__).parents[2] / "shared" / "data" / "compas_two_years.csv"
_PARENTS = {"Z": (), "X": ("Z",), "W": ("Z", "X"), "Y": ("Z", "X", "W"), "D": ("Z", "X", "W", "Y")}


def tables(n: int) -> None:
    """The standard prediction model with a free probability for each state of the parents: 31 parameters."""
    chances = {
        name: pyro.sample(f"p_{name}", dist.Beta(1.0, 1.0).expand([2 ** len(parents)]).to_event(1))
        for name, parents in _PARENTS.items()
    }
    values: dict[str, torch.Tensor] = {}
    with pyro.plate("individuals", n):
        for name, parents in _PARENTS.items():
            index = torch.zeros(n)
            for parent in parents:
                index = 2 * index + values[parent]
            values[name] = pyro.sample(name, dist.Bernoulli(chances[name][index.long()]))


def finite() -> tuple[list[Figure], list[str]]:
    """All four decompositions and all measures of a rule that reads everything."""
    drawn = ca.models.standard_prediction.scm_b().prior_predictive(1_000, draws=1, seed=0).isel(draw=0)
    people = drawn.to_dataframe()[list(_PARENTS)].astype(int)
    posterior = ca.fit(ca.SCM(tables), people, draws=DRAWS, chains=1, seed=0, progress=False)

    def rule(frame: pd.DataFrame) -> pd.Series:
        return frame["X"] + frame["W"] + frame["Z"] + frame["D"] >= 3

    def ask(population: str) -> float:
        return median_cpu_seconds(
            lambda: ca.decompose_error_rates(posterior, rule, "X", outcome="Y", population=population, progress=False),
            5,
        )

    _, first = cpu_seconds(
        lambda: ca.decompose_error_rates(posterior, rule, "X", outcome="Y", population="exact", progress=False)
    )
    figures = [
        Figure(f"finite SCM, {DRAWS:,} draws by enumeration, first call", first, "s", below=0.5),
        Figure(f"finite SCM, {DRAWS:,} draws by enumeration", ask("exact"), "s", below=0.5),
        Figure(f"finite SCM, {DRAWS:,} draws of 1,024 simulated people", ask("simulate"), "s"),
    ]
    return figures, [f"Finite SCM: five binary variables, 31 parameters, {len(people):,} people."]


def defendants() -> tuple[pd.DataFrame, str]:
    """Return ProPublica's selection of its file, or people drawn from the model at likely parameters; and which."""
    beside = None if os.environ.get("CAUSALAUDIT_DATA") or not _SHARED.is_file() else _SHARED
    try:
        return ca.models.compas.prepare(ca.datasets.load_compas(beside)), "ProPublica's file"
    except DataError:
        rng = np.random.default_rng(0)
        n, age = 5_278, np.random.default_rng(1).integers(18, 70, 5_278)
        black, male = rng.random(n) < 0.6, rng.random(n) < 0.8
        priors = rng.negative_binomial(1, 1 / (1 + np.exp(0.5 + 0.5 * black + 0.3 * male)))
        chance = 1 / (1 + np.exp(0.3 + 0.03 * (age - 30) - 0.5 * np.log1p(priors)))
        return pd.DataFrame(
            {
                "race": np.where(black, "African-American", "Caucasian"),
                "age": age,
                "sex": np.where(male, "Male", "Female"),
                "priors_count": priors,
                "c_charge_degree": np.where(rng.random(n) < 0.6, "F", "M"),
                "two_year_recid": (rng.random(n) < chance).astype(int),
            }
        ), "generated, since compas_two_years.csv was not found"


def compas() -> tuple[list[Figure], list[str]]:
    """A logistic regression on race, age, sex and prior convictions, under the SCM of figure 1."""
    people, source = defendants()
    encode = make_column_transformer(
        (OneHotEncoder(drop="first"), ["race", "sex"]), (StandardScaler(), ["age", "priors_count"])
    )
    features = ["race", "age", "sex", "priors_count"]
    fitted = make_pipeline(encode, LogisticRegression()).fit(people[features], people["two_year_recid"])
    posterior = ca.fit(ca.models.compas.figure_1(), people, seed=0, progress=False)

    def ask(population: str) -> tuple[ca.error_rates.ErrorRateResult, float]:
        return cpu_seconds(
            lambda: ca.decompose_error_rates(
                posterior,
                fitted,
                "race",
                outcome="two_year_recid",
                population=population,
                draws=COMPAS_DRAWS,
                progress=False,
            )
        )

    result, simulated = ask("simulate")
    _, weighted = ask("bootstrap")
    means = ", ".join(f"{term} {value:.3f}" for term, value in result.summary()["mean"].items())
    figures = [
        Figure(f"COMPAS, {COMPAS_DRAWS} draws of simulated people", simulated, "s", below=20),
        Figure(f"COMPAS, {COMPAS_DRAWS} draws of weighted people", weighted, "s"),
        Figure("COMPAS, peak memory of the process", peak_gigabytes(), "GB"),
    ]
    return figures, [f"COMPAS: {len(people):,} people ({source}); {means}."]


def run() -> Report:
    """Measure both."""
    figures, notes = finite()
    more_figures, more_notes = compas()
    return Report([*figures, *more_figures], [*notes, *more_notes])
