"""Several protected attributes: discrimination by each of them, and at their intersection."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from causalaudit.errors import DataError, nearest
from causalaudit.intervals import shortest_run
from causalaudit.people import check_table
from causalaudit.results import AuditResult
from causalaudit.situation_testing.plots import plot_cases
from causalaudit.situation_testing.result import SituationTestingResult

_MUST_AGREE = ("k", "alpha", "prob", "tau", "direction", "centers")


@dataclass(frozen=True, repr=False, eq=False)
class MultipleDiscriminationResult(AuditResult):
    """Who was discriminated by each of several attributes.

    Attributes
    ----------
    table : pandas.DataFrame
        Indexed by `k` and `complainant` (those of all single tests): `delta` (mean of the single ones), `discriminated`
        (by each attribute), `significant` (by each, at `alpha` divided by their number), `cf_flip` if all single tests
        have it, and `prob_discriminated` if all single tests are of the same draws of one posterior.
    singles : list of SituationTestingResult
        The single tests.
    """

    singles: tuple[SituationTestingResult, ...]
    draw_cases: np.ndarray | None = None

    @property
    def title(self) -> str:
        return "Multiple discrimination: " + ", ".join(single.title for single in self.singles)

    def summary(self) -> pd.DataFrame:
        """Count the cases, a row for each `k`, as `SituationTestingResult.summary` does."""
        rows = self.table.groupby(level="k")
        columns = {
            "complainants": rows.size(),
            "cases": rows["discriminated"].sum(),
            "significant_cases": rows["significant"].sum(),
        }
        if "cf_flip" in self.table:
            columns["cf_cases"] = rows["cf_flip"].sum()
            both = self.table["cf_flip"] & self.table["significant"]
            columns["cf_significant_cases"] = both.groupby(level="k").sum()
        summary = pd.DataFrame(columns)
        if self.draw_cases is not None:
            summary["expected_cases"] = self.draw_cases.mean(axis=1)
            summary["expected_low"], summary["expected_high"] = shortest_run(self.draw_cases.T, self.settings["prob"])
        return summary

    @property
    def verdicts(self) -> pd.DataFrame:
        table = self.table.loc[self.settings["k"][0]]
        known = "prob_discriminated" in table
        return pd.DataFrame(
            {
                "unit": table.index,
                "flagged": table["discriminated"].to_numpy(),
                "probability": table["prob_discriminated"].to_numpy() if known else np.nan,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the cases against k."""
        return plot_cases(self, ax=ax)

    def to_inference_data(self) -> az.InferenceData:
        """Return the number of cases at every draw and k, if it is known, beside the verdicts as constant data."""
        shape = (len(self.settings["k"]), -1)
        coords = {"k": list(self.settings["k"]), "complainant": self.table.loc[self.settings["k"][0]].index.to_numpy()}
        constants = {
            name: (("k", "complainant"), self.table[name].to_numpy().reshape(shape))
            for name in ("delta", "discriminated", "significant")
        }
        fixed = xr.Dataset(constants, coords)
        if self.draw_cases is None:
            return az.InferenceData(constant_data=fixed)
        cases = xr.Dataset({"cases": (("chain", "draw", "k"), self.draw_cases.T[None])}, {"k": coords["k"]})
        return az.InferenceData(posterior=cases, constant_data=fixed)


