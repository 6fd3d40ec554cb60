"""Log-likelihood ratios of subgroups (equation 1, Table 2 and appendix A.2), additive over cells (Definition A.1).

Every score is the maximum over t ≥ 0 of a concave function that adds up over people: with t = log q in the Bernoulli
scan, I·t − log(1 + (eᵗ − 1)Î); with t = μ in the Gaussian one, (Δ·t − t²/2)/σ². Predictions P are scored by the
quasi-likelihood of the first with I = P, divided by their dispersion φ = Var(P)/(Î(1 − Î)): only means are compared
with means, whatever the shape of what is around them (Wedderburn 1974). The paper's Gaussian score compares the mean of
log-odds with the log-odds of a mean, which differ the more the predictions are spread out. The function's values
and slopes at a few nodes are tabulated once for each cell and added up for a subgroup; between nodes it is a cubic,
which is exact in the Gaussian scan and within 4e-8 for each person in the Bernoulli one, before the dispersion. What
is reported is computed anew without the table. A negative deviation is a positive one of the opposite event.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from causalaudit.adjustment import SMALLEST, log_odds
from causalaudit.bias_scan.question.scan_question import ScanQuestion
from causalaudit.bias_scan.question.strata import Strata
from causalaudit.progress import pieces

_BERNOULLI_NODES = np.concatenate([np.arange(0, 16, 0.1), np.arange(16, 24, 0.5), np.arange(24, 37.0)])
_GAUSSIAN_NODES = np.array([0.0, 40.0])
_FEWER = (12, 24, 48, 96)  # of the nodes, which are enough if no cell's score rises beyond them


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the protected people of each stratum show, turned so that the deviation looked for is positive.

    Attributes
    ----------
    size, total : numpy.ndarray
        Tables × strata: the number of people; the sum of their events (Bernoulli) or of their differences of log-odds
        from the expectation (Gaussian).
    chance : numpy.ndarray
        Tables × strata: the expectation of an event (Bernoulli).
    cell : numpy.ndarray
        The cell of each stratum, ascending.
    gaussian : bool
        Which score.
    dispersion : numpy.ndarray
        Tables: what it is divided by, φ or σ²; 1 for events.
    """

    size: np.ndarray
    total: np.ndarray
    chance: np.ndarray
    cell: np.ndarray
    gaussian: bool
    dispersion: np.ndarray

    @cached_property
    def nodes(self) -> np.ndarray:
        """Where scores are tabulated: as far as the score of any cell rises, beyond which no subgroup's does."""
        if self.gaussian:
            return _GAUSSIAN_NODES
        enough = (number for number in _FEWER if not self._rises(float(_BERNOULLI_NODES[number - 1])))
        return _BERNOULLI_NODES[: next(enough, len(_BERNOULLI_NODES))]

    def _rises(self, t: float) -> bool:
        """Return whether the score of some cell of some table rises at t."""
        grown = self.chance * np.exp(t)
        slopes = self.total - self.size * (grown / (1 - self.chance + grown))
        starts = np.unique(self.cell, return_index=True)[1]
        return bool((np.add.reduceat(slopes, starts, axis=1) > 0).any())

    def some(self, tables: slice) -> "Evidence":
        """Return some of the tables."""
        size, total, chance, dispersion = (
            part[tables] for part in (self.size, self.total, self.chance, self.dispersion)
        )
        return Evidence(size, total, chance, self.cell, self.gaussian, dispersion)

    def profiles(self, cells: int) -> np.ndarray:
        """Return values and slopes of the score at the nodes: tables × cells × (values, slopes) × nodes.

        Up to 3 kB for each cell in the Bernoulli scan, the largest part of the memory of a scan with many cells.
        """
        nodes, tables = self.nodes, len(self.size)
        out = np.zeros((tables, cells, 2, len(nodes)))
        present, starts = np.unique(self.cell, return_index=True)
        if self.gaussian:
            size, total = (np.add.reduceat(part, starts, axis=1)[..., None] for part in (self.size, self.total))
            out[:, present, 0] = total * nodes - size * nodes**2 / 2
            out[:, present, 1] = total - size * nodes
        else:
            for part in pieces(len(self.cell), each=tables * len(nodes)):
                self._add_bernoulli(out, part)
        out /= self.dispersion[:, None, None, None]
        return out

    def _add_bernoulli(self, out: np.ndarray, part: slice) -> None:
        size, chance = self.size[:, part, None], self.chance[:, part, None]
        growth = chance * np.expm1(self.nodes)
        cells, starts = np.unique(self.cell[part], return_index=True)
        total = np.add.reduceat(self.total[:, part], starts, axis=1)[..., None]
        out[:, cells, 0] += total * self.nodes - np.add.reduceat(size * np.log1p(growth), starts, axis=1)
        out[:, cells, 1] += total - np.add.reduceat(size * ((growth + chance) / (1 + growth)), starts, axis=1)

    def exact(self, inside: np.ndarray, table: int = 0) -> tuple[float, float]:
        """Return the score of the subgroup of the given strata without the table, and the t that attains it."""
        size, total, chance = (part[table, inside] for part in (self.size, self.total, self.chance))
        if self.gaussian:
            shift = max(float(total.sum() / max(size.sum(), 1)), 0.0)
            ratio = shift * float(total.sum()) / 2
        else:
            held = size > 0
            ratio, shift = _bernoulli(size[held], float(total.sum()), chance[held])
        return ratio / float(self.dispersion[table]), shift


