"""Bounds that cannot be met, and bad input to fair classifiers."""

import numpy as np
import pandas as pd
import pytest
from fair_people import EXPLAINABLE_GRAPH, SCM_B, draw_people

import causalaudit as ca
from causalaudit.errors import DataError

FEATURES = ["X", "W", "Z", "D"]


# Bounds that cannot be met


@pytest.mark.parametrize("method", ["table", pytest.param("logistic", marks=pytest.mark.slow)])
def test_the_smallest_feasible_bound(method):
    people = draw_people(400, 6)
    rows, labels = people[FEATURES], people["Y"]
    best = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", method=method).fit(rows, labels)
    settings = {"min_accuracy": best.accuracy_ - 0.005, "method": method}
    with pytest.raises(ca.error_rates.InfeasibleError, match="smallest feasible bounds are eps_total=") as caught:
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=0.0, **settings).fit(rows, labels)
    (smallest,) = caught.value.smallest.values()
    # The logistic search has found a classifier at just this bound; another bound is another search.
    slack, much = (1e-7, 3e-7) if method == "table" else (0.0, 9e-3)
    enough = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=smallest + slack, **settings).fit(rows, labels)
    assert enough.accuracy_ >= settings["min_accuracy"] - 1e-9
    with pytest.raises(ca.error_rates.InfeasibleError):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=smallest - much, **settings).fit(rows, labels)


@pytest.mark.parametrize("method", ["table", "logistic"])
def test_an_accuracy_that_nobody_reaches(method):
    people = draw_people(500, 7)
    fair = ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_direct=0.1, min_accuracy=0.999, method=method)
    with pytest.raises(ca.error_rates.InfeasibleError, match=r"cannot be reached .* whatever the bounds"):
        fair.fit(people[FEATURES], people["Y"])


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"eps_direct": -0.1}, "smallest feasible bound is 0"),
        ({"eps_total": "small"}, "eps_total is 'small', but must be a number"),
        ({"eps_total": float("nan")}, "eps_total is nan"),
        ({"eps_total": True}, "eps_total is True"),
        ({"method": "forest"}, "method is 'forest'"),
        ({"population": "all"}, "population is 'all'"),
        ({"min_accuracy": 2}, "min_accuracy is 2"),
        ({"C": 0}, "C is 0"),
        ({"features": ["X", "Q"]}, "The feature 'Q' is not in data"),
        ({"features": "X"}, "features is the text 'X', but must be a list of columns"),
        ({"eps_total": 0.1, "protected": "Race"}, "protected column 'Race' is not in data"),
        ({"eps_total": 0.1, "baseline": 7}, "Nobody in data has 'X' equal to 7"),
        ({"eps_total": 0.1, "contrast": 0, "baseline": 0}, "baseline and contrast are both 0"),
        ({"eps_total": 0.1, "y": 5}, "y is 5, but the labels are 0, 1"),
        ({"eps_total": 0.1, "graph": None}, "there is no posterior"),
        ({"outcome": "W"}, "X holds the outcome 'W'"),
    ],
)
def test_bad_settings(chosen, words):
    people = draw_people(200, 8)
    with pytest.raises(DataError, match=words):
        ca.FairClassifier(**{"graph": EXPLAINABLE_GRAPH, "protected": "X", "outcome": "Y", **chosen}).fit(
            people[FEATURES], people["Y"]
        )


def test_not_explainable_names_the_open_path():
    people = draw_people(200, 9, SCM_B)
    graph = ca.models.standard_prediction.scm_b().graph
    with pytest.raises(DataError, match=r"reads X, W, Z, D are not explainable .* Y <- W: nothing lies between"):
        ca.FairClassifier(graph, "X", "Y", eps_spurious=0.1).fit(people[FEATURES], people["Y"])


def test_a_covariate_without_a_column_is_unobserved():
    people = draw_people(200, 9)
    with pytest.raises(DataError, match="X <- Z -> W: an unobserved variable is behind both"):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_spurious=0.1).fit(people[["X", "W"]], people["Y"])


def test_no_overlap_names_the_level():
    people = draw_people(500, 10)
    people = people[(people["Z"] == 0) | (people["X"] == 0)]
    with pytest.raises(
        DataError, match=r"no overlap: the propensity of 'X' = 1, among those with 'Y' = 0, is 0 for .* with Z = 1"
    ):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_spurious=0.1).fit(people[FEATURES], people["Y"])


def test_too_few_people():
    people = draw_people(100, 11)
    people = people.drop(people.index[(people["X"] == 1) & (people["Y"] == 0)][3:])
    with pytest.raises(DataError, match="Only 3 people have 'X' = 1 and 'Y' = 0, too few"):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_total=0.1).fit(people[FEATURES], people["Y"])


