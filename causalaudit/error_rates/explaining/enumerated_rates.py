"""Nested counterfactual rates of a finite SCM, by enumerating two worlds that share their noise."""

from typing import Any

import numpy as np

from causalaudit.counterfactuals import EnumeratedPeople, EnumeratedWorlds
from causalaudit.error_rates.explaining.asking import label_rates
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.explaining.terms import EVERYBODY, SHAPE


def enumerated_rates(question: RateQuestion, people: EnumeratedPeople) -> np.ndarray:
    """Return N(xd, xi | x, y) and its version for everybody at each draw of the parameters.

    Raises
    ------
    DataError
        If a site is not finite, if there are too many states, or if nobody has X = x and Y = y.
    """
    given = {question.protected: question.levels, question.outcome: [question.y]}
    rates = np.empty((len(people.numbers), *SHAPE))
    for xi, level in enumerate(question.levels):
        do = {question.protected: level}
        own = people.worlds({**do, question.outcome: question.y}, given, question.features)
        rates[:, :, xi, :EVERYBODY] = _means(question, own, own.had(question.protected).astype(float))
        free = people.worlds(do, {}, question.features)
        rates[:, :, xi, EVERYBODY] = _means(question, free, np.ones((1, len(free))))[..., 0]
    return rates


def _means(question: RateQuestion, worlds: EnumeratedWorlds, groups: np.ndarray) -> np.ndarray:
    """Return the mean of P(ŷ) by draw, level read and group of states (rows)."""
    thetas, means = _thetas(question, worlds), []
    for part in worlds.tasks():
        weights = worlds.probability(part)
        shares = weights @ groups.T
        question.refuse_nobody(shares.min(axis=0))
        means.append(np.einsum("ds,gs,ls->dlg", weights, groups, thetas) / shares[:, None, :])
    return np.concatenate(means)


def _thetas(question: RateQuestion, worlds: EnumeratedWorlds) -> np.ndarray:
    """Return P(ŷ) by level read (rows) and state: the classifier is asked once for each combination of features."""
    names, sites = question.features, worlds.people.sites
    if not names:
        return np.repeat(label_rates(question, worlds.people, {}, (1,)), len(worlds), axis=1)
    grid = {name: sites[name].values.reshape([-1 if other == name else 1 for other in names]) for name in names}
    by_cell = label_rates(question, worlds.people, grid, tuple(len(sites[name].values) for name in names))
    cells: tuple[Any, ...] = (slice(None), *(worlds.positions(name) for name in names))
    return np.asarray(by_cell[cells])
