"""How differently the notions rank subgroups: tables 10 and 11 of the paper."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from causalaudit.arguments import check_share, check_types

if TYPE_CHECKING:
    from causalaudit.recourse.result.result import RecourseResult


def ranking_analysis(result: "RecourseResult", share: float = 0.1) -> pd.DataFrame:
    """Count ties at the top, and whom the most unfair subgroups are biased against, by each notion.

    Parameters
    ----------
    result
        An audit of recourse.
    share
        How many of the unfair subgroups (those with a score) are taken as the top; the last of several with the same
        score are those that come later in the table.

    Returns
    -------
    pandas.DataFrame
        A row for each notion: `metric, parameter, viewpoint`, `unfair` (subgroups with a score), `most_unfair` (tied
        at rank 1), and for each group the subgroups biased against it in the top.

    References
    ----------
    Kavouras et al. (2023), Fairness aware counterfactuals for subgroups, table 10.
    """
    check_types(ranking_analysis, locals())
    share = check_share("share", share, one=True)
    rows = []
    for notion, part in zip(result.notions, result.by_notion(), strict=True):
        unfair = part[part["score"] > 0].sort_values("rank", kind="stable")
        top = unfair.iloc[: int(np.ceil(share * len(unfair) - 1e-9))]
        row = {"metric": notion.metric, "parameter": notion.parameter, "viewpoint": notion.viewpoint}
        row |= {"unfair": len(unfair), "most_unfair": int((unfair["rank"] == 1).sum())}
        rows.append(row | {f"against {level}": int((top["bias_against"] == level).sum()) for level in result.groups})
    return pd.DataFrame(rows)


def aggregated_rankings(result: "RecourseResult") -> pd.DataFrame:
    """Return how the most unfair subgroups by one notion (rows) rank by the others (columns).

    A cell is the mean rank of the subgroups that are first by the notion of its row, over the last rank of the notion
    of its column: near 0 if they are among the most unfair by that notion as well, 1 if they are the fairest. A notion
    by which nothing is unfair has no first, and an empty row.

    Returns
    -------
    pandas.DataFrame
        Notions × notions; NaN on the diagonal.

    References
    ----------
    Kavouras et al. (2023), Fairness aware counterfactuals for subgroups, table 11.
    """
    check_types(aggregated_rankings, locals())
    ranks, scores = (np.stack([part[name] for part in result.by_notion()]) for name in ("rank", "score"))
    first = ((ranks == 1) & (scores > 0)).astype(float)
    number = first.sum(axis=1, keepdims=True)
    means = np.divide(first @ ranks.T, number, out=np.full((len(first), len(first)), np.nan), where=number > 0)
    relative = means / ranks.max(axis=1)
    np.fill_diagonal(relative, np.nan)
    labels = [notion.label for notion in result.notions]
    return pd.DataFrame(relative, labels, labels)


def rank_agreement(result: "RecourseResult") -> pd.DataFrame:
    """Return Spearman's correlation of the scores, over subgroups, for each two notions; NaN where scores are constant.

    Returns
    -------
    pandas.DataFrame
        Notions × notions.
    """
    check_types(rank_agreement, locals())
    ranks = np.stack([rankdata(part["rank"]) for part in result.by_notion()])
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    lengths = np.sqrt((centred**2).sum(axis=1))
    scale = np.outer(lengths, lengths)
    agreement = np.divide(centred @ centred.T, scale, out=np.full(scale.shape, np.nan), where=scale > 0)
    labels = [notion.label for notion in result.notions]
    return pd.DataFrame(np.clip(agreement, -1, 1), labels, labels)
