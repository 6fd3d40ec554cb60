"""Several protected attributes: discrimination by each of them, and at their intersection."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.arguments import check_types, check_value
from causalaudit.arviz_versions import InferenceData, inference_data
from causalaudit.errors import DataError
from causalaudit.people import check_table, pick_column
from causalaudit.results import AuditResult, headline_of, interval_table, verdict_table
from causalaudit.situation_testing.group_comparison import (
    adjusted,
    compare_groups,
    excluded_by_newcombe,
    p_values,
    warn_of_empty_groups,
)
from causalaudit.situation_testing.result import Complaint, SituationTestingResult
from causalaudit.situation_testing.summary import count_cases
from causalaudit.storage import storable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_MUST_AGREE = ("k", "alpha", "prob", "tau", "direction", "centres")


@storable
@dataclass(frozen=True, repr=False, eq=False)
class MultipleDiscriminationResult(AuditResult):
    """Whose delta is beyond tau by each of several attributes.

    Attributes
    ----------
    table : pandas.DataFrame
        Indexed by `k` and `complainant` (those of all single tests): `rejected`, `delta` (mean of the single ones),
        `beyond_tau` (by each attribute), `significant` (by each, at `alpha` divided by their number),
        `significant_adjusted` (the same, adjusted over all complainants), `cf_flip` if all single tests have it, and
        `prob_beyond_tau` if all single tests are of the same draws of one posterior.
    singles : tuple of SituationTestingResult
        The single tests.
    draw_cases : numpy.ndarray or None
        The number of cases, by k and draw.
    """

    singles: tuple[SituationTestingResult, ...]
    draw_cases: np.ndarray | None = None
    KIND: ClassVar[str] = "multiple discrimination"
    VALUE: ClassVar[str] = "mean delta"

    @property
    def title(self) -> str:
        return "Multiple discrimination: " + ", ".join(single.title for single in self.singles)

    def summary(self) -> pd.DataFrame:
        """Count the cases, a row for each `k`, as `SituationTestingResult.summary` does, without discoveries."""
        return count_cases(self.table, self.draw_cases, self.settings["prob"], self.settings["alpha"])

    @property
    def intervals(self) -> pd.DataFrame:
        """Empty: the intervals are those of the single tests."""
        return interval_table([])

    @property
    def verdicts(self) -> pd.DataFrame:
        """A row for each complainant at the smallest k, the unit being a `Complaint`; see `AuditResult.verdicts`."""
        k, alpha, number = self.settings["k"][0], self.settings["alpha"], len(self.singles)
        table = self.table.loc[k]
        newcombe = np.all(
            [
                excluded_by_newcombe(_corrected(single, self.table.loc[[k]].index, number), single.question)
                for single in self.singles
            ],
            axis=0,
        )
        question = self.singles[0].question
        groups = " and ".join(single.question.groups.words for single in self.singles)
        return verdict_table(
            [Complaint(who, groups, question.direction) for who in table.index.tolist()],
            table["significant_adjusted"].to_numpy() & newcombe,
            rule=(
                f"{question.case} by each attribute in Wald's one-sided tests at alpha / {number}, adjusted over all "
                f"complainants (false-discovery rate {alpha:g}), and Newcombe's {1 - alpha / number:.4g} intervals "
                f"exclude {question.tau:g}; k = {k}"
            ),
            probability=table.get("prob_beyond_tau", np.nan),
            value=table["delta"],
        )

    def by_unit(self, beside: Sequence[AuditResult] = ()) -> pd.DataFrame:
        """Return the verdicts with `case` (beyond tau by every attribute) and `mean`; see `AuditResult.by_unit`."""
        verdicts = self.verdicts
        beyond = self.table.loc[self.settings["k"][0], "beyond_tau"].to_numpy()
        return verdicts.assign(case=beyond, mean=verdicts["value"])

    @property
    def headline(self) -> "pd.Series[float]":
        k = self.settings["k"][0]
        cases = self.table.loc[k, "beyond_tau"].sum() if self.draw_cases is None else self.draw_cases[0]
        return headline_of(cases, f"cases by each attribute at k = {k}")

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the cases against k."""
        from causalaudit.situation_testing.plots import plot_cases  # heavy: only those who draw pay

        return plot_cases(self, ax=ax)

    def to_inference_data(self) -> InferenceData:
        """Return the number of cases at every draw and k, if it is known, beside the verdicts as constant data."""
        shape = (len(self.settings["k"]), -1)
        coords = {"k": list(self.settings["k"]), "complainant": self.table.loc[self.settings["k"][0]].index.to_numpy()}
        constants = {
            name: (("k", "complainant"), self.table[name].to_numpy().reshape(shape))
            for name in ("delta", "beyond_tau", "significant", "significant_adjusted")
        }
        fixed = xr.Dataset(constants, coords)
        if self.draw_cases is None:
            return inference_data(constant_data=fixed)
        cases = xr.Dataset({"cases": (("chain", "draw", "k"), self.draw_cases.T[None])}, {"k": coords["k"]})
        return inference_data(posterior=cases, constant_data=fixed)


