"""What a fair classifier is asked for, checked; and which kind of rule it is to learn."""

import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import (
    check_draws,
    check_positive,
    check_seed,
    check_share,
    check_types,
    is_number,
    shown,
)
from causalaudit.counterfactuals import check_posterior
from causalaudit.error_rates.groups import declared_levels, read_groups
from causalaudit.error_rates.learning.diagram_terms import DiagramTerms, diagram_terms
from causalaudit.error_rates.learning.encoding import read_basis
from causalaudit.error_rates.learning.feature_selection import select_explainable_features
from causalaudit.error_rates.learning.labelled_people import LabelledPeople
from causalaudit.error_rates.learning.posterior_terms import posterior_terms
from causalaudit.errors import CausalAuditWarning, DataError
from causalaudit.people import check_features

METHODS = ("auto", "table", "logistic")
POPULATIONS = ("data", "exact")
MARGINS = (None, "confidence")


def check_settings(classifier: Any) -> None:
    """Refuse settings of a `FairClassifier` that mean nothing."""
    for name, allowed in (("method", METHODS), ("population", POPULATIONS), ("margin", MARGINS)):
        value = getattr(classifier, name)
        if value not in allowed:
            raise DataError(f"{name} is {shown(value)}, but must be one of {', '.join(map(repr, allowed))}.")
    check_types(type(classifier).__init__, vars(classifier))
    accuracy = classifier.min_accuracy
    if accuracy is not None and not (is_number(accuracy) and 0 <= accuracy <= 1):
        raise DataError(f"min_accuracy is {shown(accuracy)}, but must be a number from 0 to 1.")
    check_share("confidence", classifier.confidence)
    if classifier.posterior is not None:
        check_posterior(classifier.posterior)
    if classifier.margin is not None and classifier.posterior is not None:
        raise DataError(
            'margin="confidence" is about people who are a sample, by data and a diagram: it does not go with a '
            "posterior. Leave one of them out."
        )
    check_draws(classifier.draws)
    check_seed(classifier.seed)
    check_positive("C", classifier.C)
    if classifier.basis is not None:
        read_basis(classifier.basis)


def outcomes_of(y: Any, classes: np.ndarray, checked: bool) -> tuple[Any, ...]:
    """Return the values of the outcome in question: by default the first class; several are a list.

    Examples
    --------
    >>> import numpy as np
    >>> outcomes_of(None, np.array([0, 1]), True), outcomes_of([0, 1], np.array([0, 1]), True)
    ((0,), (0, 1))
    """
    known = classes.tolist()
    given = (known[0],) if y is None else tuple(y) if isinstance(y, list | tuple | np.ndarray) else (y,)
    wrong = [one for one in given if one not in known]
    if checked and (wrong or len(set(given)) != len(given) or not given):
        raise DataError(f"y is {y!r}, but the labels are {', '.join(map(repr, known))}.")
    return given


def table_or_not(method: str, people: LabelledPeople, declared: Collection[str]) -> bool:
    """Return whether the rule is a table; warn of one that the people do not fill."""
    if method == "logistic" or (method == "auto" and not people.discrete(declared)):
        return False
    words = people.crowded()
    if words is None:
        return True
    advice = (
        'So the rule is a logistic regression. Put rare levels together, or insist by method="table".'
        if method == "auto"
        else 'A table learns their labels by heart: put rare levels together, or use method="logistic".'
    )
    warnings.warn(f"{words}. {advice}", CausalAuditWarning, stacklevel=5)
    return method == "table"


def terms_of(
    classifier: Any, people: LabelledPeople, bounded: tuple[str, ...], declared: Collection[str]
) -> DiagramTerms:
    """Return the terms that a `FairClassifier` bounds, and what identifies them if it is a diagram that does."""
    seed = classifier.seed
    if classifier.posterior is not None:
        options: dict[str, Any] = {"population": classifier.population, "draws": classifier.draws, "seed": seed}
        return DiagramTerms(posterior_terms(people, classifier.posterior, bounded, **options), [], None, None)
    if classifier.graph is None:
        raise DataError("graph is None, and there is no posterior: give one of them.")
    return diagram_terms(people, classifier.graph, bounded, declared, seed)


def compared(classifier: Any, table: pd.DataFrame) -> tuple[str, tuple[Any, Any]]:
    """Return the protected column and its two levels, the reference first."""
    graph = classifier.graph if classifier.posterior is None else classifier.posterior.scm.graph
    protected = classifier.protected
    named = protected if isinstance(protected, Mapping) else [protected]  # others are refused below
    column = next(iter(named), None)
    levels = declared_levels(graph).get(str(column))
    groups = read_groups(table, protected, classifier.outcome, classifier.baseline, classifier.contrast, levels)
    return groups.column, (groups.reference, groups.level)


def features_of(classifier: Any, table: pd.DataFrame, labels: np.ndarray) -> list[str]:
    """Return what the classifier reads: all columns, those given, or those of Algorithm 2."""
    features, graph, outcome = classifier.features, classifier.graph, classifier.outcome
    if features is None:
        return check_features(table, list(table.columns))
    if not isinstance(features, str) or features != "explainable":
        return check_features(table, features)
    if graph is None:
        raise DataError('features="explainable" needs a graph.')
    data = table.copy()
    data[outcome] = labels
    return select_explainable_features(
        data, graph, classifier.protected, outcome=outcome, seed=classifier.seed,
        candidates=[name for name in table.columns if name in graph],
    )  # fmt: skip
