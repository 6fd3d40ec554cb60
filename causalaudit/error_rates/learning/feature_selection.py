"""Algorithm 2: features that predict well, among those whose error rates can be explained."""

from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from causalaudit.adjustment import check_estimator
from causalaudit.arguments import check_count, check_seed, check_types, shown
from causalaudit.error_rates.explaining.criterion import find_explaining_set
from causalaudit.errors import DataError
from causalaudit.people import Protected, check_table, pick_column, read_protected
from causalaudit.progress import watched

Score = Callable[[frozenset[str]], float]


def select_explainable_features(
    data: pd.DataFrame,
    graph: "nx.DiGraph[Any]",
    protected: Protected,
    *,
    outcome: str,
    candidates: Sequence[str],
    scoring: Any = "accuracy",
    estimator: Any = None,
    cv: Any = 5,
    seed: int = 0,
    progress: bool = True,
) -> list[str]:
    """Choose features for which every classifier's error rates can be explained (Algorithm 2, causal SFFS).

    Sequential floating forward selection (Pudil et al. 1994): add the feature that raises the score most, among those
    with which there is still an explaining set; then take features out as long as that beats the best set of that
    size. Features can be taken out freely: a subset of an explainable set is explainable, and so is what is chosen
    (Theorem 6).

    Parameters
    ----------
    data
        The people, with the candidates and the outcome.
    graph
        The causal diagram. Variables without a column in `data` count as unobserved.
    protected
        The protected attribute: a column, or as in the other audits; its levels do not matter here.
    outcome
        The column of the true outcome.
    candidates
        The columns to choose from; the protected attribute may be one of them.
    scoring
        Any scorer of scikit-learn: a name, or a function of estimator, features and outcome. Greater is better.
    estimator
        What is scored. Default: logistic regression, numbers being standardised and other columns one-hot encoded.
    cv
        The number of folds, shuffled and stratified by outcome, or any splitter of scikit-learn.
    seed
        For the folds, which go by the order of the rows: it is part of the question.
    progress
        Show a bar when it takes long.

    Returns
    -------
    list of str
        The best-scoring set of all that were visited (of equal ones the smallest), in the order of `candidates`.
        The algorithm as printed goes on to the largest set, whatever it scores.

    Examples
    --------
    >>> import causalaudit as ca, numpy as np, pandas as pd
    >>> compas = ca.diagram([("X", "W"), ("X", "Y"), ("Z", "W"), ("Z", "Y"), ("W", "Y")], bidirected=[("X", "Z")])
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame(rng.integers(0, 2, (400, 2)), columns=["X", "Z"])
    >>> people["W"] = rng.binomial(1, 0.2 + 0.3 * people.X + 0.3 * people.Z)
    >>> people["Y"] = rng.binomial(1, 0.1 + 0.2 * people.X + 0.3 * people.Z + 0.3 * people.W)
    >>> search = {"candidates": ["X", "W", "Z"], "scoring": "neg_log_loss"}
    >>> ca.select_explainable_features(people, compas, "X", outcome="Y", **search)
    ['X', 'Z']
    """
    check_types(select_explainable_features, locals())
    column = _check(data, protected, outcome, candidates)
    check_seed(seed)
    observed = observed_graph(graph, data)
    whole = isinstance(cv, int) or not hasattr(cv, "split")
    folds = StratifiedKFold(check_count("cv", cv, least=2), shuffle=True, random_state=seed) if whole else cv
    if estimator is not None:
        check_estimator("estimator", estimator)
    if not isinstance(scoring, str) and not callable(scoring):
        raise DataError(
            f"scoring is {shown(scoring)}, but must be the name of a scorer of scikit-learn, or a function."
        )

    def score(features: frozenset[str]) -> float:
        chosen, truth = data[[name for name in candidates if name in features]].copy(), data[outcome].copy()
        model = default_estimator(chosen) if estimator is None else estimator
        try:
            scores = cross_val_score(model, chosen, truth, scoring=scoring, cv=folds, error_score="raise")
        except (TypeError, ValueError) as error:
            names = ", ".join(map(repr, chosen.columns))
            raise DataError(f"scikit-learn could not score the features {names}: {error}") from error
        return float(np.mean(scores))

    def explainable(features: frozenset[str]) -> bool:
        return find_explaining_set(observed, features, column, outcome=outcome) is not None

    best = _floating_search(list(candidates), score, explainable, progress)
    return [name for name in candidates if name in best]


def observed_graph(graph: "nx.DiGraph[Any]", data: pd.DataFrame) -> "nx.DiGraph[Any]":
    """Return the diagram with every variable that has no column marked as latent."""
    seen = graph.copy()
    for node in seen:
        if node not in data.columns:
            seen.nodes[node]["latent"] = True
    return seen


def default_estimator(features: pd.DataFrame) -> Any:
    """Return logistic regression on standardised columns, those that are no numbers being one-hot encoded."""
    return make_pipeline(one_hot(features), StandardScaler(), LogisticRegression(max_iter=1000))


def one_hot(features: pd.DataFrame) -> Any:
    """Return what turns columns into numbers."""
    others = [name for name in features.columns if not pd.api.types.is_numeric_dtype(features[name])]
    encoder = OneHotEncoder(drop="if_binary", sparse_output=False)
    return make_column_transformer((encoder, others), remainder="passthrough")


def _floating_search(
    candidates: list[str], score: Score, explainable: Callable[[frozenset[str]], bool], progress: bool
) -> frozenset[str]:
    """Return the best set visited by sequential floating forward selection."""
    scores: dict[frozenset[str], float] = {}
    best: dict[int, frozenset[str]] = {}  # by size

    def scored(features: frozenset[str]) -> float:
        if features not in scores:
            scores[features] = score(features)
        return scores[features]

    def better(features: frozenset[str]) -> bool:
        known = best.get(len(features))
        return known is None or scored(features) > scored(known)

    current: frozenset[str] = frozenset()
    while True:
        wider = [current | {name} for name in candidates if name not in current]
        wider = [features for features in wider if explainable(features)]
        if not wider:
            break
        total, words = len(wider), f"Scoring sets of {len(current) + 1} features"
        current = max(watched(wider, total, words, progress), key=scored)
        if better(current):
            best[len(current)] = current
        current = best[len(current)]  # never a worse set than one of this size that was left: no circles
        while len(current) > 2:
            smaller = max((current - {name} for name in candidates if name in current), key=scored)
            if not better(smaller):
                break
            current = best[len(smaller)] = smaller
    if not best:
        raise DataError(
            f"No candidate is explainable even on its own: {', '.join(map(repr, candidates))}. Add candidates, or "
            "columns of covariates to the data; open_path of causalaudit.error_rates.explaining.criterion says what "
            "stands in the way."
        )
    return max(best.values(), key=lambda features: (scored(features), -len(features)))


def _check(data: pd.DataFrame, protected: Protected, outcome: str, candidates: Sequence[str]) -> str:
    """Refuse what cannot be searched, and return the protected column."""
    check_table(data)
    if isinstance(protected, str):
        pick_column(data, column := protected, "protected column")
    else:
        column = read_protected(data, protected).column
    classes = pick_column(data, outcome, "outcome").nunique()
    if classes < 2:
        raise DataError(f"The outcome {outcome!r} has {classes} value(s), but must have at least two.")
    if isinstance(candidates, str) or not list(candidates):
        raise DataError(f"candidates is {candidates!r}, but must be a list of columns, with at least one.")
    for name in candidates:
        pick_column(data, name, "candidate")
    return column
