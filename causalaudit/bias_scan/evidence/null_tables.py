"""Whether a score is more than chance: null tables, scanned with the same effort (section 2.4 of the paper)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from causalaudit.bias_scan.evidence.expectations import EstimatorModels, ExpectationModels
from causalaudit.bias_scan.evidence.expected_people import ExpectedPeople
from causalaudit.bias_scan.evidence.scores import dispersion_of, evidence_of
from causalaudit.bias_scan.evidence.search import SubgroupSearch
from causalaudit.bias_scan.question.scan_question import ScanQuestion
from causalaudit.bias_scan.question.strata import Strata
from causalaudit.global_state import ignored_warnings
from causalaudit.progress import parallel
from causalaudit.randomness import generator

_EXCEEDANCES = 10  # Besag and Clifford's h: stop when so many tables scored as high
# A task has a stream of random numbers: how many tables it draws is part of what a seed means.
_TABLES = 50  # in one task, at most
_NUMBERS = 2_000_000  # tables × records in one task, at most
_SAME = 1e-6  # scores that differ by less are the same


@dataclass(frozen=True, eq=False)
class NullTables:
    """How to draw and to scan tables in which the protected status has nothing to do with the event.

    Attributes
    ----------
    status : numpy.ndarray or None
        P(A = 1 | X, C) of each record; None: the statuses are permuted.
    """

    question: ScanQuestion
    strata: Strata
    models: ExpectationModels
    search: SubgroupSearch
    status: np.ndarray | None
    tables: int
    seed: int

    def scores(self, task: int) -> np.ndarray:
        """Return the highest scores of the tables of one task."""
        rng = generator(self.seed, "bias scan null", task)
        protected = self._draw(rng)
        chance = self.models.expect(self.strata, protected).chance
        dispersion = dispersion_of(self.question, self.strata, self.strata.count - protected, chance)
        evidence = evidence_of(self.question, self.strata, protected, chance, dispersion)
        scores = self.search.best_scores(evidence, first=1 + task * self.tables)
        # Nobody to audit, or nobody to compare them with: there is no disparity to find.
        number = self.strata.by_stratum(protected).sum(axis=1)
        everyone = self.strata.by_stratum(self.strata.count).sum()
        return np.where((number > 0) & (number < everyone), scores, 0.0)

    def _draw(self, rng: np.random.Generator) -> np.ndarray:
        count = self.strata.count.astype(np.int64)
        if self.status is not None:
            return rng.binomial(count, self.status, (self.tables, len(count))).astype(float)
        number = int(self.question.protected.sum())
        return rng.multivariate_hypergeometric(count, number, self.tables, method="marginals").astype(float)


def p_value_of(
    score: float,
    people: ExpectedPeople,
    models: ExpectationModels,
    search: SubgroupSearch,
    numbers: dict[str, Any],
    progress: bool,
) -> tuple[float, np.ndarray]:
    """Return the p-value of a score, and the scores of the tables drawn under the null hypothesis.

    Drawing stops at the tenth table that scores as high, the l-th of all: then p = 10 / l, else (1 + g) / (B + 1) with
    g such tables among all B (Besag and Clifford 1991). `null` "propensity" draws A* from P̂(A | X, C), "permutation"
    permutes A over everyone (section 2.4 of the paper). Both models are fitted anew to each table.

    Parameters
    ----------
    score
        The highest of the data.
    people
        Who were searched.
    models, search
        How; the same for every table.
    numbers
        `null`, `permutations` and `seed`, as asked for.
    progress
        Show a bar when it is long.
    """
    strata, permutations = people.strata, numbers["permutations"]
    status = models.status(strata, people.protected) if numbers["null"] == "propensity" else None
    slow = isinstance(models, EstimatorModels) or not search.exhaustive
    tables = 1 if slow else min(permutations, int(np.clip(_NUMBERS // len(strata.count), 1, _TABLES)))
    law = NullTables(people.question, strata, models, search, status, tables, numbers["seed"])
    tasks = range(-(-permutations // tables))
    found = parallel(law.scores, tasks, "scanning tables drawn under the null hypothesis", progress)
    scores = np.empty(0)
    for part in found:
        scores = np.concatenate([scores, part])[:permutations]
        as_high = np.flatnonzero(scores >= score - _SAME)
        if len(as_high) >= _EXCEEDANCES:
            break
    with ignored_warnings():  # joblib says that some of its workers' results go unused: that is stopping early
        found.close()
    if len(as_high) < _EXCEEDANCES:
        return (1 + len(as_high)) / (1 + permutations), scores
    last = int(as_high[_EXCEEDANCES - 1]) + 1
    return _EXCEEDANCES / last, scores[:last]
