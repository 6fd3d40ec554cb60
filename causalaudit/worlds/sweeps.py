"""Sweeps: the same audit while one assumption takes a whole range of values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.arviz_versions import group_of
from causalaudit.errors import CausalAuditError, DataError
from causalaudit.inference import Posterior
from causalaudit.results import AuditResult
from causalaudit.worlds.headlines import summary_of_draws
from causalaudit.worlds.sweep_result import SweepResult, tip

Answer = AuditResult | float


@dataclass(frozen=True)
class Answered:
    """What an audit says under one value of the assumption."""

    name: str
    draws: np.ndarray
    units: pd.DataFrame | None
    log_likelihood: float

    @property
    def counts(self) -> bool:
        """Whether the answer is a count, of which no threshold goes without saying."""
        return self.units is not None and bool((self.draws == np.round(self.draws)).all())


def ask(audit: Callable[[Posterior], Answer], posterior: Posterior, where: str) -> Answered:
    """Audit under one value; what the audit refuses says under which."""
    try:
        answer = audit(posterior.copy())
    except CausalAuditError as error:
        raise type(error)(f"At {where}: {error}") from error
    posterior.refuse_weights("there is no likelihood to show beside each value. Fit without weights.")
    log_likelihood = float(group_of(posterior.idata, "sample_stats")["log_likelihood"].mean())
    if isinstance(answer, AuditResult):
        headline = answer.headline
        return Answered(str(headline.name), headline.to_numpy(dtype=float), answer.by_unit(), log_likelihood)
    if isinstance(answer, Real) and not isinstance(answer, bool):
        return Answered("the answer", np.array([float(answer)]), None, log_likelihood)
    raise DataError(
        f"audit must return the result of an auditor or a number, but returned {type(answer).__name__} at {where}."
    )


def check_range(name: str, values: Any, reference: float, open_ends: bool) -> np.ndarray:
    """Return the values of an assumption in order, the reference among them.

    Parameters
    ----------
    name
        Of the assumption, for messages.
    values
        What the user gave.
    reference
        The value of the posterior as it was given, which is added if it is missing.
    open_ends
        Whether -1 and 1 are out of range.
    """
    within = "between -1 and 1" + (", without the ends" if open_ends else "")
    numbers = list(values) if isinstance(values, Iterable) and not isinstance(values, str | Mapping) else [values]
    for one in numbers:
        number = float(one) if isinstance(one, Real) and not isinstance(one, bool) else np.nan
        if not (-1 <= number <= 1) or (open_ends and abs(number) == 1):
            raise DataError(f"{name} holds {one!r}, but must be numbers {within}.")
    if not numbers:
        raise DataError(f"{name} is empty: give numbers {within}.")
    return np.unique(np.append(np.array(numbers, dtype=float), reference))


def sweep_result(
    values: np.ndarray, answers: Sequence[Answered], threshold: float | None, settings: Mapping[str, Any]
) -> SweepResult:
    """Put the answers together, and find where they tip.

    Raises
    ------
    DataError
        If the answer is a count and there is no threshold.
    """
    reference, parameter, prob = settings["reference"], settings["parameter"], settings["prob"]
    at = answers[int(np.flatnonzero(values == reference)[0])]
    if threshold is None and all(one.counts for one in answers):
        raise DataError(
            f"The answer ({at.name}) is a count, of which no threshold goes without saying: give threshold=, such as "
            "the number of cases that would change what is done."
        )
    limit = 0.0 if threshold is None else float(threshold)
    summaries = np.array([summary_of_draws(one.draws, prob) for one in answers])
    columns = {"value": summaries[:, 0], "credible_low": summaries[:, 1], "credible_high": summaries[:, 2]}
    loglik = [one.log_likelihood for one in answers]
    table = pd.DataFrame({parameter: values, **columns, "loglik": loglik})
    below, above = tip(values, np.sign(summaries[:, 0] - limit), reference)
    was = float(np.sign(summaries[values == reference, 0][0] - limit))
    rows = [(at.name, at.name, was, below, above), *_unit_tips(values, answers, reference)]
    tips = pd.DataFrame(rows, columns=["unit", "words", "was", "below", "above"], dtype=object)
    more = {**settings, "threshold": limit, "headline": at.name}
    return SweepResult(table, tips, _units(values, answers, parameter), more)


def _unit_tips(values: np.ndarray, answers: Sequence[Answered], reference: float) -> list[tuple[Any, ...]]:
    """Return the tipping points of each unit that was examined at the reference; not to be examined is to tip."""
    at = answers[int(np.flatnonzero(values == reference)[0])].units
    if at is None:
        return []
    units = at["unit"].tolist()
    sides = np.zeros((len(units), len(values)))
    for place, one in enumerate(answers):
        assert one.units is not None, "the audit returned a number for one value and a result for another"
        side = dict(zip(one.units["unit"].tolist(), np.where(one.units["case"], 1, -1), strict=True))
        sides[:, place] = [side.get(unit, 0) for unit in units]
    start = sides[:, values == reference][:, 0]
    return [
        (unit, str(unit), float(was), *tip(values, row, reference))
        for unit, was, row in zip(units, start, sides, strict=True)
    ]


def _units(values: np.ndarray, answers: Sequence[Answered], parameter: str) -> pd.DataFrame:
    columns = ["value", "case", "flagged", "probability"]
    frames = [
        pd.DataFrame(
            {parameter: value, "words": one.units["unit"].map(str), **{name: one.units[name] for name in columns}}
        )
        for value, one in zip(values, answers, strict=True)
        if one.units is not None
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[parameter, "words", *columns])
