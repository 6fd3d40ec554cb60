"""Fast subset scan (Algorithm 2 of the paper): coordinate ascent from many starts.

Each step is exact by the additive linear-time property (Definition A.1, appendix A.1.1).
"""

from dataclasses import dataclass

import numpy as np

from causalaudit.bias_scan.evidence.scores import hermite, maximise
from causalaudit.people import distinct_rows
from causalaudit.progress import pieces

_HALVINGS = 30
_BETTER = 1e-9


@dataclass(frozen=True, eq=False)
class Ascent:
    """Cells and their profiles, over which to climb.

    Attributes
    ----------
    profiles : numpy.ndarray
        Cells × (values, slopes) × nodes.
    cells : numpy.ndarray
        Cells × features: codes of values.
    sizes : tuple of int
        The number of values of each feature.
    nodes : numpy.ndarray
        Where the profiles are tabulated.
    penalty : float
        Of each listed value.
    """

    profiles: np.ndarray
    cells: np.ndarray
    sizes: tuple[int, ...]
    nodes: np.ndarray
    penalty: float

    def climb(self, iterations: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Climb from all values and from ``iterations − 1`` random subgroups until no feature can be improved.

        All starts take their features in the same random order, so that those who meet go on as one.

        Returns
        -------
        tuple of numpy.ndarray
            The distinct local optima as 0/1 over all values of all features, and their penalised scores, best first.
        """
        states = _distinct(self._starts(iterations, rng))[0]
        optima = []
        while len(states):
            moved = np.zeros(len(states), dtype=bool)
            for feature in rng.permutation(len(self.sizes)):
                states, moved = self._step(states, moved, int(feature))
            optima.append(states[~moved])
            states = states[moved]
        found, _ = _distinct(np.concatenate(optima))
        scores = self._score(found)
        order = np.lexsort((found.sum(axis=1), -scores.round(9)))
        return found[order], scores[order]

    def _starts(self, iterations: int, rng: np.random.Generator) -> np.ndarray:
        parts = []
        for size in self.sizes:
            held = rng.random((iterations, size)) < 0.5
            empty = ~held.any(axis=1)
            while empty.any():
                held[empty] = rng.random((int(empty.sum()), size)) < 0.5
                empty = ~held.any(axis=1)
            parts.append(held)
        starts = np.concatenate(parts, axis=1)
        starts[0] = True
        return starts

    def _columns(self, feature: int) -> slice:
        first = sum(self.sizes[:feature])
        return slice(first, first + self.sizes[feature])

    def _weights(self, states: np.ndarray, without: int | None = None) -> np.ndarray:
        """Return which cells each state holds, whatever their value of one feature: states × cells."""
        held = np.ones((len(states), len(self.cells)), dtype=bool)
        for feature in range(len(self.sizes)):
            if feature != without:
                held &= states[:, self._columns(feature)][:, self.cells[:, feature]]
        return held.astype(float)

    def _complexity(self, sets: np.ndarray) -> np.ndarray:
        return np.where(sets.all(axis=-1), 0, sets.sum(axis=-1))

    def _score(self, states: np.ndarray) -> np.ndarray:
        listed = sum(self._complexity(states[:, self._columns(feature)]) for feature in range(len(self.sizes)))
        width = 2 * len(self.nodes)
        summed = self._weights(states) @ self.profiles.reshape(-1, width)
        return maximise(summed.reshape(-1, 2, width // 2), self.nodes)[0] - self.penalty * listed

    def _step(self, states: np.ndarray, moved: np.ndarray, feature: int) -> tuple[np.ndarray, np.ndarray]:
        """Give each state its best set of values of one feature, and join states that became the same."""
        size = self.sizes[feature]
        each = max(3 * size * 2 * len(self.nodes), len(self.cells))
        parts = [self._best_sets(states[part], feature) for part in pieces(len(states), each)]
        sets, better = (np.concatenate(part) for part in zip(*parts, strict=True))
        states = states.copy()
        states[:, self._columns(feature)] = sets
        unique, place = _distinct(states)
        # A state that some start did not have to leave in this round has passed all features so far.
        stayed = np.zeros(len(unique), dtype=bool)
        np.logical_or.at(stayed, place, ~(moved | better))
        return unique, ~stayed

    def _best_sets(self, states: np.ndarray, feature: int) -> tuple[np.ndarray, np.ndarray]:
        size, columns = self.sizes[feature], self._columns(feature)
        weights = self._weights(states, without=feature)
        width = 2 * len(self.nodes)
        summed = np.zeros((len(states), size, width))
        for value in range(size):
            own = self.cells[:, feature] == value
            summed[:, value] = weights[:, own] @ self.profiles[own].reshape(-1, width)
        sets = np.concatenate([states[:, None, columns], self._candidates(summed)], axis=1)
        totals = np.matmul(sets.astype(float), summed).reshape(*sets.shape[:2], 2, -1)
        scores = maximise(totals, self.nodes)[0] - self.penalty * self._complexity(sets)
        scores[~sets.any(axis=-1)] = -np.inf
        best = np.argmax(scores, axis=1)
        rows = np.arange(len(states))
        better = scores[rows, best] > scores[:, 0] + _BETTER
        best = np.where(better, best, 0)
        return sets[rows, best], better

    def _candidates(self, summed: np.ndarray) -> np.ndarray:
        """Return sets of values among which is the best: starts × candidates × values.

        At a given t the best set holds the values whose score exceeds the penalty, if there are any; it changes only
        where one of them crosses zero. Beside these sets stand single values, and all values, which cost nothing.
        """
        starts, size, _ = summed.shape
        profiles = summed.reshape(starts, size, 2, -1)
        top, at = maximise(profiles, self.nodes)
        low, high = self._crossings(profiles, at)
        silent = top <= self.penalty
        low, high = np.where(silent, 0.0, low), np.where(silent, 0.0, high)
        ends = np.sort(np.concatenate([low, high], axis=1), axis=1)
        middle = (ends[:, 1:] + ends[:, :-1]) / 2
        inside = (low[:, None] < middle[..., None]) & (middle[..., None] < high[:, None])
        single = np.broadcast_to(np.eye(size, dtype=bool), (starts, size, size))
        return np.concatenate([inside, single, np.ones((starts, 1, size), dtype=bool)], axis=1)

    def _crossings(self, profiles: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of t left and right of the maximum, between which a score exceeds the penalty."""
        ends = []
        for bound in (0.0, self.nodes[-1]):
            outer, inner = np.full_like(at, bound), at.copy()
            outer_passes = self._value(profiles, outer) > self.penalty
            for _ in range(_HALVINGS):
                middle = (outer + inner) / 2
                above = self._value(profiles, middle) > self.penalty
                inner, outer = np.where(above, middle, inner), np.where(above, outer, middle)
            ends.append(np.where(outer_passes, bound, inner))
        return ends[0], ends[1]

    def _value(self, profiles: np.ndarray, t: np.ndarray) -> np.ndarray:
        piece = np.clip(np.searchsorted(self.nodes, t, side="right") - 1, 0, len(self.nodes) - 2)
        width = self.nodes[piece + 1] - self.nodes[piece]
        values, slopes = (
            [np.take_along_axis(profiles[..., row, :], (piece + step)[..., None], -1)[..., 0] for step in (0, 1)]
            for row in (0, 1)
        )
        return hermite((t - self.nodes[piece]) / width, *values, *(slope * width for slope in slopes))


def _distinct(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct states, and which of them each is."""
    found = distinct_rows(list(states.T))
    return states[found.first], found.inverse
