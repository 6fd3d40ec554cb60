"""Algorithm 2 against exhaustive search, and its bad input."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

import causalaudit as ca
from causalaudit.error_rates.learning.feature_selection import _floating_search
from causalaudit.errors import DataError

# X affects W and M, both of which affect Y: neither can be explained. A and B come before everything; E follows from X.
GRAPH = ca.diagram(
    [(a, b) for a, effects in {"A": "XYE", "B": "YW", "X": "WMYE", "W": "Y", "M": "Y"}.items() for b in effects]
)
CANDIDATES = ["X", "W", "M", "A", "B", "E"]


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"A": rng.normal(size=400), "B": rng.choice(["low", "high"], size=400)})
    high = (frame["B"] == "high").to_numpy()
    frame["X"] = (rng.random(400) < 1 / (1 + np.exp(-frame["A"]))).astype(int)
    frame["W"] = rng.normal(size=400) + frame["X"] + high
    frame["M"] = rng.normal(size=400) + frame["X"]
    frame["E"] = rng.normal(size=400) + frame["X"] + frame["A"]
    score = frame["A"] + 1.5 * high + frame["W"] + frame["M"] + frame["X"] - 2.5
    frame["Y"] = np.where(rng.random(400) < 1 / (1 + np.exp(-score)), "yes", "no")
    return frame.set_index(rng.permutation(1000)[:400])


def select(people, graph, candidates, **options):
    return ca.select_explainable_features(people, graph, "X", outcome="Y", candidates=candidates, **options)


def explainable(features):
    return ca.find_explaining_set(GRAPH, features, "X", outcome="Y") is not None


@pytest.mark.slow
@pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy"])
def test_it_is_as_good_as_the_best_explainable_set(people, scoring):
    chosen = select(people, GRAPH, CANDIDATES, scoring=scoring, cv=2, seed=3)
    assert explainable(chosen)
    assert not {"W", "M"} & set(chosen)
    folds = StratifiedKFold(2, shuffle=True, random_state=3)

    def score(features):
        model = ca.error_rates.learning.feature_selection.default_estimator(people[list(features)])
        return cross_val_score(model, people[list(features)], people["Y"], scoring=scoring, cv=folds).mean()

    sets = [s for size in range(1, 5) for s in itertools.combinations("XABE", size) if explainable(s)]
    assert len(sets) == 15
    assert score(chosen) == pytest.approx(max(map(score, sets)))


def test_any_scorer_and_estimator(people):
    numbers = people.drop(columns="B")
    scorer = make_scorer(roc_auc_score, response_method="predict_proba")
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    chosen = select(numbers, GRAPH, ["X", "A", "E"], scoring=scorer, estimator=tree, cv=3)
    assert explainable(chosen)

    def few(model, features, outcome):  # a score that likes small sets
        return -features.shape[1] + 0.1 * ("A" in features)

    assert select(numbers, GRAPH, ["X", "A"], scoring=few, estimator=LogisticRegression()) == ["A"]


def test_covariates_without_a_column_are_unobserved(people):
    """W is explained by B; without the column B, nothing that follows from X beside W can be."""
    graph = ca.diagram([("B", "Y"), ("B", "W"), ("X", "W"), ("X", "Y")])
    assert "W" in select(people, graph, ["X", "W"], scoring="neg_log_loss")
    assert select(people.drop(columns="B"), graph, ["X", "W"]) == ["X"]


def test_the_search_floats():
    """A feature that is best alone is taken out again where two others are better without it."""
    scores = {"a": 5, "b": 4, "c": 3, "ab": 6, "ac": 6, "bc": 9, "abc": 10, "abd": 7, "acd": 7, "bcd": 12}
    scores |= {"d": 1, "ad": 5, "bd": 5, "cd": 5, "abcd": 11}

    def score(features):
        return scores["".join(sorted(features))]

    assert _floating_search(list("abcd"), score, lambda _: True, False) == set("bcd")
    # With a limit on what is explainable, only sets within it are visited.
    assert _floating_search(list("abcd"), score, lambda features: "d" not in features, False) == set("abc")


def test_equal_scores_take_the_smaller_set():
    assert len(_floating_search(list("abc"), lambda _: 1.0, lambda _: True, False)) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"candidates": "X"}, "candidates is the text 'X', but must be a list"),
        ({"candidates": []}, "must be a list of columns, with at least one"),
        ({"candidates": ["X", "Q"]}, "The candidate 'Q' is not in data"),
        ({"candidates": ["X", "Y"]}, "reads the outcome 'Y'"),
        ({"candidates": ["W", "M"]}, "No candidate is explainable even on its own: 'W', 'M'"),
        ({"outcome": "Recid"}, "The outcome 'Recid' is not in data"),
        ({"protected": "Race"}, "The protected column 'Race' is not in data"),
    ],
)
def test_bad_input(people, change, words):
    settings = {"data": people, "graph": GRAPH, "protected": "X", "outcome": "Y", "candidates": CANDIDATES}
    with pytest.raises(DataError, match=words):
        ca.select_explainable_features(**{**settings, **change})


def test_missing_values_are_refused(people):
    holes = people.copy()
    holes.iloc[:7, holes.columns.get_loc("A")] = np.nan
    with pytest.raises(DataError, match="'A' is missing for 7 of 400 people"):
        select(holes, GRAPH, CANDIDATES)
    with pytest.raises(DataError, match=r"'Y' has 1 value\(s\)"):
        select(people.assign(Y="no"), GRAPH, CANDIDATES)
