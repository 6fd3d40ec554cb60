"""Causal situation testing (Zhang, Wu and Wu 2016), written from the paper.

People are compared by the direct causes of the decision alone. In each of these, two people differ by how far apart
they are (in units of the range) times what the difference does to the decision: by how much the chance of a favourable
decision would change, were the first person given the value of the second. The chance comes from a model of the
decision given its causes, here gradient boosting; the protected attribute is averaged out, so that the effect is that
of do().
"""

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

_BLOCK = 100  # complainants at once


def causal_situation_testing(
    people: pd.DataFrame, decision: np.ndarray, protected: np.ndarray, causes: list[str], k: int
) -> np.ndarray:
    """Return the difference of the shares of unfavourable decisions of each protected person.

    Parameters
    ----------
    people
        Everyone.
    decision
        1 if it is favourable, else 0.
    protected
        Who is protected.
    causes
        The direct causes of the decision, numbers, without the protected attribute.
    k
        The size of the groups.
    """
    values = people[causes].to_numpy(dtype=float)
    chance = _chance(values, decision, protected)
    spread = np.ptp(values, axis=0)
    ours, theirs = np.flatnonzero(protected), np.flatnonzero(~protected)
    shares = []
    for group in (ours, theirs):
        parts = []
        for start in range(0, len(ours), _BLOCK):
            some = ours[start : start + _BLOCK]
            away = _distances(values[some], values[group], spread, chance)
            away[some[:, None] == group] = np.inf  # nobody is her own neighbour
            nearest = np.argsort(away, axis=1, kind="stable")[:, :k]
            parts.append(1 - decision[group][nearest].mean(axis=1))
        shares.append(np.concatenate(parts))
    return shares[0] - shares[1]


def _chance(values: np.ndarray, decision: np.ndarray, protected: np.ndarray):
    """Return P(favourable | do(causes)): the model's, averaged over the protected attribute."""
    model = HistGradientBoostingClassifier(random_state=0).fit(np.column_stack([values, protected]), decision)
    weights = {1: protected.mean(), 0: 1 - protected.mean()}

    def chance(rows: np.ndarray) -> np.ndarray:
        found = (
            weight * model.predict_proba(np.column_stack([rows, np.full(len(rows), status)]))[:, 1]
            for status, weight in weights.items()
        )
        return sum(found)

    return chance


def _distances(some: np.ndarray, others: np.ndarray, spread: np.ndarray, chance) -> np.ndarray:
    """Return, summed over causes, distance times effect: what the value of the other would do to the chance."""
    total = np.zeros((len(some), len(others)))
    own = chance(some)
    for place in range(some.shape[1]):
        levels, codes = np.unique(others[:, place], return_inverse=True)
        if len(levels) > 200:  # the chance is a step function: looked up on a grid of quantiles
            levels = np.quantile(others[:, place], np.linspace(0, 1, 200))
            codes = np.abs(others[:, place][:, None] - levels).argmin(axis=1)
        given = np.repeat(some, len(levels), axis=0)
        given[:, place] = np.tile(levels, len(some))
        effect = np.abs(chance(given).reshape(len(some), -1) - own[:, None])[:, codes]
        total += effect * np.abs(some[:, place][:, None] - others[:, place]) / spread[place]
    return total
