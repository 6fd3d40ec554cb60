"""How stable the best subgroup is over posterior draws."""

import numpy as np
import pandas as pd

from causalaudit.bias_scan.evidence.expected_people import ExpectedPeople
from causalaudit.bias_scan.evidence.scores import evidence_of
from causalaudit.bias_scan.evidence.search import SubgroupSearch
from causalaudit.progress import pieces, watched

# A share of so many draws is known to 0.025, while each draw is a search of its own.
SEARCHED = 400


def inclusion(people: ExpectedPeople, search: SubgroupSearch, progress: bool) -> pd.DataFrame | None:
    """Return how often the best subgroup of a draw holds each value, over the first 400 draws; None without draws.

    Parameters
    ----------
    people
        Those who are searched, with draws of their expectations.
    search
        How.
    progress
        Show a bar when it is long.

    Returns
    -------
    pandas.DataFrame
        `feature, value, share`; a draw without a positive score holds no value.
    """
    if people.draws is None:
        return None
    number = min(people.draws.number, SEARCHED)
    parts = pieces(number, each=len(people.strata.kept))
    held = (_holdings(people, search, part) for part in parts)
    share = sum(watched(held, len(parts), "scanning posterior draws", progress)) / number
    pairs = [(feature.name, value) for feature in people.question.features for value in feature.values]
    return pd.DataFrame(pairs, columns=["feature", "value"]).assign(share=share)


def _holdings(people: ExpectedPeople, search: SubgroupSearch, part: slice) -> np.ndarray:
    """Count the draws of a part whose best subgroup holds each value."""
    assert people.draws is not None
    chance = people.draws.chance(part)
    dispersion = np.full(len(chance), people.dispersion)
    evidence = evidence_of(people.question, people.strata, people.protected[None], chance, dispersion)
    held, scores = search.best_of_each(evidence, first=1 + part.start)
    count: np.ndarray = (held & (scores > 0)[:, None]).sum(axis=0)
    return count
