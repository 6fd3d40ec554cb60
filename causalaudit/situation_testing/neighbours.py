"""Nearest neighbours: exact, with ties broken by row, by a k-d tree where it pays and by brute force elsewhere.

Distances are compared after rounding to 1e-12. A tree only proposes candidates, among which the answer surely is; they
are ranked by the same arithmetic as in brute force, so that both give the same answer to the bit. (Equations 6 and 7 of
Alvarez and Ruggieri 2025; Algorithm 2 of the preliminary paper.)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import KDTree

from causalaudit.people import distinct_rows
from causalaudit.progress import pieces
from causalaudit.situation_testing.geometry import Geometry

_UNIT = 1e12  # distances are compared in whole numbers of 1e-12
_SLACK = 1e-9  # how far a distance of the tree may be off
_SPARE = 4  # candidates beyond those asked for, to see whether a tie is cut
_SMALLEST_FOREST = 64  # fewer people than this are searched faster without a tree
_BLOCK = 256  # draws of a person that share their candidates


@dataclass(frozen=True)
class SearchSpace:
    """People among whom neighbours are searched: the control or the test search space (Definition 4.1).

    Attributes
    ----------
    geometry
        How they are compared.
    coordinates
        Where they are: people × features, in the order of the rows of the data.
    rejected
        Whether the decision on them is unfavourable.
    later_first
        Ties go to the later row instead of the earlier one.
    use_tree
        False forces brute force.
    """

    geometry: Geometry
    coordinates: np.ndarray
    rejected: np.ndarray
    later_first: bool = False
    use_tree: bool = True

    def __len__(self) -> int:
        return len(self.coordinates)

    @cached_property
    def tree(self) -> KDTree | None:
        """A k-d tree in the Manhattan embedding, if it pays."""
        if not (self.use_tree and self.geometry.embeddable and len(self) >= _SMALLEST_FOREST):
            return None
        return KDTree(self.geometry.embed(self.coordinates))

    def nearest(self, centres: np.ndarray, k: int, own: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions of the k nearest of each centre, nearest first, and their distances.

        `own` is the position of each centre itself in the group, which is left out.
        """
        more = k + (own is not None)
        distinct = distinct_rows(list(centres.T))
        places = centres[distinct.first]
        positions = np.empty((len(places), more), dtype=np.int64)
        distances = np.empty((len(places), more))
        left = np.arange(len(places))
        if self.tree is not None:
            left = self._ask_tree(self.tree, places, positions, distances)
        self._ask_everyone(places, left, positions, distances)
        positions, distances = positions[distinct.inverse], distances[distinct.inverse]
        if own is None:
            return positions, distances
        keep = positions != own[:, None]
        keep[keep.all(axis=1), -1] = False  # she is beyond a tie: drop the last instead
        return positions[keep].reshape(-1, k), distances[keep].reshape(-1, k)

    def _ask_tree(self, tree: KDTree, centres: np.ndarray, positions: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """Fill in what the tree can tell for sure; return the centres for which it cannot, because a tie is cut."""
        wanted = min(positions.shape[1] + _SPARE, len(self))
        far, found = tree.query(self.geometry.embed(centres), k=wanted, p=1)
        found.sort(axis=1)
        gaps = self.geometry.gaps(centres[:, None], self.coordinates[found])
        columns = self._rank(gaps, positions.shape[1])
        positions[:] = np.take_along_axis(found, columns, axis=1)
        distances[:] = np.take_along_axis(gaps, columns, axis=1)
        unsure = distances[:, -1] + _SLACK >= far[:, -1]
        return np.flatnonzero(unsure & (wanted < len(self)))

    def _ask_everyone(
        self, centres: np.ndarray, which: np.ndarray, positions: np.ndarray, distances: np.ndarray
    ) -> None:
        """Fill in the answer for some centres by brute force, in chunks."""
        for part in pieces(len(which), each=len(self)):
            rows = which[part]
            gaps = self.geometry.matrix(centres[rows], self.coordinates)
            columns = self._rank(gaps, positions.shape[1])
            positions[rows], distances[rows] = columns, np.take_along_axis(gaps, columns, axis=1)

    def _rank(self, gaps: np.ndarray, k: int) -> np.ndarray:
        """Return the columns of the k smallest distances of each row, smallest first; columns are in row order."""
        keys, bits, _ = self._keys(gaps)
        if k < keys.shape[1]:
            keys = np.partition(keys, k - 1, axis=1)[:, :k]
        places = np.sort(keys, axis=1) & (2**bits - 1)
        return gaps.shape[1] - 1 - places if self.later_first else places

    def _keys(self, gaps: np.ndarray, limit: float | None = None) -> tuple[np.ndarray, int, int]:
        """Return whole numbers that sort as (distance, row), the bits that the row takes, and the greatest distance.

        The greatest distance is that of `limit`, in the units in which distances are put into the numbers.
        """
        whole = np.rint(gaps * _UNIT)
        bits = max(1, (gaps.shape[1] - 1).bit_length())
        most = np.inf if limit is None else np.rint(limit * _UNIT)
        if not whole.max() < 2 ** (62 - bits):
            values, places = np.unique(whole, return_inverse=True)
            whole = places.reshape(whole.shape)
            most = np.searchsorted(values, most, side="right") - 1
        keys = whole.astype(np.int64) << bits
        order = np.arange(gaps.shape[1])
        keys |= order[::-1] if self.later_first else order
        return keys, bits, int(min(most, 2.0**62))

    def rejections(
        self, centres: np.ndarray, sizes: Sequence[int], limit: float | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Count the rejected among the nearest of many places of each person, one for each draw.

        Parameters
        ----------
        centres
            People × draws × features.
        sizes
            Numbers of neighbours, ascending.
        limit
            The greatest distance of a neighbour.

        Returns
        -------
        tuple of numpy.ndarray
            How many of the neighbours are rejected, and how many neighbours there are; sizes × draws × people.
        """
        people, draws = centres.shape[:2]
        counts = np.empty((len(sizes), draws, people), dtype=np.min_scalar_type(sizes[-1] + 1))
        found = np.empty_like(counts)
        order = self._order(centres)
        for block in pieces(draws, budget=_BLOCK):
            numbers = order[:, block]
            places = np.take_along_axis(centres, numbers[..., None], axis=1)
            for person, candidates in enumerate(self._candidates(places, sizes[-1])):
                for part in pieces(numbers.shape[1], each=len(candidates)):
                    where = numbers[person, part], person
                    self._count(places[person, part], candidates, sizes, limit, counts, found, where)
        return counts, found

    def _order(self, centres: np.ndarray) -> np.ndarray:
        """Return the draws of each person along the coordinate that varies most, so that blocks of them are small."""
        if self.tree is None:
            return np.broadcast_to(np.arange(centres.shape[1]), centres.shape[:2])
        widest = np.ptp(centres, axis=1).argmax(axis=1)
        return np.take_along_axis(centres, widest[:, None, None], axis=2)[..., 0].argsort(axis=1, kind="stable")

    def _candidates(self, centres: np.ndarray, k: int) -> Iterator[np.ndarray]:
        """Yield for each person the positions among which the k nearest of each of her places are, in row order.

        Around the middle of her places, at radius r, the k-th neighbour of any place is at most r farther than that of
        the middle; and so everyone among the k nearest of a place is at most 2 r farther from the middle.
        """
        if self.tree is None:
            everyone = np.arange(len(self))
            yield from (everyone for _ in centres)
            return
        points = self.geometry.embed(centres)
        low, high = points.min(axis=1), points.max(axis=1)
        middle, radius = (low + high) / 2, ((high - low) / 2).sum(axis=1)
        reach = self.tree.query(middle, k=[k], p=1)[0][:, 0] + 2 * radius + _SLACK
        yield from (
            np.array(found)
            for place, distance in zip(middle, reach, strict=True)
            for found in [self.tree.query_ball_point(place, distance, p=1, return_sorted=True)]
        )

    def _count(
        self,
        centres: np.ndarray,
        candidates: np.ndarray,
        sizes: Sequence[int],
        limit: float | None,
        counts: np.ndarray,
        found: np.ndarray,
        where: tuple[np.ndarray, int],
    ) -> None:
        part, person = where
        rejected = self.rejected[candidates[::-1] if self.later_first else candidates]
        if limit is None and rejected.all() == rejected.any():  # all were decided alike: whoever is nearest
            for place, size in enumerate(sizes):
                found[place, part, person] = size
                counts[place, part, person] = size * rejected[0]
            return
        keys, bits, most = self._keys(self.geometry.matrix(centres, self.coordinates[candidates]), limit)
        cuts = [size - 1 for size in sizes if size < keys.shape[1]]
        if cuts:
            keys = np.partition(keys, cuts, axis=1)
        keys = keys[:, : sizes[-1]]
        hits = rejected[keys & (2**bits - 1)]
        near = None if limit is None else (keys >> bits) <= most
        for place, size in enumerate(sizes):
            if near is None:
                found[place, part, person] = size
                counts[place, part, person] = np.count_nonzero(hits[:, :size], axis=1)
            else:
                found[place, part, person] = np.count_nonzero(near[:, :size], axis=1)
                counts[place, part, person] = np.count_nonzero(hits[:, :size] & near[:, :size], axis=1)
