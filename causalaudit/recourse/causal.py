"""Causal recourse: every notion has a posterior, from counts in every draw."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from causalaudit.inference import Posterior
from causalaudit.progress import watched
from causalaudit.recourse.bridge import Values, make_bridge
from causalaudit.recourse.candidates import Candidates
from causalaudit.recourse.deciding import Decider
from causalaudit.recourse.intervals import credible_interval, towards
from causalaudit.recourse.notions import Notion, difference
from causalaudit.recourse.people import People
from causalaudit.recourse.predictions import Predictions
from causalaudit.recourse.trials import Trials, try_actions

# Cells that are counted at a time (people × actions × draws), and of which notions are computed (pairs × draws).
_COUNTED = 2**25
_NOTION_CELLS = 2**21
# Scores that agree to these decimals are equal.
_DECIMALS = 12


@dataclass(frozen=True)
class CausalRecourse:
    """To whom actions give recourse in every draw of a posterior.

    Attributes
    ----------
    decider, trials
        How the classifier was asked, and its answers.
    candidates
        Subgroups and actions; counts are expected numbers, the effectiveness of an action for a person being a
        probability.
    flipped, reached
        Draws × 2 × pairs: the counts in each draw, 4 bytes each.
    """

    decider: Decider
    trials: Trials
    candidates: Candidates
    flipped: np.ndarray
    reached: np.ndarray

    def differences(self, notion: Notion) -> np.ndarray:
        """Return the value of group 0 less that of group 1 in every draw: draws × subgroups."""
        step = max(1, _NOTION_CELLS // len(self.candidates.costs))
        parts = []
        for start in range(0, len(self.flipped), step):
            own = slice(start, start + step)
            drawn = replace(self.candidates, flipped=self.flipped[own], reached=self.reached[own])
            parts.append(difference(notion.values(drawn)))
        return np.concatenate(parts)

    def interval(self, notion: Notion, prob: float) -> np.ndarray:
        """Return the credible intervals of a notion, turned so that they are about the group in `bias_against`.

        They are the shortest that hold at least a share `prob` of the draws: notions take few different values, of
        which one may be infinite.
        """
        ends = credible_interval(self.differences(notion), prob)
        return towards(ends, difference(notion.values(self.candidates)))

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
        point = difference(notion.values(self.candidates))
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


def intervene(
    posterior: Posterior,
    data: pd.DataFrame,
    people: People,
    affected: np.ndarray,
    candidates: Candidates,
    predictions: Predictions,
    values: Values | None = None,
    draws: int | None = None,
    seed: int = 0,
    progress: bool = True,
) -> CausalRecourse:
    """Make interventions of the actions of an audit: what `audit_recourse` does with a posterior."""
    bridge = make_bridge(posterior, data, people, affected, values, draws, seed)
    return causal_recourse(candidates, Decider(bridge, predictions), progress)


def causal_recourse(candidates: Candidates, decider: Decider, progress: bool = True) -> CausalRecourse:
    """Apply every action as an intervention to everybody of its subgroup, in every draw, and count who gets recourse.

    Parameters
    ----------
    candidates
        Subgroups and their valid actions, with costs, which stay those of what the person does.
    decider
        The people, the posterior and the classifier.
    progress
        Show a bar when it is long.
    """
    trials = try_actions(candidates, decider, progress)
    draws = len(decider.bridge.numbers)
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
    return CausalRecourse(decider, trials, expected, flipped, reached)


def count(candidates: Candidates, trials: Trials, subgroup: int, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how many people each action of a subgroup helps, alone and with those before it: draws × 2 × actions."""
    rows = trials.of(subgroup, candidates.pairs(subgroup))
    ours = int(candidates.sizes[0, subgroup])
    groups = (slice(ours), slice(ours, None))
    step = max(1, _COUNTED // (8 * rows.size))
    parts: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for start in range(0, trials.flips.shape[1], step):
        alone = trials.flips[:, start : start + step][rows]
        for found, bits in zip(parts, (alone, np.bitwise_or.accumulate(alone, axis=0)), strict=True):
            each = np.unpackbits(bits, axis=2)
            found.append(np.stack([each[:, own].sum(axis=1, dtype=np.int32) for own in groups]))
    flipped, reached = (np.moveaxis(np.concatenate(found, axis=2), 2, 0)[:draws] for found in parts)
    return flipped, reached
