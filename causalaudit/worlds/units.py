"""Units of several worlds side by side: verdicts, probabilities, and where the variance of a value comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.errors import DataError
from causalaudit.results import AuditResult

FLAGGED, NOT_FLAGGED, NOT_EXAMINED = "flagged", "not flagged", "not examined"
SHARES = ("between", "structural", "sampling")
_BOUNDS = ("coupling_low", "coupling_high")
_NUMBERS = ("probability", "value", "mean", "structural", "sampling", *_BOUNDS)


@dataclass(frozen=True)
class UnitsByWorld:
    """What each world says of each unit: arrays of units × worlds, NaN where a unit was not examined.

    Attributes
    ----------
    units
        All units that a world examined, those of the first world first.
    examined, flagged, case
        Whether a unit was examined, was flagged, and has a value beyond what the audit accepts.
    numbers
        `probability, value, mean, structural, sampling` and, where audits were asked for bounds, `coupling_low,
        coupling_high`, as in `AuditResult.by_unit`.
    rules
        The rule of each world.
    """

    units: list[Any]
    examined: np.ndarray
    flagged: np.ndarray
    case: np.ndarray
    numbers: dict[str, np.ndarray]
    rules: list[str]

    @classmethod
    def of(cls, results: Sequence[AuditResult]) -> "UnitsByWorld":
        """Put the units of the same audit of several worlds side by side."""
        tables = [result.by_unit([other for other in results if other is not result]) for result in results]
        units = list(dict.fromkeys(unit for table in tables for unit in table["unit"]))
        place, shape = {unit: at for at, unit in enumerate(units)}, (len(units), len(results))
        examined, flagged, case = (np.zeros(shape, dtype=bool) for _ in range(3))
        numbers = {name: np.full(shape, np.nan) for name in _NUMBERS}
        for world, table in enumerate(tables):
            rows = np.array([place[unit] for unit in table["unit"]], dtype=int)
            if len(np.unique(rows)) != len(rows):
                raise DataError("The audit has two verdicts on the same unit, so that worlds cannot be compared.")
            examined[rows, world] = True
            flagged[rows, world], case[rows, world] = table["flagged"], table["case"]
            for name in table.columns.intersection(list(_NUMBERS)):
                numbers[name][rows, world] = table[name]
        rules = [str(table["rule"].iloc[0]) if len(table) else "no unit was examined" for table in tables]
        return cls(units, examined, flagged, case, numbers, rules)

    def table(self, worlds: Sequence[str], weights: np.ndarray) -> pd.DataFrame:
        """Return a row for each unit; see `WorldsResult.table`."""
        verdict = np.where(self.flagged, FLAGGED, np.where(self.examined, NOT_FLAGGED, NOT_EXAMINED))
        shared = self._renormalised(weights)
        columns: dict[str, Any] = {"unit": _objects(self.units), "words": _objects([str(unit) for unit in self.units])}
        columns |= _by_world("verdict", worlds, verdict.astype(object))
        columns |= _by_world("case", worlds, self.case)
        columns |= _by_world("probability", worlds, self.numbers["probability"])
        columns |= _by_world("value", worlds, self.numbers["value"])
        if not np.isnan(self.numbers["coupling_low"]).all():
            for name in _BOUNDS:
                columns |= _by_world(name, worlds, self.numbers[name])
        columns["worlds_examined"], columns["worlds_flagged"] = self.examined.sum(axis=1), self.flagged.sum(axis=1)
        columns["worlds_cases"] = self.case.sum(axis=1)
        columns["agreement"] = _objects(_agreement(self.flagged.sum(axis=1), self.examined.sum(axis=1)))
        for name, numbers in (("probability", self.numbers["probability"]), ("mean", self.numbers["mean"])):
            columns[name] = _weighted(shared, numbers)
            columns[f"{name}_min"], columns[f"{name}_max"] = _range(numbers)
        return pd.DataFrame({**columns, **self._shares(shared)})

    def _renormalised(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights among the worlds that examined a unit; NaN where these have no weight at all."""
        own = np.where(self.examined, weights, 0.0)
        total = own.sum(axis=1, keepdims=True)
        return np.divide(own, total, out=np.full(own.shape, np.nan), where=total > 0)

    def _shares(self, weights: np.ndarray) -> dict[str, Any]:
        parts = variance_parts(weights, *(self.numbers[name] for name in ("mean", "structural", "sampling")))
        total = np.where(np.isnan(parts).all(axis=0), np.nan, np.nansum(parts, axis=0))
        shares = np.divide(parts, total, out=np.full(parts.shape, np.nan), where=total > 0)
        known = np.nan_to_num(shares, nan=-1.0)
        mostly = np.where(total > 0, np.array(SHARES, dtype=object)[known.argmax(axis=0)], "certain")
        mostly = np.where(np.isnan(total), "unknown", mostly).astype(object)
        return {"variance": total, **dict(zip(SHARES, shares, strict=True)), "mostly": _objects(list(mostly))}


def variance_parts(weights: np.ndarray, mean: np.ndarray, structural: np.ndarray, sampling: np.ndarray) -> np.ndarray:
    """Return the variance of a value between worlds, over draws within them, and within draws: a row for each part.

    ``Σ w (m − m̄)²``, ``Σ w Var_s E[Q | s]`` and ``Σ w E_s Var(Q | s)``, with variances of populations, add up to the
    variance of Q over worlds, draws and samples. NaN where a world of positive weight does not know a part.

    Parameters
    ----------
    weights
        Units × worlds; each row sums to one.
    mean, structural, sampling
        Of each unit in each world: mean, its variance over draws, and the mean variance within them.

    Examples
    --------
    >>> import numpy as np
    >>> half = np.array([[0.5, 0.5]])
    >>> variance_parts(half, np.array([[0.0, 2.0]]), np.array([[1.0, 3.0]]), np.array([[0.5, 0.5]])).ravel()
    array([1. , 2. , 0.5])
    """
    centre = _weighted(weights, mean)
    between = _weighted(weights, (mean - centre[:, None]) ** 2)
    known = ~np.isnan(structural) | ~np.isnan(sampling)
    between = np.where((known | ~(weights > 0)).all(axis=1), between, np.nan)
    return np.stack([between, _weighted(weights, structural), _weighted(weights, sampling)])


def _weighted(weights: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Return averages over worlds; worlds without weight may lack the number, others may not."""
    products = np.where(weights > 0, weights * np.where(weights > 0, numbers, 0.0), 0.0)
    return np.where(np.isnan(weights).any(axis=1), np.nan, products.sum(axis=1))


def _range(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    known = ~np.isnan(numbers)
    low = np.where(known, numbers, np.inf).min(axis=1)
    high = np.where(known, numbers, -np.inf).max(axis=1)
    anything = known.any(axis=1)
    return np.where(anything, low, np.nan), np.where(anything, high, np.nan)


def _agreement(flagged: np.ndarray, examined: np.ndarray) -> list[str]:
    return np.where(flagged == 0, "none", np.where(flagged == examined, "all", "some")).tolist()


def _by_world(name: str, worlds: Sequence[str], values: np.ndarray) -> Mapping[str, np.ndarray]:
    return {f"{name}_{world}": values[:, at] for at, world in enumerate(worlds)}


def _objects(values: Sequence[Any]) -> "pd.Series":
    return pd.Series(list(values), dtype=object)
