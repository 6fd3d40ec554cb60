"""Whether simulated people look like the observed ones, group by group, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.errors import DataError, nearest
from causalaudit.weights import effective_people

ENDS = (0.05, 0.95)  # between these shares of a group lies what is called its range
SPREADS = 0.2  # how much of the observed range an end may be off
SHARES = 0.05  # how much a share of people may be off, and a mean in units of the observed range
CERTAIN = 4.0  # standard deviations over draws, beyond which the many variables and groups do not explain a gap
FEWEST = 10  # people of whom a range is asked
MOST_GROUPS = 20


@dataclass(frozen=True)
class PredictiveGap:
    """One variable in one group that the program does not describe: how large the gap is, and in words."""

    size: float
    words: str


@dataclass(frozen=True)
class _Seen:
    """The observed values of a group, and how much each person counts."""

    values: np.ndarray
    weights: np.ndarray

    def share(self, value: float) -> float:
        return float(np.average(self.values == value, weights=self.weights))

    @property
    def mean(self) -> float:
        return float(np.average(self.values, weights=self.weights))

    def quantiles(self, shares: Sequence[float]) -> np.ndarray:
        if np.ptp(self.weights) == 0:
            return np.asarray(np.quantile(self.values, shares))
        return np.asarray(np.quantile(self.values, shares, weights=self.weights, method="inverted_cdf"))

    @property
    def certain(self) -> float:
        """How many standard deviations of as many unweighted people count: weighted ones are worth fewer."""
        return CERTAIN * float(np.sqrt(len(self.weights) / effective_people(self.weights)))


def predictive_verdict(
    simulated: xr.Dataset, data: pd.DataFrame, by: str, weights: np.ndarray | None = None
) -> tuple[bool, str]:
    """Compare each variable of simulated people with the observed one, by group: a posterior predictive check.

    A number misfits where the mean of a group is off by more than a twentieth of the observed range (of the middle 90 %
    of the group), or an end of that range by more than a fifth; a level where its share is off by more than .05; and in
    all of them by more than four standard deviations over the draws. A variable that is missing of some people is not
    compared, and the verdict says so: those of whom it is known need not be like the others.

    Parameters
    ----------
    simulated
        What `Posterior.predictive` returned.
    data
        What was observed.
    by
        The column of the groups.
    weights
        Survey weights of the observed people: they are compared as the population that they stand for.

    Returns
    -------
    tuple
        Whether nothing misfits, and the verdict, which names the worst misfit of each variable.
    """
    names = [str(name) for name, array in simulated.data_vars.items() if "individual" in array.dims and name in data]
    if by not in names:
        raise DataError(f"by is {by!r}, but must be a variable of the program with a column: {nearest(by, names)}")
    unknown = [name for name in names if data[name].isna().any()]
    if by in unknown:
        count = int(data[by].isna().sum())
        raise DataError(f"by is {by!r}, which is missing for {count} people: choose another column.")
    status, groups = _observed(simulated[by], data[by]), simulated[by].to_numpy().astype(float)
    kinds = np.unique(status[~np.isnan(status)])
    if len(kinds) > MOST_GROUPS:
        raise DataError(f"by is {by!r}, which has {len(kinds)} values; expected at most {MOST_GROUPS} groups.")
    counted = np.ones(len(data)) if weights is None else weights
    worst: dict[str, PredictiveGap] = {}
    for name in (name for name in names if name not in (by, *unknown)):
        column, array = _observed(simulated[name], data[name]), simulated[name]
        for kind in kinds:
            asked = (status == kind) & ~np.isnan(column) & (counted > 0)
            seen = _Seen(column[asked], counted[asked])
            drawn = np.where(groups == kind, array.to_numpy().astype(float), np.nan)
            drawn = drawn[(~np.isnan(drawn)).sum(axis=1) >= FEWEST]
            if len(seen.values) < FEWEST or len(drawn) < 2:
                continue
            where = f"{name} of {by} = {_label(simulated[by].attrs.get('levels'), kind)}"
            for misfit in _misfits(drawn, seen, array.attrs.get("levels"), where):
                if name not in worst or misfit.size > worst[name].size:
                    worst[name] = misfit
    left_out = f" Not compared, because values are missing: {', '.join(map(repr, unknown))}." if unknown else ""
    if not worst:
        which = "every other variable" if unknown else "every variable"
        return True, f"Predictive: simulated people look like the observed ones in {which}, by {by}.{left_out}"
    return False, "Predictive: " + "; ".join(misfit.words for misfit in worst.values()) + f".{left_out}"


def _misfits(drawn: np.ndarray, seen: _Seen, levels: Sequence[Any] | None, where: str) -> Iterator[PredictiveGap]:
    values = np.unique(seen.values)
    if levels is None and len(values) > 2:
        yield from _of_numbers(drawn, seen, where)
        return
    for value in values if levels is None else np.arange(len(levels)):
        shares = np.nanmean(np.where(np.isnan(drawn), np.nan, drawn == value), axis=1)
        share = seen.share(float(value))
        gap = abs(shares.mean() - share)
        if gap > max(SHARES, seen.certain * shares.std()):
            what = f"{where} = {_label(levels, float(value))}"
            words = f"simulates a share of {shares.mean():.2f} with {what} where {share:.2f} was observed"
            yield PredictiveGap(gap / SHARES, words)


def _of_numbers(drawn: np.ndarray, seen: _Seen, where: str) -> Iterator[PredictiveGap]:
    low, high = seen.quantiles(ENDS)
    spread = max(high - low, np.ptp(seen.values) / 10)
    ends = np.nanquantile(drawn, ENDS, axis=1)
    gaps = np.abs(ends.mean(axis=1) - (low, high))
    if (gaps > np.maximum(SPREADS * spread, seen.certain * ends.std(axis=1))).any():
        start, end, low_seen, high_seen = map(_shown, (*ends.mean(axis=1), low, high))
        words = f"simulates {where} from {start} to {end} where {low_seen} to {high_seen} were observed"
        yield PredictiveGap(float(gaps.max() / (SPREADS * spread)), words)
    means = np.nanmean(drawn, axis=1)
    gap = abs(means.mean() - seen.mean)
    if gap > max(SHARES * spread, seen.certain * means.std()):
        words = f"simulates {where} with a mean of {_shown(means.mean())} where {_shown(seen.mean)} was observed"
        yield PredictiveGap(gap / (SHARES * spread), words)


def _observed(array: xr.DataArray, column: "pd.Series[Any]") -> np.ndarray:
    """Return an observed column as numbers, as the simulated ones are; missing values are NaN."""
    levels = array.attrs.get("levels")
    if levels is None:
        return column.to_numpy(dtype=float, na_value=np.nan)
    codes = pd.Index(levels).get_indexer(pd.Index(column)).astype(float)
    return np.where(codes < 0, np.nan, codes)


def _shown(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.4g}"


def _label(levels: Sequence[Any] | None, value: float) -> str:
    return f"{value:g}" if levels is None else str(levels[int(value)])
