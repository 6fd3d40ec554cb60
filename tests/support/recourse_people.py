"""People with one feature of each kind, whom tests of recourse audit."""

import numpy as np
import pandas as pd

import causalaudit as ca

WEIGHTS = {"years": 2.0, "job": 3.0, "hours": 0.5}
ACTIONS = {
    "numeric": ["years"], "ordinal": ["hours"], "orders": {"hours": ["part", "full", "over"]}, "weights": WEIGHTS,
    "increasing": ["years"], "immutable": ["born"], "never": ["Unknown"],
}  # fmt: skip
SETTINGS = {
    "protected": "sex", "features": ["years", "job", "hours", "born"], "actions": ca.Actions(**ACTIONS),
    "support": 0.1, "budgets": [1, 3.5], "no_recourse_cost": 20, "progress": False,
}  # fmt: skip


def make_people(seed, n=120):
    """People with one feature of each kind, and a classifier that is any function of them."""
    random = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "years": random.choice([8, 9, 12, 16], n, p=[0.2, 0.3, 0.3, 0.2]),
            "job": random.choice(["clerk", "smith", "Unknown"], n, p=[0.4, 0.4, 0.2]),
            "hours": random.choice(["part", "full", "over"], n),
            "born": random.choice([True, False], n),
            "sex": random.choice(["female", "male"], n),
        }
    )
    answers = {}

    def classify(table):
        rows = table[["years", "job", "hours", "born", "sex"]].itertuples(index=False, name=None)
        return np.array([answers.setdefault(row, int(random.random() < 0.4)) for row in rows])

    classify(people)
    return people, classify


def same_tables(first, second):
    """Whether two audits give the same rows, in whatever order subgroups are."""

    def key(table):
        names = [str(sorted(subgroup.items(), key=str)) for subgroup in table["subgroup"]]
        return table.assign(subgroup=names).sort_values(
            ["metric", "parameter", "viewpoint", "subgroup"], ignore_index=True
        )

    pd.testing.assert_frame_equal(key(first.table), key(second.table), check_dtype=False)


def promotion():
    """Ten people like those of figure 1: what helps women never helps men."""
    people = pd.DataFrame(
        {"sex": ["f"] * 6 + ["m"] * 6, "skill": (["low"] * 5 + ["high"]) * 2, "team": (["a"] * 5 + ["b"]) * 2}
    )

    def company(table):
        return np.where(table["sex"] == "f", table["skill"] == "high", table["team"] == "b").astype(int)

    return people, company


def assert_same_answers(result, loaded):
    """Whether a result that was loaded says what the result says."""
    for name in ("table", "values", "intervals", "verdicts"):
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(result, name), check_exact=True)
    pd.testing.assert_frame_equal(loaded.summary(), result.summary(), check_exact=True)
    pd.testing.assert_series_equal(loaded.headline, result.headline, check_exact=True)
    pd.testing.assert_frame_equal(loaded.top("equal_effectiveness", 3), result.top("equal_effectiveness", 3))
    assert repr(loaded) == repr(result)
    mine, theirs = result.to_inference_data(), loaded.to_inference_data()
    assert mine.groups() == theirs.groups()
    assert all(mine[group].identical(theirs[group]) for group in mine.groups())
