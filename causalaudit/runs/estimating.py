"""What an audit will cost in time and memory: small parts of it are timed on this machine, and extrapolated."""

import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import parallel_config

from causalaudit.configuration import Intervention, SituationTesting, compared_audits
from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.errors import CausalAuditError, CausalAuditWarning
from causalaudit.inference import Posterior
from causalaudit.inference.fit import fit
from causalaudit.randomness import generator
from causalaudit.report import write_report
from causalaudit.results import AuditResult
from causalaudit.runs.extrapolating import seconds_of, timed_growth
from causalaudit.runs.prepared import Prepared
from causalaudit.worlds.leave_one_out import leave_one_out
from causalaudit.worlds.scored_columns import ScoredColumns

_PEOPLE = 4000  # of a fit that is timed
_FEWER = 1000  # of a second one, where the first says too little about all
_FEW_DRAWS = 8  # where the timing of draws begins
_FEW_PEOPLE = 500  # the same of people
_COPIES = 3  # of draws that are in memory while they are saved and read back


@dataclass(frozen=True)
class Cost:
    """What a stage costs.

    Attributes
    ----------
    stage
        Its name.
    seconds
        Of computing, on this machine as busy as it is now, by one process.
    """

    stage: str
    seconds: float


@dataclass(frozen=True)
class Estimate:
    """What an audit costs.

    Attributes
    ----------
    costs
        By stage.
    busy
        How many seconds pass while this process computes for one.
    memory
        The greatest number of bytes that the process holds.
    """

    costs: list[Cost]
    busy: float
    memory: float

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(cost.seconds for cost in self.costs)


