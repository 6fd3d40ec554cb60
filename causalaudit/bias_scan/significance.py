"""Whether a score is more than chance: tables drawn under the null hypothesis, scanned with the same effort."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from causalaudit.bias_scan.expectations import EstimatorModels, Models
from causalaudit.bias_scan.question import Question
from causalaudit.bias_scan.search import Search
from causalaudit.bias_scan.strata import Strata
from causalaudit.errors import DataError
from causalaudit.progress import parallel
from causalaudit.randomness import generator

if TYPE_CHECKING:
    from causalaudit.bias_scan.result import BiasScanResult

_EXCEEDANCES = 10  # Besag and Clifford's h: stop when so many tables scored as high
_TABLES = 50  # in one task
_NUMBERS = 2_000_000  # tables × records in one task
_SAME = 1e-6  # scores that differ by less are the same


@dataclass(frozen=True)
class Null:
    """How to draw and to scan tables in which the protected status has nothing to do with the event.

    Attributes
    ----------
    status : numpy.ndarray or None
        P(A = 1 | X, C) of each record; None: the statuses are permuted.
    """

    question: Question
    strata: Strata
    models: Models
    search: Search
    status: np.ndarray | None
    tables: int
    seed: int

    def scores(self, task: int) -> np.ndarray:
        """Return the highest scores of the tables of one task."""
        rng = generator(self.seed, "bias scan null", task)
        protected = self._draw(rng)
        chance = self.models.expect(self.strata, protected).chance
        evidence = self.question.evidence(self.strata, protected, chance)
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


def assess(
    question: Question,
    strata: Strata,
    models: Models,
    search: Search,
    score: float,
    null: str,
    permutations: int,
    seed: int,
    progress: bool,
) -> tuple[float, np.ndarray]:
    """Return the p-value of a score, and the scores of the tables drawn under the null hypothesis.

    Drawing stops at the tenth table that scores as high, the l-th of all: then p = 10 / l, else (1 + g) / (B + 1) with
    g such tables among all B (Besag and Clifford 1991). `null` "propensity" draws A* from P̂(A | X, C), "permutation"
    permutes A over everyone (section 2.4 of the paper). Both models are fitted anew to each table.
    """
    protected = strata.protected_counts(question.protected)
    status = models.status(strata, protected) if null == "propensity" else None
    slow = isinstance(models, EstimatorModels) or not search.exhaustive
    tables = 1 if slow else min(permutations, int(np.clip(_NUMBERS // len(strata.count), 1, _TABLES)))
    law = Null(question, strata, models, search, status, tables, seed)
    tasks = range(-(-permutations // tables))
    found = parallel(law.scores, tasks, "scanning tables drawn under the null hypothesis", progress)
    scores = np.empty(0)
    for part in found:
        scores = np.concatenate([scores, part])[:permutations]
        as_high = np.flatnonzero(scores >= score - _SAME)
        if len(as_high) >= _EXCEEDANCES:
            break
    with warnings.catch_warnings():
        # joblib says that some of its workers' results go unused: that is what stopping early means.
        warnings.simplefilter("ignore")
        found.close()
    if len(as_high) < _EXCEEDANCES:
        return (1 + len(as_high)) / (1 + permutations), scores
    last = int(as_high[_EXCEEDANCES - 1]) + 1
    return _EXCEEDANCES / last, scores[:last]


def bonferroni(results: "Sequence[BiasScanResult]", alpha: float | None = None) -> pd.DataFrame:
    """Judge several scans together: each at `alpha` divided by their number, not by the number of subgroups.

    Parameters
    ----------
    results
        Scans with p-values (``permutations`` above 0).
    alpha
        The level of all scans together; default that of the first.

    Returns
    -------
    pandas.DataFrame
        `scan, subgroup, score, p_value, level, significant`, and `attainable`: whether so many null draws could have
        given a p-value as small as the level.

    References
    ----------
    Boxer, McFowland and Neill (2024), section 2.4.

    Examples
    --------
    >>> import numpy as np, pandas as pd, causalaudit as ca
    >>> from causalaudit.bias_scan import bonferroni
    >>> names = {"sex": ["F", "M"], "region": ["north", "south"], "y": [0, 1], "flagged": [0, 1]}
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({name: rng.choice(values, 500) for name, values in names.items()})
    >>> scans = [
    ...     ca.scan_bias(people, {"sex": "F"}, "y", recommendation="flagged", given=given, permutations=19)
    ...     for given in (0, 1)
    ... ]
    >>> bonferroni(scans)["level"].tolist()
    [0.025, 0.025]
    """
    scans = list(results)
    if not scans or any(scan.p_value is None for scan in scans):
        raise DataError("Bonferroni's correction needs scans with p-values: give permutations= to each of them.")
    level = (scans[0].settings["alpha"] if alpha is None else alpha) / len(scans)
    rows: list[dict[str, Any]] = [
        {
            "scan": scan.title,
            "subgroup": scan.subgroup,
            "score": scan.score,
            "p_value": scan.p_value,
            "level": level,
            "significant": scan.p_value is not None and scan.p_value <= level,
            "attainable": 1 / (1 + scan.settings["permutations"]) <= level,
        }
        for scan in scans
    ]
    return pd.DataFrame(rows)
