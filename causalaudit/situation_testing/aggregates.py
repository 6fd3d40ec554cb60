"""What groups of complainants have in common: the aggregate tables of the papers, and the count of equation 11."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arguments import check_names, check_types
from causalaudit.errors import DataError
from causalaudit.situation_testing.result import SituationTestingResult


def describe_groups(
    results: SituationTestingResult | Mapping[str, SituationTestingResult], who: Any = None, k: int | None = None
) -> pd.DataFrame:
    """Average, over some complainants, what their control and test groups are like.

    Parameters
    ----------
    results
        A situation test, or several of the same people with their names, such as a standard and a counterfactual one.
    who
        The complainants, by label; default the cases of the (first) test.
    k
        The size of the groups; default the smallest that was asked for.

    Returns
    -------
    pandas.DataFrame
        Columns: the test and `control, test` (just these of a single test). Rows: `rejected` (how many of a group),
        `share_rejected`, and of each number among the features the mean and the standard deviation inside a group
        (`mean salary, std salary`), of any other the share of each level (`share sex = F`); all averaged over the
        complainants. With `centres=True` complainant and counterfactual are members. A member counts with the features
        that it has, of a counterfactual with those at the point. NaN for the standard deviation of a single member.

    References
    ----------
    Alvarez and Ruggieri (2025), Tables 2, 3, 6, 7, 8 and 9 (where the share of Table 6 is divided by k, not k + 1).

    Examples
    --------
    >>> import causalaudit as ca
    >>> from causalaudit.situation_testing import describe_groups
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> result = ca.situation_testing(applicants, "approved", {"gender": "female"}, features=["salary"], k=10)
    >>> describe_groups(result).index.tolist()
    ['rejected', 'share_rejected', 'mean salary', 'std salary']
    """
    check_types(describe_groups, locals())
    if isinstance(results, SituationTestingResult):
        return _describe(results, _labels(results, who, k), k)
    tests = _named(results)
    chosen = _labels(next(iter(tests.values())), who, k)
    return pd.concat({name: _describe(result, chosen, k) for name, result in tests.items()}, axis=1)


def average_shares(
    results: Mapping[str, SituationTestingResult], who: Mapping[str, Any], k: int | None = None
) -> pd.DataFrame:
    """Average the shares of unfavourable decisions in the groups of several tests, over several sets of complainants.

    Parameters
    ----------
    results
        Situation tests with their names, such as one by gender, one by race and one at their intersection.
    who
        Sets of complainants with their names, by label; each of them must be a complainant of all tests.
    k
        The size of the groups; default the smallest that was asked for.

    Returns
    -------
    pandas.DataFrame
        A row for each set: `complainants`, how many, and `p_control, p_test` of each test.

    References
    ----------
    Alvarez and Ruggieri (2025), Table 14.

    Examples
    --------
    >>> import causalaudit as ca
    >>> from causalaudit.situation_testing import average_shares
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> result = ca.situation_testing(applicants, "approved", {"gender": "female"}, features=["salary"], k=10)
    >>> average_shares({"gender": result}, {"all": result.at().index}).columns.tolist()
    [('', 'complainants'), ('gender', 'p_control'), ('gender', 'p_test')]
    """
    check_types(average_shares, locals())
    rows = {}
    for name, some in who.items():
        row: dict[tuple[str, str], float] = {}
        for test, result in _named(results).items():
            chosen = _labels(result, some, k)
            row["", "complainants"] = len(chosen)
            means = result.at(k).loc[chosen, ["p_control", "p_test"]].mean()
            row.update({(test, column): float(means[column]) for column in means.index})
        rows[name] = row
    return pd.DataFrame.from_dict(rows, orient="index").astype({("", "complainants"): int})


def count_two_sided(result: SituationTestingResult) -> pd.DataFrame:
    """Count the complainants whose two-sided interval excludes tau, on either side.

    The papers take it for the claim of counterfactual fairness as a whole: that the decision on the counterfactual is
    the same, where a discrimination claim is about one direction and has a one-sided bound (equation 10).

    Parameters
    ----------
    result
        A situation test; for counterfactual fairness the papers take `centres=True`.

    Returns
    -------
    pandas.DataFrame
        A row for each `k`: `complainants, above, below` (intervals wholly above and below tau) and, where the decision
        on the counterfactual is known, `cf_unfair` (another decision on the counterfactual, in either direction) and
        `cf_unfair_above, cf_unfair_below` (those of them whose interval excludes tau).

    References
    ----------
    Alvarez and Ruggieri (2025), equation 11 and Proposition 4.1.

    Examples
    --------
    >>> import causalaudit as ca
    >>> from causalaudit.situation_testing import count_two_sided
    >>> applicants = ca.datasets.make_loan(500, seed=0)
    >>> result = ca.situation_testing(applicants, "approved", {"gender": "female"}, features=["salary"], k=10)
    >>> count_two_sided(result).columns.tolist()
    ['complainants', 'above', 'below']
    """
    check_types(count_two_sided, locals())
    table, tau = result.table, result.question.tau
    sides = {"above": table["wald2_low"] > tau, "below": table["wald2_high"] < tau}
    columns: dict[str, pd.Series[Any]] = {"complainants": pd.Series(1, table.index), **sides}
    people = result.evidence.counterfactual
    if people is not None and people.rejected is not None:
        own = result.evidence.rejected[result.evidence.rows]
        unfair = np.tile(own != people.rejected, len(result.question.sizes))
        columns["cf_unfair"] = pd.Series(unfair, table.index)
        columns |= {f"cf_unfair_{side}": inside & unfair for side, inside in sides.items()}
    return pd.DataFrame({name: column.groupby(level="k").sum() for name, column in columns.items()})


def _named(results: Mapping[str, SituationTestingResult]) -> dict[str, SituationTestingResult]:
    if not isinstance(results, Mapping) or not results:
        raise DataError("Give situation tests with their names, as in {'standard': one, 'counterfactual': other}.")
    return dict(results)


def _labels(result: SituationTestingResult, who: Any, k: int | None) -> "pd.Index[Any]":
    """Return the labels of the complainants who are asked about; by default the cases."""
    table = result.at(k)
    chosen = table.index[table["beyond_tau"]] if who is None else pd.Index(check_names("who", who, of="complainants"))
    strangers = chosen.difference(table.index)
    if len(strangers):
        raise DataError(
            f"{strangers.tolist()[0]!r} is not a complainant of the test of {result.question.groups.words}: give "
            "labels of the index of its table, such as table.index[table.beyond_tau]."
        )
    if chosen.empty:
        raise DataError("There is nobody to average over: the test has no cases, or who is empty.")
    return chosen


def _describe(result: SituationTestingResult, chosen: "pd.Index[Any]", k: int | None) -> pd.DataFrame:
    evidence, places = result.evidence, result.evidence.complainants.get_indexer(chosen)
    own, other = evidence.people.iloc[evidence.rows[places]], None
    if evidence.counterfactual is not None:
        other = evidence.counterfactual.point.iloc[places]
    counts = result.counts.loc[result.size(k)].iloc[places]
    sides = {}
    for side, groups, centre in (("control", evidence.control, own), ("test", evidence.test, other)):
        rejected, size = counts[f"rejected_{side}"], counts[f"n_{side}"]
        column = {"rejected": rejected.mean(), "share_rejected": (rejected / size).mean()}
        rows, near = (part[places, : result.size(k)] for part in (groups.rows, groups.near))
        for name in evidence.people.columns:
            extra = centre[name] if result.question.centres and centre is not None else None
            column |= _feature(evidence.people[name], rows, near, extra)
        sides[side] = pd.Series(column)
    return pd.DataFrame(sides)


def _feature(
    values: "pd.Series[Any]", rows: np.ndarray, near: np.ndarray, extra: "pd.Series[Any] | None"
) -> dict[str, float]:
    """Return what the groups have of one feature, averaged over the groups; `extra` is a further member of each."""
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        shares = {}
        for level in pd.unique(values.dropna()):
            found, _ = _moments((values == level).astype(float), rows, near, None if extra is None else extra == level)
            shares[f"share {values.name} = {level}"] = found
        return shares
    mean, std = _moments(values, rows, near, extra)
    return {f"mean {values.name}": mean, f"std {values.name}": std}


def _moments(
    values: "pd.Series[Any]", rows: np.ndarray, near: np.ndarray, extra: "pd.Series[Any] | None"
) -> tuple[float, float]:
    members = np.where(near, values.to_numpy(dtype=float)[rows], np.nan)
    if extra is not None:
        members = np.column_stack([members, extra.to_numpy(dtype=float)])
    held = (~np.isnan(members)).sum(axis=1)
    members = members[held > 0]
    spread = np.nanstd(members[held[held > 0] > 1], axis=1, ddof=1)
    return float(np.nanmean(members, axis=1).mean()), float(spread.mean()) if len(spread) else np.nan