def test_a_protected_attribute_that_the_scm_does_not_have(scm_b):
    people, by = scm_b
    rows = people[FEATURES].assign(race=people["X"])
    fair = ca.FairClassifier(**by, protected="race", outcome="Y", eps_total=0.1)
    with pytest.raises(DataError, match="'race' is not in the SCM"):
        fair.fit(rows, people["Y"], sample_weight=people["share"])
    fair = ca.FairClassifier(**by, protected="X", outcome="recid", eps_total=0.1)
    with pytest.raises(DataError, match="'recid' is not in the SCM"):
        fair.fit(people[FEATURES], people["Y"], sample_weight=people["share"])


@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        ({"X": [0, None, 1, None]}, [0, 1, 0, 1], "The feature 'X' is missing for 2 of 4 people"),
        ({"X": [0, 0, 1, 1]}, [0, None, 0, 1], "outcome is missing for 1 people"),
        ({"X": [0, 0, 1, 1]}, [0, 1, 2, 1], "Only binary classification is supported"),
        ({"X": [0, 0, 1, 1]}, [1, 1, 1, 1], "only one class"),
        ({"X": [0, 0, 1, 1]}, [1, 0, 1], "X has 4 rows, but y has 3"),
        ({"X": []}, [], "X has no rows"),
    ],
)
def test_bad_tables(rows, labels, words):
    with pytest.raises(DataError, match=words):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y").fit(pd.DataFrame(rows), labels)


def test_bad_weights():
    people = draw_people(50, 12)
    for weights, words in (
        (np.zeros(50), "at least one non-zero"),
        (-np.ones(50), "at least 0"),
        (np.ones(3), "shape"),
    ):
        with pytest.raises(DataError, match=words):
            ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y").fit(people[FEATURES], people["Y"], sample_weight=weights)


def test_a_frontier_of_nothing():
    people = draw_people(50, 12)
    with pytest.raises(DataError, match="Nothing is bounded"):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y").frontier(people[FEATURES], people["Y"], [0.1])


def test_the_plot_of_frontiers():
    table = pd.DataFrame({"eps": [0.0, 0.1], "accuracy": [0.6, 0.8], "direct": [-0.2, 0.1]})
    ax = ca.plots.plot_frontier({"one": table, "other": table}, y="direct")
    assert [line.get_ydata().tolist() for line in ax.lines] == [[0.2, 0.1]] * 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "other"]
    assert ca.plots.plot_frontier(table).get_xlabel() == "bound ε"
    with pytest.raises(DataError, match="A frontier has no column 'acuracy': did you mean 'accuracy'"):
        ca.plots.plot_frontier(table, y="acuracy")


# Types, cells and labels


@pytest.mark.parametrize("method", ["table", "logistic"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.assign(W=np.where(rows.index < 2, np.inf, rows.W)), "'W' is infinite for 2 of 200 people"),
        (lambda rows: rows.assign(W=rows.W.astype("Int64").where(rows.index > 4)), "'W' is missing for 5 of 200"),
        (lambda rows: rows.assign(W=np.nan), "'W' is missing for 200 of 200"),
        (lambda rows: pd.concat([rows, rows[["W"]]], axis=1), "'W' is in data twice"),
        (lambda rows: rows.assign(W=[[1]] * len(rows)), r"'W' holds \[1\] for the person 0"),
        (lambda rows: rows.astype({"W": "float16"}), r"'W' is of the type float16: make it column.astype\(float\)"),
    ],
)
def test_columns_that_cannot_be_read(change, message, method):
    people = draw_people(200, 3)
    with pytest.raises(DataError, match=message):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", method=method).fit(change(people[FEATURES]), people["Y"])


@pytest.mark.parametrize("method", ["table", "logistic"])
def test_nullable_columns_are_like_others(method):
    people = draw_people(200, 3)
    rows, fair = people[FEATURES], ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y", eps_direct=0.1, method=method)
    plain = fair.fit(rows, people["Y"]).decision_proba(rows)
    assert np.array_equal(fair.fit(rows.astype("Int64"), people["Y"].astype("Int64")).decision_proba(rows), plain)


@pytest.mark.parametrize(
    ("name", "value"),
    [("C", None), ("C", "1"), ("confidence", "much"), ("min_accuracy", [1]), ("method", ["table"]), ("graph", {}),
     ("posterior", "one"), ("seed", 1.5), ("randomised", "no"), ("eps_direct", "0.1"), ("draws", -1), ("protected", 3)],
)  # fmt: skip
def test_settings_of_another_type(name, value):
    people = draw_people(60, 3)
    asked = {"graph": EXPLAINABLE_GRAPH, "protected": "X", "outcome": "Y", "eps_direct": 0.2} | {name: value}
    with pytest.raises(DataError, match=rf"^{name} (is|must)"):
        ca.FairClassifier(**asked).fit(people[FEATURES], people["Y"])


@pytest.mark.parametrize("labels", [3, "yes", None, [1], [[1, 2]] * 60, [np.inf] + [1.0] * 59])
def test_labels_that_are_none(labels):
    people = draw_people(60, 3)
    with pytest.raises(DataError):
        ca.FairClassifier(EXPLAINABLE_GRAPH, "X", "Y").fit(people[FEATURES], labels)