def multiple_discrimination(results: Sequence[SituationTestingResult]) -> MultipleDiscriminationResult:
    """Find who is discriminated by each of several attributes, separately.

    The complainants are those of all tests. Significance is judged at `alpha` divided by the number of attributes
    (Bonferroni).

    Parameters
    ----------
    results
        A situation test for each attribute, with the same k, alpha, prob, tau, direction and centers.

    Returns
    -------
    MultipleDiscriminationResult

    References
    ----------
    Alvarez and Ruggieri (2025), definition 4.6.

    Examples
    --------
    >>> import pandas as pd, causalaudit as ca
    >>> people = pd.DataFrame({"sex": ["F", "F", "F", "M", "M", "M"] * 2, "race": ["B"] * 6 + ["W"] * 6})
    >>> people["score"] = range(12)
    >>> people["hired"] = (people.score > 6).astype(int)
    >>> singles = [
    ...     ca.situation_testing(people, "hired", protected, ["score"], k=2)
    ...     for protected in ({"sex": "F"}, {"race": "B"})
    ... ]
    >>> ca.multiple_discrimination(singles).summary().loc[2, "complainants"].item()
    3
    """
    singles = tuple(results)
    if len(singles) < 2 or not all(isinstance(single, SituationTestingResult) for single in singles):
        raise DataError("Multiple discrimination needs the results of two or more situation tests.")
    for name in _MUST_AGREE:
        values = [single.settings[name] for single in singles]
        if any(value != values[0] for value in values):
            raise DataError(f"The tests differ in {name}: {', '.join(map(repr, values))}.")
    common = reduce(
        lambda left, right: left.intersection(right, sort=False), [single.search.complainants for single in singles]
    )
    if common.empty:
        raise DataError("Nobody is a complainant in all tests.")
    settings = {name: singles[0].settings[name] for name in _MUST_AGREE}
    settings["protected"] = [single.settings["protected"] for single in singles]
    index = pd.MultiIndex.from_product([settings["k"], common], names=["k", "complainant"])
    level = settings["alpha"] / len(singles)
    corrected = [
        pd.DataFrame(single.question.point_columns(single.counts, level), single.counts.index).loc[index]
        for single in singles
    ]
    columns = {
        "delta": np.mean([single["delta"] for single in corrected], axis=0),
        "discriminated": np.all([single["discriminated"] for single in corrected], axis=0),
        "significant": np.all([single["significant"] for single in corrected], axis=0),
    }
    if all("cf_flip" in single.table for single in singles):
        columns["cf_flip"] = np.all([single.table.loc[index, "cf_flip"] for single in singles], axis=0)
    cases = None
    if _same_draws(singles):
        beyond = _joint(singles, common)
        columns["prob_discriminated"] = beyond.mean(axis=1).ravel()
        cases = np.count_nonzero(beyond, axis=2)
    return MultipleDiscriminationResult(pd.DataFrame(columns, index=index), settings, singles, cases)


def _same_draws(singles: Sequence[SituationTestingResult]) -> bool:
    """Whether all tests are of the same draws of one posterior, so that a draw is one world for all of them."""
    if any(single.draw_counts is None or single.counterfactuals is None for single in singles):
        return False
    worlds = [single.counterfactuals for single in singles if single.counterfactuals is not None]
    first = worlds[0]
    return bool(first.settings) and all(
        other.settings.get("posterior") == first.settings["posterior"]
        and other.settings["seed"] == first.settings["seed"]
        and np.array_equal(other.dataset["draw"], first.dataset["draw"])
        for other in worlds
    )


def _joint(singles: Sequence[SituationTestingResult], common: "pd.Index[Any]") -> np.ndarray:
    """Return who is discriminated by each attribute at each draw: sizes × draws × complainants."""
    sizes = singles[0].settings["k"]
    beyond = []
    for single in singles:
        assert single.draw_counts is not None
        places = single.search.complainants.get_indexer(common)
        delta = (single.draw_counts.delta(place)[:, places] for place in range(len(sizes)))
        beyond.append(np.stack([single.question.beyond(values) for values in delta]))
    return np.all(beyond, axis=0)


def intersection(data: pd.DataFrame, **levels: Any) -> "pd.Series[Any]":
    """Return who has all of several levels, as one attribute for an intersectional test.

    Parameters
    ----------
    data
        The people.
    **levels
        A level for each of two or more columns.

    Returns
    -------
    pandas.Series
        The levels joined by hyphens for those who have all of them, "Other" for everyone else; named by the columns.

    References
    ----------
    Alvarez and Ruggieri (2025), definition 4.7.

    Examples
    --------
    >>> import pandas as pd, causalaudit as ca
    >>> people = pd.DataFrame({"Gender": ["Female", "Female", "Male"], "Race": ["NonWhite", "White", "NonWhite"]})
    >>> ca.intersection(people, Gender="Female", Race="NonWhite").tolist()
    ['Female-NonWhite', 'Other', 'Other']
    """
    check_table(data)
    if len(levels) < 2:
        raise DataError("An intersection needs levels of two or more columns.")
    inside = np.ones(len(data), dtype=bool)
    for column, level in levels.items():
        if column not in data.columns:
            raise DataError(f"There is no column {column!r}: {nearest(column, list(map(str, data.columns)))}")
        if data[column].isna().any():
            raise DataError(f"The column {column!r} is missing for {int(data[column].isna().sum())} people.")
        if not (data[column] == level).any():
            raise DataError(f"Nobody in data has {column!r} equal to {level!r}.")
        inside &= (data[column] == level).to_numpy()
    both = "-".join(map(str, levels.values()))
    return pd.Series(np.where(inside, both, "Other"), index=data.index, name="-".join(levels))
