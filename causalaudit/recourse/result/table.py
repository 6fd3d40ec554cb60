"""The table of a result: step (c) of FACTS, scores and ranks, with their intervals."""

import numpy as np
import pandas as pd

from causalaudit.recourse.causal.draw_counts import RecourseByDraw
from causalaudit.recourse.evidence.candidates import Candidates
from causalaudit.recourse.intervals.over_draws import joined_intervals
from causalaudit.recourse.intervals.scores import score_intervals
from causalaudit.recourse.notions.notion import Notion, dense_ranks
from causalaudit.recourse.question.coding import Vocabulary


def tabulate(
    vocabulary: Vocabulary,
    candidates: Candidates,
    notions: tuple[Notion, ...],
    alpha: float,
    prob: float,
    draws: RecourseByDraw | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the table of a result, and the values behind it, notion by notion.

    The score is the absolute difference of what the two groups have of a notion (Kavouras et al. 2023, section 3,
    step (c)).
    """
    subgroups = np.empty(len(candidates), dtype=object)
    subgroups[:] = [vocabulary.predicate(codes) for codes in candidates.subgroups]
    values = [notion.values(candidates) for notion in notions]
    worse = np.stack([notion.disadvantage(own) for notion, own in zip(notions, values, strict=True)])
    score = np.abs(worse)
    if draws is not None and draws.too_few(alpha):
        ends = np.full((len(notions), 2, len(candidates)), np.nan)
    elif draws is None or draws.certain:
        ends = np.stack(score_intervals(notions, candidates, values, alpha))
    else:
        ends = np.stack(joined_intervals(notions, candidates, draws.drawn, alpha))
    credible = np.full(ends.shape, np.nan)
    if draws is not None:
        credible = np.stack([draws.interval(notion, prob) for notion in notions])
    reference, level = vocabulary.groups
    against = np.array([level, None, reference], dtype=object)[np.sign(worse).astype(int) + 1]
    repeats, number = len(candidates), len(notions)
    table = pd.DataFrame(
        {
            "subgroup": np.tile(subgroups, number),
            "metric": np.repeat([notion.metric for notion in notions], repeats),
            "parameter": np.repeat([notion.parameter for notion in notions], repeats),
            "viewpoint": np.repeat([notion.viewpoint for notion in notions], repeats),
            "score": score.ravel(),
            "bias_against": pd.Series(against.ravel(), dtype=object),
            "rank": np.concatenate([dense_ranks(own) for own in score]),
            "simultaneous_low": ends[:, 0].ravel(),
            "simultaneous_high": ends[:, 1].ravel(),
            "credible_low": credible[:, 0].ravel(),
            "credible_high": credible[:, 1].ravel(),
            "n0": np.tile(candidates.sizes[0], number),
            "n1": np.tile(candidates.sizes[1], number),
        }
    )
    pair = np.concatenate(values, axis=1)
    return table, pd.DataFrame({"value0": pair[0], "value1": pair[1]})
