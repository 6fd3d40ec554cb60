"""The front door: people, a decision and the columns of categories → rates, impact ratios and their intervals."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from causalaudit.arguments import check_share
from causalaudit.association.ratio_bounds import clopper_pearson, ratio_to_greatest
from causalaudit.association.result import ImpactRatiosResult
from causalaudit.decisions import Asked, Decision
from causalaudit.errors import DataError
from causalaudit.people import check_features, check_table, find_column, levels_of

RATES = ("selection", "scoring")
FOUR_FIFTHS = 0.8
TWO_PER_CENT = 0.02


def impact_ratios(
    data: pd.DataFrame,
    decision: Decision,
    columns: Sequence[str],
    *,
    rate: Literal["selection", "scoring"] = "selection",
    favourable: Any = 1,
    exclude_below: float = TWO_PER_CENT,
    threshold: float = FOUR_FIFTHS,
    alpha: float = 0.05,
) -> ImpactRatiosResult:
    """Return selection or scoring rates and impact ratios, as New York City's Local Law 144 defines them.

    The impact ratio of a category is its rate divided by that of the category with the greatest one. It is computed for
    each column by itself and, if there are several, for their intersections.

    Parameters
    ----------
    data
        The people. Who has no value in a column is of unknown category: left out where the column is used, and counted.
    decision
        What was decided: a column, a function of a table or a fitted classifier. For scoring rates, scores.
    columns
        The columns of categories, such as sex and race.
    rate
        "selection": the share of a category that is selected. "scoring": the share with a score above the median of
        everybody, those of unknown category included.
    favourable
        The label of those who are selected.
    exclude_below
        Categories with a smaller share of the people of known category are excluded: no other is compared with them,
        and they are not judged. The rule allows 2 %, asks for a justification, and for their numbers and rates, which
        are in the table. Their ratios are there too, as information. 0 excludes none.
    threshold
        A category is flagged if the interval of its ratio lies below it. The law sets none; 0.8 is the four-fifths rule
        of 29 CFR 1607.4(D).
    alpha
        One minus the confidence of the intervals.

    Returns
    -------
    ImpactRatiosResult

    Notes
    -----
    The intervals take the people as an independent sample, and know that the greatest rate is not known: see
    `causalaudit.association.ratio_bounds`. They hold with few people and rates near 0 and 1, and are wider than needed
    where several categories are nearly alike. Those of scoring rates take the median as known.

    References
    ----------
    Rules of the City of New York, title 6, § 5-300 and § 5-301.

    Examples
    --------
    >>> import pandas as pd, causalaudit as ca
    >>> hired = [1] * 16 + [0] * 4 + [1] * 10 + [0] * 10
    >>> people = pd.DataFrame({"sex": ["Male"] * 20 + ["Female"] * 20, "hired": hired})
    >>> result = ca.impact_ratios(people, "hired", ["sex"])
    >>> result.table[["n", "rate", "impact_ratio", "ratio_low", "ratio_high"]].round(3)
        n  rate  impact_ratio  ratio_low  ratio_high
    0  20   0.5         0.625      0.328         1.0
    1  20   0.8         1.000      0.935         1.0
    """
    check_table(data)
    names = check_features(data.columns, columns)
    share, level = _check_exclusion(exclude_below), check_share("alpha", alpha)
    check_share("threshold", threshold, one=True)
    chosen = _chosen(data, decision, rate, favourable)
    parts = [_part(data, part, chosen, share, level) for part in _breakdowns(names)]
    unknown = {" × ".join(part): int(data[part].isna().any(axis=1).sum()) for part in _breakdowns(names)}
    settings = {
        "columns": names, "rate": rate, "favourable": favourable if rate == "selection" else None,
        "exclude_below": share, "threshold": float(threshold), "alpha": level, "people": len(data), "unknown": unknown,
        "decision": decision if isinstance(decision, str) else getattr(decision, "__name__", type(decision).__name__),
    }  # fmt: skip
    return ImpactRatiosResult(pd.concat(parts, ignore_index=True), settings)


def _check_exclusion(share: Any) -> float:
    """Return the share; 0, which excludes nobody, is one too."""
    return 0.0 if isinstance(share, int | float) and share == 0 else check_share("exclude_below", share)


def _breakdowns(names: list[str]) -> Iterator[list[str]]:
    """Yield each column by itself, then all of them together."""
    yield from ([name] for name in names)
    if len(names) > 1:
        yield names


def _chosen(data: pd.DataFrame, decision: Decision, rate: str, favourable: Any) -> np.ndarray:
    """Return who is selected, or has a score above the median."""
    if rate not in RATES:
        raise DataError(f"rate is {rate!r}, but must be 'selection' or 'scoring'.")
    if rate == "selection":
        return np.asarray(Asked(decision, favourable, labels_only=True)(data) == 1)
    scores = Asked(decision).answers(data)
    if scores.dtype.kind not in "iuf" or not np.isfinite(scores).all():
        raise DataError(f"Scoring rates need a finite number for each person, but the decision gave {scores.dtype}.")
    return np.asarray(scores > np.median(scores))


def _part(data: pd.DataFrame, names: list[str], chosen: np.ndarray, smallest: float, alpha: float) -> pd.DataFrame:
    """Return the rows of one column, or of the intersection of several."""
    known = data[names].notna().all(axis=1).to_numpy()
    categories, codes = _categories(data.loc[known, names])
    if len(names) == 1 and len(categories) < 2:
        raise DataError(f"{names[0]!r} has {len(categories)} categories, but a ratio compares at least two.")
    sizes = np.bincount(codes, minlength=len(categories))
    counts = np.bincount(codes, weights=chosen[known], minlength=len(categories)).astype(np.int64)
    shares, rates = sizes / sizes.sum(), counts / sizes
    excluded = shares < smallest
    greatest = rates[~excluded].max(initial=np.nan if excluded.all() else 0.0)
    rate_low, rate_high = clopper_pearson(counts, sizes, alpha)
    ratio_low, ratio_high = ratio_to_greatest(counts, sizes, ~excluded, alpha)
    return pd.DataFrame(
        {
            "by": " × ".join(names), "category": pd.Series(categories, dtype=object), "n": sizes, "share": shares,
            "selected": counts, "rate": rates, "rate_low": rate_low, "rate_high": rate_high,
            "impact_ratio": rates / greatest if greatest > 0 else np.nan,
            "ratio_low": ratio_low, "ratio_high": ratio_high,
            "reference": ~excluded & (rates == greatest), "excluded": excluded,
        }
    )  # fmt: skip


def _categories(people: pd.DataFrame) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Return the categories that occur, in the order of their levels, and which one everybody is of."""
    levels = [levels_of(find_column(people, name, "column of categories")) for name in people]
    code = np.zeros(len(people), dtype=np.int64)
    for name, own in zip(people, levels, strict=True):
        code = code * len(own) + pd.Index(own, dtype=object).get_indexer(pd.Index(people[name], dtype=object))
    used, codes = np.unique(code, return_inverse=True)
    places = np.unravel_index(used, [len(own) for own in levels]) if len(used) else [[] for _ in levels]
    rows = zip(*places, strict=True)
    return [
        {str(name): own[at] for name, own, at in zip(people, levels, row, strict=True)} for row in rows
    ], codes.reshape(-1)
