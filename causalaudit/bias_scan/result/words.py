"""Subgroups and intervals in words."""

from collections.abc import Mapping
from typing import Any

NOT_CORRECTED = "not corrected for the search"
HONEST = "on people who were not searched"
NAMED = "in a subgroup that was named beforehand"


def interval_words(prob: float, how: str) -> str:
    """Say what an interval is.

    Examples
    --------
    >>> interval_words(0.9, HONEST)
    '90% credible, on people who were not searched'
    """
    return f"{prob:.0%} credible, {how}"


def in_words(subgroup: Mapping[str, Any]) -> str:
    """Describe a subgroup in a line.

    Examples
    --------
    >>> in_words({"sex": ["Male"], "priors": ["none", "1 to 5"]}), in_words({})
    ('sex: Male & priors: none or 1 to 5', 'all protected people')
    """
    if not subgroup:
        return "all protected people"
    return " & ".join(f"{name}: {' or '.join(map(str, values))}" for name, values in subgroup.items())