def multiple_discrimination(results: Sequence[SituationTestingResult]) -> MultipleDiscriminationResult:
    """Find whose delta is beyond tau by each of several attributes, separately (multiple discrimination).

    The complainants are those of all tests. Significance is judged at `alpha` divided by the number of attributes
    (Bonferroni).

    Parameters
    ----------
    results
        A situation test for each attribute, with the same k, alpha, prob, tau, direction and centres.

    Returns
    -------
    MultipleDiscriminationResult

    References
    ----------
    Alvarez and Ruggieri (2025), Definition 4.6.

    Examples
    --------
    >>> import pandas as pd, causalaudit as ca
    >>> people = pd.DataFrame({"sex": ["F", "F", "F", "M", "M", "M"] * 2, "race": ["B"] * 6 + ["W"] * 6})
    >>> people["score"] = range(12)
    >>> people["hired"] = (people.score > 6).astype(int)
    >>> singles = [
    ...     ca.situation_testing(people, "hired", protected, features=["score"], k=1)
    ...     for protected in ({"sex": "F"}, {"race": "B"})
    ... ]
    >>> ca.multiple_discrimination(singles).summary().loc[1, "complainants"].item()
    3
    """
    check_types(multiple_discrimination, locals())
    singles = tuple(results)
    if len(singles) < 2 or not all(isinstance(single, SituationTestingResult) for single in singles):
        raise DataError("Multiple discrimination needs the results of two or more situation tests.")
    for name in _MUST_AGREE:
        values = [single.settings[name] for single in singles]
        if any(value != values[0] for value in values):
            raise DataError(f"The tests differ in {name}: {', '.join(map(repr, values))}.")
    common = reduce(
        lambda left, right: left.intersection(right, sort=False), [single.evidence.complainants for single in singles]
    )
    if common.empty:
        raise DataError("Nobody is a complainant in all tests.")
    settings = {name: singles[0].settings[name] for name in _MUST_AGREE}
    settings["protected"] = [single.settings["protected"] for single in singles]
    index = pd.MultiIndex.from_product([settings["k"], common], names=["k", "complainant"])
    corrected = [_corrected(single, index, len(singles)) for single in singles]
    columns = {
        "rejected": singles[0].table.loc[index, "rejected"].to_numpy(),
        "delta": np.mean([table["delta"] for table in corrected], axis=0),
        "beyond_tau": np.all([table["beyond_tau"] for table in corrected], axis=0),
        "significant": np.all([table["significant"] for table in corrected], axis=0),
    }
    columns["significant_adjusted"] = columns["significant"] & _adjusted(singles, index, settings)
    if all("cf_flip" in single.table for single in singles):
        columns["cf_flip"] = np.all([single.table.loc[index, "cf_flip"] for single in singles], axis=0)
    cases = None
    if _same_draws(singles):
        beyond = _joint(singles, common)
        columns["prob_beyond_tau"] = beyond.mean(axis=1).ravel()
        cases = np.count_nonzero(beyond, axis=2)
    table = pd.DataFrame(columns, index=index)
    warn_of_empty_groups(table["delta"])
    return MultipleDiscriminationResult(table, settings, singles, cases)


def _corrected(single: SituationTestingResult, index: "pd.Index[Any]", number: int) -> pd.DataFrame:
    """Return intervals and tests of some complainants at the level of Bonferroni."""
    return compare_groups(single.counts.loc[index], single.question, single.question.alpha / number)


def _adjusted(
    singles: Sequence[SituationTestingResult], index: "pd.Index[Any]", settings: dict[str, Any]
) -> np.ndarray:
    """Return who is significant among all: by the largest p-value of the attributes, times their number."""
    values = np.max([p_values(single.counts.loc[index], single.question) for single in singles], axis=0)
    families = np.minimum(len(singles) * values, 1.0).reshape(len(settings["k"]), -1)
    return adjusted(families, settings["alpha"]).ravel()


def _same_draws(singles: Sequence[SituationTestingResult]) -> bool:
    """Whether all tests are of the same draws of one posterior, so that a draw is one world for all of them."""
    people = [single.evidence.counterfactual for single in singles if single.evidence.draws is not None]
    if len(people) < len(singles) or people[0] is None:
        return False
    first = people[0]
    return bool(first.origin) and all(
        other is not None and other.origin == first.origin and np.array_equal(other.numbers, first.numbers)
        for other in people
    )


def _joint(singles: Sequence[SituationTestingResult], common: "pd.Index[Any]") -> np.ndarray:
    """Return whose delta is beyond tau by each attribute at each draw: sizes × draws × complainants."""
    sizes = singles[0].settings["k"]
    beyond = []
    for single in singles:
        counts = single.evidence.draws
        assert counts is not None
        places = single.evidence.complainants.get_indexer(common)
        delta = (counts.delta(place)[:, places] for place in range(len(sizes)))
        beyond.append(np.stack([single.question.beyond(values) for values in delta]))
    return np.all(beyond, axis=0)


def intersection(data: pd.DataFrame, /, **levels: Any) -> "pd.Series[Any]":
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
    Alvarez and Ruggieri (2025), Definition 4.7.

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
        values = pick_column(data, column, "column")
        check_value(f"The level of {column!r}", level)
        if not (values == level).any():
            raise DataError(f"Nobody in data has {column!r} equal to {level!r}.")
        inside &= (values == level).to_numpy()
    both = "-".join(map(str, levels.values()))
    return pd.Series(np.where(inside, both, "Other"), index=data.index, name="-".join(levels))
