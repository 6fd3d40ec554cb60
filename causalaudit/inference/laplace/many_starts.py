"""Climb a density from many starts at once, by a quasi-Newton method whose passes they share."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Slopes = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Arrived = Callable[[np.ndarray, np.ndarray], np.ndarray]
_STEPS = 80  # of each ascent, at most
_MEMORY = 10  # steps whose slopes a quasi-Newton method remembers
_LONGEST = 3.0  # of a step, along any number, in the units of the starts
_SHORTENED, _HALVINGS = 0.3, 8  # factor by which a step that leads down is shortened, and how many times
_RISE = 1e-4  # share of the promised rise that a step must keep
_STEEPEST = 1e100
_LEVEL = 1e-3  # promised rise that is none


@dataclass(frozen=True)
class Ends:
    """Where ascents ended.

    Attributes
    ----------
    points, heights
        By start.
    level
        Whether the density promised to rise no more there, or the ascent had arrived where another mode is known.
    """

    points: np.ndarray
    heights: np.ndarray
    level: np.ndarray


def climb_together(slopes: Slopes, starts: np.ndarray, arrived: Arrived) -> Ends:
    """Climb from each start (row); steps of order one should matter.

    Parameters
    ----------
    slopes
        Returns heights and gradients of many points (rows).
    starts
        Where to begin; starts at which the height is not a number are left out.
    arrived
        Tells of points and their heights whether the top above them is known: they need not go on.
    """
    ascents = _Ascents(slopes, starts)
    for _ in range(_STEPS):
        ascents.stop(arrived)
        if not ascents.going.any():
            break
        ascents.step()
    return Ends(ascents.points, ascents.heights, ascents.level)


class _Ascents:
    """L-BFGS from several points, each with a memory and a step length of its own."""

    def __init__(self, slopes: Slopes, starts: np.ndarray) -> None:
        heights, gradients = slopes(starts)
        usable = np.isfinite(heights) & _sane(gradients)
        self.slopes = slopes
        self.points, self.heights, self.gradients = starts[usable], heights[usable], gradients[usable]
        self.level = np.zeros(len(self.points), dtype=bool)
        self.stuck = np.zeros(len(self.points), dtype=bool)
        shape = (0, *self.points.shape)
        self.moves, self.turns, self.inverse = np.empty(shape), np.empty(shape), np.empty(shape[:2])

    @property
    def going(self) -> np.ndarray:
        """Which ascents go on."""
        return ~(self.level | self.stuck)

    def stop(self, arrived: Arrived) -> None:
        """Stop those that have arrived."""
        going = np.flatnonzero(self.going)
        self.level[going] = arrived(self.points[going], self.heights[going])

    def step(self) -> None:
        """Go one step, as far as the density keeps the rise that its slope promises."""
        steps = self._directions()
        promised = np.sum(steps * self.gradients, axis=1)
        self.level |= self.going & (promised < _LEVEL)
        waiting = np.flatnonzero(self.going)
        length = np.minimum(1.0, _LONGEST / np.maximum(np.abs(steps).max(axis=1), 1e-300))
        before, slope = self.points.copy(), self.gradients.copy()
        for _ in range(_HALVINGS):
            if not len(waiting):
                break
            tried = before[waiting] + length[waiting, None] * steps[waiting]
            heights, gradients = self.slopes(tried)
            enough = heights >= self.heights[waiting] + _RISE * length[waiting] * promised[waiting]
            good = enough & _sane(gradients)
            done = waiting[good]
            self.points[done], self.heights[done], self.gradients[done] = tried[good], heights[good], gradients[good]
            waiting = waiting[~good]
            length[waiting] *= _SHORTENED
        self.stuck[waiting] = True
        self._remember(self.points - before, slope - self.gradients)

    def _directions(self) -> np.ndarray:
        """Return the directions of L-BFGS (Nocedal and Wright 2006, algorithm 7.4): they lead up."""
        direction, shares = self.gradients.copy(), []
        for move, turn, inverse in zip(self.moves[::-1], self.turns[::-1], self.inverse[::-1], strict=True):
            share = inverse * np.sum(move * direction, axis=1)
            direction -= share[:, None] * turn
            shares.append(share)
        direction *= self._scale()[:, None]
        for move, turn, inverse, share in zip(self.moves, self.turns, self.inverse, shares[::-1], strict=True):
            direction += (share - inverse * np.sum(turn * direction, axis=1))[:, None] * move
        return direction

    def _scale(self) -> np.ndarray:
        """Return the curvature along the last step as a scale; at first, the slope makes a step of length one."""
        scale = 1 / np.maximum(np.linalg.norm(self.gradients, axis=1), 1.0)
        for move, turn, inverse in zip(self.moves, self.turns, self.inverse, strict=True):
            known = inverse > 0
            scale[known] = np.sum(move * turn, axis=1)[known] / np.sum(turn**2, axis=1)[known]
        return scale

    def _remember(self, moves: np.ndarray, turns: np.ndarray) -> None:
        """Keep the last steps; those along which the density bends upwards say nothing about a maximum."""
        bend = np.sum(moves * turns, axis=1)
        useful = bend > 1e-12 * np.sum(turns**2, axis=1)
        inverse = np.where(useful, 1 / np.where(useful, bend, 1.0), 0.0)
        moves, turns = np.where(useful[:, None], moves, 0.0), np.where(useful[:, None], turns, 0.0)
        self.moves = np.concatenate([self.moves, moves[None]])[-_MEMORY:]
        self.turns = np.concatenate([self.turns, turns[None]])[-_MEMORY:]
        self.inverse = np.concatenate([self.inverse, inverse[None]])[-_MEMORY:]


def _sane(gradients: np.ndarray) -> np.ndarray:
    """Tell of each slope whether its square is a number; steeper ones say nothing about a maximum."""
    return np.asarray((np.abs(gradients) < _STEEPEST).all(axis=1))
