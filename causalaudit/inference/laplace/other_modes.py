"""Search for the other modes of a posterior, from many starts drawn from its prior."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax

from causalaudit.errors import InferenceError
from causalaudit.inference.density.log_density import ProgramDensity
from causalaudit.inference.laplace.copies import copies_in_words
from causalaudit.inference.laplace.many_starts import climb_together
from causalaudit.inference.laplace.mode import Mode
from causalaudit.inference.laplace.mode_search import STARTS, Climber, Ground, Target, find_modes
from causalaudit.scm.execution import numerics

_MORE_STARTS = 256  # in all, if some modes were reached by few of the first starts
_RARE = 0.05  # share of the starts that reached a mode that no other start reached, above which more are drawn
_PEOPLE = (250, 60)  # with which the starts climb, if there are more than twice as many distinct rows
_WORK = 2**18  # rows × states × nodes × starts of a pass, above which people, and then starts, are fewer
_FEWEST = 8  # starts
_AGREES = 0.5  # log-density by which a point may differ from the normal at the mode whose slopes it is on
_MOST = 30  # modes
_NEGLIGIBLE = np.log(1e6)  # of the greatest mass around a mode over another, above which the other counts no more


@dataclass(frozen=True)
class ModeSearch:
    """The modes of a posterior, and how they were searched.

    Attributes
    ----------
    modes
        Those that count, by the mass of the normal approximation around them; the first is where the highest of the
        draws from the prior led.
    starts
        How many draws from the prior were climbed from.
    arrived
        How many of them reached a maximum.
    maxima
        How many maxima there are at least, whether they count or not.
    once
        How many of these were reached by one start alone.
    copies
        Which modes are copies of one another, in words; empty if none are.
    """

    modes: list[Mode]
    starts: int
    arrived: int
    maxima: int
    once: int
    copies: str

    @property
    def unseen(self) -> float:
        """The chance that one more start reaches a maximum that none has reached (Good 1953)."""
        return self.once / self.arrived if self.arrived and self.maxima > 1 else 0.0

    @property
    def statistics(self) -> dict[str, Any]:
        """The figures by which `diagnose` judges, and says what was searched."""
        names = ("starts", "arrived", "maxima", "unseen", *(["copies"] if self.copies else []))
        return {"modes": len(self.modes), **{name: getattr(self, name) for name in names}}

    def unvisited(self, vectors: np.ndarray) -> float:
        """Return the share of the mass that is around modes to which none of some vectors is the closest."""
        apart = np.stack(
            [
                np.einsum("ij,jk,ik->i", moved, mode.hessian, moved)
                for mode in self.modes
                for moved in [vectors - mode.location]
            ]
        )
        shares = softmax([mode.log_mass for mode in self.modes])
        return float(np.delete(shares, np.unique(apart.argmin(axis=0))).sum())


def search_modes(density: ProgramDensity, seed: int) -> ModeSearch:
    """Find the modes of a posterior by climbing from many draws of its prior together.

    The first is that which `find_modes` finds. Of many people, a few hundred are climbed with, and from the tops that
    these have, the density of all is climbed. Where some maxima are reached by one start each, there may be more:
    four times as many starts are drawn.

    Parameters
    ----------
    density
        The posterior in unconstrained space.
    seed
        Of the draws from the prior.

    Raises
    ------
    InferenceError
        If there is no finite start, no maximum, or a direction in which the density is flat.

    References
    ----------
    Good (1953), The population frequencies of species and the estimation of population parameters. Biometrika 40.
    """
    with numerics():
        ground = Ground.of(Target(density, True, True), seed)
        found = find_modes(density, prior=True, jacobian=True, seed=seed, rough=True, ground=ground)
        search = _Search.begun(density, ground, found, seed)
        search.climb(density.prior_vectors(STARTS, seed)[: search.most])
        if search.is_rare and search.most >= STARTS:
            search.climb(density.prior_vectors(_MORE_STARTS, seed)[STARTS:])
        modes = search.of_all(found)
    best = max(mode.log_mass for mode in modes)
    counting = [mode for mode in modes if mode.log_mass > best - _NEGLIGIBLE]
    return ModeSearch(
        counting,
        search.starts,
        sum(search.hits),
        max(len(search.modes), len(modes)),
        sum(hits == 1 for hits in search.hits),
        copies_in_words(density.placed_at(counting[0].location), counting) if len(counting) > 1 else "",
    )


@dataclass
class _Search:
    """What is known of the modes of a density, which may be that of a few of the people."""

    density: ProgramDensity
    whole: ProgramDensity
    ground: Ground
    modes: list[Mode]
    hits: list[int]
    known: int
    starts: int = 0
    climber: Climber = field(init=False)

    def __post_init__(self) -> None:
        self.climber = Climber(Target(self.density, True, True), self.ground.spread, rough=True)

    @classmethod
    def begun(cls, density: ProgramDensity, ground: Ground, found: list[Mode], seed: int) -> "_Search":
        """Begin with the modes that are known; where there are many people, with those of a few next to them."""
        search = cls(density.placed_at(found[0].location, "rough"), density, ground, found[:], [0] * len(found), 0)
        for people in _PEOPLE:
            few = density.of_few(people, seed) if search.density.whole_size * STARTS > _WORK else None
            if few is not None:
                search = cls(few.placed_at(found[0].location, "rough"), density, ground, [], [], 0)
                for mode in found:
                    search._add(mode.location)
        search.known = len(search.modes)
        return search

    @property
    def most(self) -> int:
        """How many starts can be afforded."""
        return int(np.clip(2 * _WORK // self.density.whole_size, _FEWEST, STARTS))

    @property
    def is_rare(self) -> bool:
        """Whether many starts were the only ones that reached their modes."""
        return len(self.modes) > 1 and sum(hits == 1 for hits in self.hits) > _RARE * sum(self.hits)

    def climb(self, vectors: np.ndarray) -> None:
        """Climb from vectors, and count how many lead to each mode.

        Where a latent is integrated out, some may have left its nodes behind: they go on with nodes that follow.
        """
        self.starts += len(vectors)
        left = self._climbed(self.ground.starts(vectors) / self.ground.spread, afar=False)
        if len(left) and self.density.integrates:
            self._climbed(left, afar=True)

    def _climbed(self, starts: np.ndarray, afar: bool) -> np.ndarray:
        """Climb, count how many lead to each mode, and return where those ended that led to none."""
        ends = climb_together(partial(self._slopes, afar=afar), starts, self._arrived)
        nowhere = ~ends.level
        for at in np.flatnonzero(ends.level)[np.argsort(-ends.heights[ends.level], kind="stable")]:
            point = ends.points[at] * self.ground.spread
            mode = self._nearest(point)
            if mode is None and len(self.modes) < _MOST:
                mode = self._add(point)
            if mode is not None:
                self.hits[mode] += 1
            nowhere[at] = mode is None
        return np.asarray(ends.points[nowhere])

    def of_all(self, found: list[Mode]) -> list[Mode]:
        """Return the modes of the density of all people: those that were known, and those above the new ones."""
        if self.density.whole_size == self.whole.whole_size:
            return self.modes
        modes, climber = found[:], Climber(Target(self.whole, True, True), self.ground.spread, rough=True)
        for new in self.modes[self.known :]:
            try:
                mode = climber.mode(new.location)
            except InferenceError:
                continue  # there is no maximum there with all people
            if not any(mode.is_near(other) for other in modes):
                modes.append(mode)
        return modes

    def _slopes(self, points: np.ndarray, afar: bool) -> tuple[np.ndarray, np.ndarray]:
        heights, slopes = self.density.slopes(points * self.ground.spread, afar=afar)
        return heights, slopes * self.ground.spread

    def _arrived(self, points: np.ndarray, heights: np.ndarray) -> np.ndarray:
        """Tell which points are on the slopes of a known mode, where the density is nearly normal."""
        arrived = np.zeros(len(points), dtype=bool)
        for mode in self.modes:
            apart = points * self.ground.spread - mode.location
            squared = np.sum(apart @ mode.hessian * apart, axis=1)
            arrived |= (squared < max(1, len(mode.location))) & (np.abs(mode.height - heights - squared / 2) < _AGREES)
        return arrived

    def _nearest(self, vector: np.ndarray) -> int | None:
        """Return the number of the closest mode, if it is close enough to be the same."""
        apart = [float((vector - mode.location) @ mode.hessian @ (vector - mode.location)) for mode in self.modes]
        near = int(np.argmin(apart)) if apart else 0
        return near if apart and apart[near] < max(1, len(vector)) else None

    def _add(self, vector: np.ndarray) -> int | None:
        """Climb from a vector to the top, and return the number of that mode; None if there is no maximum."""
        try:
            mode = self.climber.mode(vector)
        except InferenceError:
            return None
        for number, other in enumerate(self.modes):
            if mode.is_near(other):
                return number
        self.modes.append(mode)
        self.hits.append(0)
        return len(self.modes) - 1
