"""Which two levels of the protected attribute are compared: the baseline and the contrast."""

from collections.abc import Sequence
from typing import Any

import networkx as nx
import pandas as pd

from causalaudit.arguments import check_name, check_value
from causalaudit.errors import DataError
from causalaudit.people import Groups, Protected, levels_of, pick_column, read_protected


def read_groups(
    data: pd.DataFrame,
    protected: Protected,
    outcome: str,
    baseline: Any = None,
    contrast: Any = None,
    levels: Sequence[Any] | None = None,
) -> Groups:
    """Read `protected` together with `baseline` and `contrast`, which name levels of a bare column.

    Parameters
    ----------
    data
        The people.
    protected
        A column, ``{column: level}`` or ``{column: (level, reference)}``.
    outcome
        The column of the outcome, which must be another.
    baseline, contrast
        The reference and the protected level; by default the first and the second level of a bare column.
    levels
        The levels of the column in their order, where they are declared.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"race": ["Asian", "Black", "White"]})
    >>> read_groups(people, "race", "recid", baseline="White", contrast="Black").words
    'race = Black against White'
    """
    check_name("outcome", outcome)
    for name, value in (("baseline", baseline), ("contrast", contrast)):
        check_value(name, value)
    if isinstance(protected, str) and not (baseline is None and contrast is None):
        pick_column(data, protected, "protected column")
        return read_groups(data, {protected: _named(data, protected, baseline, contrast)}, outcome, levels=levels)
    groups = read_protected(data, protected, bare=True, one_reference=True, levels=levels)
    for name, asked, said in (("contrast", contrast, groups.level), ("baseline", baseline, groups.reference)):
        if asked is not None and asked != said:
            raise DataError(
                f"protected is {protected!r}, so the {name} is {said!r}, but {name} is {asked!r}: leave it out."
            )
    if groups.column == outcome:
        raise DataError(f"{outcome!r} is given as protected attribute and as outcome; they must differ.")
    return groups


def declared_levels(graph: "nx.DiGraph[Any] | None") -> dict[str, list[Any]]:
    """Return the levels that a diagram knows in their order: those that its program declares.

    Examples
    --------
    >>> import causalaudit as ca
    >>> declared_levels(ca.models.loan.linear().graph)["gender"]
    ['male', 'female']
    >>> declared_levels(ca.diagram([("gender", "salary")]))
    {}
    """
    known = () if graph is None else graph.nodes(data="levels")
    return {str(name): list(levels) for name, levels in known if levels is not None}


def _named(data: pd.DataFrame, column: str, baseline: Any, contrast: Any) -> Any:
    """Return the levels as `protected` names them, the protected one first."""
    if baseline is not None and baseline == contrast:
        raise DataError(f"baseline and contrast are both {baseline!r}: two levels are compared.")
    if contrast is not None:
        return contrast if baseline is None else (contrast, baseline)
    levels = levels_of(data[column])
    others = [level for level in levels if level != baseline]
    if baseline in levels and len(others) != 1:
        listed = ", ".join(map(repr, others))
        raise DataError(
            f"The baseline is {baseline!r}, but {column!r} has {len(others)} other levels ({listed}): name the "
            "contrast too."
        )
    return (others[0], baseline)


def read_as(frame: pd.DataFrame, protected: str, level: Any) -> pd.DataFrame:
    """Return people as a classifier reads them if they have a level; the same table if it does not read it.

    Examples
    --------
    >>> import pandas as pd
    >>> read_as(pd.DataFrame({"race": ["Black", "White"], "age": [30, 40]}), "race", "White").race.tolist()
    ['White', 'White']
    """
    if protected not in frame:
        return frame
    seen = frame.copy()
    seen[protected] = pd.Series(level, frame.index, dtype=frame[protected].dtype)
    return seen
