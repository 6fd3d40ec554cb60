"""The search for the highest score (equation 2): exhaustive where the lattice is small, else by ascent."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from causalaudit.bias_scan.evidence.ascent import Ascent
from causalaudit.bias_scan.evidence.lattice import LARGEST, Lattice
from causalaudit.bias_scan.evidence.scores import Evidence
from causalaudit.errors import CausalAuditWarning
from causalaudit.progress import pieces
from causalaudit.randomness import generator

_SECONDS = 6e-6  # of an ascent, for each start and pair of values of a feature, as measured
_LONG = 60.0  # seconds, from which a search is announced
_NEAR = 1e-7  # for each person: what the table of scores may be off by, doubled, before the dispersion


@dataclass(frozen=True, eq=False)
class FoundSubgroup:
    """A subgroup, its score and the parameter that attains it.

    Attributes
    ----------
    masks : tuple of numpy.ndarray
        For each feature, which of its values the subgroup holds.
    score : float
        The penalised score F.
    ratio : float
        The log-likelihood ratio, without the penalty.
    shift : float
        The t that attains it: log q or μ, in the direction looked for.
    """

    masks: tuple[np.ndarray, ...]
    score: float
    ratio: float
    shift: float


@dataclass(frozen=True, eq=False)
class SubgroupSearch:
    """How to search, the same for the data and for every table drawn under the null hypothesis.

    Attributes
    ----------
    cells : numpy.ndarray
        Cells × features: codes of values.
    sizes : tuple of int
        The number of values of each feature.
    penalty, iterations, seed
        As asked for.
    exhaustive : bool
        Whether all subgroups are scored.
    """

    cells: np.ndarray
    sizes: tuple[int, ...]
    penalty: float
    iterations: int
    seed: int
    exhaustive: bool

    @classmethod
    def plan(
        cls, cells: np.ndarray, sizes: tuple[int, ...], penalty: float, iterations: int, seed: int
    ) -> "SubgroupSearch":
        """Choose the search by the size of the lattice."""
        return cls(cells, sizes, penalty, iterations, seed, Lattice(sizes).number <= LARGEST)

    def announce(self, tables: int) -> None:
        """Warn of how long it takes to search so many tables, if that is minutes."""
        work = tables * self.iterations * sum(size**2 for size in self.sizes)
        seconds = 0.0 if self.exhaustive else _SECONDS * work
        if seconds > _LONG:
            warnings.warn(
                f"There are more than {LARGEST:,} subgroups, so that {tables:,} tables (the data, draws and "
                f"permutations) are searched by ascent from {self.iterations} starts each: some "
                f"{seconds / 60:,.0f} minutes on one core. Features of fewer values, fewer draws=, permutations= or "
                "iterations= take less.",
                CausalAuditWarning,
                stacklevel=3,
            )

    def best(self, evidence: Evidence, top: int = 1) -> list[FoundSubgroup]:
        """Return the best subgroups with positive scores, no two of the same people, best first."""
        profiles = evidence.profiles(len(self.cells))
        people = np.bincount(evidence.cell, evidence.size[0], len(self.cells)) > 0
        found: dict[bytes, FoundSubgroup] = {}
        margin = _NEAR * (1 + evidence.size.sum()) / evidence.dispersion.min()
        for masks, score in self._candidates(evidence, profiles):
            if score <= 0 or (len(found) >= top and score + margin < self._last(found, top)):
                break
            held = self.held(masks)
            key = np.packbits(held & people).tobytes()
            # The same people may be described in several ways: by the fewest values, then by the first in order.
            if key not in found or _plainness(masks) < _plainness(found[key].masks):
                found[key] = self._exactly(evidence, masks, held)
        return sorted(found.values(), key=lambda one: (-round(one.score, 9), _plainness(one.masks)))[:top]

    @staticmethod
    def _last(found: dict[bytes, FoundSubgroup], top: int) -> float:
        return sorted((one.score for one in found.values()), reverse=True)[top - 1]

    def _candidates(self, evidence: Evidence, profiles: np.ndarray) -> Iterator[tuple[tuple[np.ndarray, ...], float]]:
        """Yield subgroups and their tabulated scores, best first."""
        if self.exhaustive:
            lattice = Lattice(self.sizes)
            scores = lattice.scores(profiles, self.cells, evidence.nodes, self.penalty)[0]
            for place in np.argsort(-scores, kind="stable"):
                yield tuple(lattice.masks(int(place))), float(scores[place])
        else:
            states, scores = self._ascent(evidence, profiles[0], 0)
            edges = np.cumsum(self.sizes)[:-1]
            for state, score in zip(states, scores, strict=True):
                yield tuple(np.split(state, edges)), float(score)

    def _ascent(self, evidence: Evidence, profiles: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
        present = np.unique(evidence.cell)
        ascent = Ascent(profiles[present], self.cells[present], self.sizes, evidence.nodes, self.penalty)
        return ascent.climb(self.iterations, generator(self.seed, "bias scan", number))

    def _exactly(self, evidence: Evidence, masks: tuple[np.ndarray, ...], held: np.ndarray) -> FoundSubgroup:
        ratio, shift = evidence.exact(held[evidence.cell])
        return FoundSubgroup(masks, ratio - self.penalty * _listed(masks), ratio, shift)

    def held(self, masks: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return which cells a subgroup holds."""
        parts = [mask[self.cells[:, feature]] for feature, mask in enumerate(masks)]
        return np.logical_and.reduce(parts)

    def best_scores(self, evidence: Evidence, first: int = 1) -> np.ndarray:
        """Return the highest score of each table, zero if none is positive."""
        return np.maximum(self.best_of_each(evidence, first)[1], 0.0)

    def best_of_each(self, evidence: Evidence, first: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return the best subgroup of each table, as 0/1 over all values of all features, and its score."""
        if not self.exhaustive:
            parts = [evidence.some(slice(at, at + 1)) for at in range(len(evidence.size))]
            ends = [self._ascent(one, one.profiles(len(self.cells))[0], first + at) for at, one in enumerate(parts)]
            return np.stack([states[0] for states, _ in ends]), np.array([scores[0] for _, scores in ends])
        lattice = Lattice(self.sizes)
        each = max(lattice.number, len(self.cells)) * 2 * len(evidence.nodes)
        places, scores = [], []
        for tables in pieces(len(evidence.size), each):
            part = evidence.some(tables)
            table = lattice.scores(part.profiles(len(self.cells)), self.cells, part.nodes, self.penalty)
            places.append(table.argmax(axis=1))
            scores.append(table.max(axis=1))
        masks = [np.concatenate(lattice.masks(int(place))) for place in np.concatenate(places)]
        return np.stack(masks), np.concatenate(scores)


def _listed(masks: tuple[np.ndarray, ...]) -> int:
    return int(sum(0 if mask.all() else mask.sum() for mask in masks))


def _plainness(masks: tuple[np.ndarray, ...]) -> tuple[int, tuple[bool, ...]]:
    return _listed(masks), tuple(np.concatenate(masks).tolist())
