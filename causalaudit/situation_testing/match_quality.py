"""Whether people are compared with people like them: how far the groups are, and what the counterfactuals leave out."""

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import CausalAuditWarning
from causalaudit.situation_testing.geometry import Geometry

_ASKED = 200  # people whose distances from one another say what is typical
REMOTE = 1.0  # a group that is no nearer than anyone is
UNEQUAL = 3.0  # times as far as the other group: then half as far as anyone is remote already


def typical_distance(geometry: Geometry, people: pd.DataFrame) -> float:
    """Return the mean distance of two people: of all pairs or, with a distance of one's own, of pairs of at most 200.

    Examples
    --------
    >>> import pandas as pd, causalaudit as ca
    >>> people = pd.DataFrame({"salary": [10.0, 20.0, 50.0]})
    >>> round(typical_distance(ca.Gower().geometry(people), people), 3)
    0.667
    """
    places = geometry.encode(people)
    if geometry.metric is None:
        parts = zip(geometry.features, geometry.weights, places.T, strict=True)
        return float(sum(_mean_gap(column, weight if feature.overlap else None) for feature, weight, column in parts))
    places = places[np.lexsort(places.T)]  # whatever the order of the rows
    places = places[np.unique(np.linspace(0, len(places) - 1, _ASKED).round().astype(int))]
    apart = geometry.matrix(places, places)[~np.eye(len(places), dtype=bool)]
    return float(apart.mean())


def _mean_gap(column: np.ndarray, weight: float | None) -> float:
    """Return how far two people are apart in one feature, on average; levels that differ are apart by their weight."""
    n = len(column)
    if weight is None:
        return float(2 * ((2 * np.arange(n) - n + 1) * np.sort(column)).sum() / (n * (n - 1)))
    counts = np.unique(column, return_counts=True)[1]
    return float(weight * (1 - (counts * (counts - 1)).sum() / (n * (n - 1))))


def remoteness(distances: np.ndarray, typical: float) -> np.ndarray:
    """Return distances in units of the typical one; 0 if all people are alike."""
    return distances / typical if typical > 0 else np.where(np.isnan(distances), np.nan, 0.0)


def warn_of_factual_features(features: Collection[str], modelled: Collection[Any]) -> None:
    """Say which features stay as they are in the counterfactuals, because the program does not model them."""
    left = [name for name in features if name not in modelled]
    if left:
        warnings.warn(
            f"The counterfactuals do not model {', '.join(map(repr, left))}: it keeps its factual value in them, as if "
            "the protected attribute had no effect on it. Model it, without an arrow from the protected attribute if "
            "there is none, or leave it out of the features.",
            CausalAuditWarning,
            stacklevel=3,
        )


def warn_of_poor_matches(table: pd.DataFrame) -> None:
    """Say how many cases at the smallest k were found between groups that are not like their centres."""
    k = table.index[0][0]
    cases = table.loc[k][lambda rows: rows["beyond_tau"]]
    sides = cases[["remoteness_control", "remoteness_test"]]
    near, far = sides.min(axis=1), sides.max(axis=1)
    poor = far[(far > REMOTE) | ((far > REMOTE / 2) & (far > UNEQUAL * near))]
    if len(poor):
        worst = poor.idxmax()
        warnings.warn(
            f"{len(poor)} of {len(cases)} cases at k = {k} rest on a poor match: a group is on average farther from its"
            " centre than two people are from one another, or half as far and three times as far as the other group "
            f"(the farthest, that of {worst}, {poor[worst]:.1f} times the distance of two people). See "
            "`remoteness_control` and `remoteness_test`; a smaller k or max_distance leaves such groups out.",
            CausalAuditWarning,
            stacklevel=3,
        )
