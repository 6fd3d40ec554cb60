"""Expectations from counterfactual draws: what would have happened to the protected people themselves."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from causalaudit.adjustment import SMALLEST, log_odds
from causalaudit.bias_scan.question.scan_question import ScanQuestion
from causalaudit.bias_scan.question.strata import Strata
from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.errors import DataError
from causalaudit.people import Groups, distinct_rows
from causalaudit.storage import storable


@storable
@dataclass(frozen=True, eq=False)
class MeanCounterfactuals:
    """Expectations of the kept strata, from the counterfactual events of their protected people.

    People of the same cell (and the same value of a binary conditioning variable) share one expectation, the mean of
    their counterfactual events: it is the rate of the subgroup that is compared, not that of a single person, whose one
    counterfactual event would leave nothing to chance.

    Attributes
    ----------
    rates : numpy.ndarray
        Draws × groups of people: what the scan compares with: rates, of which 0 and 1 are moved by half an event, and
        means of probabilities (of their log-odds, on the paper's scale).
    means : numpy.ndarray
        Groups of people: the plain mean of their counterfactual events, over all draws.
    group : numpy.ndarray
        The group of each kept stratum.
    events : numpy.ndarray
        Draws × protected people who are scanned: their counterfactual events.
    dispersion : float
        What scores are divided by: of predictions, that of the counterfactual ones around the mean of their group.
    """

    rates: np.ndarray
    means: np.ndarray
    group: np.ndarray
    events: np.ndarray
    dispersion: float

    @property
    def number(self) -> int:
        return len(self.rates)

    def thinned(self, draws: int | None) -> "MeanCounterfactuals":
        """Return so many of the draws, evenly spaced; None: all."""
        if draws is None:
            return self
        kept = np.unique(np.linspace(0, self.number - 1, draws).round().astype(int))
        return replace(self, rates=self.rates[kept], events=self.events[kept])

    def chance(self, draws: slice) -> np.ndarray:
        return self.rates[draws][:, self.group]

    @property
    def mean(self) -> np.ndarray:
        """The mean counterfactual event of each kept stratum."""
        return self.means[self.group]


def check_worlds(worlds: CounterfactualDraws, groups: Groups, numbers: dict[str, Any]) -> None:
    """Refuse what only models have, and counterfactuals in which the protected people are protected still."""
    if numbers["permutations"]:
        raise DataError(
            "A counterfactual scan has no models to refit to null draws: leave permutations at 0, and read the "
            "disparity's interval (split=)."
        )
    if numbers["posterior_draws"]:
        raise DataError(
            f"posterior_draws is {numbers['posterior_draws']}, but a counterfactual scan has no outcome model to draw "
            "from: its draws are those of the counterfactuals, of which draws= uses some."
        )
    used, held = numbers["draws"], worlds.dataset.sizes["draw"]
    if used is not None and used > held:
        raise DataError(f"draws is {used}, but the counterfactuals have {held}: choose a number from 0 to {held}.")
    set_to = worlds.do.get(groups.column)
    if set_to is not None and np.ndim(set_to) == 0 and set_to == groups.level:
        raise DataError(
            f"The counterfactuals set {groups.column!r} to {groups.level!r} itself: they must be of the protected "
            "people with another level."
        )


def average_counterfactuals(
    question: ScanQuestion, strata: Strata, worlds: CounterfactualDraws
) -> tuple[MeanCounterfactuals, MeanCounterfactuals]:
    """Average the counterfactual events of the protected people: over all draws (a single one), and in each draw.

    Parameters
    ----------
    question, strata
        The people.
    worlds
        Counterfactuals of the protected people under another status, which must hold the column of the event.
    """
    ours = np.flatnonzero(question.protected & question.inside)
    values = _events(question, worlds, ours)
    value = np.zeros(len(strata.kept)) if question.criterion.log_odds else strata.condition_value[strata.kept]
    group = distinct_rows([strata.cell, value]).inverse
    of_person = group[np.searchsorted(strata.kept, strata.stratum_of[strata.record_of[ours]])]
    size = np.maximum(np.bincount(of_person, minlength=int(group.max()) + 1), 1)

    def means(events: np.ndarray) -> np.ndarray:
        return np.stack([np.bincount(of_person, row, len(size)) for row in events]) / size

    def rates(events: np.ndarray, number: int) -> np.ndarray:
        least = SMALLEST if question.criterion.probabilities else 0.5 / (size * number + 1)
        return np.clip(means(events), least, 1 - least)

    average = values.mean(axis=0)[None]
    if question.gaussian:
        odds = log_odds(values)
        overall, each = expit(means(odds.mean(axis=0)[None])), expit(means(odds))
    else:
        overall, each = rates(average, len(values)), rates(values, 1)
    dispersion = _dispersion(question, values, overall[0, of_person])
    everything = MeanCounterfactuals(overall, means(average)[0], group, average, dispersion)
    compact = values.astype(np.float32 if question.criterion.probabilities else np.int8)
    return everything, replace(everything, rates=each, events=compact)


def _dispersion(question: ScanQuestion, values: np.ndarray, expected: np.ndarray) -> float:
    if question.gaussian or not question.criterion.probabilities:
        return question.sigma**2 if question.gaussian else 1.0
    return max(float(((values - expected) ** 2 / (expected * (1 - expected))).mean()), SMALLEST)


def _events(question: ScanQuestion, worlds: CounterfactualDraws, ours: np.ndarray) -> np.ndarray:
    """Return the counterfactual events: draws × protected people, read a block of draws at a time from disk."""
    event = question.event_column
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
    return np.concatenate([_events_of(question, part, places) for part in worlds.in_memory([event])])


def _events_of(question: ScanQuestion, worlds: CounterfactualDraws, places: np.ndarray) -> np.ndarray:
    """Return the events of draws that are in memory; what happened or not takes a byte each."""
    event, probabilities = question.event_column, question.criterion.probabilities
    values: Any = worlds.dataset[event].to_numpy()[:, places]
    levels = worlds.dataset[event].attrs.get("levels")
    if levels is not None:
        values = np.asarray(levels, dtype=float)[values.astype(int)]
    values = values.astype(float)
    allowed = (values >= 0) & (values <= 1) if probabilities else np.isin(values, (0, 1))
    if not allowed.all():
        wanted = "a probability" if probabilities else "0 or 1"
        raise DataError(f"The counterfactual {event!r} must be {wanted}, but is {values[~allowed][0]:g} somewhere.")
    if probabilities:
        return values
    return (1 - values if question.criterion.event == 0 else values).astype(np.int8)
