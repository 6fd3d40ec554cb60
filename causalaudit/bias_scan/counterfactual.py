"""Expectations from counterfactual draws: what would have happened to the protected people themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from causalaudit.bias_scan.expectations import log_odds
from causalaudit.bias_scan.question import Question
from causalaudit.bias_scan.strata import Strata
from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.errors import DataError


@dataclass(frozen=True)
class CounterfactualExpectation:
    """Expectations of each kept stratum, from the counterfactual events of its protected people.

    People of the same cell (and the same value of a binary conditioning variable) share one expectation, the mean of
    their counterfactual events: it is the rate of the subgroup that is compared, not that of a single person, whose one
    counterfactual event would leave nothing to chance.

    Attributes
    ----------
    scan, mean : numpy.ndarray
        Kept strata: what the scan compares with (rates, of which 0 and 1 are moved by half an event; probabilities
        averaged as log-odds), and the plain mean of the counterfactual events.
    scan_draws, mean_draws : numpy.ndarray
        The same for each draw: draws × kept strata.
    """

    scan: np.ndarray
    mean: np.ndarray
    scan_draws: np.ndarray
    mean_draws: np.ndarray


def check_worlds(worlds: CounterfactualDraws, protected: Mapping[str, Any]) -> None:
    """Refuse counterfactuals in which the protected people are protected still."""
    for column, level in protected.items():
        if column in worlds.do and np.ndim(worlds.do[column]) == 0 and worlds.do[column] == level:
            raise DataError(
                f"The counterfactuals set {column!r} to {level!r} itself: they must be of the protected people with "
                "another level."
            )


def counterfactual_expectation(
    question: Question, strata: Strata, worlds: CounterfactualDraws, event: str, draws: int
) -> CounterfactualExpectation:
    """Average the counterfactual events of the protected people.

    Parameters
    ----------
    question, strata
        The people.
    worlds
        Counterfactuals of the protected people under another status.
    event
        The column of the event, which the counterfactuals must hold.
    draws
        How many draws `scan_draws` and `mean_draws` hold, at most; they are evenly spaced.
    """
    ours = np.flatnonzero(question.protected & question.inside)
    values = _events(question, worlds, event, ours)
    group, size = _groups(question, strata, ours)
    kept = np.unique(np.linspace(0, len(values) - 1, min(max(draws, 1), len(values))).round().astype(int))

    def means(events: np.ndarray) -> np.ndarray:
        sums = np.stack([np.bincount(group.of_person, row, len(size)) for row in events])
        return (sums / size)[:, group.of_stratum]

    def rates(events: np.ndarray, times: int) -> np.ndarray:
        least = (0.5 / (size * times + 1))[group.of_stratum]
        return np.clip(means(events), least, 1 - least)

    average = values.mean(axis=0)[None]
    if question.criterion.gaussian:
        scan = expit(means(log_odds(values).mean(axis=0)[None]))
        scan_draws = expit(means(log_odds(values[kept])))
    else:
        scan, scan_draws = rates(average, len(values)), rates(values[kept], 1)
    return CounterfactualExpectation(scan[0], means(average)[0], scan_draws, means(values[kept]))


@dataclass(frozen=True)
class _Groups:
    """Which group shares an expectation: of each protected person, and of each kept stratum."""

    of_person: np.ndarray
    of_stratum: np.ndarray


def _groups(question: Question, strata: Strata, ours: np.ndarray) -> tuple[_Groups, np.ndarray]:
    value = np.zeros(len(strata.kept)) if question.criterion.log_odds else strata.condition_value[strata.kept]
    keys = np.column_stack([strata.cell, value])
    of_stratum = np.unique(keys, axis=0, return_inverse=True)[1].ravel()
    place = np.searchsorted(strata.kept, strata.stratum_of[strata.record_of[ours]])
    of_person = of_stratum[place]
    size = np.bincount(of_person, minlength=int(of_stratum.max()) + 1).astype(float)
    return _Groups(of_person, of_stratum), np.maximum(size, 1)


def _events(question: Question, worlds: CounterfactualDraws, event: str, ours: np.ndarray) -> np.ndarray:
    """Return the counterfactual events: draws × protected people."""
    if event not in worlds.dataset:
        held = ", ".join(map(repr, worlds.dataset.data_vars))
        raise DataError(
            f"The counterfactuals do not hold {event!r}, whose counterfactual values are the expectation: they hold "
            f"{held}. Model it as a site of the SCM, or add it to the frame of CounterfactualDraws.from_frame."
        )
    places = worlds.dataset.indexes["individual"].get_indexer(question.index[ours])
    if (places < 0).any():
        raise DataError(
            f"The counterfactuals lack {int((places < 0).sum())} of the {len(ours)} protected people that are scanned."
        )
    values: Any = worlds.dataset[event].to_numpy()[:, places]
    levels = worlds.dataset[event].attrs.get("levels")
    if levels is not None:
        values = np.asarray(levels, dtype=float)[values.astype(int)]
    values = values.astype(float)
    allowed = (values >= 0) & (values <= 1) if question.criterion.gaussian else np.isin(values, (0, 1))
    if not allowed.all():
        wanted = "a probability" if question.criterion.gaussian else "0 or 1"
        raise DataError(f"The counterfactual {event!r} must be {wanted}, but is {values[~allowed][0]:g} somewhere.")
    return 1 - values if not question.criterion.gaussian and question.criterion.event == 0 else values
