"""Several protected attributes: recourse by each of them, and at their intersection."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_share, check_types
from causalaudit.errors import DataError
from causalaudit.people import Groups, check_features, check_table, read_protected
from causalaudit.recourse.audit import audit_recourse
from causalaudit.recourse.question.actions import Actions
from causalaudit.recourse.result.result import RecourseResult


def audit_attributes(
    data: pd.DataFrame,
    classifier: Any,
    protected: Mapping[str, Any],
    features: Sequence[str],
    *,
    actions: Actions = Actions(),  # noqa: B008  (it is frozen)
    alpha: float = 0.05,
    **options: Any,
) -> dict[str, RecourseResult]:
    """Audit recourse by each of several protected attributes, and at their intersection.

    Parameters
    ----------
    data, classifier
        As in `audit_recourse`.
    protected
        Two columns or more: ``{column: level, …}``, or ``{column: (level, reference), …}``. At the intersection people
        with all of the levels are compared with everyone else; where references are named, with everyone else who has
        a level or a reference in each column.
    features
        The columns that the classifier reads, without the protected ones. Those by which people are not compared in an
        audit are features there which may not change, so that it has their subgroups, too: women of one race, say.
    actions
        As in `audit_recourse`; none changes a protected column.
    alpha
        The level of the simultaneous intervals of all audits at once: each has an equal share of it.
    **options
        All else that `audit_recourse` takes.

    Returns
    -------
    dict
        A `RecourseResult` for each column and, last, for the intersection, whose name is that of the columns joined by
        hyphens, as its level is that of the levels: see `causalaudit.intersection`. The classifier is given this column
        too. With a posterior, which does not know it, an intersection has no twins.

    References
    ----------
    Kavouras et al. (2023), Fairness aware counterfactuals for subgroups, section 3, step (a): the protected
    attribute(s).

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from causalaudit.recourse import audit_attributes
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({name: rng.choice(list("ab"), 900) for name in ("sex", "race", "town", "job")})
    >>> hired = lambda table: (table.job == "a") & ~((table.sex == "b") & (table.race == "b") & (table.town == "b"))
    >>> results = audit_attributes(people, hired, {"sex": "b", "race": "b"}, ["town", "job"], progress=False)
    >>> {name: round(float(result.headline.iloc[0]), 2) for name, result in results.items()}  # mean gaps
    {'sex': 0.04, 'race': 0.04, 'sex-race': 0.08}
    """
    check_types(audit_attributes, locals())
    check_table(data)
    if not isinstance(protected, Mapping) or len(protected) < 2:
        raise DataError(
            f"protected is {protected!r}, but must name a level of two columns or more, as in {{column: level, other: "
            "level}; audit_recourse takes one."
        )
    groups = [read_protected(data, {column: level}) for column, level in protected.items()]
    names = check_features(data, features, dict.fromkeys(protected, "protected column"))
    share = check_share("alpha", alpha) / (len(groups) + 1)

    def audit(people: pd.DataFrame, column: str, level: Any) -> RecourseResult:
        others = [name for name in protected if name != column]
        said = replace(actions, immutable=[*actions.immutable, *others])
        return audit_recourse(
            people, classifier, {column: level}, [*names, *others], actions=said, alpha=share, **options
        )

    joined, name, level = _intersect(data, groups)
    found = {column: audit(data, column, own) for column, own in protected.items()}
    return {**found, name: audit(joined, name, level)}


def _intersect(data: pd.DataFrame, groups: list[Groups]) -> tuple[pd.DataFrame, str, str]:
    """Return those who are compared in every column, with one more that says who has all levels; its name and level."""
    name, level = ("-".join(str(getattr(group, part)) for group in groups) for part in ("column", "level"))
    if name in data.columns:
        raise DataError(f"data has a column {name!r} already, which is the name of the intersection: rename it.")
    people = data[np.all([group.protected(data) | group.compared(data) for group in groups], axis=0)]
    everything = np.all([group.protected(people) for group in groups], axis=0)
    if not everything.any():
        raise DataError(f"Nobody in data has all of {level!r} in {name!r}: there is no intersection to compare.")
    return people.assign(**{name: np.where(everything, level, "Other")}), name, level