def dispersion_of(question: ScanQuestion, strata: Strata, others: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Return what the scores of tables are divided by.

    That is 1 for events, σ² in the paper's Gaussian score, and for predictions their mean square around the expectation
    in units of Î(1 − Î) (Pearson's dispersion), among people who are not protected.

    Parameters
    ----------
    question, strata
        The people.
    others
        Tables × records: how many are not protected.
    chance
        Tables × kept strata: their expectations.
    """
    if question.gaussian or not question.criterion.probabilities:
        return np.full(len(others), question.sigma**2 if question.gaussian else 1.0)
    size, sums, squares = (strata.by_stratum(others * strata.event**power) for power in (0, 1, 2))
    rest = squares - 2 * chance * sums + chance**2 * size
    return np.maximum((rest / (chance * (1 - chance))).sum(axis=1) / np.maximum(size.sum(axis=1), 1), SMALLEST)


def evidence_of(
    question: ScanQuestion, strata: Strata, protected: np.ndarray, chance: np.ndarray, dispersion: np.ndarray
) -> Evidence:
    """Return what protected people show against their expectation, turned to the direction looked for.

    Parameters
    ----------
    question, strata
        The people.
    protected
        Tables × records: how many are protected; one table if they are the same in all.
    chance
        Tables × kept strata: expectations.
    dispersion
        Tables: what scores are divided by.
    """
    size = np.broadcast_to(strata.by_stratum(protected), chance.shape)
    if question.gaussian:
        total = strata.by_stratum(protected * log_odds(strata.event)) - size * log_odds(chance)
        return Evidence(size, total if question.positive else -total, chance, strata.cell, True, dispersion)
    events = np.broadcast_to(strata.by_stratum(protected * strata.event), chance.shape)
    if question.positive:
        return Evidence(size, events, chance, strata.cell, False, dispersion)
    return Evidence(size, size - events, 1 - chance, strata.cell, False, dispersion)


def _bernoulli(size: np.ndarray, events: float, chance: np.ndarray) -> tuple[float, float]:
    """Return the largest ratio over t ≥ 0 (appendix A.2.2), and t, infinite if nothing but events happened."""
    if events <= size @ chance:
        return 0.0, 0.0
    if events >= size.sum():
        return float(-size @ np.log(chance)), np.inf
    logit, low, high = np.log(chance) - np.log1p(-chance), 0.0, float(_BERNOULLI_NODES[-1])
    t = 1.0
    for _ in range(100):
        now = expit(logit + t)
        slope = events - size @ now
        low, high = (t, high) if slope > 0 else (low, t)
        guess = t + slope / max(size @ (now * (1 - now)), 1e-300)
        following = guess if low < guess < high else (low + high) / 2
        if abs(following - t) <= 1e-13 * (1 + t):
            break
        t = following
    return float(events * t - size @ np.log1p(chance * np.expm1(t))), float(t)


def maximise(profiles: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the maximum over t of tabulated scores, and where it is.

    Parameters
    ----------
    profiles
        … × (values, slopes) × nodes.
    nodes
        The values of t.
    """
    slopes = profiles[..., 1, :]
    last = len(nodes) - 2
    piece = np.clip((slopes > 0).sum(axis=-1) - 1, 0, last)
    width = np.diff(nodes)[piece]
    (value0, value1), (slope0, slope1) = (
        [np.take_along_axis(profiles[..., row, :], (piece + step)[..., None], -1)[..., 0] for step in (0, 1)]
        for row in (0, 1)
    )
    slope0, slope1 = slope0 * width, slope1 * width
    rise = value1 - value0
    a, b = 3 * (slope0 + slope1) - 6 * rise, 6 * rise - 4 * slope0 - 2 * slope1
    root = np.sqrt(np.maximum(b**2 - 4 * a * slope0, 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.where(slope0 > 0, 2 * slope0 / (root - b), 0.0)
    u = np.clip(np.where(slope1 > 0, 1.0, u), 0, 1)
    best = hermite(u, value0, value1, slope0, slope1)
    return np.maximum(best, 0), nodes[piece] + u * width


def hermite(
    u: np.ndarray, value0: np.ndarray, value1: np.ndarray, slope0: np.ndarray, slope1: np.ndarray
) -> np.ndarray:
    """Return the cubic with the given values and slopes at 0 and 1, at u."""
    rise = value1 - value0
    return value0 + u * (slope0 + u * (3 * rise - 2 * slope0 - slope1 + u * (slope0 + slope1 - 2 * rise)))
