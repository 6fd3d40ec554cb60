"""Recourse for subgroups beside FACTS as AIF360 has it, on the same people, rule, subgroups and actions.

AIF360 takes minutes to hours for what is compared here, so it is given all subgroups and actions to mine and match, but
only some of the pairs of a subgroup and an action to evaluate; the rest is extrapolated by the number of pairs. The
sampled pairs must have the effectiveness that ours have. Ours is always the whole audit: all notions in both
viewpoints, ranks and intervals.
"""

import gzip
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import causalaudit as ca
from benchmarks.peers.environments import interpreter, printed_by
from benchmarks.peers.frozen_rule import Logistic
from benchmarks.report import Figure, Report, cpu_seconds, median_cpu_seconds, peak_gigabytes

PAIRS = 150
_PEER = Path(__file__).parent / "peers" / "aif360_facts.py"
_FOLDER = Path(os.environ.get("CAUSALAUDIT_REFERENCE", Path(__file__).parents[2] / "shared" / "reference")) / "recourse"
_ORDERS = {
    "age": ["(16.999, 26.0]", "(26.0, 34.0]", "(34.0, 41.0]", "(41.0, 50.0]", "(50.0, 90.0]"],
    "hours-per-week": ["PartTime", "MidTime", "FullTime", "OverTime", "BrainDrain"],
    "age_cat": ["10-25", "25 - 45", "Greater than 45"],
}


@dataclass(frozen=True)
class Case:
    """People, a rule and what is said about the features."""

    name: str
    people: pd.DataFrame
    model: dict[str, Any]
    protected: str
    actions: ca.Actions

    def audit(self, support: float) -> Any:
        features = [name for name in self.people if name != self.protected]
        return ca.audit_recourse(
            self.people,
            Logistic(self.model),
            self.protected,
            features,
            actions=self.actions,
            support=support,
            progress=False,
        )


def frozen(name: str) -> Case:
    """Return a frozen test set with its frozen rule."""
    with gzip.open(_FOLDER / "subgroups.json.gz", "rt") as file:
        meta = json.load(file)[name]["meta"]
    people = pd.read_csv(_FOLDER / f"{name}_test.csv.gz").drop(columns=["row_id", "label", "pred", "logit"])
    features = {column for column in people if column != meta["protected"]}
    cost = meta["cost"]
    numeric = {feature: entry["weight"] for feature, entry in cost["numeric_weight_over_range"].items()}
    weights = numeric | cost["categorical"] | cost["ordinal"]
    actions = ca.Actions(
        numeric=list(numeric),
        ordinal=list(cost["ordinal"]),
        orders={feature: order for feature, order in _ORDERS.items() if feature in features},
        weights={feature: weight for feature, weight in weights.items() if feature in features},
        immutable=list({"sex"} & features),
        increasing=list({"age", "education-num", "age_cat"} & features),
        never=["Unknown"],
    )
    return Case(name, people, json.loads((_FOLDER / f"{name}_model.json").read_text()), meta["protected"], actions)


def generated() -> Case:
    """Return people of no data set, for want of the frozen ones."""
    random = np.random.default_rng(0)
    people = pd.DataFrame({f"feature{place}": random.choice(list("abcd"), 4_000) for place in range(7)})
    model = {
        "intercept": -1.5,
        "categorical": {name: dict(zip("abcd", random.normal(0, 1, 4), strict=True)) for name in people},
        "numeric": {},
    }
    people["group"] = random.choice(["x", "y"], 4_000)
    model["categorical"]["group"] = {"x": 0.3, "y": -0.3}
    return Case("generated", people, model, "group", ca.Actions())


def theirs(case: Case, support: float) -> dict[str, Any]:
    """Return what AIF360 finds and takes."""
    python = interpreter("aif360", "aif360[FACTS]")
    with tempfile.TemporaryDirectory() as folder:
        people, model = Path(folder) / "people.csv", Path(folder) / "model.json"
        case.people.to_csv(people, index=False)
        model.write_text(json.dumps(case.model))
        command = [str(python), str(_PEER), str(people), str(model), case.protected, str(support), str(PAIRS)]
        found: dict[str, Any] = json.loads(printed_by(command).splitlines()[-1])
    return found


def check(result: Any, found: dict[str, Any]) -> None:
    """Refuse other pairs, or another effectiveness of a sampled pair."""
    if found["pairs"] != len(result.candidates.costs):
        raise RuntimeError(f"AIF360 has {found['pairs']} pairs, causalaudit {len(result.candidates.costs)}.")
    vocabulary = result.vocabulary
    values = {
        name: {str(value): value for value in levels}
        for name, levels in zip(vocabulary.features, vocabulary.levels, strict=True)
    }
    for pair in found["found"]:
        before, after = ({name: values[name][text] for name, text in pair[side].items()} for side in ("if", "then"))
        actions = result.actions(before)
        (row,) = [row for row in actions.to_dict("records") if before | row["action"] == after]
        ours = [row["effectiveness0"], row["effectiveness1"]]
        if not np.allclose(ours, [pair["effectiveness"][level] for level in result.groups], rtol=0, atol=1e-9):
            raise RuntimeError(f"AIF360 and causalaudit find another effectiveness of {after} for {before}.")


def beside(case: Case, support: float) -> tuple[list[Figure], str]:
    """Measure both sides."""
    result = case.audit(support)
    ours = median_cpu_seconds(lambda: case.audit(support), 5)
    found = theirs(case, support)
    check(result, found)
    extrapolated = found["mining"] + sum(found["extrapolated"].values())
    label = f"{case.name} at {support:.0%}"
    figures = [
        Figure(f"{label}, ours, CPU time", ours, "s"),
        Figure(f"{label}, AIF360, CPU time (extrapolated)", extrapolated, "s"),
        Figure(f"{label}, AIF360 / ours", extrapolated / ours, above=100),
    ]
    note = (
        f"{label}: {len(result.candidates):,} subgroups, {found['pairs']:,} pairs; ours (median of 5 runs) asks the "
        f"rule about {result.settings['predicted']:,} rows. AIF360 {found['version']} with mlxtend {found['mlxtend']}: "
        f"mining and matching {found['mining']:.1f} s; effectiveness of {found['sampled']} sampled pairs "
        f"{found['effectiveness']:.2f} s and cumulative effectiveness {found['cumulative']:.2f} s, extrapolated to all "
        f"pairs {found['extrapolated']['effectiveness']:.0f} s and {found['extrapolated']['cumulative']:.0f} s; its "
        "scores and ranks are not counted, nor has it intervals. All sampled pairs have the same effectiveness."
    )
    return figures, note


def run() -> Report:
    """Measure all."""
    if not _FOLDER.is_dir():
        figures, note = beside(generated(), 0.01)
        return Report(
            figures, [note, "The frozen test sets were not found; set CAUSALAUDIT_REFERENCE to their folder."]
        )
    adult = frozen("adult")
    result, seconds = cpu_seconds(lambda: adult.audit(0.01))
    alone = [
        Figure("adult at 1%, ours, CPU time", seconds, "s", below=120),
        Figure("adult at 1%, peak memory of the process", peak_gigabytes(), "GB", below=1.5),
    ]
    note = (
        f"adult at 1%: {len(result.candidates):,} subgroups, {len(result.candidates.costs):,} pairs, "
        f"{result.settings['predicted']:,} distinct counterfactual rows."
    )
    parts = [beside(frozen("compas"), 0.01), beside(adult, 0.05)]
    return Report([*(figure for part in parts for figure in part[0]), *alone], [*(part[1] for part in parts), note])
