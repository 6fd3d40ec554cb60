"""Whom actions help in every draw of a posterior: every notion has a posterior, from counts in every draw."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from causalaudit.progress import pieces, watched
from causalaudit.recourse.causal.tried_changes import TriedChanges
from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.intervals.credible import credible_interval
from causalaudit.recourse.intervals.over_draws import draws_needed
from causalaudit.recourse.intervals.scores import towards
from causalaudit.recourse.notions.notion import Notion, less_the_other
from causalaudit.storage import storable

# Cells that are counted at a time (people × actions × draws), and of which notions are computed (pairs × draws).
_COUNTED = 2**25
_NOTION_CELLS = 2**21
# Scores that agree to these decimals are equal.
_DECIMALS = 12


@storable
@dataclass(frozen=True, eq=False)
class RecourseByDraw:
    """How many people each action helps, in every draw.

    Attributes
    ----------
    candidates
        Subgroups and actions; counts are expected numbers, the effectiveness of an action for a person being a
        probability.
    flipped, reached
        Draws × 2 × pairs: the counts in each draw, 4 bytes each.
    """

    candidates: Candidates
    flipped: np.ndarray
    reached: np.ndarray

    @cached_property
    def certain(self) -> bool:
        """Whether everybody responds alike in all draws."""
        return all((counts == counts[:1]).all() for counts in (self.flipped, self.reached))

    def too_few(self, alpha: float) -> bool:
        """Whether the draws differ, and are too few for intervals at the level alpha that join their uncertainty."""
        return not self.certain and len(self.flipped) < draws_needed(alpha)

    @property
    def drawn(self) -> Candidates:
        """Subgroups and actions with the counts of every draw."""
        return replace(self.candidates, flipped=self.flipped, reached=self.reached)

    def differences(self, notion: Notion) -> np.ndarray:
        """Return the value of group 0 less that of group 1 in every draw: draws × subgroups."""
        parts = []
        for own in pieces(len(self.flipped), each=len(self.candidates.costs), budget=_NOTION_CELLS):
            drawn = replace(self.candidates, flipped=self.flipped[own], reached=self.reached[own])
            parts.append(less_the_other(notion.values(drawn)))
        return np.concatenate(parts)

    def interval(self, notion: Notion, prob: float) -> np.ndarray:
        """Return the credible intervals of a notion, turned so that they are about the group in `bias_against`.

        They are the shortest that hold at least a share `prob` of the draws: notions take few different values, of
        which one may be infinite.
        """
        ends = credible_interval(self.differences(notion), prob)
        return towards(ends, less_the_other(notion.values(self.candidates)))

    def probabilities(self, notion: Notion, tolerance: float) -> pd.DataFrame:
        """Return how sure the posterior is of a notion, a row for each subgroup.

        Returns
        -------
        pandas.DataFrame
            `prob_against0, prob_against1`: of each group being worse off than the other by more than `tolerance`;
            `prob_unfair`: of that for the group in `bias_against` (the larger of the two where there is none);
            `prob_first`: of the subgroup having the largest score of all, others sharing it or not.
        """
        draws = self.differences(notion)
        point = less_the_other(notion.values(self.candidates))
        if not notion.is_cost:
            draws, point = -draws, -point
        against = np.stack([(draws > tolerance).mean(axis=0), (draws < -tolerance).mean(axis=0)])
        scores = np.abs(draws).round(_DECIMALS)
        first = (scores == scores.max(axis=1, keepdims=True)) & (scores > 0)
        return pd.DataFrame(
            {
                "prob_against0": against[0],
                "prob_against1": against[1],
                "prob_unfair": np.where(point > 0, against[0], np.where(point < 0, against[1], against.max(axis=0))),
                "prob_first": first.mean(axis=0),
            }
        )


def count_draws(candidates: Candidates, trials: TriedChanges, draws: int, progress: bool = True) -> RecourseByDraw:
    """Count, in every draw, to whom every action gives recourse.

    Parameters
    ----------
    candidates
        Subgroups and their valid actions, with costs, which stay those of what the person does.
    trials
        To whom each distinct change gives recourse.
    draws
        How many there are.
    progress
        Show a bar when it is long.
    """
    shape = (draws, 2, len(candidates.costs))
    flipped, reached = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int32)
    for subgroup in watched(range(len(candidates)), len(candidates), "Counting", progress):
        pairs = candidates.pairs(subgroup)
        flipped[..., pairs], reached[..., pairs] = count(candidates, trials, subgroup, draws)
    expected = replace(
        candidates,
        flipped=flipped.sum(axis=0, dtype=np.int64) / draws,
        reached=reached.sum(axis=0, dtype=np.int64) / draws,
    )
    return RecourseByDraw(expected, flipped, reached)


def count(candidates: Candidates, trials: TriedChanges, subgroup: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how many people each action of a subgroup helps, alone and with those before it: draws × 2 × actions."""
    rows = trials.of(subgroup, candidates.pairs(subgroup))
    ours = int(candidates.sizes[0, subgroup])
    groups = (slice(ours), slice(ours, None))
    parts: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for part in pieces(trials.flips.shape[1], each=8 * rows.size, budget=_COUNTED):
        alone = trials.flips[:, part][rows]
        for found, bits in zip(parts, (alone, np.bitwise_or.accumulate(alone, axis=0)), strict=True):
            each = np.unpackbits(bits, axis=2)
            found.append(np.stack([each[:, own].sum(axis=1, dtype=np.int32) for own in groups]))
    flipped, reached = (np.moveaxis(np.concatenate(found, axis=2), 2, 0)[:draws] for found in parts)
    return flipped, reached