class Estimator:
    """Times small parts of an audit.

    Parameters
    ----------
    prepared
        The audit.
    told
        Is called with the name of each stage that is timed.
    """

    def __init__(self, prepared: Prepared, told: Callable[[str], None]) -> None:
        self.prepared, self.told = prepared, told
        self.settings = prepared.configuration.settings
        self.people = prepared.people.table
        self._kept = 0.0  # bytes of the largest draws, beyond those that were computed here
        self._posteriors: dict[str, Posterior] = {}
        self._results: dict[str, AuditResult] = {}

    def estimate(self) -> Estimate:
        """Return what the audit will cost."""
        wall, computing = time.monotonic(), time.process_time()
        with warnings.catch_warnings(), parallel_config("sequential"):
            warnings.simplefilter("ignore", CausalAuditWarning)
            costs = [Cost("start", computing)]  # what this process has done so far, an audit does as well
            costs += [cost for world in self.prepared.models for cost in self._world(world)]
            costs += [*self._comparisons(), self._report()]
        busy = (time.monotonic() - wall) / max(1e-9, time.process_time() - computing)
        costs = [Cost(cost.stage, cost.seconds * busy) for cost in costs]
        return Estimate(costs, busy, _peak() + self._kept)

    # Worlds

    def _world(self, world: str) -> list[Cost]:
        base = world == self.settings.comparison.base
        named = "" if base else f" in {world!r}"
        seconds, posterior = self._fit(world, f"fit{named}")
        self._posteriors[world] = posterior
        compared = compared_audits(self.settings)
        asked = [audit for audit in self.settings.audit if base or audit.label in compared]
        wanted = [getattr(audit, "counterfactuals", None) for audit in asked]
        costs = [Cost(f"fit{named}", seconds)]
        for intervention in self.settings.intervention:
            if base or intervention.name in wanted:
                costs.append(self._draws(posterior, intervention, named))
        return [*costs, *(self._audit(posterior, audit, named) for audit in asked)]

    def _fit(self, world: str, name: str) -> tuple[float, Posterior]:
        """Time the fit of some of the people; it costs as much as they have distinct rows, or less."""
        self.told(name)
        scm = self.prepared.models[world].scm
        columns = [column for column in scm.columns if column in self.people]

        def timed(people: int) -> tuple[float, int, Posterior]:
            some, options = _some(self.people, people), self.settings.fit.said()
            started = time.process_time()
            posterior = fit(scm, some, seed=self.settings.seed, progress=False, **options)
            return time.process_time() - started, len(some[columns].drop_duplicates()), posterior

        seconds, rows, posterior = timed(_PEOPLE)
        ratio = len(self.people[columns].drop_duplicates()) / rows
        coupling = self.prepared.models[world].coupling
        posterior = replace(posterior, data=self.people.copy())
        posterior = posterior if coupling is None else posterior.with_coupling(coupling)
        if ratio > 2:
            fewer, rows_of_fewer, _ = timed(_FEWER)
            growth = max(0.0, (seconds - fewer) / max(1, rows - rows_of_fewer))
            return seconds + growth * rows * (ratio - 1), posterior
        return seconds * sqrt(ratio), posterior  # between a cost that stays and one that grows with them

    # Draws and audits

    def _draws(self, posterior: Posterior, intervention: Intervention, named: str) -> Cost:
        name = f"counterfactuals {intervention.name!r}{named}"
        self.told(name)
        total = _total(posterior, intervention.draws)
        sizes = {}

        def work(draws: int) -> None:
            found = self.prepared.question.draws(posterior, intervention, draws)
            sizes[draws] = found.dataset.nbytes

        seconds = timed_growth(work, total, _FEW_DRAWS)
        largest = max(sizes)
        self._kept = max(self._kept, _COPIES * sizes[largest] * (total / largest - 1))
        return Cost(name, seconds)

    def _audit(self, posterior: Posterior, audit: Any, named: str) -> Cost:
        name = f"audit {audit.label!r}{named}"
        self.told(name)
        ask = self.prepared.question.audit
        intervention = next(
            (one for one in self.settings.intervention if one.name == getattr(audit, "counterfactuals", None)), None
        )
        if intervention is not None:
            return Cost(name, self._over_draws(posterior, audit, intervention))
        if audit.kind == "error_rates" or getattr(audit, "posterior", False):
            total = _total(posterior, audit.draws)

            def by_draws(draws: int) -> None:
                self._results[audit.label] = ask(audit, lambda: posterior, _none, progress=False, draws=draws)

            return Cost(name, timed_growth(by_draws, total, _FEW_DRAWS))
        power = 2 if isinstance(audit, SituationTesting) else 1  # each of them beside all others

        def by_people(people: int) -> None:
            some = self.prepared.question.of(_some(self.people, people))
            self._results[audit.label] = some.audit(audit, lambda: posterior, _none, progress=False)

        return Cost(name, timed_growth(by_people, len(self.people), _FEW_PEOPLE, power=power))

    def _over_draws(self, posterior: Posterior, audit: Any, intervention: Intervention) -> float:
        """Time an audit of counterfactuals, without the time that these take."""
        known: dict[int, CounterfactualDraws] = {}

        def before(draws: int) -> None:
            known[draws] = self.prepared.question.draws(posterior, intervention, draws)

        def work(draws: int) -> None:
            found = known.pop(draws)
            self._results[audit.label] = self.prepared.question.audit(
                audit, lambda: posterior, lambda _: found, progress=False
            )

        return timed_growth(work, _total(posterior, intervention.draws), _FEW_DRAWS, before=before)

    def _comparisons(self) -> list[Cost]:
        """Time how well worlds predict some of the people, which is most of a comparison."""
        compared = compared_audits(self.settings) if self.settings.world else []
        if not compared:
            return []
        self.told("worlds")
        some = _some(self.people, _FEWER)
        fewer = {world: replace(posterior, data=some) for world, posterior in self._posteriors.items()}
        try:
            scored = ScoredColumns.of(fewer)
            seconds = [self._scored(posterior, scored) for posterior in fewer.values()]
        except CausalAuditError:  # worlds that have no scores
            seconds = []
        return [Cost(f"worlds of {name!r}", sum(seconds)) for name in compared]

    def _report(self) -> Cost:
        """Write a report of what the timed parts found."""
        self.told("report")
        base = self.settings.comparison.base
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.html"
            posterior = {base: self._posteriors[base]}
            return Cost("report", seconds_of(lambda: write_report(self._results, path, posterior=posterior)))

    def _scored(self, posterior: Posterior, scored: ScoredColumns) -> float:
        columns = [column for column in posterior.scm.columns if column in self.people]
        ratio = len(self.people[columns].drop_duplicates()) / len(posterior.data[columns].drop_duplicates())
        return ratio * seconds_of(lambda: leave_one_out(posterior, posterior.data.index, scored))


def _some(people: pd.DataFrame, number: int) -> pd.DataFrame:
    """Return some of the people, in their order."""
    if number >= len(people):
        return people
    places = generator(0, "estimate").permutation(len(people))[:number]
    return people.iloc[sorted(places.tolist())]


def _total(posterior: Posterior, draws: int | None) -> int:
    there = len(posterior.draw_numbers())
    return there if draws is None else min(draws, there)


def _none(name: str) -> CounterfactualDraws:
    raise AssertionError(f"no counterfactuals {name!r} are asked for")


def _peak() -> float:
    """Return the greatest number of bytes that the process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak) if sys.platform == "darwin" else 1024.0 * peak
