"""Whether simulated people look like the observed ones, group by group, in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from causalaudit.errors import DataError, nearest

ENDS = (0.05, 0.95)  # between these shares of a group lies what is called its range
SPREADS = 0.2  # how much of the observed range an end may be off
SHARES = 0.05  # how much a share of people may be off
CERTAIN = 4.0  # standard deviations over draws, beyond which the many variables and groups do not explain a gap
FEWEST = 10  # people of whom a range is asked
MOST_GROUPS = 20


@dataclass(frozen=True)
class Misfit:
    """One variable in one group that the program does not describe: how large the gap is, and in words."""

    size: float
    words: str


def predictive_verdict(simulated: xr.Dataset, data: pd.DataFrame, by: str) -> tuple[bool, str]:
    """Compare each variable of simulated people with the observed one, by group: a posterior predictive check.

    A number misfits where an end of the middle 90 % of a group is off by more than a fifth of the observed range, a
    level where its share is off by more than .05; and in both by more than four standard deviations over the draws.

    Parameters
    ----------
    simulated
        What `Posterior.predictive` returned.
    data
        What was observed.
    by
        The column of the groups.

    Returns
    -------
    tuple
        Whether nothing misfits, and the verdict, which names the worst misfit of each variable.
    """
    names = [str(name) for name, array in simulated.data_vars.items() if "individual" in array.dims and name in data]
    if by not in names:
        raise DataError(f"by is {by!r}, but must be a variable of the program with a column: {nearest(by, names)}")
    status, groups = _observed(simulated[by], data[by]), simulated[by].to_numpy().astype(float)
    kinds = np.unique(status[~np.isnan(status)])
    if len(kinds) > MOST_GROUPS:
        raise DataError(f"by is {by!r}, which has {len(kinds)} values; expected at most {MOST_GROUPS} groups.")
    worst: dict[str, Misfit] = {}
    for name in (name for name in names if name != by):
        column, array = _observed(simulated[name], data[name]), simulated[name]
        for kind in kinds:
            seen = column[(status == kind) & ~np.isnan(column)]
            drawn = np.where(groups == kind, array.to_numpy().astype(float), np.nan)
            drawn = drawn[(~np.isnan(drawn)).sum(axis=1) >= FEWEST]
            if len(seen) < FEWEST or len(drawn) < 2:
                continue
            where = f"{name} of {by} = {_label(simulated[by].attrs.get('levels'), kind)}"
            for misfit in _misfits(drawn, seen, array.attrs.get("levels"), where):
                if name not in worst or misfit.size > worst[name].size:
                    worst[name] = misfit
    if not worst:
        return True, f"Predictive: simulated people look like the observed ones in every variable, by {by}."
    return False, "Predictive: " + "; ".join(misfit.words for misfit in worst.values()) + "."


def _misfits(drawn: np.ndarray, seen: np.ndarray, levels: Sequence[Any] | None, where: str) -> Iterator[Misfit]:
    values = np.unique(seen)
    if levels is not None or len(values) <= 2:
        for value in np.arange(len(levels)) if levels is not None else values:
            shares = np.where(np.isnan(drawn), np.nan, drawn == value)
            mean, sd, share = np.nanmean(shares), np.nanmean(shares, axis=1).std(), np.mean(seen == value)
            if abs(mean - share) > max(SHARES, CERTAIN * sd):
                words = (
                    f"simulates a share of {mean:.2f} with {where} = {_label(levels, float(value))} where {share:.2f}"
                )
                words += " was observed"
                yield Misfit(abs(mean - share) / SHARES, words)
        return
    low, high = np.quantile(seen, ENDS)
    ends = np.nanquantile(drawn, ENDS, axis=1)
    gaps = np.abs(ends.mean(axis=1) - (low, high))
    allowed = np.maximum(SPREADS * max(high - low, np.ptp(seen) / 10), CERTAIN * ends.std(axis=1))
    if (gaps > allowed).any():
        (start, end), spread = ends.mean(axis=1), SPREADS * max(high - low, np.ptp(seen) / 10)
        words = f"simulates {where} from {start:.4g} to {end:.4g} where {low:.4g} to {high:.4g} were observed"
        yield Misfit(float(gaps.max() / spread), words)


def _observed(array: xr.DataArray, column: "pd.Series[Any]") -> np.ndarray:
    """Return an observed column as numbers, as the simulated ones are; missing values are NaN."""
    levels = array.attrs.get("levels")
    if levels is None:
        return column.to_numpy(dtype=float, na_value=np.nan)
    codes = pd.Index(levels).get_indexer(pd.Index(column)).astype(float)
    return np.where(codes < 0, np.nan, codes)


def _label(levels: Sequence[Any] | None, value: float) -> str:
    return f"{value:g}" if levels is None else str(levels[int(value)])
