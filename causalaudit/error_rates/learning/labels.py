"""Labels and weights of people, checked as scikit-learn's tools expect it."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d, validate_data

from causalaudit.arguments import check_name, shown
from causalaudit.errors import DataError
from causalaudit.people import check_cells, find_column


class LabelError(DataError, ValueError):
    """Labels or columns are not what a classifier needs; scikit-learn's tools know it as a ValueError."""


def read_labels(y: Any, people: int) -> np.ndarray:
    """Return the label of each person."""
    if y is None:
        raise LabelError("This FairClassifier requires y to be passed, but the target y is None.")
    try:
        labels = column_or_1d(y, warn=True)
    except (TypeError, ValueError) as error:
        raise LabelError(f"y is {shown(y)}, but must be a list with the label of each person: {error}") from error
    if pd.isna(labels).any():
        raise LabelError(f"Input y contains NaN: the outcome is missing for {int(pd.isna(labels).sum())} people.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise LabelError("Input y contains infinity: labels are finite.")
    try:
        hash(labels[0] if len(labels) else None)
        check_classification_targets(labels)
    except (TypeError, ValueError) as error:
        raise LabelError(f"y holds {shown(labels[0])}, but labels must be of two kinds: {error}") from error
    if len(labels) != people:
        raise LabelError(f"X has {people} rows, but y has {len(labels)}.")
    return np.asarray(labels)


def two_classes(labels: np.ndarray) -> np.ndarray:
    """Return the two different labels, in order."""
    classes = np.unique(labels)
    if len(classes) > 2:
        kind = type_of_target(labels)
        raise LabelError(f"Only binary classification is supported. The type of the target is {kind}.")
    if len(classes) < 2:
        raise LabelError(f"The outcome has only one class, {labels[0]!r}, but a classifier needs two.")
    return classes


def same_classes(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the classes of `fit`; refuse labels that are none of them."""
    if not np.isin(labels, classes).all():
        raise LabelError(f"y has labels other than those of fit, {classes.tolist()}.")
    return classes


def read_people(classifier: Any, X: Any, reset: bool) -> pd.DataFrame:
    """Return the people as a table, whatever they came in: an array has the columns x0, x1, and so on."""
    if isinstance(X, pd.DataFrame):
        _check_people(X, classifier.outcome)
    try:
        array = validate_data(classifier, X, reset=reset, skip_check_array=isinstance(X, pd.DataFrame))
    except (TypeError, ValueError) as error:  # what scikit-learn says of arrays and of columns that changed
        raise LabelError(f"X is {shown(X)}, which cannot be read as people: {error}") from error
    if isinstance(X, pd.DataFrame):
        return X
    return pd.DataFrame(array, columns=[f"x{place}" for place in range(array.shape[1])])


def _check_people(X: pd.DataFrame, outcome: str) -> None:
    """Refuse a table without rows, with a column twice, or with the outcome."""
    check_name("outcome", outcome)
    for name in X.columns:
        column = find_column(X, name, "column")
        check_cells(column, "column")
        numbers = pd.api.types.is_any_real_numeric_dtype(column)
        infinite = int(np.isinf(column.to_numpy(dtype=float, na_value=np.nan)).sum()) if numbers else 0
        if infinite:
            raise LabelError(f"The column {name!r} is infinite for {infinite} of {len(X)} people, but must be finite.")
    if len(X) == 0:
        raise LabelError("X has no rows: at least one person is needed.")
    if outcome in X.columns:
        raise LabelError(f"X holds the outcome {outcome!r}, which a classifier cannot read: drop this column.")


def read_weights(sample_weight: Any, people: int) -> np.ndarray:
    """Return the weight of each person."""
    try:
        weights = np.ones(people) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    except (TypeError, ValueError) as error:
        raise LabelError(f"sample_weight is {shown(sample_weight)}, but must be a list of numbers: {error}") from error
    if weights.shape != (people,):
        raise LabelError(
            f"sample_weight has shape {weights.shape}, but there are {people} people: expected ({people},)."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
        raise LabelError("sample_weight must hold finite numbers of at least 0, at least one non-zero.")
    return weights
