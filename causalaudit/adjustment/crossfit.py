"""Cross-fitted expectations: everybody is predicted by models that were fitted to others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from causalaudit.adjustment.flexible import flexible_models
from causalaudit.adjustment.outcome import fit_estimator
from causalaudit.errors import DataError
from causalaudit.randomness import generator

FOLDS = 5
_TRIED = 3  # folds in which the candidates are compared; the others only see the best
_INNER = 1e-6  # how far from 0 and 1 expectations are kept where their log loss is taken


@dataclass(frozen=True, eq=False)
class Crossfitted:
    """What models expect of people that they were not fitted to.

    Attributes
    ----------
    expected : numpy.ndarray
        Of everybody, between 0 and 1.
    model : str
        The candidate with the smallest loss, which it is the expectation of.
    losses : dict
        The mean log loss of each candidate, for people of three folds whom it was not fitted to.
    fold : numpy.ndarray
        The fold of each person, predicted by the others.
    """

    expected: np.ndarray
    model: str
    losses: dict[str, float]
    fold: np.ndarray


def fold_of(group: np.ndarray, seed: int = 0, folds: int = FOLDS) -> np.ndarray:
    """Return a random fold for each person, so that each fold has its share of both groups.

    Examples
    --------
    >>> import numpy as np
    >>> fold = fold_of(np.array([0, 0, 0, 0, 1, 1]), folds=2)
    >>> np.bincount(fold[:4]).tolist(), np.bincount(fold[4:]).tolist()
    ([2, 2], [1, 1])
    """
    group = np.asarray(group)
    sizes = np.unique_counts(group).counts
    number = min(folds, int(sizes.min()))
    if number < 2:
        raise DataError("One of the groups has a single person: nobody else is there to say what to expect of them.")
    shuffled = generator(seed, "folds").permutation(len(group))
    order = shuffled[np.argsort(group[shuffled], kind="stable")]
    fold = np.empty(len(group), dtype=int)
    fold[order] = np.arange(len(group)) % number
    return fold


def crossfit(
    rows: np.ndarray,
    target: np.ndarray,
    fold: np.ndarray,
    *,
    models: Any = None,
    fitted: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Crossfitted:
    """Return what is expected of everybody by models that are fitted to the people of other folds.

    Of several models, the one whose log loss is smallest for people it was not fitted to, in three of the folds. That
    the choice is made from the same folds costs nothing to first order, among a few candidates.

    Parameters
    ----------
    rows
        People × columns, as `Covariates.design` gives them.
    target
        Of everybody: an event (0 or 1) or a probability.
    fold
        Of everybody: see `fold_of`.
    models
        A classifier or regressor of scikit-learn, or several by name; default `flexible_models`.
    fitted
        Whom the models may be fitted to, default everybody. The others are predicted too.
    weights
        Of the people.

    Examples
    --------
    >>> import numpy as np
    >>> number = np.linspace(-2, 2, 400)
    >>> inside = (np.abs(number) < 1).astype(float)
    >>> found = crossfit(number[:, None], inside, fold_of(inside))
    >>> found.model, float(np.abs(found.expected - inside).mean().round(1))
    ('gradient boosting', 0.0)
    """
    chosen = np.ones(len(target), dtype=bool) if fitted is None else np.asarray(fitted, dtype=bool)
    target = np.asarray(target, dtype=float)
    fits = _Fits(rows, target, fold, chosen, weights)
    candidates = _candidates(models)
    number = int(fold.max()) + 1
    tried = range(min(_TRIED, number)) if len(candidates) > 1 else range(0)
    expected = {name: {one: fits.predicted(model, one) for one in tried} for name, model in candidates.items()}
    losses = {name: fits.loss(parts) for name, parts in expected.items()}
    best = min(losses, key=lambda name: losses[name])
    result = np.empty(len(target))
    for one in range(number):
        found = expected[best].get(one)
        result[fold == one] = fits.predicted(candidates[best], one) if found is None else found
    return Crossfitted(result, best, losses, fold)


def _candidates(models: Any) -> Mapping[str, Any]:
    if models is None:
        return flexible_models()
    return models if isinstance(models, Mapping) else {type(models).__name__: models}


@dataclass(frozen=True, eq=False)
class _Fits:
    """People, some of whom (`chosen`) models may be fitted to."""

    rows: np.ndarray
    target: np.ndarray
    fold: np.ndarray
    chosen: np.ndarray
    weights: np.ndarray | None

    def predicted(self, model: Any, number: int) -> np.ndarray:
        """Return what is expected of the people of a fold, from the others."""
        train, test = self.chosen & (self.fold != number), self.fold == number
        target, weights = self.target[train], self._weights(train)
        if np.ptp(target) == 0 or self.rows.shape[1] == 0:  # nothing to learn, or nothing to learn it from
            return np.full(int(test.sum()), np.average(target, weights=weights))
        return fit_estimator(model, self.rows[train], target, weights, self.rows[test])

    def loss(self, expected: Mapping[int, np.ndarray]) -> float:
        """Return the mean log loss of what is expected, by fold, among those whom models are fitted to."""
        if not expected:
            return float("nan")
        who = [np.flatnonzero(self.fold == number) for number in expected]
        people, values = np.concatenate(who), np.concatenate(list(expected.values()))
        kept = self.chosen[people]
        people, inner = people[kept], np.clip(values[kept], _INNER, 1 - _INNER)
        target = self.target[people]
        losses = -target * np.log(inner) - (1 - target) * np.log1p(-inner)
        return float(np.average(losses, weights=self._weights(people)))

    def _weights(self, people: np.ndarray) -> np.ndarray | None:
        return None if self.weights is None else self.weights[people]
