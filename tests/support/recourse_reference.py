"""The frozen test sets, models and audits that tests of recourse compare with."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import causalaudit as ca

ORDERS = {
    "age": ["(16.999, 26.0]", "(26.0, 34.0]", "(34.0, 41.0]", "(41.0, 50.0]", "(50.0, 90.0]"],
    "hours-per-week": ["PartTime", "MidTime", "FullTime", "OverTime", "BrainDrain"],
    "age_cat": ["10-25", "25 - 45", "Greater than 45"],
}
NAMES = ("adult", "compas", "compas_rule")


@cache
def reference(folder: Path) -> dict[str, Any]:
    with gzip.open(folder / "recourse" / "subgroups.json.gz", "rt") as file:
        return json.load(file)


@cache
def table(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / "recourse" / f"{name.removesuffix('_rule')}_test.csv.gz")


def logistic(folder: Path, name: str) -> Any:
    """Return the frozen classifier as a function of a table."""
    model = json.loads((folder / "recourse" / f"{name}_model.json").read_text())

    def predict(people: pd.DataFrame) -> np.ndarray:
        score = np.full(len(people), model["intercept"])
        for column, effects in model["categorical"].items():
            score += people[column].map(effects).to_numpy(dtype=float)
        for column, slope in model["numeric"].items():
            score += slope * people[column].to_numpy(dtype=float)
        return (score > 0).astype(int)

    return predict


def rule(people: pd.DataFrame) -> np.ndarray:
    """The classifier of `compas_rule`, in which what helps one person harms another."""
    priors, female, felony = people["priors_count"], people["sex"] == "Female", people["c_charge_degree"] != "M"
    young = (people["age_cat"] == "25 - 45") & felony & (people["juv_other_count"] == 0)
    return (
        ((priors == "(-0.1, 1.0]") & female)
        | ((priors == "(1.0, 5.0]") & ~female)
        | ((people["age_cat"] == "Greater than 45") & ~felony)
        | (young & (priors != "(5.0, 10.0]") & (people["race"] == "Caucasian"))
    ).astype(int)


def arguments(folder: Path, name: str) -> dict[str, Any]:
    """Return what the audit of a fixture is called with, as its `meta` says."""
    data = table(folder, name)
    meta = reference(folder)[name.removesuffix("_rule")]["meta"]
    features = [
        column for column in data.columns if column not in {"row_id", "label", "pred", "logit", meta["protected"]}
    ]
    cost = meta["cost"]
    numeric = {feature: entry["weight"] for feature, entry in cost["numeric_weight_over_range"].items()}
    weights = numeric | cost["categorical"] | cost["ordinal"]
    return {
        "data": data,
        "classifier": rule if name == "compas_rule" else logistic(folder, name),
        "protected": meta["protected"],
        "features": features,
        "actions": ca.Actions(
            numeric=list(numeric),
            ordinal=list(cost["ordinal"]),
            orders={feature: order for feature, order in ORDERS.items() if feature in features},
            weights={feature: weight for feature, weight in weights.items() if feature in features},
            immutable=[feature for feature in ("sex",) if feature in features],
            increasing=[feature for feature in ("age", "education-num", "age_cat") if feature in features],
            never=["Unknown"],
        ),
        "support": meta["min_support"],
        "budgets": meta["budgets"],
        "no_recourse_cost": 30,
        "progress": False,
    }


@cache
def audited(folder: Path, name: str) -> Any:
    return ca.audit_recourse(**arguments(folder, name))
